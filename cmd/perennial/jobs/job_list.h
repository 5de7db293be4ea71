#pragma once

#include <string>
#include <string_view>

#include "cmd/common/tool/listing.h"

// What the server answers to list-jobs. Pure.
namespace perennial::tool {

// Io: a line is none of this document.
Result<Listing> parse_job_list(std::string_view document);

// What the table has besides its ordinary columns, at the end.
struct JobListColumns {
  bool tube = false;
  bool note = false;
  bool ended = false;  // How, how long ago, and by whom.
};

// The table: a heading, and a line for each job. Columns have fixed widths, because the jobs may
// come in many pages. `note`: the newest one of the job, on one line, where there is that column.
std::string job_list_heading(JobListColumns columns);
std::string job_list_line(const StatsReply& job, JobListColumns columns, std::string_view note);

}  // namespace perennial::tool
