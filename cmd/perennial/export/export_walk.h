#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cmd/common/tool/server_connection.h"
#include "cmd/common/tool/stats_reply.h"
#include "cmd/perennial/export/export_options.h"
#include "engine/types/basic.h"

namespace perennial::tool {

// The delay of a copy of the job elsewhere, in seconds. A copy that is to be buried has an hour, so
// that no worker reserves it first.
uint32_t delay_of_copy(JobState state, uint32_t delay_left_s);

// A job that an export has reserved, with its earlier state.
struct TakenJob {
  JobId id = 0;
  JobState state = JobState::Ready;
  uint32_t priority = 0;
  uint32_t ttr_s = 0;
  uint32_t delay_left_s = 0;  // For a delayed job.
  uint64_t notes = 0;         // How many it has had, which stay behind.
  Extras<perennial::PutOptions> extras = {};
  std::string body;
};

// Reserves the jobs of the tube that a connection uses and watches, one window at a time. The
// protocol has no command that lists jobs, but a reserved job no longer hides the next one.
class ExportWalk {
 public:
  // The result of taking a window. No jobs: the walk is complete. `trouble` is an answer of the
  // server in place of a job, for example for a body that cannot be read; the walk may be complete
  // then, too.
  struct Window {
    std::vector<TakenJob> jobs;
    std::string trouble;
  };

  // `counts_attempts`: the source counts attempts, and can be told that one does not count.
  ExportWalk(ServerConnection& source, size_t window_jobs, bool counts_attempts)
      : source_(source), window_jobs_(window_jobs), counts_attempts_(counts_attempts) {}

  // Takes ready jobs in their order, all at once. Takes none while the tube is paused.
  Result<Window> take_ready();
  // Takes jobs by their ids, each time the first one in this state, also while the tube is paused.
  Result<Window> take_first(JobState state);
  // Returns the jobs to the states from which they were taken. That is no attempt of theirs.
  Status put_back(const std::vector<TakenJob>& jobs);

 private:
  struct Next {
    std::optional<JobId> id;
    std::string trouble;
  };
  Result<Next> receive_peeked();
  Result<std::optional<TakenJob>> receive_taken(JobId id);
  Status fill_in(std::vector<TakenJob>& jobs);

  ServerConnection& source_;
  const size_t window_jobs_;
  const bool counts_attempts_;
};

}  // namespace perennial::tool
