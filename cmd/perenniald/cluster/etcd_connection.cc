#include "cmd/perenniald/cluster/etcd_connection.h"

#include <utility>

#include "store/etcd/grpc_client.h"

namespace perennial::perenniald {

Result<std::unique_ptr<store::etcd::Client>> open_etcd(const ClusterConfig& config,
                                                       store::etcd::GrpcExecutor& executor) {
  if (Status secrets = check_etcd_secrets(config); !secrets.ok()) return secrets;
  Result<std::unique_ptr<store::etcd::Client>> client =
      store::etcd::open_grpc_client(executor, {.endpoints = config.etcd,
                                               .ca_file = config.etcd_ca,
                                               .certificate_file = config.etcd_certificate,
                                               .key_file = config.etcd_key,
                                               .user = config.etcd_user,
                                               .password_file = config.etcd_password_file});
  if (!client.ok()) return std::move(client.take_status()).with("cluster");
  return client;
}

}  // namespace perennial::perenniald
