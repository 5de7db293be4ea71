#pragma once

#include <string>
#include <string_view>

#include "cmd/perennial/dump/dump_format.h"
#include "engine/types/status.h"
#include "engine/types/transition.h"

// Parses the lines of a dump: dump_format.h. The parser is strict: a field that is missing,
// duplicate, unknown or out of range is Corruption, and the message names it.
namespace perennial::tool {

// A job's line. The tube number of its row is not set yet.
struct DumpJob {
  JobRow row = {};
  std::string tube = {};
  std::string body = {};
  DumpBody::Kind body_kind = DumpBody::Kind::Whole;
};

struct DumpSchedule {
  ScheduleStored stored = {};
  std::string body = {};
};

// Unsupported: the dump has another version.
Result<DumpHeader> parse_header(std::string_view line);
// Whether a line has the form of the last one, of a schedule, of a note, or of a key.
bool is_footer(std::string_view line);
bool is_schedule(std::string_view line);
bool is_note(std::string_view line);
bool is_key(std::string_view line);
// `version`: that of the dump. Fields of a later version are unknown in it.
Result<DumpFooter> parse_footer(std::string_view line, uint64_t version);
Result<DumpJob> parse_job(std::string_view line, uint64_t version);
// Only a dump of version 4 has schedules.
Result<DumpSchedule> parse_schedule(std::string_view line);
// No dump before version 3 has notes, and none of version 1 has keys.
Result<NoteStored> parse_note(std::string_view line);
Result<KeyStored> parse_key(std::string_view line);

}  // namespace perennial::tool
