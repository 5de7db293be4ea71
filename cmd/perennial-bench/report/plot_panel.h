#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cmd/perennial-bench/report/axis.h"
#include "cmd/perennial-bench/report/svg.h"

namespace perennial::bench {

// A line of one server, in the values of the axes.
struct Curve {
  std::string css_class;
  std::vector<Point> points = {};
};

struct Frame {
  Point corner;
  double width = 0;
  double height = 0;
};

// One diagram. What its axes say stands below and at the left of the frame.
struct Panel {
  Frame frame;
  std::string_view heading;  // Of static storage.
  Axis x;
  Axis y;
  std::vector<Curve> curves = {};
};

// Curves without points are left out; with none at all it says so.
void draw_panel(Svg& svg, const Panel& panel);

}  // namespace perennial::bench
