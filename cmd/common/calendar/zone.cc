#include "cmd/common/calendar/zone.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>

#include <fmt/format.h>

#include "absl/strings/ascii.h"
#include "cmd/common/characters.h"

namespace perennial::calendar {
namespace {

constexpr size_t name_bytes_max = 64;
constexpr std::string_view first_line = "# version ";

// No path to another place, and none of the names that mean something else to the library, such as
// that of the machine's own zone, which another machine does not have.
bool is_zone_name(std::string_view name) {
  const auto may_be_in_name = [](unsigned char c) {
    return absl::ascii_isalnum(c) || c == '_' || c == '-' || c == '+' || c == '/';
  };
  return !name.empty() && name.size() <= name_bytes_max && absl::ascii_isupper(name[0]) &&
         std::all_of(name.begin(), name.end(), may_be_in_name);
}

}  // namespace

Result<absl::TimeZone> find_zone(std::string_view name) {
  absl::TimeZone zone;
  if (is_zone_name(name) && absl::LoadTimeZone(std::string(name), &zone)) return zone;
  return Status(
      StatusCode::NotFound,
      fmt::format("there is no time zone '{}' here: a name of the package tzdata, such as "
                  "Europe/Berlin or UTC",
                  common::printable(name.substr(0, name_bytes_max))));
}

std::string tzdata_version() {
  const char* const folder = std::getenv("TZDIR");
  std::ifstream file(
      fmt::format("{}/tzdata.zi", folder == nullptr ? "/usr/share/zoneinfo" : folder));
  std::string line;
  std::getline(file, line);
  return line.starts_with(first_line) ? line.substr(first_line.size()) : std::string();
}

}  // namespace perennial::calendar
