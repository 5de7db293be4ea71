#include "tests/cmd/perennial-bench/sample_report.h"

namespace perennial::bench {
namespace {

Measurement restart_of(const std::string& server, double start_s) {
  return {.workload = "restart",
          .setting = "3000000 jobs",
          .server = server,
          .operation = "start",
          .figures = {{.name = "start", .unit = "s", .value = start_s}}};
}

}  // namespace

Latencies latencies_up_to(int count) {
  Latencies latencies;
  for (int us = 1; us <= count; ++us) latencies.add(Nanos{us} * 1000);
  return latencies;
}

Measurement put_of(const std::string& server, double per_second) {
  const auto an_interval = static_cast<uint64_t>(per_second / 10);
  return {.workload = "put",
          .setting = "50x1",
          .server = server,
          .operation = "put",
          .latencies = latencies_up_to(1000),
          .per_second = {per_second * 0.9, per_second * 1.1, per_second},
          .timeline = {an_interval, an_interval, an_interval / 2, an_interval},
          .client_cpu = 0.42};
}

Report sample_report() {
  return {.machine = "A processor, 2 cores",
          .versions = {"ours: perenniald, version 0.1.0", "logged: beanstalkd -b, version 1.12"},
          .preload = "",
          .seed = 7,
          .seconds = 5,
          .rounds = 3,
          .measurements = {put_of("ours", 200'000), put_of("logged", 100'000),
                           restart_of("ours", 0.95), restart_of("logged", 10.4)}};
}

}  // namespace perennial::bench
