#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include <signal.h>

#include "cmd/common/tool/server_connection.h"
#include "cmd/perennial/work/job.h"
#include "cmd/perennial/work/multiplexer.h"
#include "cmd/perennial/work/settings.h"
#include "cmd/perennial/work/shared.h"
#include "cmd/perennial/work/standard_error/relay.h"

namespace perennial::tool::work {

// One connection that reserves jobs, and runs the command for one at a time. Connects again, ever
// more rarely, while the server is away. Lives on a thread of its own.
class Runner {
 public:
  // All but `inlet` outlive the runner. `multiplexer` may be null: the runner then has a connection
  // of its own. Without `inlet` it leaves no notes.
  Runner(const Settings& settings, Shared& shared, Multiplexer* multiplexer,
         const sigset_t& child_signals, std::optional<Inlet> inlet)
      : settings_(settings),
        shared_(shared),
        multiplexer_(multiplexer),
        child_signals_(child_signals),
        inlet_(std::move(inlet)) {}

  // Returns when the worker is stopped, when it has run as many jobs as it should, and when there
  // is none with --drain. Io: the server was away for longer than --retry allows. InvalidArgument:
  // the address is none, or the server refuses the user. The exit status is that of a shell if the
  // command cannot be started.
  Result<int> run();

 private:
  using Clock = std::chrono::steady_clock;

  // None: there will be none.
  Result<std::optional<Job>> next_job();
  Status connect();
  // None: there was no job for a while.
  Result<std::optional<Job>> reserve();
  Result<std::optional<Job>> describe(JobId id, std::string body);
  // Not exit_clean: the command cannot be started, and no further job should be taken.
  int work_on(const Job& job);
  int give_up(const Status& failure);
  // Tells the server what becomes of the job. Changes the verdict when the server disagrees.
  void conclude(const Job& job, Verdict& verdict, Ending& ending);
  // Leaves the note, unless it is empty, sends the command, and returns the reply to the command.
  Result<wire::ClientReply> tell(const Job& job, const Command& command, std::string note);
  // Fails when the server has been away for too long; else waits, unless the worker is stopped.
  Status wait_to_connect(Status failure);
  // False: the worker is stopped. Io: the time is over.
  Result<bool> wait_for_reply(std::chrono::milliseconds limit);

  const Settings& settings_;
  Shared& shared_;
  Multiplexer* const multiplexer_;
  const sigset_t& child_signals_;
  std::optional<Inlet> inlet_;
  std::optional<ServerConnection> server_;
  ExtensionSet allowed_;  // What the server allows.
  std::optional<Clock::time_point> away_since_;
  std::chrono::milliseconds pause_{0};
};

}  // namespace perennial::tool::work
