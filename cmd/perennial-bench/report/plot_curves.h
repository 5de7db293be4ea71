#pragma once

#include <span>
#include <string>
#include <vector>

#include "cmd/perennial-bench/report/plot_panel.h"
#include "cmd/perennial-bench/results/measurement.h"

namespace perennial::bench {

// The servers of a report, in the order in which they are first met: each has a class of its own in
// the style sheet, the same in every panel.
std::vector<std::string> server_names(const Report& report);
std::string class_of(size_t server);

// The two panels of one workload, setting and operation.
Panel latency_panel(const std::vector<std::string>& names, std::span<const Measurement> servers,
                    const Frame& frame);
Panel rate_panel(const std::vector<std::string>& names, std::span<const Measurement> servers,
                 const Frame& frame);

// How many colours the style sheet has: s0, s1, ... After them the lines are dashed.
inline constexpr size_t plot_colours = 6;

}  // namespace perennial::bench
