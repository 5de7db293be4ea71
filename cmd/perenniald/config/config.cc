#include "cmd/perenniald/config/config.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iterator>

#include <fmt/format.h>

#include "cmd/common/address.h"
#include "cmd/common/units.h"
#include "engine/types/basic.h"
#include "engine/types/check.h"

namespace perennial::perenniald {
namespace {

constexpr uint64_t kib = 1ull << 10;
constexpr uint64_t mib = 1ull << 20;
constexpr uint64_t gib = 1ull << 30;
constexpr uint64_t tib = 1ull << 40;
constexpr uint64_t hour_ms = 3'600'000;
constexpr uint64_t year_s = 366ull * 86'400;
constexpr uint64_t uint32_max = 0xffff'ffff;
// Far more than all settings with all their comments; /dev/zero has no end.
constexpr size_t config_bytes_max = 1 << 20;

using Unit = ConfigUnit;
// clang-format off
constexpr ConfigField fields[] = {
    // key, member, unit, default, lowest, highest, help
    {"data_dir", &Config::data_dir, Unit::Text, "perennial-data", 1, 4096,
     "The data directory. Made when it is missing."},
    {"listen", &Config::listen, Unit::Addresses, "", 0, 0,
     "Addresses: HOST, HOST:PORT, [IPV6]:PORT, unix:PATH. Empty: every interface."},
    {"port", &Config::port, Unit::Port, "11300", 0, 0,
     "The port of addresses that name none: a number or a service. 0: any free one."},
    {"user", &Config::user, Unit::Text, "", 0, 256,
     "Become this user, with its groups, once the addresses are bound. Empty: stay."},
    {"durability", &Config::durability, Unit::Durability, "commit", 0, 0,
     "When answers leave: commit, after the sync; interval or never, before it."},
    {"sync_interval_ms", &Config::sync_interval_ms, Unit::Count, "50", 1, hour_ms,
     "In mode interval: the longest time between a write and its sync."},
    {"sync_idle_ms", &Config::sync_idle_ms, Unit::Count, "100", 1, hour_ms,
     "How long what nobody was promised, such as a reservation, may wait to be written."},
    {"job_bytes_max", &Config::job_bytes_max, Unit::Bytes, "65535", 1, gib,
     "The largest body. Past it: JOB_TOO_BIG."},
    {"connections_max", &Config::connections_max, Unit::Count, "0", 0, 1ull << 24,
     "Past it, clients wait to be accepted. 0: three quarters of the file descriptors."},
    {"jobs_max", &Config::jobs_max, Unit::Count, "0", 0, 1'000'000'000'000,
     "The most jobs. Past it: OUT_OF_MEMORY. 0: no limit."},
    {"tubes_max", &Config::tubes_max, Unit::Count, "1000000", 1, tube_id_limit,
     "The most tubes. Past it: OUT_OF_MEMORY."},
    {"memory_bytes_max", &Config::memory_bytes_max, Unit::Bytes, "0", 0, 1024 * tib,
     "Memory for jobs and clients, past which put gets OUT_OF_MEMORY. 0: no limit."},
    {"watched_max", &Config::watched_max, Unit::Count, "100000", 1, uint32_max,
     "The most tubes that one connection watches. Past it: OUT_OF_MEMORY."},
    {"reserved_max", &Config::reserved_max, Unit::Count, "100000", 1, uint32_max,
     "The most jobs that one connection holds. Past it: OUT_OF_MEMORY."},
    {"pipeline_bytes_max", &Config::pipeline_bytes_max, Unit::Bytes, "64KiB", kib, gib,
     "Bytes kept of commands that wait behind one that blocks. Past it: not read."},
    {"output_bytes_max", &Config::output_bytes_max, Unit::Bytes, "4MiB", 64 * kib, tib,
     "Answers kept for a client that does not read. Past it: not read."},
    {"output_total_bytes_max", &Config::output_total_bytes_max, Unit::Bytes, "256MiB", mib,
     1024 * tib, "The same of all clients. Past it: those with 64KiB and more are not read."},
    {"pending_bytes_max", &Config::pending_bytes_max, Unit::Bytes, "64MiB", mib, tib,
     "Bytes on their way to the disk. Past it: connections that put are not read."},
    {"batch_bytes_max", &Config::batch_bytes_max, Unit::Bytes, "4MiB", 64 * kib, gib,
     "Bytes written in one go. A larger job travels alone."},
    {"moves_per_turn_max", &Config::moves_per_turn_max, Unit::Count, "10000", 1, 10'000'000,
     "Jobs moved at once by one kick, one closed connection or one moment."},
    {"body_cache_bytes", &Config::body_cache_bytes, Unit::Bytes, "64MiB", 0, tib,
     "Memory for bodies of new jobs, which saves reading them from the disk."},
    {"log_bytes_max", &Config::log_bytes_max, Unit::Bytes, "64MiB", 8 * mib, 16 * gib,
     "The bound of the write-ahead log, read whole at a start after a crash."},
    {"low_water_bytes", &Config::low_water_bytes, Unit::Bytes, "0", 0, 1024 * tib,
     "With less disk space free, put gets OUT_OF_MEMORY. 0: 640MiB, or as the log and disk are."},
    {"ballast_bytes", &Config::ballast_bytes, Unit::Bytes, "0", 0, tib,
     "Space kept for deletes in a full disk. 0: twice log_bytes_max or an eighth of the disk."},
    {"open_bytes_min", &Config::open_bytes_min, Unit::Bytes, "0", 0, tib,
     "The free space without which it does not start. 0: 16MiB or a 256th of the disk."},
    {"stall_seconds_max", &Config::stall_seconds_max, Unit::Count, "30", 0, 86'400,
     "How long one write or sync may take before the process ends, with 70. 0: for ever."},
    {"checkpoint_dir", &Config::checkpoint_dir, Unit::Text, "", 0, 4096,
     "Where checkpoints go: on the data directory's file system. Empty: its 'checkpoints'."},
    {"checkpoint_every_s", &Config::checkpoint_every_s, Unit::Count, "0", 0, year_s,
     "Seconds from one scheduled checkpoint to the next. 0: only when a client asks."},
    {"checkpoint_keep", &Config::checkpoint_keep, Unit::Count, "3", 0, 1'000'000,
     "How many the schedule keeps: after each of its own the oldest go. 0: all."},
    {"checkpoint_from", &Config::checkpoint_from, Unit::From, "local", 0, 0,
     "Who may ask for one: local, clients on this machine; any, everyone."},
    {"tcp_keepalive_s", &Config::tcp_keepalive_s, Unit::Count, "60", 0, 32'767,
     "A silent client is asked whether it is there, and gone if four asks stay unanswered. 0: off."},
    {"tcp_user_timeout_s", &Config::tcp_user_timeout_s, Unit::Count, "0", 0, 86'400,
     "How long a client may leave bytes or asks unanswered, or bytes unread. 0: the system's."},
    {"core_dumps", &Config::core_dumps, Unit::Switch, "false", 0, 0,
     "Whether a crash may leave a core dump, which holds the bodies of jobs."},
    {"verbosity", &Config::verbosity, Unit::Count, "0", 0, 3,
     "0: what an operator needs. 1 and more: every connection too."},
};
// clang-format on

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

// What could not be printed could not be taken back from there, and no path holds a NUL.
Status check_text(std::string_view text) {
  if (text.find('\0') != std::string_view::npos) return bad("must not hold a NUL byte");
  return fits_yaml(text) ? Status() : bad("must be UTF-8 text");
}

Status set_port(uint16_t& member, std::string_view text) {
  Result<uint16_t> port = common::parse_port(text);
  if (!port.ok()) return port.take_status();
  member = *port;
  return {};
}

}  // namespace

std::span<const ConfigField> config_fields() {
  return fields;
}

const ConfigField& config_field(std::string_view key) {
  const ConfigField* const found =
      std::find_if(std::begin(fields), std::end(fields),
                   [&](const ConfigField& field) { return field.key == key; });
  CHECK(found != std::end(fields));
  return *found;
}

Config default_config() {
  Config config{};
  for (const ConfigField& field : fields) {
    if (field.unit == Unit::Addresses) continue;  // None: every interface.
    CHECK(set_config(config, field, field.initial).ok());
  }
  return config;
}

Status set_config(Config& config, const ConfigField& field, std::string_view text) {
  if (Status status = check_text(text); !status.ok()) return status;
  switch (field.unit) {
    case Unit::Text:
      return set_text(config.*std::get<std::string Config::*>(field.member), field, text);
    case Unit::Addresses: {
      Result<common::Address> address = common::parse_address(text, config.port);
      if (!address.ok()) return address.take_status();
      (config.*std::get<std::vector<std::string> Config::*>(field.member)).emplace_back(text);
      return {};
    }
    case Unit::Port:
      return set_port(config.*std::get<uint16_t Config::*>(field.member), text);
    case Unit::Durability:
      return set_durability(config.*std::get<store::Durability Config::*>(field.member), text);
    case Unit::From:
      return set_from(config.*std::get<CheckpointFrom Config::*>(field.member), text);
    case Unit::Switch:
      return set_switch(config.*std::get<bool Config::*>(field.member), text);
    case Unit::Count:
    case Unit::Bytes:
      return set_number(config.*std::get<uint64_t Config::*>(field.member), field, text);
  }
  CHECK(!"a unit without a setter");
  return {};
}

std::string config_text(const Config& config, const ConfigField& field) {
  switch (field.unit) {
    case Unit::Text:
      return config.*std::get<std::string Config::*>(field.member);
    case Unit::Addresses:
      return fmt::format("{}", fmt::join(config.listen, ", "));
    case Unit::Port:
      return fmt::format("{}", config.port);
    case Unit::Durability:
      return std::string(store::durability_name(config.durability));
    case Unit::From:
      return std::string(from_name(config.checkpoint_from));
    case Unit::Switch:
      return config.*std::get<bool Config::*>(field.member) ? "true" : "false";
    case Unit::Count:
    case Unit::Bytes:
      return number_text(field, config.*std::get<uint64_t Config::*>(field.member));
  }
  CHECK(!"a unit without a text");
  return {};
}

Problems read_config_file(Config& config, const std::string& path) {
  std::FILE* const file = std::fopen(path.c_str(), "rb");
  std::string yaml;
  char buffer[4096];
  if (file != nullptr) {
    for (size_t count; (count = std::fread(buffer, 1, sizeof buffer, file)) > 0;) {
      yaml.append(buffer, count);
      if (yaml.size() > config_bytes_max) break;
    }
  }
  const int error = file == nullptr || std::ferror(file) != 0 ? errno : 0;
  if (file != nullptr) std::fclose(file);
  if (error != 0) return {fmt::format("{}: cannot be read: {}", path, std::strerror(error))};
  if (yaml.size() > config_bytes_max) {
    return {
        fmt::format("{}: is longer than {} bytes: not a configuration", path, config_bytes_max)};
  }
  return read_config(config, yaml, path);
}

}  // namespace perennial::perenniald
