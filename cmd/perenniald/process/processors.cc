#include "cmd/perenniald/process/processors.h"

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <iterator>

#include <sched.h>

#include "cmd/common/list.h"

namespace perennial::perenniald {
namespace {

std::string read_file(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// "MAX PERIOD" in microseconds, where MAX may be the word max.
std::optional<unsigned> quota_in(const std::string& path) {
  std::ifstream file(path);
  uint64_t most = 0;
  uint64_t period = 0;
  if (!(file >> most >> period) || period == 0) return std::nullopt;
  return static_cast<unsigned>(std::clamp<uint64_t>((most + period - 1) / period, 1, 1 << 16));
}

// The one line of cgroup v2 is "0::PATH". Empty: there is none.
std::string_view group_of(std::string_view groups) {
  constexpr std::string_view head = "0::";
  for (const std::string_view line : common::list_items(groups, '\n')) {
    if (line.starts_with(head)) return line.substr(head.size());
  }
  return {};
}

unsigned processors_by_affinity() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  // It fails on a machine with more processors than the set has places for.
  if (::sched_getaffinity(0, sizeof allowed, &allowed) != 0) return CPU_SETSIZE;
  return static_cast<unsigned>(CPU_COUNT(&allowed));
}

}  // namespace

unsigned processors() {
  const unsigned allowed = std::max(processors_by_affinity(), 1U);
  const auto quota = processors_by_quota("/sys/fs/cgroup", read_file("/proc/self/cgroup"));
  return std::min(allowed, quota.value_or(allowed));
}

std::optional<unsigned> processors_by_quota(const std::string& root, std::string_view groups) {
  std::optional<unsigned> fewest;
  std::string_view group = group_of(groups);
  if (!group.starts_with('/')) return std::nullopt;
  for (;;) {
    const auto quota = quota_in(root + std::string(group) + "/cpu.max");
    if (quota) fewest = std::min(*quota, fewest.value_or(*quota));
    if (group.empty()) return fewest;
    group = group.substr(0, group.rfind('/'));
  }
}

}  // namespace perennial::perenniald
