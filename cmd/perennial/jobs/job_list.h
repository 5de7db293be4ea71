#pragma once

#include <string>
#include <string_view>

#include "cmd/common/tool/listing.h"

// What the server answers to list-jobs. Pure.
namespace perennial::tool {

// Io: a line is none of this document.
Result<Listing> parse_job_list(std::string_view document);

// The table: a heading, and a line for each job. Columns have fixed widths, because the jobs may
// come in many pages. `has_tube` adds the name of the tube at the end.
std::string job_list_heading(bool has_tube);
std::string job_list_line(const StatsReply& job, bool has_tube);

}  // namespace perennial::tool
