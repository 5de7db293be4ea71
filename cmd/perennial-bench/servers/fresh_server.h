#pragma once

#include <memory>
#include <string>

#include <sys/types.h>

#include "cmd/common/address.h"
#include "cmd/common/tool/stop_signals.h"
#include "engine/types/basic.h"
#include "engine/types/status.h"

namespace perennial::bench {

// How a server is started.
struct Launch {
  std::string command;       // For the shell, with {dir} and {port} in it.
  std::string parent_dir;    // Where its directory goes.
  std::string preload = {};  // LD_PRELOAD. Empty: none.
  uint32_t preload_us = 0;   // SLOW_SYNC_US for it.
};

// A server that was started to be measured, in a temporary directory that goes with it. Ended with
// SIGTERM, and SIGKILL if that does not help; killed if this process ends without either.
class FreshServer {
 public:
  // Returns once it answers.
  static Result<std::unique_ptr<FreshServer>> start(const Launch& launch,
                                                    tool::StopSignals& signals);
  ~FreshServer();
  FreshServer(const FreshServer&) = delete;
  FreshServer& operator=(const FreshServer&) = delete;

  // SIGKILL, and a start in the same directory: how long that took from exec to the first answer.
  Result<Nanos> kill_and_restart(tool::StopSignals& signals);

  const common::Address& address() const { return address_; }
  pid_t pid() const { return pid_; }
  const std::string& dir() const { return dir_; }

  // In dir(): what the server printed.
  static constexpr const char* log_name = "bench.log";

 private:
  FreshServer() = default;
  void spawn();
  // In the child, which becomes the server.
  [[noreturn]] void become_server() const;
  Status wait_until_answering(tool::StopSignals& signals);
  bool answers() const;
  // Whether it has ended; waits so long for it.
  bool ended(int wait_ms);
  std::string errors() const;

  std::string line_;  // The command, ready for the shell.
  std::string preload_;
  std::string preload_us_;
  std::string dir_;
  common::Address address_;
  pid_t pid_ = -1;
};

// Where temporary directories go when nothing else is said: TMPDIR or /tmp.
std::string default_parent_dir();

}  // namespace perennial::bench
