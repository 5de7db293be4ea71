#include "cmd/perenniald/config/config.h"

#include <cerrno>
#include <cstdio>
#include <cstring>

#include <fmt/format.h>
#include <sys/stat.h>

#include "cmd/common/list.h"
#include "cmd/common/private_file.h"
#include "cmd/perenniald/config/config_types.h"

namespace perennial::perenniald {
namespace {

// Far more than all settings with all their comments. The limit is needed for files without an end,
// such as /dev/zero.
constexpr size_t config_bytes_max = 1 << 20;

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

Problems read_users_file(std::vector<access::User>& users, const std::string& path) {
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

std::vector<std::string> settings_to_restart(const Config& running, const Config& read) {
  return differences(config_fields(), &running, &read);
}

std::string config_text(const Config& config, const ConfigField& field) {
  const ValueType& type = field.type();
  if (type.shape != Shape::Value) return value_yaml(field, &config);
  return type.texts(field.value(&config), field)[0];
}

std::string highest_text(const ConfigField& field) {
  return field.type().texts(&field.highest, field)[0];
}

std::string users_text(const std::vector<access::User>& users) {
  constexpr ConfigField all = {.key = "users",
                               .place = {&users_type, [](void* object) { return object; }}};
  return value_yaml(all, &users);
}

std::string print_config(const Config& config) {
  std::string out;
  for (const ConfigField& field : config_fields()) {
    out += fmt::format("# {}\n{}: {}\n", field.help, field.key, value_yaml(field, &config));
  }
  return out;
}

std::vector<std::string> http_hosts(const Config& config) {
  std::vector<std::string> names;
  for (const std::string_view name : common::list_items(config.http_hosts)) {
    if (!name.empty()) names.emplace_back(name);
  }
  return names;
}

}  // namespace perennial::perenniald
