#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "engine/types/command.h"

namespace perennial::wire {

// protocol.txt, "put": the prefix that makes a line a put.
inline constexpr std::string_view put_prefix = command_row<Put>().prefix;
inline constexpr std::string_view put_batch_prefix = command_row<PutBatch>().prefix;
inline constexpr std::string_view note_prefix = command_row<NoteJob>().prefix;

// What follows the last number of a line with a body behind it, apart from valid options.
enum class LineTail : uint8_t {
  Nothing,
  Junk,        // The body is read as the next command, as in beanstalkd.
  BadOptions,  // The junk holds a colon. The body is dropped before the command is answered.
};

// The content of a put's line. The numbers are valid. The parser checks the size against its limit,
// before it checks the tail.
struct PutLine {
  Put put;
  LineTail tail;
};

// Parses the numbers and options of a put from what follows its prefix. Without a value if a number
// is bad.
std::optional<PutLine> parse_put_line(std::string_view args, ExtensionSet allowed);

// The content of a put-batch's line.
struct PutBatchLine {
  PutBatch batch;  // Without its items.
  uint64_t bytes;
  // Whether the count is in its range and the options are valid. If not, the items are dropped
  // before the command is answered.
  bool is_good;
};

// Parses the line of a put-batch from what follows its prefix. Without a value if one of the two
// numbers is none, so that nobody can say where the items end.
std::optional<PutBatchLine> parse_put_batch_line(std::string_view args, ExtensionSet allowed);

// The content of a note's line, which is judged as that of a put is.
struct NoteLine {
  JobId id;
  uint32_t bytes;
  LineTail tail;
};

// Parses the line of a note from what follows its prefix. Without a value if a number is bad.
std::optional<NoteLine> parse_note_line(std::string_view args, ExtensionSet allowed);

// The content of a set-schedule's line, which is judged as that of a put is. Its options are always
// needed.
inline constexpr std::string_view schedule_prefix = command_row<SetSchedule>().prefix;
struct ScheduleLine {
  SetSchedule set;
  LineTail tail;
};

// Parses the line of a set-schedule from what follows its prefix. Without a value if a number is
// bad, so that nobody can say where the body ends.
std::optional<ScheduleLine> parse_schedule_line(std::string_view args, ExtensionSet allowed);

// Returns whether the line that begins with `head`, its first line_bytes_max bytes, may have
// line_long_bytes_max bytes. It may if `head` holds a colon, or begins with the word of an
// extension that is allowed.
bool may_be_long(std::string_view head, ExtensionSet allowed);

// Parses a line that is not a put's. `line` is without its CRLF. The commands of extensions that
// are not in `allowed` are skipped, so that beanstalkd's commands alone decide.
Command parse_command_line(std::string_view line, ExtensionSet allowed = ExtensionSet::all());

// Whether `name` is valid for a tube. protocol.txt, "Tubes".
bool is_tube_name(std::string_view name);

}  // namespace perennial::wire
