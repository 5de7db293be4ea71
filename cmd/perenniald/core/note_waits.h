#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "cmd/perenniald/core/command_times.h"
#include "engine/types/basic.h"
#include "engine/types/note.h"
#include "engine/types/transition.h"

namespace perennial::core {

// A read of the notes of a job.
struct NoteRead {
  uint64_t ticket;  // For NoteWaits::end().
  JobId job;
};

// An answer that waits for the notes of a job, and its slot in the outbox of its connection.
struct NoteWaiter {
  ConnId conn = 0;
  uint64_t slot = 0;
  CommandTimes::Start command = {};
  std::vector<Note> unwritten = {};  // What the database may not have yet.
};

// Which answers wait for notes, which are on disk only; and the notes of batches that are not
// written yet, since no read finds those. Those of a job that is gone need not be taken away:
// nobody asks for them, and no other job gets its id.
//
// An answer shows the notes as they are when they are read, which is after the command was decided
// and before the answer leaves: a job that is deleted meanwhile has none.
class NoteWaits {
 public:
  // A read begins only while fewer than `reads_max` are under way.
  explicit NoteWaits(size_t reads_max) : reads_max_(reads_max) {}

  // The note is in the batch with this index. Indices do not fall.
  void on_stored(const NoteStored& stored, BatchIndex batch);
  // Batches up to this one are in the database.
  void on_written(BatchIndex batch);

  void add(NoteWaiter waiter, JobId job);
  // Returns the reads that have begun since the last call.
  std::vector<NoteRead> take_reads();
  bool may_begin() const { return !wanted_.empty() && reads_.size() < reads_max_; }
  // A read has ended. REQUIRES: take_reads() has given the ticket.
  NoteWaiter end(uint64_t ticket);

 private:
  struct Wanted {
    JobId job;
    NoteWaiter waiter;
  };
  struct Unwritten {
    BatchIndex batch;
    JobId job;
    Note note;
  };

  const size_t reads_max_;
  uint64_t last_ticket_ = 0;
  std::deque<Wanted> wanted_;
  absl::flat_hash_map<uint64_t, NoteWaiter> reads_;  // Under way, by ticket.
  std::deque<Unwritten> unwritten_;                  // In the order of batches.
};

// Those that are kept of what was read and of what was not written yet: the last notes_max, oldest
// first.
std::vector<Note> merge_notes(std::vector<Note> read, std::vector<Note> unwritten);

}  // namespace perennial::core
