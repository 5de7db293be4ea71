#include "cmd/perenniald/config/config_types.h"

#include <fmt/format.h>

#include "cmd/common/address.h"
#include "cmd/common/network.h"
#include "cmd/common/units.h"
#include "wire/command_line.h"

namespace perennial::perenniald {
namespace {

// A request for metrics compares each tube with all patterns.
constexpr size_t tube_patterns_max = 50;
constexpr size_t proxies_max = 50;

Status too_many_patterns() {
  return bad_value(fmt::format("at most {} patterns", tube_patterns_max));
}

}  // namespace

Status set_port(uint16_t& member, const ConfigField&, std::string_view text) {
  Result<uint16_t> port = common::parse_port(text);
  if (!port.ok()) return port.take_status();
  member = *port;
  return {};
}

std::string port_text(const uint16_t& value, const ConfigField&) {
  return fmt::format("{}", value);
}

Status set_auto_count(std::optional<uint64_t>& member, const ConfigField& field,
                      std::string_view text) {
  if (text == "auto") {
    member.reset();
    return {};
  }
  const Result<uint64_t> value = common::parse_count(text);
  if (!value.ok() || *value < field.lowest || *value > field.highest) {
    return bad_value(fmt::format("'{}' is neither auto nor a whole number from {} to {}", text,
                                 field.lowest, field.highest));
  }
  member = *value;
  return {};
}

std::string auto_count_text(const std::optional<uint64_t>& value, const ConfigField&) {
  return value ? fmt::format("{}", *value) : "auto";
}

Status set_local_address(std::string& member, const ConfigField&, std::string_view text) {
  if (!text.empty()) {
    const Result<common::Address> address = http_address(std::string(text));
    if (!address.ok()) return address.status();
    if (!common::is_local(*address)) {
      return bad_value(
          "other machines would reach this address: take 127.0.0.1, [::1], localhost or "
          "unix:PATH, or one of listeners with protocol: http, users and tls");
    }
  }
  member = text;
  return {};
}

Status add_address(std::vector<std::string>& member, const ConfigField&, std::string_view text) {
  Result<common::Address> address = common::parse_address(text, 0);
  if (!address.ok()) return address.take_status();
  member.emplace_back(text);
  return {};
}

Status add_proxy(std::vector<std::string>& member, const ConfigField&, std::string_view text) {
  if (text != unix_proxies) {
    const Result<common::Network> network = common::parse_network(text);
    if (!network.ok()) return network.status();
  }
  if (member.size() >= proxies_max) {
    return bad_value(fmt::format("at most {} proxies", proxies_max));
  }
  member.emplace_back(text);
  return {};
}

Status add_metrics_pattern(std::vector<std::string>& member, const ConfigField& field,
                           std::string_view text) {
  if (is_tube_pattern(text) && member.size() >= tube_patterns_max) return too_many_patterns();
  return add_pattern(member, field, text);
}

Status add_tube_group(TubeGroups& groups, const MapEntry& entry) {
  if (Status status = check_tube_pattern(entry.name); !status.ok()) return status;
  if (!wire::is_tube_name(entry.text)) {
    return bad_value(fmt::format("'{}' could not be the name of a tube", entry.text));
  }
  if (groups.size() >= tube_patterns_max) return too_many_patterns();
  groups.emplace_back(entry.name, entry.text);
  return {};
}

std::vector<MapEntry> tube_group_entries(const TubeGroups& groups) {
  std::vector<MapEntry> entries;
  for (const auto& [pattern, name] : groups) entries.push_back({.name = pattern, .text = name});
  return entries;
}

Status add_extension(ExtensionSet& member, const ConfigField&, std::string_view text) {
  if (text == "all" || text == "none") {
    member = text == "all" ? ExtensionSet::all() : ExtensionSet();
    return {};
  }
  const std::optional<Extension> extension = extension_named(text);
  if (!extension) {
    std::vector<std::string_view> names;
    names.reserve(std::size(extension_rows));
    for (const ExtensionRow& row : extension_rows) names.push_back(row.name);
    return bad_value(
        fmt::format("'{}' is not all, none, or a list of: {}", text, fmt::join(names, ", ")));
  }
  member = member.with(*extension);
  return {};
}

std::vector<std::string> extension_texts(const ExtensionSet& allowed) {
  if (allowed == ExtensionSet::all()) return {"all"};
  if (allowed == ExtensionSet()) return {"none"};
  std::vector<std::string> names;
  for (const ExtensionRow& row : extension_rows) {
    if (allowed.allows(row.extension)) names.emplace_back(row.name);
  }
  return names;
}

}  // namespace perennial::perenniald
