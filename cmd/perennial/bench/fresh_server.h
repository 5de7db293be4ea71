#pragma once

#include <memory>
#include <string>

#include <sys/types.h>

#include "cmd/common/address.h"
#include "engine/types/status.h"

namespace perennial::bench {

// A server that was started to be measured, in a temporary directory that goes with it. `command`
// is for the shell, with {dir} and {port} in it. Ended with SIGTERM, and SIGKILL if that does not
// help.
class FreshServer {
 public:
  static Result<std::unique_ptr<FreshServer>> start(const std::string& command,
                                                    const std::string& parent_dir);
  ~FreshServer();
  FreshServer(const FreshServer&) = delete;
  FreshServer& operator=(const FreshServer&) = delete;

  const common::Address& address() const { return address_; }

 private:
  FreshServer() = default;
  void spawn(const std::string& command);
  Status wait_until_accepting();
  // Whether it has ended; waits so long for it.
  bool ended(int wait_ms);
  std::string errors() const;

  std::string dir_;
  common::Address address_;
  pid_t pid_ = -1;
};

// Where temporary directories go when nothing else is said: TMPDIR or /tmp.
std::string default_parent_dir();

}  // namespace perennial::bench
