#pragma once

#include <cstdint>
#include <mutex>
#include <optional>

#include "cmd/perennial/work/log_line.h"
#include "cmd/perennial/work/stop_request.h"
#include "engine/types/status.h"

namespace perennial::tool::work {

// What the runners of a worker share. Each function may be called on any thread.
class Shared {
 public:
  Shared(StopRequest stop, LogFormat format, std::optional<uint64_t> jobs_max)
      : stop_(std::move(stop)), format_(format), jobs_left_(jobs_max) {}

  StopRequest& stop() { return stop_; }

  // Whether one more job may be run; it then counts as run.
  bool take_turn();
  // Writes a line to standard error.
  void log(const LogFields& fields);
  // Log that the server went away, or is back, once for all runners.
  void server_away(const Status& why);
  void server_back();

 private:
  void write(const LogFields& fields) const;

  StopRequest stop_;
  const LogFormat format_;
  // The runners are threads: each waits for its own command and its own connection, and only these
  // are common to them.
  std::mutex mutex_;
  std::optional<uint64_t> jobs_left_;  // None: no limit.
  bool away_ = false;
};

}  // namespace perennial::tool::work
