#pragma once

#include <string_view>
#include <vector>

namespace perennial::bench {

struct Workload {
  std::string_view name;
  std::string_view does;  // One line for --list and the manual.
};

// The name of every workload but `custom` together.
inline constexpr std::string_view all_name = "all";

// All workloads in the order in which they run.
const std::vector<Workload>& all_workloads();

}  // namespace perennial::bench
