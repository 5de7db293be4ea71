#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include <uv.h>

#include "cmd/perenniald/checkpoints/checkpoints.h"
#include "cmd/perenniald/config/config.h"
#include "cmd/perenniald/core/core.h"
#include "cmd/perenniald/loop/clock.h"
#include "cmd/perenniald/loop/fine_timer.h"
#include "cmd/perenniald/loop/turn_budget.h"
#include "cmd/perenniald/net/acceptor.h"
#include "cmd/perenniald/net/connections.h"
#include "cmd/perenniald/net/sockets.h"
#include "cmd/perenniald/process/descriptors.h"
#include "cmd/perenniald/process/watchdog.h"
#include "cmd/perenniald/server/body_reads.h"
#include "cmd/perenniald/server/recovery.h"
#include "cmd/perenniald/server/turn.h"
#include "store/commit/log.h"

namespace perennial::perenniald {

// The process's loop, and the parts that are joined by it. It decides only when the process starts
// to serve and when it ends; what a turn does is in turn.h.
//
// It goes through its phases in order, and may leave out some: the store is recovered on a thread
// of its own; what a crash left is settled; clients are served; and, once asked to stop, what was
// accepted is committed and answered before the store is closed.
//
// Checkpoints are made beside all that: checkpoints.h.
//
// A turn ends in on_prepare, just before the loop blocks. (Not uv_check: timer callbacks run after
// it, and their work would wait out the poll.)
class Server {
 public:
  Server(const Config& config, std::vector<BoundSocket> sockets, const Descriptors& descriptors);

  // Serves until a signal ends it. Returns the exit code.
  int run();

 private:
  enum class Phase : uint8_t { Recovering, Settling, Serving, Stopping, Ended };
  struct Loop : uv_loop_t {
    Loop();
    ~Loop();
  };

  // -- Start and end.
  core::Options make_core_options();
  core::Session& open_session(ConnId conn, const AcceptedSocket& socket);
  void start_handles();
  void on_recovered();
  void start_watchdog();
  void watch_closing();
  void begin_serving();
  void begin_stop(std::string_view why);
  bool all_answered() const;
  void end();
  int close_store();

  // -- In between.
  void on_prepare();
  Turn::Around around_turn();
  void on_body(const core::BodyRead& read, Result<Body> body);
  void on_phase_timer();
  void on_signal(int number);

  const Config config_;
  TurnClock clock_;
  TurnBudget budget_{clock_};
  Loop loop_;
  uv_prepare_t prepare_;
  uv_idle_t at_once_;  // While it is active the loop does not block.
  FineTimer timer_;    // For core's next deadline.
  uv_timer_t
      phase_timer_;  // Recovering: word to the service manager. Stopping: the end of patience.
  uv_async_t committed_;
  uv_async_t recovered_;
  uv_signal_t signals_[3];

  Phase phase_ = Phase::Recovering;
  std::atomic<bool> serving_ = false;  // Whether a failure of the store is one of a running server.
  bool drain_ = false;                 // Asked for before there was anything to drain.
  bool patient_ = true;                // Stopping: wait for clients to take their answers.
  int exit_code_ = 0;

  ProcessFacts process_facts_;
  const Descriptors descriptors_;
  core::Core core_;
  Connections connections_;
  Acceptor acceptor_;
  BodyReads body_reads_;
  Checkpoints checkpoints_;
  std::unique_ptr<store::Store> store_;
  std::unique_ptr<store::Log> log_;
  std::optional<Turn> turn_;            // From the end of the recovery on.
  std::unique_ptr<Watchdog> watchdog_;  // Of the log, and then of the end.
  std::optional<Recovery> recovery_;
};

}  // namespace perennial::perenniald
