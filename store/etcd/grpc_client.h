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
  // In PEM, for the endpoints with https. Without `ca_file` the system's authorities are trusted.
  // The others are the client's own, and go together.
  std::string ca_file;
  std::string certificate_file;
  std::string key_file;
  // Empty: the client proves nothing, or only by its certificate.
  std::string user;
  std::string password = {};
  // A file whose first line is the password. It is read again for every token. Empty: `password` is
  // it.
  std::string password_file = {};
  Nanos connect_timeout = nanos_per_second;
  // How often the files of TLS are read again, and options tried that were refused. 0: never.
  Nanos look_interval = 0;
  // What is wrong with the files, beyond that they can be read. Empty: nothing is looked for.
  // Called on the executor's thread, and by open_grpc_client().
  std::function<Status()> check_files = {};
};

// What becomes of options and files while the client runs. All may be empty. Called on the
// executor's thread, and `options_refused` by open_grpc_client(), too. What is refused is tried
// again by itself, and said once.
struct GrpcClientEvents {
  // Other options or files than before are in use from now on. Watches and calls that are under way
  // stay on their connections.
  std::function<void()> options_used;
  // They are not: a file is bad, or no member answers with them. What was in use before stays.
  std::function<void(const std::string& why)> options_refused;
  // etcd has taken another password than before, or one that it had refused.
  std::function<void()> password_used;
  std::function<void(const std::string& why)> password_refused;
};

// A client of real members, whose options may change.
class GrpcClient : public Client {
 public:
  // Uses these options as soon as one of their members answers, and is one of the etcd cluster that
  // is in use. Until then everything stays as it is. Files are read again, even if the options are
  // the same. Called on the executor's thread. REQUIRES: the endpoints are valid.
  virtual void reconfigure(GrpcClientOptions options) = 0;
};

// Connects to the members with the first calls. An error says what is wrong with the options or
// their files. The destructor is called on the executor's thread, or after the executor was
// stopped.
Result<std::unique_ptr<GrpcClient>> open_grpc_client(GrpcExecutor& executor,
                                                     GrpcClientOptions options,
                                                     GrpcClientEvents events = {});

}  // namespace perennial::store::etcd
