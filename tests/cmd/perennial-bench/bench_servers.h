#pragma once

#include <string>
#include <vector>

#include "cmd/common/address.h"
#include "cmd/common/tool/stats_reply.h"
#include "cmd/perennial-bench/results/measurement.h"
#include "tests/support/server_process.h"

// What the tests of the bench share: servers to measure and their statistics.
namespace perennial::bench {

struct Kind {
  const char* name;
  support::Program program;
  bool keeps;  // Whether its jobs survive a kill.
};
// perenniald, and beanstalkd with and without a binlog, if it is installed.
std::vector<Kind> kinds_of_servers();

support::ServerSetup setup_of(const Kind& kind);
// The command for --against.
std::string command_of(const Kind& kind);

common::Address address_of(const support::ServerProcess& server);
tool::StatsReply stats_of(const support::ServerProcess& server);

// Whether BEANSTALKD is set, or tests/run has unpacked beanstalkd.
bool has_beanstalkd();

// The measurement of this workload and operation in any setting. CHECKs that it exists.
const Measurement& find(const Report& report, const std::string& workload,
                        const std::string& operation);
double figure_of(const Measurement& measurement, const std::string& name);

}  // namespace perennial::bench
