#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>
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
  uint32_t had = 0;  // How many notes the job has had when the command was run.
  // The notes of then that the database may not have yet, the oldest first.
  std::vector<Note> unwritten = {};
};

// Which answers wait for notes, which are on disk only; and the last notes of each job that are in
// batches that are not written yet, since no read finds those. Those of a job that is gone need not
// be taken away: nobody asks for them, and no other job gets its id.
//
// An answer shows the notes as they were when its command was run. For that each read is given out
// before a batch with later commands goes to the log, and shows the database as it was then. What
// waits is bounded by the outboxes: each answer has its slot there.
class NoteWaits {
 public:
  // The note is in the batch with this index. Indices do not fall.
  void on_stored(const NoteStored& stored, BatchIndex batch);
  // Batches up to this one are in the database.
  void on_written(BatchIndex batch);

  // REQUIRES: the notes of the job that are not written yet are those of now, and waiter.had counts
  // them.
  void add(NoteWaiter waiter, JobId job);
  // Returns the reads that were added since the last call.
  std::vector<NoteRead> take_reads() { return std::exchange(wanted_, {}); }
  bool has_wanted() const { return !wanted_.empty(); }
  // A read has ended. REQUIRES: take_reads() has given the ticket.
  NoteWaiter end(uint64_t ticket);

 private:
  struct Unwritten {
    BatchIndex batch;
    Note note;
  };

  uint64_t last_ticket_ = 0;
  std::vector<NoteRead> wanted_;
  absl::flat_hash_map<uint64_t, NoteWaiter> waiters_;  // By ticket, until their reads end.
  // At most notes_max of each job, the oldest first.
  absl::flat_hash_map<JobId, std::vector<Unwritten>> unwritten_;
  // The batch and the job of each note that was stored, in the order of batches.
  std::deque<std::pair<BatchIndex, JobId>> stored_;
};

// What a job that has had `had` notes keeps, the oldest first, of the notes that were read and of
// those that were not written yet. The read may show the job before or after those.
std::vector<Note> merge_notes(std::vector<Note> read, std::vector<Note> unwritten, uint32_t had);

}  // namespace perennial::core
