#pragma once

#include <string>
#include <vector>

#include "cmd/common/address.h"
#include "cmd/common/tool/stats_reply.h"
#include "cmd/perennial-bench/results/measurement.h"
#include "tests/support/server_process.h"

// What the tests of the bench share: servers to be measured, and what they say of themselves.
namespace perennial::bench {

struct Kind {
  const char* name;
  support::Program program;
  bool keeps;  // Its jobs, over a kill.
};
// perenniald; and beanstalkd with and without a binlog, if there is one.
std::vector<Kind> kinds_of_servers();

support::ServerSetup setup_of(const Kind& kind);
// For --against.
std::string command_of(const Kind& kind);

common::Address address_of(const support::ServerProcess& server);
tool::StatsReply stats_of(const support::ServerProcess& server);

// Whether somebody set BEANSTALKD, or tests/run unpacked one.
bool has_beanstalkd();

// The measurement of this workload and operation, whatever its setting. CHECKs that there is one.
const Measurement& find(const Report& report, const std::string& workload,
                        const std::string& operation);
double figure_of(const Measurement& measurement, const std::string& name);

}  // namespace perennial::bench
