#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cmd/common/tool/server_connection.h"
#include "cmd/common/tool/stats_reply.h"
#include "engine/types/basic.h"

namespace perennial::tool {

// A job that an export has reserved, and what it was before that.
struct TakenJob {
  JobId id = 0;
  JobState state = JobState::Ready;
  uint32_t priority = 0;
  uint32_t ttr_s = 0;
  uint32_t delay_left_s = 0;  // Of a delayed one.
  std::string body;
};

// Takes the jobs of the tube that a connection uses and watches, a window at a time: the protocol
// has no command that lists them, but what is reserved is out of the way of the next one.
class ExportWalk {
 public:
  // What came of taking a window. No job: the walk is at its end. `trouble` is an answer of the
  // server where a job was due, as of one whose body cannot be read; it may be the end, too.
  struct Window {
    std::vector<TakenJob> jobs;
    std::string trouble;
  };

  ExportWalk(ServerConnection& source, size_t window_jobs)
      : source_(source), window_jobs_(window_jobs) {}

  // Ready jobs, in their order, all at once. None while the tube is paused.
  Result<Window> take_ready();
  // By their ids, one after the other, each time the first one in this state; a pause does not
  // matter.
  Result<Window> take_first(JobState state);
  // Makes them again what they were before they were taken.
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
};

}  // namespace perennial::tool
