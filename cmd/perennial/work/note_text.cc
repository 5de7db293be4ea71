#include "cmd/perennial/work/note_text.h"

#include <cstring>

#include <fmt/format.h>

#include "cmd/common/characters.h"
#include "cmd/common/duration.h"
#include "cmd/perennial/work/standard_error/tail.h"
#include "engine/types/note.h"

namespace perennial::tool::work {
namespace {

// The rest is for the last errors. Only an error that names a long file reaches it.
constexpr size_t first_line_bytes_max = note_bytes_max - Tail::bytes_max - 1;

std::string signal_text(int number) {
  const char* const name = ::sigabbrev_np(number);
  return name == nullptr ? fmt::format("killed by signal {}", number)
                         : fmt::format("killed by signal {} (SIG{})", number, name);
}

std::string what_happened(const Ending& ending, std::optional<std::chrono::seconds> timeout) {
  switch (ending.cause) {
    case Cause::Exited:
      return ending.signal != 0 ? signal_text(ending.signal)
                                : fmt::format("exit {}", ending.status);
    case Cause::NotStarted:
    case Cause::NoProgram:
      return "not started: " + common::printable_line(ending.error);
    case Cause::TimedOut:
      CHECK(timeout.has_value());
      return fmt::format("killed after {}: --timeout", common::format_duration(*timeout));
    case Cause::Stopped:
    case Cause::Lost:
      break;
  }
  CHECK(!"the command has not failed");
}

}  // namespace

bool is_failure(const Ending& ending) {
  switch (ending.cause) {
    case Cause::Exited:
      return ending.signal != 0 || ending.status != 0;
    case Cause::NotStarted:
    case Cause::NoProgram:
    case Cause::TimedOut:
      return true;
    case Cause::Stopped:
    case Cause::Lost:
      return false;
  }
  CHECK(false);
}

std::string note_text(const Ending& ending, std::optional<std::chrono::seconds> timeout) {
  const std::string first = what_happened(ending, timeout);
  std::string text(without_partial_end(std::string_view(first).substr(0, first_line_bytes_max)));
  if (!ending.last_errors.empty()) text += "\n" + ending.last_errors;
  CHECK(text.size() <= note_bytes_max);
  return text;
}

}  // namespace perennial::tool::work
