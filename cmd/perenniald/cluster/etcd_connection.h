#pragma once

#include <memory>

#include "cmd/perenniald/config/cluster_config.h"
#include "engine/types/status.h"
#include "store/etcd/etcd.h"
#include "store/etcd/grpc_executor.h"

namespace perennial::perenniald {

// A client of the cluster's etcd, as the settings say. InvalidArgument: they name a file that
// cannot be used. `executor` outlives it.
Result<std::unique_ptr<store::etcd::Client>> open_etcd(const ClusterConfig& config,
                                                       store::etcd::GrpcExecutor& executor);

}  // namespace perennial::perenniald
