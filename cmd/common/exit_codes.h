#pragma once

// The exit codes that the programs give their supervisor: etc/docs/operations.md, "Exit codes".
namespace perennial::common {

inline constexpr int exit_clean = 0;

// Exit codes of perenniald. Those up to exit_address are beanstalkd's.
inline constexpr int exit_usage = 5;
inline constexpr int exit_locked = 10;
inline constexpr int exit_user_unknown = 32;
inline constexpr int exit_user_group = 33;
inline constexpr int exit_user_switch = 34;
inline constexpr int exit_address = 111;
inline constexpr int exit_damaged = 65;  // Corrupt, from a newer version, or of another program.
inline constexpr int exit_unreadable = 66;
inline constexpr int exit_stalled = 70;
inline constexpr int exit_system = 71;  // No thread can be made, or the clock cannot be right.
inline constexpr int exit_io = 74;      // A write or a sync failed while running.
inline constexpr int exit_disk_full = 75;
inline constexpr int exit_not_leader = 76;  // No longer the leader of its cluster.

// Exit codes of perennial.
inline constexpr int exit_failed = 1;
inline constexpr int exit_tool_usage = 2;
inline constexpr int exit_duplicate = 3;  // Of perennial put: another job has the key.

}  // namespace perennial::common
