#include "cmd/perennial-bench/results/findings.h"

#include <algorithm>
#include <utility>

namespace perennial::bench {
namespace {

// REQUIRES: `values` is not empty.
double middle_of(std::vector<double> values) {
  std::ranges::sort(values);
  const size_t middle = values.size() / 2;
  const bool odd = values.size() % 2 == 1;
  return odd ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

bool is_about(const Measurement& measurement, const Topic& topic) {
  return measurement.workload == topic.workload && measurement.setting == topic.setting &&
         measurement.operation == topic.operation;
}

}  // namespace

void Findings::add_rate(const Topic& topic, const Recorder::Entry& entry, const Effort& effort) {
  Measurement& measurement = at(topic).measurement;
  measurement.latencies.add_all(entry.latencies);
  measurement.per_second.push_back(static_cast<double>(entry.count) / effort.seconds);
  measurement.client_cpu = std::max(measurement.client_cpu, effort.client_cpu);
  measurement.timeline = entry.timeline;
  // When the time is over, the last interval has only begun.
  if (measurement.timeline.size() > 1) measurement.timeline.pop_back();
}

void Findings::add_figure(const Topic& topic, const std::string& name, const std::string& unit,
                          double value) {
  std::vector<Values>& values = at(topic).values;
  auto place = std::ranges::find_if(
      values, [&name](const Values& each) { return each.figure.name == name; });
  if (place == values.end())
    place = values.insert(place, {.figure = {.name = name, .unit = unit}, .of_rounds = {}});
  place->of_rounds.push_back(value);
}

std::vector<Measurement> Findings::take() {
  std::ranges::stable_sort(found_, [](const Found& one, const Found& other) {
    return std::pair(one.topic, one.place) < std::pair(other.topic, other.place);
  });
  std::vector<Measurement> measurements;
  for (Found& found : found_) {
    for (Values& values : found.values) {
      values.figure.value = middle_of(values.of_rounds);
      found.measurement.figures.push_back(values.figure);
    }
    measurements.push_back(std::move(found.measurement));
  }
  found_.clear();
  return measurements;
}

Findings::Found& Findings::at(const Topic& topic) {
  for (Found& found : found_)
    if (found.place == place_ && is_about(found.measurement, topic)) return found;
  const size_t number = number_of(topic);
  found_.push_back({.measurement = {.workload = topic.workload,
                                    .setting = topic.setting,
                                    .server = servers_[place_],
                                    .operation = topic.operation},
                    .values = {},
                    .topic = number,
                    .place = place_});
  return found_.back();
}

// Returns the number that another server has for this topic, or a new one.
size_t Findings::number_of(const Topic& topic) const {
  size_t next = 0;
  for (const Found& found : found_) {
    if (is_about(found.measurement, topic)) return found.topic;
    next = std::max(next, found.topic + 1);
  }
  return next;
}

}  // namespace perennial::bench
