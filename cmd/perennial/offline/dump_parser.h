#pragma once

#include <string>
#include <string_view>

#include "cmd/perennial/offline/dump_format.h"
#include "engine/types/status.h"
#include "engine/types/transition.h"

// A dump's lines taken apart again: dump_format.h. Strict: a field that is missing, twice there,
// unknown or out of its range is Corruption, and the message names it.
namespace perennial::tool {

// A job's line. Its row has no tube's number yet.
struct DumpJob {
  JobRow row = {};
  std::string tube = {};
  std::string body = {};
  DumpBody::Kind body_kind = DumpBody::Kind::Whole;
};

// Unsupported: it is a dump of another version.
Result<DumpHeader> parse_header(std::string_view line);
// Whether a line looks like the last one.
bool is_footer(std::string_view line);
Result<DumpFooter> parse_footer(std::string_view line);
Result<DumpJob> parse_job(std::string_view line);

}  // namespace perennial::tool
