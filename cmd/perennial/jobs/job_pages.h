#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "cmd/common/tool/server_connection.h"
#include "cmd/perennial/jobs/job_list.h"
#include "engine/types/command.h"

// The jobs of a running server, page by page, and how many of a tube's jobs fit.
namespace perennial::tool {

// Asks for one page of list-jobs. NotFound: there is no such tube.
Result<Listing> ask_page(ServerConnection& server, const ListJobs& command);

// Leaves out the jobs that do not fit. list-jobs cannot do that, and does not name the timeouts of
// a job, so that each job is asked for them if they are to be compared.
Status keep_matching(ServerConnection& server, const JobMatch& match,
                     std::vector<StatsReply>& jobs);

// How many jobs are in each state. Those of states that were not asked for are 0.
class JobCounts {
 public:
  uint64_t& of(JobState state) { return counts_[static_cast<size_t>(state)]; }
  uint64_t of(JobState state) const { return counts_[static_cast<size_t>(state)]; }
  // Counts a job in the state of this name.
  void add(std::string_view state);
  uint64_t total() const { return std::accumulate(counts_.begin(), counts_.end(), uint64_t{0}); }

 private:
  std::array<uint64_t, 4> counts_ = {};
};
// "38,000 ready, 21 buried": the states that have jobs.
std::string states_text(const JobCounts& counts);

// Counts the jobs of a tube that are in one of the states and fit. With a match it looks at all
// jobs of the server. NotFound: there is no such tube.
Result<JobCounts> count_jobs(ServerConnection& server, const std::string& tube, StateSet states,
                             const JobMatch& match);
struct FoundJobs {
  std::vector<JobId> ids = {};
  JobCounts counts = {};
};
// Finds those of the jobs that exist and that no worker has reserved.
Result<FoundJobs> find_unreserved(ServerConnection& server, const std::vector<JobId>& ids);

}  // namespace perennial::tool
