#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <sys/types.h>

#include "engine/types/status.h"

namespace perennial::oracle {

// One server process, on a free port of 127.0.0.1 and in a temporary directory of its own. Both go
// with it: the process is ended by its pid, the directory is removed.
class Server {
 public:
  enum class Kind : uint8_t { Beanstalkd, Perenniald };

  // Starts it and waits until it accepts connections.
  static Result<std::unique_ptr<Server>> start(Kind kind, uint32_t job_bytes_max);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  uint16_t port() const { return port_; }
  pid_t pid() const { return pid_; }
  // What it has written to its standard output and error, for the report of a failure.
  std::string log() const;

 private:
  Server() = default;
  Status spawn(const std::vector<std::string>& command);
  Status await_listening();
  bool running();

  std::string directory_;
  pid_t pid_ = -1;
  uint16_t port_ = 0;
};

}  // namespace perennial::oracle
