#pragma once

#include <string_view>
#include <vector>

namespace perennial::bench {

struct Workload {
  std::string_view name;
  std::string_view does;  // One line, for --list and the manual.
};

// As a name: every workload but `custom`.
inline constexpr std::string_view all_name = "all";

// In the order in which they are done.
const std::vector<Workload>& all_workloads();

}  // namespace perennial::bench
