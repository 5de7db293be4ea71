#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

// The extensions: what this server has beyond beanstalkd's protocol, and which of them are allowed.
namespace perennial {

enum class Extension : uint8_t {
  Probe,  // The command `extensions`, options and long lines. Allowed unless extensions are off.
  Batch,
  FlushTube,
  ListJobs,
  PeekReserved,
  TouchTtr,
  KeepPriority,
  With,
  PutTube,
  SetJob,
  MoveTube,
  Drain,
  Abort,
  Unique,
  Attempts,
  SetTube,
  Expire,
  Milliseconds,
  TubeLimits,
  ConcurrencyKeys,
  Weights,
  KickTube,
  Match,
  ListClients,
  Notes,
  Ended,
  Schedules,
  // The command `auth`. It is allowed where there are users, and the configuration cannot name it.
  Auth,
};

struct ExtensionRow {
  Extension extension;
  std::string_view name;  // In the configuration, and in the reply to `extensions`.
};
// The extensions that the configuration can name, in the order of the reply.
inline constexpr std::array extension_rows = {
    ExtensionRow{Extension::Batch, "batch"},
    ExtensionRow{Extension::FlushTube, "flush-tube"},
    ExtensionRow{Extension::ListJobs, "list-jobs"},
    ExtensionRow{Extension::PeekReserved, "peek-reserved"},
    ExtensionRow{Extension::TouchTtr, "touch-ttr"},
    ExtensionRow{Extension::KeepPriority, "keep-priority"},
    ExtensionRow{Extension::With, "with"},
    ExtensionRow{Extension::PutTube, "put-tube"},
    ExtensionRow{Extension::SetJob, "set-job"},
    ExtensionRow{Extension::MoveTube, "move-tube"},
    ExtensionRow{Extension::Drain, "drain"},
    ExtensionRow{Extension::Abort, "abort"},
    ExtensionRow{Extension::Unique, "unique"},
    ExtensionRow{Extension::Attempts, "attempts"},
    ExtensionRow{Extension::SetTube, "set-tube"},
    ExtensionRow{Extension::Expire, "expire"},
    ExtensionRow{Extension::Milliseconds, "milliseconds"},
    ExtensionRow{Extension::TubeLimits, "tube-limits"},
    // Not "con": in Tuber, which has the option, a key is one of all tubes together.
    ExtensionRow{Extension::ConcurrencyKeys, "con-tube"},
    ExtensionRow{Extension::Weights, "weights"},
    ExtensionRow{Extension::KickTube, "kick-tube"},
    ExtensionRow{Extension::Match, "match"},
    ExtensionRow{Extension::ListClients, "list-clients"},
    ExtensionRow{Extension::Notes, "notes"},
    ExtensionRow{Extension::Ended, "ended"},
    ExtensionRow{Extension::Schedules, "schedules"},
};

// Finds an extension by its name. Without a value if no extension has this name.
constexpr std::optional<Extension> extension_named(std::string_view name) {
  for (const ExtensionRow& row : extension_rows) {
    if (row.name == name) return row.extension;
  }
  return std::nullopt;
}

// The extensions that a server allows.
class ExtensionSet {
 public:
  // The empty set does not hold the probe either: every reply is beanstalkd's.
  constexpr ExtensionSet() = default;
  // The probe alone, which every other extension needs.
  static constexpr ExtensionSet probe() { return ExtensionSet().with(Extension::Probe); }
  static constexpr ExtensionSet all() {
    ExtensionSet set = probe();
    for (const ExtensionRow& row : extension_rows) set = set.with(row.extension);
    return set;
  }

  constexpr ExtensionSet with(Extension extension) const {
    ExtensionSet set = *this;
    set.bits_ |= bit(extension);
    return set;
  }
  constexpr bool allows(Extension extension) const { return (bits_ & bit(extension)) != 0; }
  // Without a value it is a command that beanstalkd has, too, which is always allowed.
  constexpr bool allows(std::optional<Extension> extension) const {
    return !extension || allows(*extension);
  }
  constexpr bool operator==(const ExtensionSet&) const = default;

 private:
  static constexpr uint32_t bit(Extension extension) {
    return uint32_t{1} << static_cast<unsigned>(extension);
  }

  uint32_t bits_ = 0;
};

}  // namespace perennial
