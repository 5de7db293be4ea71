#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cmd/common/tool/stats_reply.h"
#include "engine/types/basic.h"

// What the server answers to list-jobs. Pure.
namespace perennial::tool {

struct JobList {
  JobId cursor = 0;  // The id to go on behind, or 0 at the end.
  std::vector<StatsReply> jobs = {};
};
// Io: a line is none of this document.
Result<JobList> parse_job_list(std::string_view document);

// The table: a heading, and a line for each job. Columns have fixed widths, because the jobs may
// come in many pages. `has_tube` adds the name of the tube at the end.
std::string job_list_heading(bool has_tube);
std::string job_list_line(const StatsReply& job, bool has_tube);

}  // namespace perennial::tool
