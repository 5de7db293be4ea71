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
  std::string command;       // For the shell, with the placeholders {dir} and {port}.
  std::string parent_dir;    // The parent of its directory.
  std::string preload = {};  // LD_PRELOAD, or empty.
  uint32_t preload_us = 0;   // SLOW_SYNC_US for the library.
};

// A server that is started to be measured, in a temporary directory that is removed with it. It is
// ended with SIGTERM, then with SIGKILL, and it is killed if this process ends first.
class FreshServer {
 public:
  // Starts the server and returns once it answers.
  static Result<std::unique_ptr<FreshServer>> start(const Launch& launch,
                                                    tool::StopSignals& signals);
  ~FreshServer();
  FreshServer(const FreshServer&) = delete;
  FreshServer& operator=(const FreshServer&) = delete;

  // Sends SIGKILL and starts the server in the same directory. Returns the time from exec to the
  // first answer.
  Result<Nanos> kill_and_restart(tool::StopSignals& signals);

  const common::Address& address() const { return address_; }
  pid_t pid() const { return pid_; }
  const std::string& dir() const { return dir_; }

  // The file in dir() with the output of the server.
  static constexpr const char* log_name = "bench.log";

 private:
  FreshServer() = default;
  void spawn();
  // Runs in the child, which becomes the server.
  [[noreturn]] void become_server() const;
  Status wait_until_answering(tool::StopSignals& signals);
  bool answers() const;
  // Whether the server has ended. Waits for up to this time.
  bool ended(int wait_ms);
  std::string errors() const;

  std::string line_;  // The command, expanded for the shell.
  std::string preload_;
  std::string preload_us_;
  std::string dir_;
  common::Address address_;
  pid_t pid_ = -1;
};

// The default parent of temporary directories: TMPDIR or /tmp.
std::string default_parent_dir();

}  // namespace perennial::bench
