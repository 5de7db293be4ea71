#pragma once

#include <string>

#include "engine/types/status.h"

// Draws the report with perennial-bench-plot, a script beside this program that needs jq and
// gnuplot.
namespace perennial::bench {

// Fails if the plotter cannot run here. The script has then written to standard error what to
// install.
Status check_plotter();

// Draws the JSON of a report into an SVG file. Io: the file cannot be written or drawn.
Status draw_plot(const std::string& json, const std::string& path);

}  // namespace perennial::bench
