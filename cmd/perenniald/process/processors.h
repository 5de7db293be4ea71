#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace perennial::perenniald {

// How many processors this process may use: those that it may run on (sched_getaffinity(2)), but no
// more than its control groups give it time for (cpu.max of cgroup v2), rounded up. At least 1.
unsigned processors();

// What cpu.max gives in a group or one of those above it. None: there is no bound. `root`: where
// cgroup v2 is mounted. `groups`: /proc/self/cgroup.
std::optional<unsigned> processors_by_quota(const std::string& root, std::string_view groups);

}  // namespace perennial::perenniald
