#include <csignal>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cmd/common/exit_codes.h"
#include "cmd/perenniald/process/failure.h"
#include "cmd/perenniald/process/log.h"
#include "cmd/perenniald/process/service_manager.h"
#include "cmd/perenniald/server/access_control.h"
#include "cmd/perenniald/server/options.h"
#include "cmd/perenniald/server/server.h"
#include "engine/types/check.h"
#include "store/commit/local_log.h"

// How the server starts and ends. turn.cc has what it does in between.
namespace perennial::perenniald {
namespace {

// While the store is loaded, the service manager gets this message every progress_ms. It allows 30
// seconds until the next one.
constexpr uint64_t progress_ms = 5'000;
constexpr const char* progress =
    "EXTEND_TIMEOUT_USEC=30000000\nSTATUS=Recovering the data directory";
// How long a stop waits for clients that do not take their answers.
constexpr uint64_t client_wait_ms = 2'000;

std::string text(uint64_t number) {
  return fmt::format("{}", number);
}

}  // namespace

int Server::run() {
  if (config_.connections_max > descriptors_.connections) {
    log(Level::Warning, "connections_max",
        {{"asked", text(config_.connections_max)}, {"using", text(descriptors_.connections)}});
  }
  const auto fired = [](uv_timer_t* handle) {
    static_cast<Server*>(handle->data)->on_phase_timer();
  };
  CHECK(uv_timer_start(&phase_timer_, fired, 0, progress_ms) == 0);
  if (become_member()) {
    store::Options options = store_options(config_, serving_);
    options.open_tables_max = descriptors_.tables;
    startup_.emplace(std::move(options), member_.get(), core_.engine(), clock_,
                     [this] { uv_async_send(&loaded_); });
  } else {
    end();
  }
  uv_run(&loop_, UV_RUN_DEFAULT);
  return close_store();
}

// Returns false if the server is part of a cluster and its settings are wrong.
bool Server::become_member() {
  if (!config_.cluster.is_set()) return true;
  Result<std::unique_ptr<Member>> member = Member::create(config_.cluster, process_facts_.version,
                                                          [this] { uv_async_send(&committed_); });
  if (!member.ok()) {
    exit_code_ = report({common::exit_usage, "cluster", member.status().message()});
    return false;
  }
  member_ = member.take();
  return true;
}

void Server::on_phase_timer() {
  if (phase_ == Phase::Stopping) {
    waits_for_clients_ = false;
  } else {
    notify_manager(progress);
  }
}

void Server::on_loaded() {
  std::optional<Startup::Found> found = startup_->take();
  if (startup_->failure()) exit_code_ = report(*startup_->failure());
  if (!found) return end();
  log(Level::Info, "store.recovered",
      {{"ready", text(found->jobs.ready)},
       {"reserved", text(found->jobs.reserved)},
       {"delayed", text(found->jobs.delayed)},
       {"buried", text(found->jobs.buried)},
       {"tubes", text(found->tubes)},
       {"took_ms", text(static_cast<uint64_t>(found->took / nanos_per_ms))}});
  recovery_took_ = found->took;
  recovered_jobs_ = core_.engine().job_count();
  store_ = std::move(found->store);
  const store::Opening& opening = found->opening;
  if (member_ != nullptr) {
    log_ = member_->take_log();
  } else {
    log_ = std::make_unique<store::LocalLog>(*store_, [this] { uv_async_send(&committed_); });
  }
  turn_.emplace(core_, *log_, clock_, budget_, turn_hooks());
  serving_ = true;
  start_watchdog();
  phase_ = Phase::CatchingUp;
  core_.resume(opening.epoch, opening.last_index, opening.next_id, clock_.now());
  if (drain_) core_.on_drain(clock_.now());
}

void Server::start_watchdog() {
  const uint64_t seconds = config_.stall_seconds_max;
  if (seconds == 0) return;
  const auto look = [this] { return WorkSeen{.busy = log_->busy(), .progress = log_->progress()}; };
  const auto stalled = [seconds] {
    end_process(
        {common::exit_stalled, "store.stalled",
         fmt::format("a write or a sync has not ended for {} s (stall_seconds_max)", seconds)});
  };
  watchdog_ =
      std::make_unique<Watchdog>(static_cast<Nanos>(seconds) * nanos_per_second, look, stalled);
}

// From here on everything that was promised is in the log, so a close that hangs may be ended.
void Server::watch_closing() {
  const uint64_t seconds = config_.stall_seconds_max;
  if (store_ == nullptr || seconds == 0) return;
  const auto look = [this] { return WorkSeen{.busy = true, .progress = store_->progress()}; };
  const auto stalled = [seconds] {
    end_process({common::exit_stalled, "store.stalled",
                 fmt::format("closing has written nothing for {} s (stall_seconds_max); what was "
                             "promised is in the log",
                             seconds)});
  };
  watchdog_ =
      std::make_unique<Watchdog>(static_cast<Nanos>(seconds) * nanos_per_second, look, stalled);
}

void Server::begin_serving() {
  uv_timer_stop(&phase_timer_);
  phase_ = Phase::Serving;
  if (Status status = checkpoints_.open(store_->identity()); !status.ok()) {
    exit_code_ = report({common::exit_usage, "checkpoint_dir", status.message()});
    return begin_stop("checkpoint_dir");
  }
  if (Status status = acceptor_.listen(); !status.ok()) {
    exit_code_ = report({common::exit_address, "listen", status.message()});
    return begin_stop("listen");
  }
  for (const std::string& name : acceptor_.names()) log(Level::Info, "listen", {{"address", name}});
  if (acceptor_.has_role(ListenerRole::Http)) start_http_timer();
  tls_.start();
  notify_manager("READY=1\nSTATUS=Serving");
}

void Server::on_signal(int number) {
  if (number == SIGUSR1) {
    log(Level::Info, "drain", {});
    drain_ = true;
    if (log_ != nullptr) core_.on_drain(clock_.now());
    return;
  }
  if (number == SIGHUP) {
    // Before that the files were just read, and start() looks at them again.
    if (phase_ == Phase::Serving) reload();
    return;
  }
  switch (phase_) {
    case Phase::Loading:
      log(Level::Info, "stop", {{"why", strsignal(number)}});
      return startup_->cancel();
    case Phase::CatchingUp:
    case Phase::Serving:
      return begin_stop(strsignal(number));
    case Phase::Stopping:
    case Phase::Ended:
      waits_for_clients_ = false;  // Asked twice.
  }
}

std::vector<http::FileRead> Server::reload() {
  std::vector<http::FileRead> read;
  for (auto& [listener, status] : tls_.reload_all()) {
    read.push_back({.name = std::move(listener), .error = status.ok() ? "" : status.message()});
  }
  if (!config_.users_file.empty()) {
    read.push_back({.name = config_.users_file, .error = reload_users()});
  }
  return read;
}

// With a bad file the users stay as they are.
std::string Server::reload_users() {
  Problems problems;
  std::shared_ptr<const core::Users> users = load_users(config_, problems);
  users_are_current_ = users != nullptr;
  if (users == nullptr) {
    std::string error = fmt::format("{}", fmt::join(problems, "; "));
    log(Level::Error, "users.reload", {{"file", config_.users_file}, {"error", error}});
    return error;
  }
  log(Level::Info, "users.reload",
      {{"file", config_.users_file}, {"users", text(users->all().size())}});
  core_.set_users(std::move(users));
  users_reloaded_at_ = clock_.now();
  return {};
}

void Server::begin_stop(std::string_view why) {
  log(Level::Info, "stop",
      {{"why", std::string(why)}, {"connections", text(connections_.count())}});
  notify_manager("STOPPING=1\nSTATUS=Stopping");
  phase_ = Phase::Stopping;
  turn_->begin_stop();
  acceptor_.close();
  connections_.stop_reading();
  checkpoints_.stop();
  const auto fired = [](uv_timer_t* handle) {
    static_cast<Server*>(handle->data)->on_phase_timer();
  };
  CHECK(uv_timer_start(&phase_timer_, fired, client_wait_ms, 0) == 0);
}

bool Server::all_answered() const {
  return core_.quiet() && log_->idle() && !body_reads_.busy() && !body_search_.busy() &&
         !(waits_for_clients_ && connections_.writing());
}

// Closes all handles of the loop, which ends it.
void Server::end() {
  phase_ = Phase::Ended;
  watch_closing();
  if (log_ != nullptr) log_->stop();
  checkpoints_.close();
  connections_.close_all();
  acceptor_.close();
  const auto close = [](auto& handle) {
    uv_close(reinterpret_cast<uv_handle_t*>(&handle), nullptr);
  };
  close(prepare_);
  close(at_once_);
  timer_.close();
  close(phase_timer_);
  close(http_timer_);
  tls_.close();
  close(committed_);
  close(loaded_);
  for (uv_signal_t& signal : signals_) close(signal);
}

int Server::close_store() {
  if (store_ == nullptr) return exit_code_;
  turn_.reset();
  if (member_ != nullptr) return close_member();
  log_.reset();
  const Status closed = store_->close(core_.engine().next_id());
  watchdog_.reset();
  if (!closed.ok()) return report(running_failure(closed));
  log(Level::Info, "stopped", {{"jobs", text(core_.engine().job_count())}});
  return exit_code_;
}

// The directory of a node is left as its log has it: the row of the next id, which a clean stop
// makes exact elsewhere, stays the same as on the other nodes.
int Server::close_member() {
  member_->leave();
  log_.reset();
  member_.reset();
  const Status flushed = store_->flush();
  watchdog_.reset();
  if (!flushed.ok()) return report(running_failure(flushed));
  store_.reset();
  log(Level::Info, "stopped", {{"jobs", text(core_.engine().job_count())}});
  return exit_code_;
}

}  // namespace perennial::perenniald
