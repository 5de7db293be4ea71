#include "cmd/perenniald/config/config.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <optional>

#include <fmt/format.h>
#include <sys/stat.h>

#include "cmd/common/address.h"
#include "cmd/common/list.h"
#include "cmd/common/network.h"
#include "cmd/common/private_file.h"
#include "cmd/common/units.h"
#include "cmd/perenniald/config/tube_defaults.h"
#include "engine/types/check.h"
#include "wire/command_line.h"

namespace perennial::perenniald {
namespace {

// Far more than all settings with all their comments. The limit is needed for files without an end,
// such as /dev/zero.
constexpr size_t config_bytes_max = 1 << 20;

// A request for metrics compares each tube with all patterns.
constexpr size_t tube_patterns_max = 50;

using Unit = ConfigUnit;

Status bad(std::string message) {
  return {StatusCode::InvalidArgument, std::move(message)};
}

std::string number_text(const ConfigField& field, uint64_t value) {
  return field.unit == Unit::Bytes ? common::format_bytes(value) : fmt::format("{}", value);
}

Status set_number(uint64_t& member, const ConfigField& field, std::string_view text) {
  const Result<uint64_t> value =
      field.unit == Unit::Bytes ? common::parse_bytes(text) : common::parse_count(text);
  if (value.ok() && field.lowest <= *value && *value <= field.highest) {
    member = *value;
    return {};
  }
  const std::string_view what = field.unit == Unit::Bytes ? "number of bytes" : "whole number";
  return bad(fmt::format("'{}' is not a {} from {} to {}", text, what,
                         number_text(field, field.lowest), number_text(field, field.highest)));
}

Status set_durability(store::Durability& member, std::string_view text) {
  using store::Durability;
  for (const Durability value : {Durability::Commit, Durability::Interval, Durability::Never}) {
    if (text != store::durability_name(value)) continue;
    member = value;
    return {};
  }
  return bad(fmt::format("'{}' is not one of commit, interval, never", text));
}

std::string_view from_name(CheckpointFrom from) {
  return from == CheckpointFrom::Local ? "local" : "any";
}

Status set_from(CheckpointFrom& member, std::string_view text) {
  for (const CheckpointFrom value : {CheckpointFrom::Local, CheckpointFrom::Any}) {
    if (text != from_name(value)) continue;
    member = value;
    return {};
  }
  return bad(fmt::format("'{}' is not one of local, any", text));
}

std::string_view admin_name(AdminOn on) {
  switch (on) {
    case AdminOn::Any:
      return "any";
    case AdminOn::Unix:
      return "unix";
    case AdminOn::None:
      return "none";
  }
  CHECK(!"a value that is none");
  return {};
}

Status set_admin(AdminOn& member, std::string_view text) {
  for (const AdminOn value : {AdminOn::Any, AdminOn::Unix, AdminOn::None}) {
    if (text != admin_name(value)) continue;
    member = value;
    return {};
  }
  return bad(fmt::format("'{}' is not one of any, unix, none", text));
}

Status set_group(GroupAccess& member, std::string_view text) {
  for (const GroupAccess value : {GroupAccess::None, GroupAccess::Read, GroupAccess::Write}) {
    if (text != store::group_access_name(value)) continue;
    member = value;
    return {};
  }
  return bad(fmt::format("'{}' is not one of none, read, write", text));
}

std::string extension_names(const ExtensionSet& allowed) {
  std::vector<std::string_view> names;
  for (const ExtensionRow& row : extension_rows) {
    if (allowed.allows(row.extension)) names.push_back(row.name);
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

Status set_extensions(ExtensionSet& member, std::string_view text) {
  if (text == "all" || text == "none") {
    member = text == "all" ? ExtensionSet::all() : ExtensionSet();
    return {};
  }
  const std::optional<Extension> extension = extension_named(text);
  if (!extension) {
    return bad(fmt::format("'{}' is not all, none, or a list of: {}", text,
                           extension_names(ExtensionSet::all())));
  }
  member = member.with(*extension);
  return {};
}

Status set_switch(bool& member, std::string_view text) {
  if (text != "true" && text != "false") return bad(fmt::format("'{}' is not true or false", text));
  member = text == "true";
  return {};
}

Status set_text(std::string& member, const ConfigField& field, std::string_view text) {
  if (text.size() < field.lowest) return bad("must not be empty");
  if (text.size() > field.highest) {
    return bad(fmt::format("{} bytes are too long: at most {}", text.size(), field.highest));
  }
  member = text;
  return {};
}

Status set_local_address(std::string& member, std::string_view text) {
  if (!text.empty()) {
    const Result<common::Address> address = http_address(std::string(text));
    if (!address.ok()) return address.status();
    if (!common::is_local(*address)) {
      return bad(
          "other machines would reach this address: take 127.0.0.1, [::1], localhost or "
          "unix:PATH, or one of listeners with protocol: http, users and tls");
    }
  }
  member = text;
  return {};
}

Status not_a_pattern(std::string_view text) {
  return bad(
      fmt::format("'{}' is not the name of a tube, in which '*' may stand for any bytes", text));
}

Status add_pattern(std::vector<std::string>& member, std::string_view text) {
  if (!is_tube_pattern(text)) return not_a_pattern(text);
  if (member.size() >= tube_patterns_max) {
    return bad(fmt::format("at most {} patterns", tube_patterns_max));
  }
  member.emplace_back(text);
  return {};
}

Status add_proxy(std::vector<std::string>& member, std::string_view text) {
  if (text != unix_proxies) {
    const Result<common::Network> network = common::parse_network(text);
    if (!network.ok()) return network.status();
  }
  if (member.size() >= proxies_max) return bad(fmt::format("at most {} proxies", proxies_max));
  member.emplace_back(text);
  return {};
}

Status set_port(uint16_t& member, std::string_view text) {
  Result<uint16_t> port = common::parse_port(text);
  if (!port.ok()) return port.take_status();
  member = *port;
  return {};
}

}  // namespace

Status add_tube_group(TubeGroups& groups, std::string_view pattern, std::string_view name) {
  if (!is_tube_pattern(pattern)) return not_a_pattern(pattern);
  if (!wire::is_tube_name(name)) {
    return bad(fmt::format("'{}' could not be the name of a tube", name));
  }
  if (groups.size() >= tube_patterns_max) {
    return bad(fmt::format("at most {} patterns", tube_patterns_max));
  }
  groups.emplace_back(pattern, name);
  return {};
}

// No path holds a NUL.
Status check_text(std::string_view text) {
  if (text.find('\0') != std::string_view::npos) return bad("must not hold a NUL byte");
  return fits_yaml(text) ? Status() : bad("must be UTF-8 text");
}

Status set_config(Config& config, const ConfigField& field, std::string_view text) {
  if (Status status = check_text(text); !status.ok()) return status;
  switch (field.unit) {
    case Unit::Text:
      return set_text(config.*std::get<std::string Config::*>(field.member), field, text);
    case Unit::LocalAddress:
      return set_local_address(config.*std::get<std::string Config::*>(field.member), text);
    case Unit::Addresses: {
      Result<common::Address> address = common::parse_address(text, config.port);
      if (!address.ok()) return address.take_status();
      (config.*std::get<std::vector<std::string> Config::*>(field.member)).emplace_back(text);
      return {};
    }
    case Unit::Patterns:
      return add_pattern(config.*std::get<std::vector<std::string> Config::*>(field.member), text);
    case Unit::Proxies:
      return add_proxy(config.*std::get<std::vector<std::string> Config::*>(field.member), text);
    case Unit::Groups:
      return bad("expected lines of the form 'mail-*: mail'");
    case Unit::Users:
      return bad("expected a list of {name: ..., tokens: [...], grants: [...]}");
    case Unit::Listeners:
      return bad("expected a list of {address: ..., tls: {...}}");
    case Unit::Cluster:
      return bad("expected {name: ..., node: ..., etcd: [...], client_address: ...}");
    case Unit::Port:
      return set_port(config.*std::get<uint16_t Config::*>(field.member), text);
    case Unit::Durability:
      return set_durability(config.*std::get<store::Durability Config::*>(field.member), text);
    case Unit::From:
      return set_from(config.*std::get<CheckpointFrom Config::*>(field.member), text);
    case Unit::AdminOn:
      return set_admin(config.*std::get<AdminOn Config::*>(field.member), text);
    case Unit::Group:
      return set_group(config.*std::get<GroupAccess Config::*>(field.member), text);
    case Unit::Tubes:
      return bad("expected lines of the form 'tube: {tries: 3}'");
    case Unit::Extensions:
      return set_extensions(config.*std::get<ExtensionSet Config::*>(field.member), text);
    case Unit::Switch:
      return set_switch(config.*std::get<bool Config::*>(field.member), text);
    case Unit::Count:
    case Unit::Bytes:
      return set_number(config.*std::get<uint64_t Config::*>(field.member), field, text);
  }
  CHECK(!"a unit without a setter");
  return {};
}

std::vector<std::string> settings_to_restart(const Config& running, const Config& read) {
  std::vector<std::string> names;
  for (const ConfigField& field : config_fields()) {
    if (field.unit == ConfigUnit::Cluster) {
      for (const std::string& key : other_cluster_differences(running.cluster, read.cluster)) {
        names.push_back("cluster." + key);
      }
    } else if (config_text(running, field) != config_text(read, field)) {
      names.emplace_back(field.key);
    }
  }
  return names;
}

std::string config_text(const Config& config, const ConfigField& field) {
  switch (field.unit) {
    case Unit::LocalAddress:
    case Unit::Text:
      return config.*std::get<std::string Config::*>(field.member);
    case Unit::Addresses:
    case Unit::Proxies:
      return fmt::format(
          "{}",
          fmt::join(config.*std::get<std::vector<std::string> Config::*>(field.member), ", "));
    case Unit::Listeners:
      return listeners_text(config.listeners);
    case Unit::Patterns:
      return patterns_text(config.*std::get<std::vector<std::string> Config::*>(field.member));
    case Unit::Groups:
      return tube_groups_text(config.*std::get<TubeGroups Config::*>(field.member));
    case Unit::Users:
      return users_text(config.users);
    case Unit::Cluster:
      return cluster_text(config.cluster);
    case Unit::Port:
      return fmt::format("{}", config.port);
    case Unit::Durability:
      return std::string(store::durability_name(config.durability));
    case Unit::From:
      return std::string(from_name(config.checkpoint_from));
    case Unit::AdminOn:
      return std::string(admin_name(config.admin_on));
    case Unit::Group:
      return std::string(store::group_access_name(config.data_group_access));
    case Unit::Tubes:
      return tubes_text(config.tubes);
    case Unit::Extensions: {
      if (config.extensions == ExtensionSet::all()) return "all";
      if (config.extensions == ExtensionSet()) return "none";
      return fmt::format("[{}]", extension_names(config.extensions));
    }
    case Unit::Switch:
      return config.*std::get<bool Config::*>(field.member) ? "true" : "false";
    case Unit::Count:
    case Unit::Bytes:
      return number_text(field, config.*std::get<uint64_t Config::*>(field.member));
  }
  CHECK(!"a unit without a text");
  return {};
}

std::string highest_text(const ConfigField& field) {
  return number_text(field, field.highest);
}

namespace {

// Reads a whole file. Returns what is wrong.
std::string read_text(const std::string& path, std::string& yaml) {
  std::FILE* const file = std::fopen(path.c_str(), "rb");
  char buffer[4096];
  if (file != nullptr) {
    for (size_t count; (count = std::fread(buffer, 1, sizeof buffer, file)) > 0;) {
      yaml.append(buffer, count);
      if (yaml.size() > config_bytes_max) break;
    }
  }
  const int error = file == nullptr || std::ferror(file) != 0 ? errno : 0;
  if (file != nullptr) std::fclose(file);
  if (error != 0) return fmt::format("{}: cannot be read: {}", path, std::strerror(error));
  if (yaml.size() > config_bytes_max) {
    return fmt::format("{}: is longer than {} bytes: not a configuration", path, config_bytes_max);
  }
  return {};
}

}  // namespace

Problems read_config_file(Config& config, const std::string& path) {
  std::string yaml;
  if (std::string problem = read_text(path, yaml); !problem.empty()) return {std::move(problem)};
  return read_config(config, yaml, path);
}

Problems read_users_file(std::vector<core::User>& users, const std::string& path) {
  struct stat found {};
  if (::stat(path.c_str(), &found) == 0) {
    // A server reads it again while it serves, and would wait until somebody writes into the pipe.
    if (S_ISFIFO(found.st_mode)) return {fmt::format("{}: is a pipe, and not a file", path)};
    if (Status secret = common::check_private(found, path); !secret.ok()) return {secret.message()};
  }
  std::string yaml;
  if (std::string problem = read_text(path, yaml); !problem.empty()) return {std::move(problem)};
  return read_users(users, yaml, path);
}

std::vector<std::string> http_hosts(const Config& config) {
  std::vector<std::string> names;
  for (const std::string_view name : common::list_items(config.http_hosts)) {
    if (!name.empty()) names.emplace_back(name);
  }
  return names;
}

}  // namespace perennial::perenniald
