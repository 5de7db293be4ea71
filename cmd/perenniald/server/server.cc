#include "cmd/perenniald/server/server.h"

#include <algorithm>
#include <csignal>
#include <utility>

#include <fmt/format.h>

#include "cmd/perenniald/net/address_shares.h"
#include "cmd/perenniald/net/tls_stream.h"
#include "cmd/perenniald/process/failure.h"
#include "cmd/perenniald/process/log.h"
#include "cmd/perenniald/process/process.h"
#include "cmd/perenniald/process/service_manager.h"
#include "cmd/perenniald/server/access_control.h"
#include "cmd/perenniald/server/options.h"
#include "engine/types/check.h"
#include "store/types/database_figures.h"

// How the parts are connected. server_phases.cc has the start and the end of the server, and
// turn.cc what a turn of the loop does.
namespace perennial::perenniald {
namespace {

// Places of the HTTP port at addresses that only this machine reaches, so that its state can be
// asked for whatever comes from outside. They are a part of the descriptors for files.
constexpr size_t places_of_this_machine = 16;

// As installed one address may have half of all, so that it leaves as many to the others.
uint64_t per_address_max(const Config& config, const Descriptors& descriptors) {
  if (config.connections_per_address_max > 0) return config.connections_per_address_max;
  return std::max<uint64_t>(descriptors.connections / 2, 1);
}

double in_seconds(Nanos time) {
  return static_cast<double>(time / nanos_per_ms) / 1000;
}

// Null: each client has calls of its own.
std::unique_ptr<SocketBatch> make_batch(const Config& config) {
  if (!config.io_uring) return nullptr;
  Result<std::unique_ptr<SocketBatch>> batch = SocketBatch::create();
  if (batch.ok()) return batch.take();
  log(Level::Info, "io_uring.off", {{"error", batch.status().message()}});
  return nullptr;
}

void add_figures(http::ServerFacts& facts, const store::DatabaseFigures& figures) {
  using Figures = store::DatabaseFigures;
  for (size_t i = 0; i < figures.tickers.size(); ++i) {
    facts.tickers.emplace_back(Figures::ticker_names[i], figures.tickers[i]);
  }
  for (size_t i = 0; i < figures.properties.size(); ++i) {
    facts.properties.push_back(
        {.name = Figures::property_names[i], .value = figures.properties[i]});
  }
  for (size_t family = 0; family < store::family_count; ++family) {
    for (size_t i = 0; i < Figures::family_property_names.size(); ++i) {
      facts.properties.push_back({.name = Figures::family_property_names[i],
                                  .family = store::family_names[family],
                                  .value = figures.of_families[family][i]});
    }
    const bool is_bodies = static_cast<store::Family>(family) == store::Family::Bodies;
    (is_bodies ? facts.body_bytes : facts.state_bytes) +=
        figures.table_bytes(static_cast<store::Family>(family));
  }
  facts.log_bytes = figures.log_bytes;
}

template <typename Handle>
Server& server_of(Handle* handle) {
  return *static_cast<Server*>(handle->data);
}

}  // namespace

Server::Loop::Loop() {
  CHECK(uv_loop_init(this) == 0);
}
Server::Loop::~Loop() {
  CHECK(uv_loop_close(this) == 0);
}

Server::Server(const Config& config, std::vector<BoundSocket> sockets, TlsListeners tls,
               std::shared_ptr<const access::Users> users, const Descriptors& descriptors,
               std::function<Invocation()> read_settings)
    : config_(config),
      read_settings_(std::move(read_settings)),
      proxies_(proxies_of(config)),
      timer_(loop_, [this] { turn_->on_timer(); }),
      process_facts_(fixed_process_facts(config.job_bytes_max)),
      descriptors_(descriptors),
      core_(make_core_options()),
      queue_clients_(
          {.open = [this](ConnId conn, const access::ClientRights& rights) -> core::Session& {
             return core_.open(conn, clock_.now(), rights);
           },
           .now = [this] { return clock_.now(); }}),
      sign_ins_(core_.gate(), [this] { return clock_.now(); }),
      metric_sources_(make_metric_sources()),
      api_sources_(make_api_sources()),
      api_(api_sources_),
      routes_({.health = [this] { return health_facts(); },
               .cluster = [this] { return cluster_health(); },
               .for_nodes = [this](const http::Request& request) { return answer_node(request); },
               .is_loaded = [this] { return has_jobs(); },
               .metrics = metric_sources_,
               .sign_ins = sign_ins_,
               .api = api_,
               .now = [this] { return clock_.now(); },
               .hosts = http_hosts(config)}),
      http_({.message = {.body_bytes_max_of = &http::Api::body_bytes_max_of},
             .connections_max = config.http_connections_max,
             .per_address_max = config.http_connections_per_address_max,
             .is_unread = [this](ConnId conn) { return connections_.is_unread(conn); },
             .output_bytes_max = config.output_total_bytes_max,
             .hsts_seconds = config.http_hsts_seconds},
            [this](const http::Request& request, const access::ClientRights& rights) {
              if (!rights.is_proxy) return routes_.handle(request, rights);
              const http::Forwarded client = http::forwarded_of(request, proxies_);
              return routes_.handle(request, forwarded_rights(config_, client, rights));
            }),
      tls_(loop_, clock_, config, std::move(tls), [this] { looks_for_revoked_ = true; }),
      connections_(
          loop_, clock_, budget_,
          {.handshakes = {.ms_max = config.tls_handshake_ms,
                          .per_turn_max = config.tls_handshakes_per_turn,
                          .pending_max = config.tls_handshakes_pending_max,
                          .per_address_max = config.tls_handshakes_per_address_max},
           .per_address_max = per_address_max(config, descriptors)},
          make_batch(config),
          {.make_stream = [this](const AcceptedSocket& socket) { return make_stream(socket); },
           .open = [this](ConnId conn, const AcceptedSocket& socket, const PeerIdentity* peer)
               -> core::Session& { return open_session(conn, socket, peer); },
           .has_waiting = [this] { return core_.has_runnable(); },
           .on_first_read =
               [this](ConnId conn) {
                 core_.on_first_read(conn);
                 http_.on_first_read(conn);
               },
           .on_bytes =
               [this] {
                 if (turn_) turn_->hand_over_early();
               },
           .on_slot_free = [this] { acceptor_.on_slot_free(); }}),
      acceptor_(loop_, std::move(sockets), budget_,
                {.has_slot =
                     [this](const BoundSocket& listener) {
                       clock_.now();  // The turn begins here, for the watchdog of the loop.
                       return has_slot(listener);
                     },
                 .accepted = [this](AcceptedSocket socket) { return take_in(std::move(socket)); }}),
      body_reads_(
          loop_,
          [this](const core::BodyRead& read, Result<Body> body) { on_body(read, std::move(body)); },
          [](const Status& failed) { end_process(running_failure(failed)); }),
      body_search_(loop_, [](const Status& failed) { end_process(running_failure(failed)); }),
      body_damage_(body_search_, damage_hooks()),
      checkpoints_(loop_, core_, clock_, checkpoint_settings(config, process_facts_.version)) {
  checkpoints_.on_damage([this] {
    if (store_ != nullptr) store_->suspect_bodies();
  });
  if (users != nullptr) core_.set_users(std::move(users));
  start_handles();
}

TlsListener* Server::tls_of(std::optional<size_t> listener) const {
  return listener ? tls_.find(*listener) : nullptr;
}

bool Server::has_slot(const BoundSocket& listener) {
  if (tls_of(listener.listener()) != nullptr && !connections_.may_begin_handshake()) return false;
  const bool is_http = listener.role() == ListenerRole::Http;
  const size_t kept = listener.is_local() ? places_of_this_machine : 0;
  if (is_http && !http_.has_slot(kept)) return false;
  // A client that is passed on has a connection to the leader, too.
  const size_t needed = !is_http && !serves_queue() ? 2 : 1;
  // Where clients of the queue have all places, those of this machine are full of connections that
  // ask for nothing, and one of them gives way: open_session().
  const size_t own = is_http ? kept * (http_.has_idle() ? 2 : 1) : 0;
  return connections_.count() + needed <= descriptors_.connections + own;
}

Status Server::take_in(AcceptedSocket socket) {
  const bool is_forwarded = socket.role == ListenerRole::Queue && !serves_queue();
  if (socket.listener && config_.listeners[*socket.listener].proxy && !is_forwarded) {
    socket.wants_proxy_header = true;
    if (!is_believed_proxy(config_.listeners[*socket.listener], socket)) {
      return connections_.refuse(socket, ClientLine::WrongProtocol,
                                 "it is none of proxy_from of the listener");
    }
  }
  return connections_.open(socket);
}

std::unique_ptr<Stream> Server::make_stream(const AcceptedSocket& socket) {
  TlsListener* const tls = tls_of(socket.listener);
  // A standby passes on what it does not read.
  const bool is_forwarded = socket.role == ListenerRole::Queue && !serves_queue();
  if (socket.to_leader) return std::make_unique<PlainStream>(socket.fd);
  if (is_forwarded) {
    return std::make_unique<PlainStream>(socket.fd, PlainStream::Head::ForwardsFirst);
  }
  const bool is_for_queue = socket.role == ListenerRole::Queue;
  const auto head = is_for_queue && config_.cluster.is_set() ? PlainStream::Head::Forwards
                                                             : PlainStream::Head::Nothing;
  if (tls == nullptr) return std::make_unique<PlainStream>(socket.fd, head);
  return std::make_unique<TlsStream>(socket.fd, tls->open(clock_.now()), head);
}

core::Session& Server::open_session(ConnId conn, const AcceptedSocket& socket,
                                    const PeerIdentity* peer) {
  const bool is_for_queue = socket.role == ListenerRole::Queue;
  if (socket.to_leader || (is_for_queue && !serves_queue())) return standby_->open(conn, socket);
  if (socket.role == ListenerRole::Http) {
    access::ClientRights rights = client_rights(config_, socket, peer);
    rights.is_proxy = is_proxy(proxies_, socket);
    const std::string share = rights.is_proxy ? std::string() : share_of(socket);
    if (connections_.count() > descriptors_.connections + places_of_this_machine) {
      http_.make_place();
    }
    return http_.open(conn, clock_.now(), std::move(rights), share);
  }
  return core_.open(conn, clock_.now(), client_rights(config_, socket, peer));
}

// Without TLS, a cluster and a file of users there is nothing to read again, and SIGHUP ends the
// server as it ends any program whose terminal is gone. Under a service manager there is no
// terminal, so a reload does no harm.
bool Server::reads_hangup() const {
  return tls_.has_any() || !config_.users_file.empty() || config_.cluster.is_set() || has_manager();
}

core::Options Server::make_core_options() {
  core::Options options = core_options(config_);
  // A tenth of all connections, so that those who do not say who they are leave slots for others.
  const size_t unidentified_max = std::max<size_t>(descriptors_.connections / 10, 1);
  options.unidentified = {
      .connections_max = unidentified_max,
      .per_address_max = std::max<size_t>(unidentified_max / 2, 1),
      .is_unread = [this](ConnId conn) { return connections_.is_unread(conn); }};
  options.audit = [this](const access::AuditEvent& event) { audit(event); };
  options.on_signed_in = [this](ConnId conn) { connections_.leave_share(conn); };
  options.process_facts = [this] { return process_facts(); };
  options.store_facts = [this] { return store_facts(); };
  return options;
}

ProcessFacts Server::process_facts() {
  add_usage(process_facts_);
  process_facts_.uptime = clock_.uptime();
  process_facts_.loop_lag_us = static_cast<uint64_t>(clock_.lag()) / 1000;
  process_facts_.checkpoint_age_s = checkpoints_.age_s();
  if (member_ != nullptr) {
    const MemberFacts facts = member_->facts();
    process_facts_.cluster = {
        .role = facts.leads ? "leader" : "standby", .epoch = facts.epoch, .lag = facts.lag()};
  }
  return process_facts_;
}

// Metrics and API are asked for what they show only while there is a turn: Routes::Parts.
http::MetricSources Server::make_metric_sources() {
  return {.engine = core_.engine().view(),
          .process =
              [this] {
                ProcessFacts facts = process_facts();
                facts.connections_refused = core_.connections_refused();
                return facts;
              },
          .store = [this] { return store_facts(); },
          .server = [this] { return server_facts(); },
          .times =
              [this] {
                return http::Times{.commands = core_.command_times(),
                                   .turns = clock_.turns(),
                                   .requests = http_.request_times()};
              },
          .memory_bytes = [this] { return core_.memory_bytes(); },
          .output_bytes = [this] { return core_.output_bytes(); },
          .accepts_puts = [this] { return core_.disk_accepts_puts(); },
          .requests = [this]() -> const http::Http::Counts& { return http_.counts(); },
          .tubes = metrics_tubes(config_),
          .event_streams = [this] { return api_.event_streams(); },
          .cluster = config_.cluster.is_set() ? [this] { return cluster_facts(); }
                                              : std::function<http::ClusterFacts()>()};
}

http::ClusterFacts Server::cluster_facts() const {
  const MemberFacts facts = member_->facts();
  return {.leads = facts.leads,
          .has_leader = facts.leader.has_value(),
          .epoch = facts.epoch,
          .newest = facts.newest,
          .applied = facts.applied,
          .flushed = facts.flushed,
          .forwarded = standby_->forwarded(),
          .circles = standby_->circles(),
          .clock_ahead = facts.clock.ahead,
          .appends_fail = !facts.append_failure.empty(),
          .alarms_no_space = facts.alarms.no_space,
          .alarms_corrupt = facts.alarms.corrupt,
          .settings_differ = facts.settings_differ,
          .appends = member_->append_times()};
}

http::ServerFacts Server::server_facts() {
  const HandshakeCounts& handshakes = connections_.handshake_counts();
  const Nanos started_at = clock_.now() - clock_.uptime();
  http::ServerFacts facts = {
      .rocksdb_version = store::rocksdb_version(),
      .openssl_version = openssl_version(),
      .start_time = in_seconds(started_at),
      .recovery_took = recovery_took_,
      .recovered_jobs = recovered_jobs_,
      .resident_bytes = resident_bytes(),
      .descriptors_open = descriptors_open(),
      .descriptors_max = descriptors_max(),
      .access = core_.gate().counts(),
      .answers = core_.answer_counts(),
      .body_cache_bytes = core_.body_cache_bytes(),
      .bytes_in = connections_.queue_bytes().in,
      .bytes_out = connections_.queue_bytes().out,
      .held = core_.held_connections(),
      .commit_pending_bytes = core_.pending_bytes(),
      .commit_oldest = commit_age(),
      .handshakes_full = handshakes.full,
      .handshakes_resumed = handshakes.resumed,
      .handshakes_failed = handshakes.failed,
      .reload_success = users_are_current_ && tls_.is_current(),
      .reload_time = in_seconds(std::max({started_at, users_reloaded_at_, tls_.reloaded_at()}))};
  if (store_ != nullptr) {  // Else another thread has it.
    facts.disk_free_bytes = store_->disk_free_bytes();
    facts.disk_free_files = store_->disk_free_files();
    facts.disk_low_water_bytes = store_->options().low_water_bytes;
    add_figures(facts, store_->figures());
    const store::ScrubFigures scrub = store_->scrub_figures();
    facts.damaged_rows = store_->damaged_rows().size();
    facts.scrub_bytes = scrub.bytes;
    facts.scrub_passes = scrub.passes;
  }
  for (auto& [listener, expires_at] : tls_.certificate_ends()) {
    facts.certificates.push_back({std::move(listener), expires_at});
  }
  return facts;
}

http::ApiSources Server::make_api_sources() {
  return {.server = metric_sources_,
          .queue = queue_clients_,
          .sign_ins = sign_ins_,
          .now = [this] { return clock_.now(); },
          .is_loaded = [this] { return has_jobs(); },
          .cluster = [this] { return cluster_health(); },
          .address_of = [this](ConnId conn) { return connections_.peer_of(conn); },
          .user_of = [this](ConnId conn) { return core_.user_of(conn); },
          .output_bytes_of = [this](ConnId conn) { return core_.output_bytes(conn); },
          .close_connection = [this](ConnId conn) { return core_.close_connection(conn); },
          .find_in_bodies =
              [this](std::vector<JobId> jobs, BodySearch::Test is_wanted, BodySearch::Done done) {
                body_search_.start(*store_, std::move(jobs), std::move(is_wanted), std::move(done));
              },
          .configuration = [this] { return print_config(config_); },
          .audit_lines = audit_lines_,
          .audit = [this](const access::AuditEvent& event) { audit(event); },
          .refused =
              [this](const access::AuditEvent& event, std::optional<access::Verb> missing) {
                core_.gate().on_refused(event, missing, clock_.now());
              },
          .reload = [this] { return reload(); }};
}

BodyDamage::Hooks Server::damage_hooks() {
  return {.exists = [this](JobId job) { return core_.engine().view().tube_of_job(job) != nullptr; },
          .on_lost =
              [this](JobId job) {
                log(Level::Error, "body.lost", {{"job", fmt::format("{}", job)}});
                // One that a read has found is buried and counted already.
                const std::optional<JobStats> stats = core_.engine().view().job_statistics(job);
                if (stats && stats->state != JobState::Buried) {
                  core_.on_lost_body(job, clock_.now());
                }
              },
          .on_over = [] { log(Level::Info, "body.lost_over", {}); }};
}

// A state that clients feel goes before one that concerns some jobs.
StoreFacts Server::store_facts() const {
  StoreFacts facts = turn_->store_facts();
  facts.damaged_blocks = body_damage_.blocks();
  facts.jobs_without_body = body_damage_.jobs().size();
  const bool is_degraded =
      body_damage_.is_degraded() || checkpoints_.is_damaged() || !store_->damaged_rows().empty();
  if (facts.state == "ok" && is_degraded) facts.state = "degraded";
  return facts;
}

void Server::audit(const access::AuditEvent& event) {
  log_audit(event);
  audit_lines_.add(event, clock_.now());
}

// For how long the log has had the batch that it writes.
Nanos Server::commit_age() {
  return log_ == nullptr || log_->idle() ? 0 : clock_.now() - appended_at_;
}

http::HealthFacts Server::health_facts() {
  return {.commit_age = commit_age(),
          .is_recovered = has_jobs(),
          .is_draining = turn_ ? core_.is_draining() : drain_,
          .is_stopping = phase_ == Phase::Stopping,
          .accepts_puts = core_.disk_accepts_puts(),
          .jobs_without_body = body_damage_.jobs().size(),
          .damaged_rows = store_ == nullptr ? 0 : store_->damaged_rows().size(),
          .is_table_damaged = checkpoints_.is_damaged()};
}

http::ClusterHealth Server::cluster_health() {
  http::ClusterHealth health = {.is_stopping = phase_ == Phase::Stopping};
  if (member_ == nullptr) return health;
  const MemberFacts facts = member_->facts();
  health.is_member = true;
  health.name = config_.cluster.name;
  health.node = config_.cluster.node;
  health.is_elected = facts.leads;
  health.leads = facts.leads && has_jobs();
  health.forwards = config_.cluster.standby_clients == StandbyClients::Forward;
  health.lag = facts.lag();
  health.append_failure = facts.append_failure;
  health.has_space = facts.has_space;
  if (!facts.leader) return health;
  health.leader = facts.leader->node;
  health.leader_address = facts.leader->client_address;
  if (!facts.leader->peer_address.empty()) {
    // The nodes of a cluster speak alike: get_copy.h.
    const char* const scheme = config_.cluster.peer_ca.empty() ? "http" : "https";
    health.leader_url = fmt::format("{}://{}/", scheme, facts.leader->peer_address);
  }
  return health;
}

void Server::start_handles() {
  CHECK(uv_prepare_init(&loop_, &prepare_) == 0);
  CHECK(uv_idle_init(&loop_, &at_once_) == 0);
  CHECK(uv_timer_init(&loop_, &phase_timer_) == 0);
  CHECK(uv_timer_init(&loop_, &second_timer_) == 0);
  const auto committed = [](uv_async_t* handle) {
    Server& server = server_of(handle);
    if (server.turn_) {
      server.turn_->on_log_update();
      return server.hand_over_if_asked();
    }
    // A standby's log has updates before there are turns.
    server.on_member_news();
  };
  CHECK(uv_async_init(&loop_, &committed_, committed) == 0);
  const auto loaded = [](uv_async_t* handle) { server_of(handle).on_loaded(); };
  CHECK(uv_async_init(&loop_, &loaded_, loaded) == 0);
  const auto peer = [](uv_async_t* handle) {
    Server& server = server_of(handle);
    if (server.peer_checkpoints_ != nullptr) server.peer_checkpoints_->on_wake();
  };
  CHECK(uv_async_init(&loop_, &peer_, peer) == 0);
  prepare_.data = phase_timer_.data = second_timer_.data = this;
  committed_.data = loaded_.data = peer_.data = this;
  const auto prepare = [](uv_prepare_t* handle) { server_of(handle).on_prepare(); };
  CHECK(uv_prepare_start(&prepare_, prepare) == 0);
  constexpr int numbers[] = {SIGTERM, SIGINT, SIGUSR1, SIGHUP};
  const auto signalled = [](uv_signal_t* handle, int number) {
    server_of(handle).on_signal(number);
  };
  for (size_t i = 0; i < std::size(numbers); ++i) {
    CHECK(uv_signal_init(&loop_, &signals_[i]) == 0);
    signals_[i].data = this;
    if (numbers[i] == SIGHUP && !reads_hangup()) continue;
    CHECK(uv_signal_start(&signals_[i], signalled, numbers[i]) == 0);
  }
}

// Called just before the loop blocks.
void Server::on_prepare() {
  if (std::exchange(looks_for_revoked_, false)) connections_.close_revoked();
  connections_.continue_handshakes();
  if (!turn_) {  // The engine belongs to the thread of Startup until then.
    if (standby_) standby_->serve();
    return end_turn(!serve_http() || connections_.has_waiting_handshakes());
  }
  if (phase_ == Phase::CatchingUp && core_.is_caught_up(clock_.now())) begin_serving();
  const Turn::TurnResult result = turn_->before_poll();
  checkpoints_.remove_given_up();
  if (standby_) standby_->serve();
  if (phase_ == Phase::Stopping && result.all && all_answered()) return end();
  // What is read over HTTP is as old as the engine's last input.
  if (http_.has_runnable()) core_.on_timer(clock_.now());
  const bool http_rests = serve_http();
  // A request may have left core work for the next turn: commands, or connections that were closed
  // or have lost their users.
  const bool has_work = queue_clients_.take_has_spoken() || core_.has_runnable() ||
                        core_.has_changed() || looks_for_revoked_ ||
                        connections_.has_waiting_handshakes();
  end_turn(result.at_once || !http_rests || has_work);
}

// Ends the turn. While clients are served, the loop then blocks here, in the clients' own set, and
// libuv looks at its handles afterwards without blocking: socket_set.h. Before that libuv blocks
// itself, because a standby gives it descriptors to watch.
void Server::end_turn(bool at_once) {
  const Nanos took = clock_.turn_so_far();
  clock_.end_turn();
  const auto too_long = static_cast<Nanos>(config_.turn_seconds_max) * nanos_per_second;
  if (too_long > 0 && took >= too_long) {
    log(Level::Warning, "loop.turn", {{"took_ms", fmt::format("{}", took / nanos_per_ms)}});
  }
  if (!waits_in_sockets_) return block_unless(at_once);
  block_unless(false);  // libuv is to say how long it would block.
  const int timeout_ms = at_once ? 0 : uv_backend_timeout(&loop_);
  block_unless(true);
  connections_.wait(timeout_ms);
}

// Whether libuv polls without blocking.
void Server::block_unless(bool at_once) {
  if (at_once) {
    CHECK(uv_idle_start(&at_once_, [](uv_idle_t*) {}) == 0);
  } else {
    uv_idle_stop(&at_once_);
  }
}

// Requests come last in a turn, so that no worker waits for them, and a long one goes on in the
// next turn.
bool Server::serve_http() {
  const Nanos begun = clock_.turn_so_far();
  while (http_.has_runnable() && clock_.turn_so_far() - begun < nanos_per_ms) {
    http_.run_next(clock_.now());
  }
  if (http_.has_changed()) http_.on_answers_ready(clock_.actual());
  while (http_.has_changed()) {
    http_.take_changed(http_changed_);
    for (const ConnId conn : http_changed_) connections_.service(conn);
  }
  return !http_.has_runnable();
}

// What is done each second. The HTTP port has time limits, frames of its events, and history.
void Server::start_second_timer() {
  constexpr uint64_t second_ms = 1000;
  const auto fired = [](uv_timer_t* timer) { server_of(timer).on_second_timer(); };
  CHECK(uv_timer_start(&second_timer_, fired, second_ms, second_ms) == 0);
}

void Server::on_second_timer() {
  // A leader lets another node lead, which has the bodies.
  const bool is_replaced = member_ != nullptr && member_->facts().has_successor;
  if (phase_ == Phase::Serving && !is_replaced) body_damage_.poll(*store_);
  if (!acceptor_.has_role(ListenerRole::Http)) return;
  http_.on_time(clock_.now());
  if (!turn_) return;
  core_.on_timer(clock_.now());  // What is read is as old as the engine's last input.
  api_.on_time();
}

// The functions that a turn needs of the other parts.
Turn::Hooks Server::turn_hooks() {
  return {.serve =
              [this](std::span<const ConnId> conns) {
                if (member_ != nullptr) member_->check_lease();
                const auto others = std::ranges::find_if(conns, http::QueueClients::owns);
                if (others != conns.begin())
                  return connections_.service_some({conns.begin(), others});
                queue_clients_.on_changed(conns.front());
                return size_t{1};
              },
          .read_body = [this](const core::BodyRead& read) { body_reads_.start(*store_, read); },
          .before_append =
              [this](const store::Batch& batch) {
                appended_at_ = clock_.now();
                body_reads_.before_write(batch);
              },
          .order_checkpoint = [this] { checkpoints_.order_checkpoint(*log_); },
          .on_checkpoint_created =
              [this](const store::CheckpointCreated& created) {
                checkpoints_.on_checkpoint_created(created);
              },
          .disk_left = [this] { return store_->disk_left(); },
          .arm_timer = [this](Nanos left) { timer_.arm(left); }};
}

void Server::on_body(const core::BodyRead& read, Result<Body> body) {
  if (!body.ok()) {
    log(Level::Error, "body.damaged",
        {{"job", fmt::format("{}", read.job)}, {"error", body.status().message()}});
    if (member_ != nullptr) member_->on_lost_body(body.status());
  }
  core_.on_body(read.job, std::move(body), clock_.now());
}

}  // namespace perennial::perenniald
