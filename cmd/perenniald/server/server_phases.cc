#include <csignal>
#include <utility>

#include <fmt/format.h>

#include "cmd/common/exit_codes.h"
#include "cmd/perenniald/process/aborts.h"
#include "cmd/perenniald/process/failure.h"
#include "cmd/perenniald/process/log.h"
#include "cmd/perenniald/process/service_manager.h"
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
  loop_.start_phase_timer(0, progress_ms);
  make_threads("the pool that reads bodies", [this] { loop_.make_pool(); });
  if (IoThreads* const threads = connections_.threads(); threads != nullptr) {
    make_threads("the threads of io_threads", [threads] { threads->start(); });
  }
  if (acceptor_.has_role(ListenerRole::Http)) {
    make_threads("the thread of HTTP", [this] { http_.start(); });
  }
  const auto is_http = [](const BoundSocket& socket) {
    return socket.role() == ListenerRole::Http;
  };
  if (listen(is_http) && join_cluster()) {
    loop_.start_seconds();
    store::Options options = store_options(config_, connections_.threads() != nullptr, is_written_);
    options.open_tables_max = descriptors_.tables;
    startup_.emplace(std::move(options), config_.data_group_access, node_.runner(), is_written_,
                     core_.engine(), clock_, clock_bounds(config_),
                     [this] { loop_.wake_for_load(); });
  } else {
    end();
  }
  loop_.run();
  return close_store();
}

// Without TLS, a cluster and a file of users there is nothing to read again, and SIGHUP ends the
// server as it ends any program whose terminal is gone. Under a service manager there is no
// terminal, so a reload does no harm. A server that has something to clean up stops instead.
bool Server::reads_hangup() const {
  return tls_.has_any() || !config_.users_file.empty() || config_.cluster.is_set() || has_manager();
}

// The HTTP port is there from the start, so that health and metrics can be asked for while the
// directory is read. Returns false if an address cannot be used.
bool Server::listen(const Acceptor::Choice& is_chosen) {
  std::vector<std::string> names;
  if (Status status = acceptor_.listen(is_chosen, names); !status.ok()) {
    exit_code_ = report({common::exit_address, "listen", status.message()});
    return false;
  }
  for (const std::string& name : names) log(Level::Info, "listen", {{"address", name}});
  return true;
}

bool Server::join_cluster() {
  if (!config_.cluster.is_set()) return true;
  const std::optional<Failure> failure = node_.join(
      process_facts_.version, core_.gate().users().get(), [this] { loop_.wake_for_log(); });
  if (failure) {
    exit_code_ = report(*failure);
    return false;
  }
  tls_.start();  // Other nodes come to a standby, too.
  return true;
}

// Another node leads, or none, or this one, which then loads its jobs.
void Server::on_node_news() {
  if (phase_ != Phase::Loading || !node_.is_joined()) return;
  const std::optional<OtherLeader> other = node_.other_leader();
  if (other) {
    const auto is_forwarded = [this](const BoundSocket& socket) {
      return node_.is_forwarded(socket, tls_of(socket.listener()) != nullptr);
    };
    if (!listen(is_forwarded)) return startup_->cancel();
    loop_.stop_phase_timer();
    notify_manager(fmt::format("READY=1\nSTATUS=Standby of {}", other->node));
  }
  node_.follow(other);
}

void Server::on_phase_time() {
  if (phase_ == Phase::Stopping) {
    waits_for_clients_ = false;
    if (node_.is_joined() && !log_->idle()) {
      log(Level::Warning, "stop.waits",
          {{"for", "etcd, which has not taken the last entry of the log"},
           {"effect",
            "what waits for that is not answered; whoever kills the process loses nothing that was "
            "answered"}});
    }
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
  if (!found->schedule_bodies.empty()) {
    log(Level::Info, "schedules",
        {{"loaded", text(found->schedule_bodies.size())}, {"tzdata", process_facts_.tzdata}});
  }
  for (const auto& [zone, schedules] : found->unknown_zones) {
    log(Level::Warning, "schedules.zone", {{"unknown", zone}, {"schedules", text(schedules)}});
  }
  for (auto& [name, body] : found->schedule_bodies) {
    core_.restore_schedule_body(name, std::move(body));
  }
  recovery_ = {.took = found->took, .jobs = core_.engine().view().job_count()};
  store_ = std::move(found->store);
  const store::Opening& opening = found->opening;
  if (node_.is_joined()) {
    clock_.set(found->now, found->measured_at);
    clock_.believe_wall_within(static_cast<Nanos>(config_.cluster.clock_offset_max_s) *
                               nanos_per_second);
    log_ = node_.take_log(clock_.now());
  } else {
    clock_.continue_from(found->now);
    log_ = std::make_unique<store::LocalLog>(*store_, [this] { loop_.wake_for_log(); });
  }
  Turn::Parts& parts = *this;
  turn_.emplace(core_, *log_, clock_, budget_, parts);
  is_written_ = true;
  watchdogs_.watch_log(*log_);
  watchdogs_.watch_loop([this](Nanos lasts) { node_.on_loop_stalled(lasts); });
  if (connections_.threads() != nullptr) watchdogs_.watch_threads(*connections_.threads());
  phase_ = Phase::CatchingUp;
  core_.resume(opening.epoch, opening.last_index, opening.next_id, clock_.now());
  if (drain_) core_.on_drain(clock_.now());
}

// What was accepted is committed and answered, as at a stop, and then the lead is given up. The
// supervisor starts the process again, as a standby.
void Server::hand_over_if_asked() {
  if (phase_ != Phase::Serving || !node_.hands_over()) return;
  exit_code_ = common::exit_not_leader;
  begin_stop("handover");
}

void Server::begin_serving() {
  loop_.stop_phase_timer();
  phase_ = Phase::Serving;
  if (Status status = checkpoints_.open(store_->identity()); !status.ok()) {
    exit_code_ = report({common::exit_usage, "checkpoint_dir", status.message()});
    return begin_stop("checkpoint_dir");
  }
  // Whoever can connect can read what the start has logged. No client waits for a log after this.
  flush_log();
  if (!listen([](const BoundSocket&) { return true; })) return begin_stop("listen");
  node_.begin_serving();
  let_threads_ask(node_.is_joined());
  if (!node_.is_joined()) tls_.start();
  connections_.take_over(loop_.loop());
  waits_in_sockets_ = true;
  notify_manager("READY=1\nSTATUS=Serving");
  told_();
}

void Server::on_signal(int number) {
  if (number == SIGUSR1) {
    log(Level::Info, "drain", {});
    drain_ = true;
    if (log_ != nullptr) core_.on_drain(clock_.now());
    return;
  }
  if (number == SIGHUP && reads_hangup()) {
    // Before that the files were just read, and start() looks at them again. A standby may be one
    // for months.
    if (phase_ == Phase::Serving || (phase_ == Phase::Loading && node_.is_joined())) {
      settings_.reload();
    }
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

void Server::begin_stop(std::string_view why) {
  log(Level::Info, "stop",
      {{"why", std::string(why)}, {"connections", text(connections_.count())}});
  notify_manager("STOPPING=1\nSTATUS=Stopping");
  phase_ = Phase::Stopping;
  turn_->begin_stop();
  // Other nodes would take an HTTP port that refuses for the end of this process. It stays until
  // the lead is given up.
  acceptor_.close([this](const BoundSocket& socket) {
    return !node_.is_joined() || socket.role() != ListenerRole::Http;
  });
  connections_.stop_reading();
  checkpoints_.stop();
  http_.save_history();
  loop_.start_phase_timer(client_wait_ms, 0);
}

bool Server::all_answered() const {
  return core_.quiet() && log_->idle() && !bodies_.busy() &&
         !(waits_for_clients_ && connections_.writing());
}

// Closes all handles of the loop, which ends it.
void Server::end() {
  phase_ = Phase::Ended;
  if (store_ != nullptr) watchdogs_.watch_closing(*store_);
  if (log_ != nullptr) log_->stop();
  let_threads_ask(false);
  if (store_ != nullptr) node_.leave();  // Before others see it end.
  checkpoints_.close();
  connections_.close_all();
  http_.close();
  acceptor_.close();
  timer_.close();
  node_.close();
  tls_.close();
  loop_.close();
}

int Server::close_store() {
  watchdogs_.end_of_loop();
  if (store_ == nullptr) {
    node_.end();
    return exit_code_;
  }
  turn_.reset();
  if (node_.is_joined()) return close_store_of_node();
  log_.reset();
  const Status closed = store_->close(core_.engine().view().next_id(), clock_.now());
  watchdogs_.end_of_store();
  if (!closed.ok()) return report(running_failure(closed));
  log(Level::Info, "stopped", {{"jobs", text(core_.engine().view().job_count())}});
  return exit_code_;
}

// The directory of a node is left as its log has it: the row of the next id, which a clean stop
// makes exact elsewhere, stays the same as on the other nodes.
int Server::close_store_of_node() {
  log_.reset();
  node_.end();
  const Status flushed = store_->flush();
  watchdogs_.end_of_store();
  if (!flushed.ok()) return report(running_failure(flushed));
  store_.reset();
  log(Level::Info, "stopped", {{"jobs", text(core_.engine().view().job_count())}});
  return exit_code_;
}

}  // namespace perennial::perenniald
