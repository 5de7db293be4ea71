#include <csignal>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "absl/strings/numbers.h"
#include "cmd/common/exit_codes.h"
#include "cmd/perenniald/process/aborts.h"
#include "cmd/perenniald/process/failure.h"
#include "cmd/perenniald/process/log.h"
#include "cmd/perenniald/process/service_manager.h"
#include "cmd/perenniald/server/access_control.h"
#include "cmd/perenniald/server/options.h"
#include "cmd/perenniald/server/server.h"
#include "cmd/perenniald/server/shared_settings.h"
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
  make_threads("the pool that reads bodies", [this] {
    CHECK(uv_queue_work(
              &loop_, &first_work_, [](uv_work_t*) {}, nullptr) == 0);
  });
  const auto is_http = [](const BoundSocket& socket) {
    return socket.role() == ListenerRole::Http;
  };
  if (listen(is_http) && become_member()) {
    start_second_timer();
    store::Options options = store_options(config_, serving_);
    options.open_tables_max = descriptors_.tables;
    startup_.emplace(std::move(options), config_.data_group_access, member_.get(), core_.engine(),
                     clock_, clock_bounds(config_), [this] { uv_async_send(&loaded_); });
  } else {
    end();
  }
  uv_run(&loop_, UV_RUN_DEFAULT);
  return close_store();
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

// Returns false if the server is part of a cluster and its settings are wrong.
bool Server::become_member() {
  if (!config_.cluster.is_set()) return true;
  Result<std::unique_ptr<Member>> member = Member::create(config_.cluster, process_facts_.version,
                                                          [this] { uv_async_send(&committed_); });
  if (!member.ok()) {
    const StatusCode code = member.status().code();
    const bool is_of_dns = code == StatusCode::NotFound;  // Which may answer later.
    exit_code_ = report({is_of_dns ? common::exit_system : common::exit_usage, "cluster",
                         member.status().message()});
    return false;
  }
  member_ = member.take();
  peer_checkpoints_ = std::make_unique<PeerCheckpoints>(PeerCheckpoints::Parts{
      .data_dir = config_.data_dir,
      .version = process_facts_.version,
      .create =
          [this](BatchIndex at, std::string dir, std::function<void(Result<BatchIndex>)> done) {
            member_->checkpoint_at(at, std::move(dir), std::move(done));
          },
      .wake = [this] { uv_async_send(&peer_); }});
  tell_shared_settings();
  become_standby();
  tls_.start();  // Other nodes come to a standby, too.
  return true;
}

// What other nodes ask for.
std::optional<http::Http::Handled> Server::answer_node(const http::Request& request) {
  constexpr std::string_view checkpoint = "/cluster/checkpoint";
  constexpr std::string_view digest = "/cluster/digest";
  if (peer_checkpoints_ == nullptr) return std::nullopt;
  if (request.path == checkpoint)
    return http::Http::Handled{checkpoint, peer_checkpoints_->checkpoint()};
  if (request.path != digest) return std::nullopt;
  const std::vector<std::string> at = http::query_values(request.query, "at");
  BatchIndex index = 0;
  if (at.size() != 1 || !absl::SimpleAtoi(at[0], &index) || index == 0) {
    return http::Http::Handled{
        digest, http::answer_now({.status = http::Status::BadRequest,
                                  .body = "at: the index of a batch, from 1 on.\n"})};
  }
  return http::Http::Handled{digest, peer_checkpoints_->digest(index)};
}

void Server::become_standby() {
  const Nanos wait_max = static_cast<Nanos>(config_.cluster.forward_wait_s) * nanos_per_second;
  standby_.emplace(
      loop_, connections_, wait_max,
      Standby::Hooks{
          .now = [this] { return clock_.now(); },
          .leader_has_ended = [this](uint64_t epoch) { member_->leader_has_ended(epoch); },
          .leader_reached =
              [this](std::optional<bool> reached) { member_->on_leader_reached(reached); }});
}

// A leader is reached at one address, so clients are passed on who speak as those at this node's
// own address do: with TLS or without. Who they are is shown to the leader by what they send.
// Clients of a unix socket are known by their process, which a leader elsewhere cannot see.
bool Server::is_forwarded(const BoundSocket& socket) const {
  if (config_.cluster.standby_clients != StandbyClients::Forward) return false;
  if (socket.role() != ListenerRole::Queue || socket.is_unix()) return false;
  return (tls_of(socket.listener()) != nullptr) ==
         has_tls_at(config_, config_.cluster.client_address);
}

// Another node leads, or none, or this one, which then loads its jobs.
void Server::on_member_news() {
  if (phase_ != Phase::Loading || member_ == nullptr) return;
  const MemberFacts facts = member_->facts();
  std::optional<OtherLeader> other;
  const bool is_other = facts.leader && facts.leader->node != config_.cluster.node;
  if (is_other) {
    other = {.node = facts.leader->node,
             .client_address = facts.leader->client_address,
             .reads_forward_header = facts.leader->reads_forward_header,
             .peer_address = facts.leader->peer_address,
             .epoch = facts.leader->epoch};
    if (!listen([this](const BoundSocket& socket) { return is_forwarded(socket); })) {
      return startup_->cancel();
    }
    if (!std::exchange(is_standby_, true)) uv_timer_stop(&phase_timer_);
    notify_manager(fmt::format("READY=1\nSTATUS=Standby of {}", facts.leader->node));
  }
  standby_->set_leader(other);
}

void Server::on_phase_timer() {
  if (phase_ == Phase::Stopping) {
    waits_for_clients_ = false;
    if (member_ != nullptr && !log_->idle()) {
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
  recovery_took_ = found->took;
  recovered_jobs_ = core_.engine().view().job_count();
  store_ = std::move(found->store);
  const store::Opening& opening = found->opening;
  if (member_ != nullptr) {
    clock_.set(found->now, found->measured_at);
    member_->set_time(clock_.now());
    log_ = member_->take_log();
  } else {
    clock_.continue_from(found->now);
    log_ = std::make_unique<store::LocalLog>(*store_, [this] { uv_async_send(&committed_); });
  }
  turn_.emplace(core_, *log_, clock_, budget_, turn_hooks());
  serving_ = true;
  start_watchdog();
  watch_loop();
  phase_ = Phase::CatchingUp;
  core_.resume(opening.epoch, opening.last_index, opening.next_id, clock_.now());
  if (drain_) core_.on_drain(clock_.now());
}

// What was accepted is committed and answered, as at a stop, and then the lead is given up. The
// supervisor starts the process again, as a standby.
void Server::hand_over_if_asked() {
  if (member_ == nullptr || phase_ != Phase::Serving || !member_->hands_over()) return;
  exit_code_ = common::exit_not_leader;
  begin_stop("handover");
}

// A turn that does not end serves nobody, and the thread of the loop cannot say so itself.
void Server::watch_loop() {
  const uint64_t seconds = config_.turn_seconds_max;
  if (seconds == 0) return;
  const auto look = [this] {
    const Nanos began = clock_.turn_began();
    return WorkSeen{.busy = began != 0, .progress = static_cast<uint64_t>(began)};
  };
  const auto stalled = [this] {
    const Nanos began = clock_.turn_began();
    if (began == 0) return;
    const Nanos lasts = TurnClock::steady() - began;
    log(Level::Warning, "loop.turn",
        {{"lasts_s", text(static_cast<uint64_t>(lasts / nanos_per_second))},
         {"means", "nobody is served meanwhile"}});
    if (member_ != nullptr) member_->on_loop_stalled(lasts);
  };
  loop_watchdog_ =
      std::make_unique<Watchdog>(static_cast<Nanos>(seconds) * nanos_per_second, look, stalled);
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
  // Whoever can connect can read what the start has logged. No client waits for a log after this.
  flush_log();
  if (!listen([](const BoundSocket&) { return true; })) return begin_stop("listen");
  if (standby_) standby_->end();
  if (member_ == nullptr) tls_.start();
  connections_.take_over(loop_);
  waits_in_sockets_ = true;
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
    // Before that the files were just read, and start() looks at them again. A standby may be one
    // for months.
    if (phase_ == Phase::Serving || (phase_ == Phase::Loading && member_ != nullptr)) reload();
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
  if (member_ != nullptr) {
    read.push_back({.name = "cluster", .error = reload_settings()});
    tell_shared_settings();  // Users, and the files of peers.
  }
  return read;
}

// To the other nodes, as digests.
void Server::tell_shared_settings() {
  member_->set_shared_settings(shared_settings(config_, core_.gate().users().get()));
}

std::string Server::reload_settings() {
  const Invocation read = read_settings_();
  if (!read.problems.empty()) {
    std::string error = fmt::format("{}", fmt::join(read.problems, "; "));
    log(Level::Error, "config.reload", {{"error", error}});
    return error;
  }
  const std::vector<std::string> others = settings_to_restart(config_, read.config);
  if (!others.empty()) {
    log(Level::Warning, "config.reload",
        {{"needs_restart", fmt::format("{}", fmt::join(others, ","))}});
  }
  if (!read.config.cluster.is_set()) return {};
  set_etcd_settings(config_.cluster, read.config.cluster);
  const std::string& domain = config_.cluster.etcd_discovery;
  log(Level::Info, "config.reload",
      {{"etcd",
        domain.empty() ? fmt::format("{}", fmt::join(config_.cluster.etcd, ",")) : domain}});
  const Status used = member_->reconfigure(config_.cluster);
  return used.ok() ? "" : used.message();
}

// With a bad file the users stay as they are.
std::string Server::reload_users() {
  Problems problems;
  std::shared_ptr<const access::Users> users = load_users(config_, problems);
  users_are_current_ = users != nullptr;
  if (users == nullptr) {
    std::string error = fmt::format("{}", fmt::join(problems, "; "));
    log(Level::Error, "users.reload", {{"file", config_.users_file}, {"error", error}});
    return error;
  }
  log(Level::Info, "users.reload",
      {{"file", config_.users_file}, {"users", text(users->all().size())}});
  core_.set_users(std::move(users));
  sign_ins_.on_users();
  users_reloaded_at_ = clock_.now();
  return {};
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
    return member_ == nullptr || socket.role() != ListenerRole::Http;
  });
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
  if (member_ != nullptr && store_ != nullptr) member_->leave();  // Before others see it end.
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
  close(second_timer_);
  if (standby_) standby_->close();
  tls_.close();
  close(committed_);
  close(loaded_);
  if (peer_checkpoints_ != nullptr) peer_checkpoints_->stop();
  close(peer_);
  for (uv_signal_t& signal : signals_) close(signal);
}

int Server::close_store() {
  loop_watchdog_.reset();
  if (store_ == nullptr) return exit_code_;
  turn_.reset();
  if (member_ != nullptr) return close_member();
  log_.reset();
  const Status closed = store_->close(core_.engine().view().next_id(), clock_.now());
  watchdog_.reset();
  if (!closed.ok()) return report(running_failure(closed));
  log(Level::Info, "stopped", {{"jobs", text(core_.engine().view().job_count())}});
  return exit_code_;
}

// The directory of a node is left as its log has it: the row of the next id, which a clean stop
// makes exact elsewhere, stays the same as on the other nodes.
int Server::close_member() {
  log_.reset();
  member_.reset();
  const Status flushed = store_->flush();
  watchdog_.reset();
  if (!flushed.ok()) return report(running_failure(flushed));
  store_.reset();
  log(Level::Info, "stopped", {{"jobs", text(core_.engine().view().job_count())}});
  return exit_code_;
}

}  // namespace perennial::perenniald
