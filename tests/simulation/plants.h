#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "tests/simulation/disk.h"
#include "tests/simulation/server.h"

namespace perennial::simulation {

// Bugs that a server could have, and that the checker must find. Each is planted between core and
// what it talks to: in what the disk is given and says, or in what clients are told.
enum class Bug : uint8_t {
  None,
  AnswersBeforeSync,   // A batch is answered when it is handed over.
  SkipsSingleDelete,   // A row stays in the family that it leaves.
  KeepsDeletedRow,     // Likewise, when the job is deleted.
  ReusesIds,           // A restart goes on from the highest id that it finds.
  ForgetsPriority,     // A job's row keeps the priority that it was put with.
  HandsOutTwice,       // Two clients are given the same job.
  ForgetsFirstBefore,  // The net effect starts from the last move, not from the first.
};

// A disk with a bug in front of it.
class BuggyDisk : public Disk {
 public:
  BuggyDisk(Disk& disk, Bug bug) : disk_(disk), bug_(bug) {}

  Result<Found> open() override;
  void submit(store::Batch&& batch) override;
  Done finish() override { return disk_.finish(); }
  Done look() override;
  Result<Body> body(JobId id) override { return disk_.body(id); }
  Status close(JobId next_id) override { return disk_.close(next_id); }

 private:
  store::Batch spoil(const store::Batch& batch);
  void spoil(store::JobEffect& effect);

  Disk& disk_;
  const Bug bug_;
  BatchIndex submitted_ = 0;
  std::map<JobId, uint32_t> priorities_;  // That jobs were put with.
  std::map<JobId, std::string> bodies_;   // Of jobs that are written as if they were new.
};

// Gives a job that one client is given to another that waits for one, too.
Server::Deliver hand_out_twice(History& history, const Server& server);

}  // namespace perennial::simulation
