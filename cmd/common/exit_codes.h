#pragma once

// What the programs tell their supervisor by the way they end: README.md, "Limits".
namespace perennial::common {

inline constexpr int exit_clean = 0;

// perenniald. The first ones are beanstalkd's.
inline constexpr int exit_usage = 5;
inline constexpr int exit_locked = 10;
inline constexpr int exit_user_unknown = 32;
inline constexpr int exit_user_group = 33;
inline constexpr int exit_user_switch = 34;
inline constexpr int exit_address = 111;
inline constexpr int exit_damaged = 65;  // Corrupt, from a newer version, or not ours.
inline constexpr int exit_unreadable = 66;
inline constexpr int exit_stalled = 70;
inline constexpr int exit_io = 74;  // A write or a sync failed while running.
inline constexpr int exit_disk_full = 75;

// perennial.
inline constexpr int exit_failed = 1;
inline constexpr int exit_tool_usage = 2;

}  // namespace perennial::common
