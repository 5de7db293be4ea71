#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/types/status.h"
#include "store/etcd/etcd.h"

namespace perennial::store::etcd {

class GrpcExecutor;

struct GrpcClientOptions {
  // http://HOST:PORT or https://HOST:PORT, one for each member. The order is that of
  // Client::member_status(), and calls go to the first that answers.
  std::vector<std::string> endpoints;
  // In PEM, for the endpoints with https. Without `ca_file` the system's authorities are trusted.
  // The others are the client's own, and go together.
  std::string ca_file;
  std::string certificate_file;
  std::string key_file;
  // Empty: the client proves nothing, or only by its certificate.
  std::string user;
  std::string password = {};
  // A file whose first line is the password. Empty: `password` is it.
  std::string password_file = {};
  Nanos connect_timeout = nanos_per_second;
};

// A client of real members, which it connects to with the first calls. An error says what is wrong
// with the options or their files. The destructor is called on the executor's thread, or after the
// executor was stopped.
Result<std::unique_ptr<Client>> open_grpc_client(GrpcExecutor& executor, GrpcClientOptions options);

}  // namespace perennial::store::etcd
