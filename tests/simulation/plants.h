#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "tests/simulation/disk.h"
#include "tests/simulation/server.h"

namespace perennial::simulation {

// Bugs that a server could have and that the checker must find. Each is planted at an interface of
// core: in what the disk receives and reports, or in what clients receive.
enum class Bug : uint8_t {
  None,
  AnswersBeforeSync,   // A batch is answered as soon as it is handed over.
  SkipsSingleDelete,   // A row stays in the family that the job leaves.
  KeepsDeletedRow,     // A row stays in its family although the job is deleted.
  ReusesIds,           // After a restart ids continue from the highest one found.
  ForgetsPriority,     // A job's row keeps the priority of its put.
  HandsOutTwice,       // Two clients receive the same job.
  ForgetsFirstBefore,  // The net effect starts from the last transition, not from the first.
  MixesNotesUp,        // A note is stored with the text of the one before, of whatever job.
  LosesEnds,           // A job that ends is deleted, although its tube keeps it.
  LeavesRestored,      // A job that comes back stays among those that have ended, too.
  EndsAsPut,           // A job has ended with the priority of its put.
  IgnoresLeases,       // A client that stands for leases deletes and notes what it does not hold.
  ReadsStaleEnds,      // What was read once of an ended job is believed to be so ever after.
};

// Adds a bug to what a disk receives and reports.
class BuggyDisk : public Disk {
 public:
  BuggyDisk(Disk& disk, Bug bug) : disk_(disk), bug_(bug) {}

  Result<Found> open() override;
  void submit(store::Batch&& batch) override;
  Done finish() override { return disk_.finish(); }
  Done look() override;
  Result<Body> body(JobId id) override { return disk_.body(id); }
  Result<std::vector<Note>> notes(JobId id) override { return disk_.notes(id); }
  Result<core::EndedResult> ended(const core::EndedRead& read) override;
  Status close(JobId next_id) override { return disk_.close(next_id); }

 private:
  store::Batch spoil(const store::Batch& batch);
  void spoil(store::JobEffect& effect);
  void add(store::Batch& out, const store::JobEffect& effect, const store::Batch& batch) const;

  Disk& disk_;
  const Bug bug_;
  BatchIndex submitted_ = 0;
  std::map<JobId, uint32_t> priorities_;  // The priorities of the puts.
  std::string last_text_ = "none";        // Of the last note.
  std::map<JobId, store::EndedFound> read_ends_;
  std::map<JobId, std::string> bodies_;  // The bodies of jobs that are written as if they were new.
};

// Delivers a job that one client reserves also to another client whose reserve waits.
Server::Deliver hand_out_twice(History& history, const Server& server);

}  // namespace perennial::simulation
