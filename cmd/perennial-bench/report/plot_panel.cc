#include "cmd/perennial-bench/report/plot_panel.h"

#include <algorithm>

namespace perennial::bench {
namespace {

constexpr double tick_length = 4;
constexpr double text_below = 17;  // From the frame to the foot of a label.
constexpr double text_half = 4;    // Half the height of a digit.
constexpr double text_gap = 7;

Point place_of(const Panel& panel, Point value) {
  return {.x = panel.frame.corner.x + panel.x.place_of(value.x) * panel.frame.width,
          .y = panel.frame.corner.y + (1 - panel.y.place_of(value.y)) * panel.frame.height};
}

void draw_x_axis(Svg& svg, const Panel& panel) {
  const double bottom = panel.frame.corner.y + panel.frame.height;
  for (const Axis::Tick& tick : panel.x.ticks) {
    const double x = place_of(panel, {.x = tick.value}).x;
    svg.line("grid", {x, panel.frame.corner.y}, {x, bottom + tick_length});
    svg.text("label", {x, bottom + text_below}, Anchor::Middle, tick.label);
  }
}

void draw_y_axis(Svg& svg, const Panel& panel) {
  const double left = panel.frame.corner.x;
  for (const Axis::Tick& tick : panel.y.ticks) {
    const double y = place_of(panel, {.x = panel.x.lowest, .y = tick.value}).y;
    svg.line("grid", {left - tick_length, y}, {left + panel.frame.width, y});
    svg.text("label", {left - text_gap, y + text_half}, Anchor::End, tick.label);
  }
}

void draw_curve(Svg& svg, const Panel& panel, const Curve& curve) {
  std::vector<Point> points;
  for (const Point& value : curve.points) points.push_back(place_of(panel, value));
  svg.curve(curve.css_class, points);
}

}  // namespace

void draw_panel(Svg& svg, const Panel& panel) {
  svg.text("heading", {panel.frame.corner.x, panel.frame.corner.y - text_gap}, Anchor::Start,
           panel.heading);
  const Point middle = {panel.frame.corner.x + panel.frame.width / 2,
                        panel.frame.corner.y + panel.frame.height / 2};
  const bool empty =
      std::ranges::all_of(panel.curves, [](const Curve& curve) { return curve.points.empty(); });
  if (empty) {
    svg.text("label", middle, Anchor::Middle, "not measured");
  } else {
    draw_x_axis(svg, panel);
    draw_y_axis(svg, panel);
  }
  svg.rectangle("frame", panel.frame.corner, panel.frame.width, panel.frame.height);
  for (const Curve& curve : panel.curves)
    if (!curve.points.empty()) draw_curve(svg, panel, curve);
}

}  // namespace perennial::bench
