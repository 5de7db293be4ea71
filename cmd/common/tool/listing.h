#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cmd/common/tool/stats_reply.h"

// What a server answers to commands that list: a page of rows, and a cursor. Pure.
namespace perennial::tool {

// What it answers to list-jobs and list-clients.
struct Listing {
  uint64_t cursor = 0;  // The id to go on behind, or 0 at the end.
  std::vector<StatsReply> rows = {};
};

// `name`: the key of the rows, "jobs" or "clients". `rare`: a field that is there only where it is
// true; other rows get it as false. Io: a line is none of such a document.
Result<Listing> parse_listing(std::string_view document, std::string_view name,
                              std::string_view rare = {});

// What a server answers to list-schedules: the cursor is the name of the last row, or empty at the
// end.
struct NamedListing {
  std::string cursor = {};
  std::vector<StatsReply> rows = {};
};
Result<NamedListing> parse_named_listing(std::string_view document, std::string_view name);

}  // namespace perennial::tool
