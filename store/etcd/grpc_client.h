#pragma once

#include <functional>
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
  // Files in PEM, for the endpoints with https. Without `ca_file` the system's authorities are
  // trusted. The other two are the client's own certificate and key, both or neither.
  std::string ca_file;
  std::string certificate_file;
  std::string key_file;
  // Empty: the client authenticates by its certificate, if at all.
  std::string user;
  std::string password = {};
  // A file whose first line is the password, read again for every token. Empty: `password` is used.
  std::string password_file = {};
  Nanos connect_timeout = nanos_per_second;
  // How often the TLS files are read again, and refused options are retried. 0: never.
  Nanos reread_interval = 0;
  // Checks the files further than that they can be read. Empty: no further check. Called on the
  // executor's thread, and by open_grpc_client().
  std::function<Status()> check_files = {};
};

// Reports whether new options and files are in use, while the client runs. All may be empty. Called
// on the executor's thread, and `options_refused` by open_grpc_client(), too. What is refused is
// retried, and reported once.
struct GrpcClientEvents {
  // New options or files are in use from now on. Watches and calls that are under way keep their
  // connections.
  std::function<void()> options_used;
  // New options or files are not used: a file is bad, or no member answers with them. The former
  // ones stay in use.
  std::function<void(const std::string& why)> options_refused;
  // etcd has accepted another password than before, or one that it had refused.
  std::function<void()> password_used;
  std::function<void(const std::string& why)> password_refused;
};

// A client of real members, whose options may change.
class GrpcClient : public Client {
 public:
  // Switches to these options as soon as one of their members answers and belongs to the same etcd
  // cluster as before. Files are read again even if the options are the same. Called on the
  // executor's thread. REQUIRES: the endpoints are valid.
  virtual void reconfigure(GrpcClientOptions options) = 0;
};

// Makes a client, which connects with its first calls. An error says what is wrong with the options
// or their files. The destructor must be called on the executor's thread, or after the executor was
// stopped.
Result<std::unique_ptr<GrpcClient>> open_grpc_client(GrpcExecutor& executor,
                                                     GrpcClientOptions options,
                                                     GrpcClientEvents events = {});

}  // namespace perennial::store::etcd
