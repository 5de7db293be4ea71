#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/types/basic.h"
#include "engine/types/stats.h"
#include "engine/types/status.h"
#include "store/batch/batch.h"

namespace perennial::store {

// How far a log has come: three indices, each of which says that all batches up to it are there.
// Nothing else may be concluded from one of them.
//
// Invariant: durable <= applied <= committed.
struct LogIndices {
  // No crash that the mode of durability covers loses it, and no other batch can take its place.
  BatchIndex committed = 0;
  // It is in the database of this process: a body can be read, and is no longer needed in memory.
  BatchIndex applied = 0;
  // The disk of this machine has it, synced: it is there after a power cut. So the log may be
  // trimmed up to here, and a batch that is sealed with this as its known_durable lets a start
  // refuse a disk that has lost something.
  BatchIndex durable = 0;

  // A reply that tells of nothing newer may leave: what it says is committed, and whoever asks next
  // finds it applied.
  BatchIndex answerable() const { return std::min(committed, applied); }
};

// What an append has come to when the call returns.
enum class Appended : uint8_t {
  UnderWay,  // The wake callback says when there is news.
  Done,      // There is news to collect now, and nobody is woken for it.
};

// What became of a cut.
struct CutDone {
  Status status;
  Nanos took = 0;  // How long no batch could be written.
};

// The state of the store behind the log, as the thread that writes to it has last seen it.
struct StoreNews {
  StoreFacts facts;
  bool room = true;     // Whether the disk has room for more jobs.
  bool behind = false;  // Whether puts should wait for flushes and compactions: debt.h.
};

// Where the server's batches go, one after the other, so that they are there after a crash. It
// decides nothing: it takes what it gets, in order, and says how far it has come. The server owns
// one, and calls it on the thread of its loop; the news comes from another thread: a callback,
// given at construction, wakes the loop, which then calls collect().
//
// In the local log the three indices move together, as the mode of durability has it. One that
// commits elsewhere, on a majority of other machines, moves them one after the other: it applies
// what is committed to RocksDB without a sync, and syncs that later.
//
// What an implementation owes:
// - Batches are committed in the order of append(), each whole or not at all, and applied in that
//   order, each once. One append is under way at a time: whoever fills batches meanwhile gets the
//   group commit.
// - Only what is committed is applied. The two may be one step, or apply may follow later, also
//   while the next append is under way.
// - An append whose outcome is not known yet is still under way: nothing is said of it, and the
//   same bytes are tried again until it is committed. A batch is never given up and never formed
//   anew.
// - A batch, with the bodies that it points to, is in use until collect() returns it, which is when
//   it is applied.
// - A cut has its place between two appends: the copy holds every batch appended before it and none
//   behind it. All that it holds is durable before it is done.
// - Once it can no longer commit (the store has failed, or another process may append instead) it
//   ends the process, or says nothing any more and is never idle again. It never reports a failed
//   append, since nothing could be taken back.
// - The callback is called whenever collect() has news of a batch, a cut, or of room and debt of
//   the store. `durable` and the figures of the store may move without it.
class Log {
 public:
  // All that is new since the last collect(), and the state now.
  struct News {
    LogIndices indices;
    Nanos took = 0;  // How long the last batch took, its sync included; 0: it waited for none.
    std::vector<Batch> batches;  // Those applied since. Their bodies need to stay no longer.
    std::optional<CutDone> cut;
    StoreNews store;
  };

  Log() = default;
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;
  virtual ~Log() = default;

  // Whether it takes a batch: neither a batch nor a cut is under way.
  virtual bool idle() const = 0;
  // Takes a sealed batch. REQUIRES: idle().
  virtual Appended append(Batch&& batch) = 0;
  // Cuts a checkpoint into this directory, which is not there yet: checkpoint.h. It may be given
  // while a batch is under way, behind which it has its place then. Its failure is in News, and
  // harms nothing. REQUIRES: the last one was collected.
  virtual void cut(std::string dir) = 0;
  virtual News collect() = 0;

  // For a watchdog, from any thread: whether there is work that has not ended, and a number that
  // changes whenever some begins or ends.
  virtual bool busy() const = 0;
  virtual uint64_t progress() const = 0;

  // Commits and applies what was appended, makes everything durable, and ends its threads. Only
  // collect() may be called afterwards.
  virtual void stop() = 0;
};

}  // namespace perennial::store
