#include "cmd/perenniald/etcd/etcd_connection.h"

#include <string>
#include <utility>

#include "cmd/perenniald/process/log.h"
#include "cmd/perenniald/tls/client_files.h"

namespace perennial::perenniald {
namespace {

// New files are in use before anybody looks for them in the log.
constexpr Nanos files_interval = 5 * nanos_per_second;

constexpr std::string_view credentials = "cluster.credentials";

store::etcd::GrpcClientEvents log_events() {
  return {
      .options_used =
          [] {
            log(Level::Info, credentials, {{"of", "connections"}, {"state", "in_use"}});
          },
      .options_refused =
          [](const std::string& why) {
            log(Level::Error, credentials,
                {{"of", "connections"},
                 {"state", "refused"},
                 {"error", why},
                 {"effect", "what was in use before stays in use; this is tried again"}});
          },
      .password_used =
          [] {
            log(Level::Info, credentials, {{"of", "password"}, {"state", "in_use"}});
          },
      .password_refused =
          [](const std::string& why) {
            log(Level::Error, credentials,
                {{"of", "password"},
                 {"state", "refused"},
                 {"error", why},
                 {"effect", "the one that etcd took last is tried, and the file is read again"}});
          }};
}

}  // namespace

Status check_etcd_files(const ClusterConfig& config) {
  if (Status secrets = check_etcd_secrets(config); !secrets.ok()) return secrets;
  return check_client_files({.authorities = config.etcd_ca,
                             .certificate = config.etcd_certificate,
                             .key = config.etcd_key});
}

store::etcd::GrpcClientOptions etcd_options(const ClusterConfig& config) {
  return {.endpoints = config.etcd,
          .ca_file = config.etcd_ca,
          .certificate_file = config.etcd_certificate,
          .key_file = config.etcd_key,
          .user = config.etcd_user,
          .password_file = config.etcd_password_file,
          .reread_interval = files_interval,
          .check_files = [config] { return check_etcd_files(config); }};
}

Result<std::unique_ptr<store::etcd::GrpcClient>> open_etcd(const ClusterConfig& config,
                                                           store::etcd::GrpcExecutor& executor) {
  if (Status secrets = check_etcd_secrets(config); !secrets.ok()) return secrets;
  Result<std::unique_ptr<store::etcd::GrpcClient>> client =
      store::etcd::open_grpc_client(executor, etcd_options(config), log_events());
  if (!client.ok()) return std::move(client.take_status()).with("cluster");
  return client;
}

}  // namespace perennial::perenniald
