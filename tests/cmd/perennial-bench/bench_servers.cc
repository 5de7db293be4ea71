#include "tests/cmd/perennial-bench/bench_servers.h"

#include <algorithm>

#include <unistd.h>

#include "engine/types/check.h"

namespace perennial::bench {

using support::Program;

bool has_beanstalkd() {
  return ::access(support::program_path(Program::Beanstalkd).c_str(), X_OK) == 0;
}

std::vector<Kind> kinds_of_servers() {
  std::vector<Kind> kinds = {{"Perenniald", Program::Perenniald, true}};
  if (!has_beanstalkd()) return kinds;
  kinds.push_back({"Beanstalkd", Program::Beanstalkd, true});
  kinds.push_back({"BeanstalkdWithoutLog", Program::Beanstalkd, false});
  return kinds;
}

support::ServerSetup setup_of(const Kind& kind) {
  return {.program = kind.program, .data_dir = kind.keeps};
}

std::string command_of(const Kind& kind) {
  std::string command = support::program_path(kind.program) + " -l 127.0.0.1 -p {port}";
  // beanstalkd requires an existing directory, perenniald makes its own.
  if (kind.program == Program::Perenniald) return command + " -b {dir}/data";
  return kind.keeps ? command + " -b {dir}" : command;
}

common::Address address_of(const support::ServerProcess& server) {
  Result<common::Address> address = common::parse_address(server.address(), common::default_port);
  CHECK(address.ok());
  return *address;
}

tool::StatsReply stats_of(const support::ServerProcess& server) {
  support::ClientSocket client = server.connect();
  const Result<std::string> answer = client.ask("stats\r\n");
  CHECK(answer.ok());
  const size_t begin = answer->find("---");
  CHECK(begin != std::string::npos);
  Result<tool::StatsReply> stats =
      tool::StatsReply::parse(answer->substr(begin, answer->size() - begin - 2));
  CHECK(stats.ok());
  return stats.take();
}

const Measurement& find(const Report& report, const std::string& workload,
                        const std::string& operation) {
  const auto found = std::ranges::find_if(report.measurements, [&](const Measurement& each) {
    return each.workload == workload && each.operation == operation;
  });
  CHECK(found != report.measurements.end());
  return *found;
}

double figure_of(const Measurement& measurement, const std::string& name) {
  const auto found = std::ranges::find(measurement.figures, name, &Figure::name);
  CHECK(found != measurement.figures.end());
  return found->value;
}

}  // namespace perennial::bench
