#pragma once

#include <signal.h>

#include "cmd/common/socket.h"
#include "engine/types/status.h"

namespace perennial::tool::work {

// While one of these lives, SIGTERM, SIGINT and SIGHUP are read from a descriptor and end nothing,
// and SIGPIPE is ignored. Threads that are started meanwhile inherit this. Made on the main thread.
class BlockedSignals {
 public:
  // Io: the process has no descriptor left.
  static Result<BlockedSignals> make();
  BlockedSignals(BlockedSignals&& other) noexcept;
  BlockedSignals& operator=(BlockedSignals&&) = delete;
  ~BlockedSignals();

  // Readable when a signal has come.
  int fd() const { return signals_.fd(); }
  // The number of the next signal. REQUIRES: fd() is readable.
  int take() const;
  // What was blocked before, and is to be blocked in child processes.
  const sigset_t& before() const { return before_; }

 private:
  BlockedSignals() = default;

  common::Socket signals_;
  sigset_t before_{};
  bool active_ = true;
};

}  // namespace perennial::tool::work
