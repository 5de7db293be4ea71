#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "cmd/perennial-bench/results/measurement.h"
#include "cmd/perennial-bench/results/recorder.h"

namespace perennial::bench {

// What is measured, under which name.
struct Topic {
  std::string workload;
  std::string setting;
  std::string operation;  // name_of() one, or what a figure is called.
};

// How long a load worked, and its share of one core.
struct Effort {
  double seconds = 0;
  double client_cpu = 0;
};

// Collects what the rounds find out, in whatever order they come, into measurements.
class Findings {
 public:
  // `servers`: their names, in the order of the report.
  explicit Findings(std::vector<std::string> servers) : servers_(std::move(servers)) {}

  // What is added from now on is of this server.
  void use_server(size_t place) { place_ = place; }

  void add_rate(const Topic& topic, const Recorder::Entry& entry, const Effort& effort);
  void add_figure(const Topic& topic, const std::string& name, const std::string& unit,
                  double value);

  // Topics in the order in which they came first, each with its servers in theirs.
  std::vector<Measurement> take();

 private:
  struct Values {
    Figure figure;
    std::vector<double> of_rounds;
  };
  struct Found {
    Measurement measurement;
    std::vector<Values> values;
    size_t topic;  // The how manieth.
    size_t place;  // Of its server.
  };

  Found& at(const Topic& topic);
  size_t number_of(const Topic& topic) const;

  const std::vector<std::string> servers_;
  size_t place_ = 0;
  std::vector<Found> found_;
};

}  // namespace perennial::bench
