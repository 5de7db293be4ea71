#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "cmd/perennial-bench/results/measurement.h"
#include "cmd/perennial-bench/results/recorder.h"

namespace perennial::bench {

// The name of a measured quantity.
struct Topic {
  std::string workload;
  std::string setting;
  std::string operation;  // The name of an operation or of a figure.
};

// The duration of a load and its share of one core.
struct Effort {
  double seconds = 0;
  double client_cpu = 0;
};

// Collects the results of rounds, in any order, into measurements.
class Findings {
 public:
  // `servers` are the names in the order of the report.
  explicit Findings(std::vector<std::string> servers) : servers_(std::move(servers)) {}

  // Sets the server to which the following results belong.
  void use_server(size_t place) { place_ = place; }

  void add_rate(const Topic& topic, const Recorder::Entry& entry, const Effort& effort);
  void add_figure(const Topic& topic, const std::string& name, const std::string& unit,
                  double value);

  // Returns topics in the order of their first result, each with its servers in their order.
  std::vector<Measurement> take();

 private:
  struct Values {
    Figure figure;
    std::vector<double> of_rounds;
  };
  struct Found {
    Measurement measurement;
    std::vector<Values> values;
    size_t topic;  // The number of the topic.
    size_t place;  // The place of its server.
  };

  Found& at(const Topic& topic);
  size_t number_of(const Topic& topic) const;

  const std::vector<std::string> servers_;
  size_t place_ = 0;
  std::vector<Found> found_;
};

}  // namespace perennial::bench
