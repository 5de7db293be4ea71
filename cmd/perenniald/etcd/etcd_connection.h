#pragma once

#include <memory>

#include "cmd/perenniald/config/cluster_config.h"
#include "engine/types/status.h"
#include "store/etcd/grpc_client.h"
#include "store/etcd/grpc_executor.h"

namespace perennial::perenniald {

// A client of the cluster's etcd, as the settings say. It reads its files again every few seconds,
// and logs what becomes of them. InvalidArgument: the settings name a file that cannot be used.
// `executor` outlives it.
Result<std::unique_ptr<store::etcd::GrpcClient>> open_etcd(const ClusterConfig& config,
                                                           store::etcd::GrpcExecutor& executor);
// The settings as options of that client, to reconfigure it. `config` is copied.
store::etcd::GrpcClientOptions etcd_options(const ClusterConfig& config);

// Whether the files that the settings name could be used now. InvalidArgument: the message names
// the file and says what to do.
Status check_etcd_files(const ClusterConfig& config);

}  // namespace perennial::perenniald
