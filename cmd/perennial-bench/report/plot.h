#pragma once

#include <string>

#include "engine/types/status.h"

// A drawing of the report, which perennial-bench-plot makes: a script beside this program that
// needs jq and gnuplot.
namespace perennial::bench {

// Whether it can draw here. If not, it has said on standard error what to install.
Status check_plotter();

// Draws the JSON of a report into a file, as an SVG. Io: it cannot be written or drawn.
Status draw_plot(const std::string& json, const std::string& path);

}  // namespace perennial::bench
