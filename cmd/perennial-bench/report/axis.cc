#include "cmd/perennial-bench/report/axis.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "cmd/perennial-bench/report/numbers.h"

namespace perennial::bench {
namespace {

constexpr double ticks_wanted = 5;
constexpr double decades_with_all_ticks = 2.5;  // Above that only 1, 10 and 100 are labelled.
constexpr double latency_least = 100;           // Nanoseconds; no round trip is as short as that.
constexpr int steps_to_a_decade = 3;
constexpr double round_steps[steps_to_a_decade] = {1, 2, 5};
constexpr double slack = 1e-9;  // For what should be a whole number and is a little off.

// 1, 2, 5, 10, 20, 50, ...: the number at this place of the row, which is 1 at 0.
double round_number(int place) {
  const int decade = static_cast<int>(std::floor(place / double{steps_to_a_decade}));
  return round_steps[place - decade * steps_to_a_decade] * std::pow(10, decade);
}

// The place of the last round number that is not above `value`. REQUIRES: value > 0.
int place_below(double value) {
  int place = steps_to_a_decade * static_cast<int>(std::floor(std::log10(value) + slack));
  while (round_number(place + 1) <= value * (1 + slack)) ++place;
  return place;
}

int place_above(double value) {
  const int below = place_below(value);
  return round_number(below) >= value * (1 - slack) ? below : below + 1;
}

// From 0 in equal steps, a round number each.
Axis even_axis(double highest, std::string (*label)(double)) {
  Axis axis;
  const double step = highest > 0 ? round_number(place_above(highest / ticks_wanted)) : 1;
  const int count = std::max(1, static_cast<int>(std::ceil(highest / step - slack)));
  axis.highest = count * step;
  for (int i = 0; i <= count; ++i)
    axis.ticks.push_back({.value = i * step, .label = label(i * step)});
  return axis;
}

std::string percentile_label(int nines) {
  if (nines < 2) return nines == 0 ? "0" : "90%";
  return fmt::format("99{}{}%", nines > 2 ? "." : "",
                     std::string(static_cast<size_t>(nines - 2), '9'));
}

std::string seconds_label(double seconds) {
  return fmt::format("{:g} s", seconds);
}

}  // namespace

double Axis::place_of(double value) const {
  const double place = logarithmic
                           ? std::log(std::max(value, lowest) / lowest) / std::log(highest / lowest)
                           : (value - lowest) / (highest - lowest);
  return std::clamp(place, 0.0, 1.0);
}

Axis latency_axis(Nanos shortest, Nanos longest) {
  const int first = place_below(std::max(static_cast<double>(shortest), latency_least));
  const int last =
      std::max(place_above(std::max(static_cast<double>(longest), latency_least)), first + 1);
  Axis axis = {.lowest = round_number(first), .highest = round_number(last), .logarithmic = true};
  const bool all = std::log10(axis.highest / axis.lowest) <= decades_with_all_ticks;
  for (int place = first; place <= last; ++place)
    if (all || place % steps_to_a_decade == 0)
      axis.ticks.push_back(
          {.value = round_number(place), .label = short_duration(round_number(place))});
  return axis;
}

Axis rate_axis(double highest) {
  return even_axis(highest, short_number);
}

Axis time_axis(double seconds) {
  return even_axis(seconds, seconds_label);
}

Axis percentile_axis(double nines) {
  Axis axis;
  const int last = std::max(1, static_cast<int>(std::ceil(nines - slack)));
  axis.highest = last;
  for (int nine = 0; nine <= last; ++nine)
    axis.ticks.push_back({.value = double(nine), .label = percentile_label(nine)});
  return axis;
}

}  // namespace perennial::bench
