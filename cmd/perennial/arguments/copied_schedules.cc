#include "cmd/perennial/arguments/copied_schedules.h"

#include <fmt/format.h>

namespace perennial::tool {

Flag copied_schedules_flag(std::string& how) {
  return {"--schedules", "HOW", "What schedules are in the new directory",
          &how,          false, {"paused", "active"}};
}

Status check_copied_schedules(std::string_view how) {
  if (how == "paused" || how == "active") return {};
  return {StatusCode::InvalidArgument,
          fmt::format("--schedules is paused or active, and not {}", how)};
}

std::string schedules_paused_text(uint64_t paused, std::string_view command) {
  return fmt::format(
      "{} schedules are paused, so that they put no jobs beside those of the original. Where\n"
      "this takes its place, {} again with --schedules=active: they make up for what was\n"
      "missed. Or end it with 'perennial schedule pause --all --resume', also of those that\n"
      "were paused before.\n",
      paused, command);
}

}  // namespace perennial::tool
