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
#include "store/format/format.h"

namespace perennial::store {

// The progress of a log as three indices. Each is the number of the newest batch that has reached a
// stage; all batches before it have reached that stage, too. One index says nothing about another
// beyond the invariant below.
//
// Invariant: durable <= applied <= committed.
struct LogIndices {
  // No crash that the durability mode covers loses the batch, and no other batch can take its place
  // in history. In mode `commit` that includes a power cut; in the other modes a crash of the
  // process only.
  BatchIndex committed = 0;
  // The rows are in this process's database. Bodies can be read from it, so the batch no longer
  // needs them in memory.
  BatchIndex applied = 0;
  // The batch is synced to this machine's disk and survives a power cut. The log may therefore be
  // trimmed up to here. A batch is sealed with this index as its known_durable, by which a start
  // detects a disk that has lost batches.
  BatchIndex durable = 0;

  // The newest batch that is both committed and applied. Replies that depend on batches up to it
  // may leave: no crash loses what they report, and the next reader sees the rows.
  BatchIndex reply_index() const { return std::min(committed, applied); }
};

// The state of an append when the call returns.
enum class Appended : uint8_t {
  UnderWay,  // The wake callback says when there is an update.
  Done,      // An update can be collected now. The wake callback is not called for it.
};

// The outcome of a checkpoint's creation.
struct CheckpointCreated {
  Status status;
  Nanos took = 0;  // How long no batch could be written, in nanoseconds.
};

// The state of the store behind the log, as the thread that writes last saw it.
struct StoreUpdate {
  StoreFacts facts;
  bool accepts_puts = true;    // Whether the disk has space for more jobs.
  bool write_stalled = false;  // Whether puts wait for flushes and compactions: write_backlog.h.
};

// The log takes the server's batches one after the other and makes them survive a crash. It makes
// no decisions about them: it takes them in order and reports its progress. The server owns one log
// and calls it on the thread of its loop. Results come from another thread: a callback, given at
// construction, wakes the loop, which then calls collect().
//
// A commit has three stages in this order: the log commits the batch, the database applies it, and
// a sync makes it durable here. In the local log one write does the first two, and the durability
// mode determines the sync. A log that commits on a majority of other machines moves the indices
// one after the other: it applies a committed batch to RocksDB without a sync, and syncs later.
// That is why there are three indices rather than one.
//
// The obligations of an implementation:
// - Batches are committed in the order of append(), each as a whole or not at all, and are applied
//   in that order, each once. One append is under way at a time. The loop fills the next batch
//   meanwhile, which is the group commit.
// - Only a committed batch is applied. Both may be one step, or the log may apply the batch later,
//   also while the next append is under way.
// - An append whose outcome is not known is still under way. The log reports nothing about it, and
//   tries the same bytes again until they are committed. The log never gives up a batch and never
//   encodes it anew.
// - The log uses a batch and the bodies that it points to until collect() returns the batch, which
//   is after the batch is applied.
// - A checkpoint has its place between two appends. It holds every batch that was appended before
//   it and none after it. All that it holds is durable before its creation is reported.
// - A log that can no longer commit ends the process, or reports nothing more and is never idle
//   again. The reason may be a failed store, or another process that may append instead. The log
//   never reports a failed append, because the engine cannot undo transitions.
// - The callback is called whenever collect() has a new batch, a checkpoint, or a changed state of
//   the disk. `durable` and the store's figures may change without a call.
class Log {
 public:
  // What is new since the last collect(), and the current state.
  struct Update {
    LogIndices indices;
    // How long the last batch took with its sync, in nanoseconds. 0: there was no sync.
    Nanos took = 0;
    // The batches applied since the last collect(). Their bodies may be freed.
    std::vector<Batch> batches;
    std::optional<CheckpointCreated> checkpoint;
    StoreUpdate store;
  };

  Log() = default;
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;
  virtual ~Log() = default;

  // Returns whether the log accepts a batch: neither a batch nor a checkpoint is under way.
  virtual bool idle() const = 0;
  // Takes a sealed batch. REQUIRES: idle().
  virtual Appended append(Batch&& batch) = 0;
  // Creates a checkpoint in the directory `dir`, which must not exist: checkpoint.h. The call is
  // allowed while a batch is under way; the checkpoint then follows that batch. A failure is
  // reported in Update and does not end the server. REQUIRES: the result of the last checkpoint was
  // collected.
  virtual void checkpoint(std::string dir) = 0;
  virtual Update collect() = 0;
  // The newest format of batches that everybody who reads the log knows: batch_codec.h. It may
  // change at any time, and a batch that was begun before is committed nevertheless.
  virtual uint8_t batch_format_max() const { return newest_batch_format; }
  // Whether batches may have notes, and jobs that count some.
  bool may_store_notes() const { return batch_format_max() >= batch_format_with_notes; }
  // Whether batches may have ended jobs, and settings and fields that belong to them.
  bool may_store_ended() const { return batch_format_max() >= batch_format_with_ended; }
  // Whether batches may have schedules, and jobs that schedules have put.
  bool may_store_schedules() const { return batch_format_max() >= batch_format_with_schedules; }

  // For a watchdog, on any thread: whether work is under way, and a number that changes whenever
  // work begins or ends.
  virtual bool busy() const = 0;
  virtual uint64_t progress() const = 0;

  // Commits and applies what was appended, makes all batches durable, and ends the log's threads.
  // Only collect() may be called afterwards.
  virtual void stop() = 0;
};

}  // namespace perennial::store
