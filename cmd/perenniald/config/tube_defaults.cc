#include "cmd/perenniald/config/tube_defaults.h"

#include <utility>
#include <variant>

#include <fmt/format.h>

#include "wire/client.h"
#include "wire/command_line.h"

namespace perennial::perenniald {
namespace {

// A name for the line of a set-tube whose settings alone are of interest.
constexpr const char* any_name = "x";

bool is_name_or_beginning(std::string_view pattern) {
  if (!pattern.ends_with('*')) return wire::is_tube_name(pattern);
  const std::string_view beginning = pattern.substr(0, pattern.size() - 1);
  return beginning.empty() || wire::is_tube_name(beginning);
}

// The options of a set-tube.
std::vector<std::pair<std::string, std::string>> options_of(const TubeSettings& settings) {
  std::string line;
  wire::append_command(line, set_tube(any_name, settings));
  std::vector<std::pair<std::string, std::string>> options;
  std::string_view rest = std::string_view(line).substr(0, line.size() - 2);
  for (size_t space = rest.find(' '); space != std::string_view::npos; space = rest.find(' ')) {
    rest.remove_prefix(space + 1);
    const std::string_view option = rest.substr(0, rest.find(' '));
    const size_t colon = option.find(':');
    if (colon == std::string_view::npos) continue;  // The name.
    options.emplace_back(option.substr(0, colon), option.substr(colon + 1));
  }
  return options;
}

// Returns what is wrong with one entry.
Status parse(const MapEntry& entry, TubeDefaults& defaults) {
  if (!is_name_or_beginning(entry.name)) {
    return bad_value(
        "this is neither the name of a tube nor the beginning of one with '*' behind it");
  }
  std::string options;
  for (const auto& [key, value] : entry.options) options += fmt::format(" {}:{}", key, value);
  const Command command = wire::parse_command_line(fmt::format("set-tube {}{}", any_name, options));
  const auto* const set = std::get_if<SetTube>(&command);
  if (set == nullptr) {
    return bad_value(
        fmt::format("'{}' are not settings of a tube: tries, backoff, dead, expire, "
                    "reserved, rate, drain, keep, keep-max, each with a value as in set-tube: "
                    "a time is a number of seconds, or of milliseconds with ms",
                    options.empty() ? options : options.substr(1)));
  }
  defaults.pattern = entry.name;
  change_settings(defaults.settings, *set);
  return {};
}

}  // namespace

Status add_tube_defaults(std::vector<TubeDefaults>& tubes, const MapEntry& entry) {
  TubeDefaults defaults;
  if (Status status = parse(entry, defaults); !status.ok()) {
    return bad_value(fmt::format("{}: {}", entry.name, status.message()));
  }
  tubes.push_back(std::move(defaults));
  return {};
}

std::vector<MapEntry> tube_entries(const std::vector<TubeDefaults>& tubes) {
  std::vector<MapEntry> entries;
  entries.reserve(tubes.size());
  for (const TubeDefaults& tube : tubes) {
    entries.push_back({.name = tube.pattern, .options = options_of(tube.settings)});
  }
  return entries;
}

}  // namespace perennial::perenniald
