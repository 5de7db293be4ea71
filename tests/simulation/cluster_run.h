#pragma once

#include <cstdint>
#include <string>

#include "tests/simulation/cluster.h"
#include "tests/simulation/drive.h"

namespace perennial::simulation {

// The whole existence of a cluster: one leader after the other, each of which is driven by random
// clients and ends with a kill, a power cut, a handover or a stop from which it wakes later, or
// because etcd and the network fail. The checker holds what clients see of all leaders together
// against the promises of a single server: nothing acknowledged is lost, no id is used twice, no
// deleted job is back (C1 to C6). In the end the nodes hold the same rows (C3). Everything follows
// from the seed. Returns the problem, or an empty string.
struct ClusterRun {
  uint64_t seed = 0;
  ClusterBug bug = ClusterBug::None;
};
std::string run(const ClusterRun& plan, Figures& figures);

}  // namespace perennial::simulation
