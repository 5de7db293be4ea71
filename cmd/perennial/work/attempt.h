#pragma once

#include <chrono>
#include <optional>
#include <string>

#include <signal.h>

#include "cmd/common/tool/server_connection.h"
#include "cmd/perennial/work/child.h"
#include "cmd/perennial/work/job.h"
#include "cmd/perennial/work/settings.h"
#include "cmd/perennial/work/standard_error/command_errors.h"
#include "cmd/perennial/work/stop_request.h"

namespace perennial::tool::work {

// One run of the command for one job, from its start to its end. Touches the job meanwhile, and
// kills the command when it runs for too long, when the worker is stopped, and when the job is no
// longer reserved, because another worker may have it then.
class Attempt {
 public:
  // All of them outlive the attempt. `inlet` may be null: the command then has the worker's
  // standard error, and its end is not kept. REQUIRES: `server` has reserved the job, and no reply
  // of it is outstanding.
  Attempt(const Settings& settings, const StopRequest& stop, const sigset_t& child_signals,
          ServerConnection& server, const Job& job, Inlet* inlet);

  // Returns when the command has ended. Afterwards no reply is outstanding, or the server is
  // given up: server_lost() is true, and the connection is of no use.
  Ending run();
  bool server_lost() const { return server_lost_; }

 private:
  using Clock = std::chrono::steady_clock;

  void watch(Child& child);
  void wait_for_event(const Child& child);
  void look_at_clock(Child& child);
  void touch();
  void take_reply();
  void lose(std::string error, bool server_lost);
  // Sends SIGTERM, and SIGKILL when the command still runs after a few seconds.
  void kill(Child& child, Cause cause);

  const Settings& settings_;
  const StopRequest& stop_;
  const sigset_t& child_signals_;
  ServerConnection& server_;
  const Job& job_;
  Inlet* const inlet_;
  std::optional<CommandErrors> errors_;

  Cause cause_ = Cause::Exited;
  std::string error_;
  bool lost_ = false;
  bool server_lost_ = false;
  bool child_ended_ = false;
  bool stop_asked_ = false;
  bool reply_arrived_ = false;
  bool errors_arrived_ = false;                     // Or were passed on.
  std::optional<Clock::time_point> touch_sent_at_;  // Of a touch without its reply.
  Clock::time_point touch_at_;
  Clock::time_point held_until_;  // The ttr after the last moment when the job was surely ours.
  Clock::time_point timeout_at_;
  Clock::time_point sigkill_at_;
};

}  // namespace perennial::tool::work
