#include "cmd/perenniald/server/server.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "cmd/common/calendar/zone.h"
#include "cmd/perenniald/net/streams/tls_stream.h"
#include "cmd/perenniald/process/log.h"
#include "cmd/perenniald/process/process.h"
#include "cmd/perenniald/process/processors.h"
#include "cmd/perenniald/server/access_control.h"
#include "cmd/perenniald/server/options.h"
#include "engine/types/later.h"

// How the parts are connected, and what the loop does with them. server_phases.cc has the start and
// the end of the server, and turn.cc what a turn of the loop does.
namespace perennial::perenniald {
namespace {

constexpr Nanos ended_told_interval = 60 * nanos_per_second;
constexpr Nanos refused_schedules_told_interval = 60 * nanos_per_second;

// As installed one address may have half of all, so that it leaves as many to the others.
uint64_t per_address_max(const Config& config, const Descriptors& descriptors) {
  if (config.connections_per_address_max > 0) return config.connections_per_address_max;
  return std::max<uint64_t>(descriptors.connections / 2, 1);
}

ConnectionLimits connection_limits(const Config& config, const Descriptors& descriptors) {
  return {.handshakes = {.ms_max = config.tls_handshake_ms,
                         .per_turn_max = config.tls_handshakes_per_turn,
                         .pending_max = config.tls_handshakes_pending_max,
                         .per_address_max = config.tls_handshakes_per_address_max},
          .per_address_max = per_address_max(config, descriptors)};
}

// Null: each client has calls of its own.
std::unique_ptr<SocketBatch> make_batch(const Config& config) {
  if (!config.io_uring) return nullptr;
  Result<std::unique_ptr<SocketBatch>> batch = SocketBatch::create();
  if (batch.ok()) return batch.take();
  log(Level::Info, "io_uring.off", {{"error", batch.status().message()}});
  return nullptr;
}

// Null: the loop moves the bytes of all clients.
std::unique_ptr<IoThreads> make_io_threads(const Config& config,
                                           std::function<void()> before_send) {
  const uint64_t count = io_thread_count(config, processors());
  if (count == 0) return nullptr;
  return std::make_unique<IoThreads>(
      IoThreads::Settings{.count = count,
                          .io_uring = config.io_uring,
                          .handshakes_per_turn = config.tls_handshakes_per_turn,
                          .before_send = std::move(before_send)});
}

}  // namespace

Server::Server(const Config& config, std::vector<BoundSocket> sockets, TlsListeners tls,
               std::shared_ptr<const access::Users> users, const Descriptors& descriptors,
               std::function<Invocation()> read_settings)
    : config_(config),
      timer_(loop_.loop(), [this] { turn_->on_timer(); }),
      process_facts_(fixed_process_facts(config.job_bytes_max)),
      descriptors_(descriptors),
      core_(make_core_options()),
      tls_(loop_.loop(), clock_, config, std::move(tls)),
      settings_({.config = config_, .core = core_, .clock = clock_, .tls = tls_, .node = node_},
                std::move(read_settings), [this] { http_.on_users(); }),
      http_(*this, {.config = config_,
                    .core = core_,
                    .clock = clock_,
                    .connections = connections_,
                    .tls = tls_,
                    .settings = settings_,
                    .checkpoints = checkpoints_,
                    .bodies = bodies_,
                    .node = node_,
                    .loop = loop_.loop()}),
      connections_(loop_.loop(), clock_, budget_, connection_limits(config, descriptors),
                   make_batch(config), make_io_threads(config, [this] { before_threads_send(); }),
                   *this),
      acceptor_(loop_.loop(), std::move(sockets), budget_,
                {.has_slot =
                     [this](const BoundSocket& listener) {
                       clock_.now();  // The turn begins here, for the watchdog of the loop.
                       return has_slot(listener);
                     },
                 .accepted = [this](AcceptedSocket socket) { return take_in(std::move(socket)); }}),
      bodies_(loop_.loop(), core_, clock_,
              [this](const core::BodyRead& read, Result<Body> body) {
                on_body(read, std::move(body));
              }),
      checkpoints_(loop_.loop(), core_, clock_,
                   checkpoint_settings(config, process_facts_.version)) {
  process_facts_.tzdata = calendar::tzdata_version();
  checkpoints_.on_damage([this] {
    if (store_ != nullptr) store_->suspect_tables();
  });
  if (users != nullptr) core_.set_users(std::move(users));
  loop_.open(reads_hangup() || config.is_ephemeral);
}

TlsListener* Server::tls_of(std::optional<size_t> listener) const {
  return listener ? tls_.find(*listener) : nullptr;
}

bool Server::has_slot(const BoundSocket& listener) {
  if (tls_of(listener.listener()) != nullptr && !connections_.may_begin_handshake()) return false;
  const bool is_http = listener.role() == ListenerRole::Http;
  if (is_http && !http_.has_slot(listener)) return false;
  // A client that is passed on has a connection to the leader, too.
  const size_t needed = !is_http && !serves_queue() ? 2 : 1;
  const size_t own = is_http ? http_.own_places(listener) : 0;
  return connections_.count() + needed <= descriptors_.connections + own;
}

Status Server::take_in(AcceptedSocket socket) {
  if (socket.listener && config_.listeners[*socket.listener].proxy && !is_passed_on(socket)) {
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
  if (socket.to_leader) return std::make_unique<PlainStream>(socket.fd);
  if (is_passed_on(socket)) {
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
  if (is_passed_on(socket)) return node_.open(conn, socket);
  if (is_for_queue) return core_.open(conn, clock_.now(), client_rights(config_, socket, peer));
  if (connections_.count() > descriptors_.connections + HttpPort::places_of_this_machine) {
    http_.make_place();
  }
  return http_.open(conn, socket, peer);
}

void Server::on_first_read(ConnId conn) {
  core_.on_first_read(conn);
  http_.on_first_read(conn);
}

void Server::on_bytes() {
  if (turn_) turn_->hand_over_early();
}

core::Options Server::make_core_options() {
  core::Options options = core_options(config_);
  // A tenth of all connections, so that those who do not say who they are leave slots for others.
  const size_t unidentified_max = std::max<size_t>(descriptors_.connections / 10, 1);
  options.unidentified = {
      .connections_max = unidentified_max,
      .per_address_max = std::max<size_t>(unidentified_max / 2, 1),
      .must_stay = [this](ConnId conn) { return connections_.is_unread(conn); }};
  options.audit = [this](const access::AuditEvent& event) { http_.audit(event); };
  options.on_signed_in = [this](ConnId conn) { connections_.leave_share(conn); };
  options.wall = [this] { return clock_.wall_now(); };
  options.process_facts = [this] { return process_facts(); };
  options.store_facts = [this] { return store_facts(); };
  options.address_of = [this](ConnId conn) { return connections_.peer_of(conn); };
  return options;
}

ProcessFacts Server::process_facts() {
  add_usage(process_facts_);
  process_facts_.uptime = clock_.uptime();
  process_facts_.loop_lag_us = static_cast<uint64_t>(clock_.lag()) / 1000;
  process_facts_.checkpoint_age_s = checkpoints_.age_s();
  process_facts_.cluster = node_.stats();
  return process_facts_;
}

// A state that clients feel goes before one that concerns some jobs.
StoreFacts Server::store_facts() const {
  StoreFacts facts = turn_->store_facts();
  const BodyDamage& damage = bodies_.damage();
  facts.damaged_blocks = damage.blocks();
  facts.jobs_without_body = damage.lost_count();
  facts.disk_free_bytes = store_->disk_free_bytes();
  const bool is_degraded =
      damage.is_degraded() || checkpoints_.is_damaged() || !store_->damaged_rows().empty();
  if (facts.state == "ok" && is_degraded) facts.state = "degraded";
  return facts;
}

Nanos Server::commit_age() {
  return log_ == nullptr || log_->idle() ? 0 : clock_.now() - appended_at_;
}

// Returns what HttpPort::serve() does.
bool Server::serve_http() {
  const bool rests = http_.serve();
  acceptor_.on_slot_free();  // A client whose request is answered may give way from now on.
  return rests;
}

void Server::before_poll() {
  if (tls_.take_news()) connections_.close_revoked();
  connections_.continue_handshakes();
  if (!turn_) {  // The engine belongs to the thread of Startup until then.
    node_.serve();
    return end_turn(!serve_http() || connections_.has_waiting_handshakes());
  }
  if (phase_ == Phase::CatchingUp && core_.is_caught_up(clock_.now())) begin_serving();
  const Turn::TurnResult result = turn_->before_poll();
  checkpoints_.remove_given_up();
  node_.serve();
  if (phase_ == Phase::Stopping && result.all && all_answered()) return end();
  // What is read over HTTP is as old as the engine's last input.
  if (http_.has_runnable()) core_.on_timer(clock_.now());
  const bool http_rests = serve_http();
  // A request may have left work for the next turn: commands, connections that were closed or have
  // lost their users, and revocation lists that it has had read again.
  const bool has_work = http_.take_has_spoken() || core_.has_runnable() || core_.has_changed() ||
                        tls_.has_news() || connections_.has_waiting_handshakes();
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
  connections_.flush();
  if (!waits_in_sockets_) return loop_.block_unless(at_once);
  loop_.block_unless(false);  // libuv is to say how long it would block.
  const int timeout_ms = at_once ? 0 : loop_.timeout_ms();
  loop_.block_unless(true);
  connections_.wait(timeout_ms);
}

void Server::on_log_news() {
  if (!turn_) return on_node_news();  // A standby's log has updates before there are turns.
  turn_->on_log_update();
  hand_over_if_asked();
}

void Server::on_second() {
  // A leader lets another node lead, which has the bodies.
  if (phase_ == Phase::Serving && !node_.has_successor()) bodies_.damage().poll(*store_);
  if (phase_ == Phase::Serving) tell_of_ended_jobs();
  if (phase_ == Phase::Serving) tell_of_refused_schedules();
  if (acceptor_.has_role(ListenerRole::Http)) http_.on_second(turn_.has_value());
}

void Server::tell_of_ended_jobs() {
  const uint64_t removed = core_.ended_removed_early();
  const Nanos now = clock_.now();
  if (removed == ended_told_ || now < later(ended_told_at_, ended_told_interval)) return;
  log(Level::Warning, "ended.removed_early",
      {{"jobs", fmt::format("{}", removed - ended_told_)},
       {"disk_free_bytes", fmt::format("{}", store_->disk_free_bytes())}});
  ended_told_ = removed;
  ended_told_at_ = now;
}

void Server::tell_of_refused_schedules() {
  const uint64_t refused = core_.engine().view().schedule_counts().refused;
  const Nanos now = clock_.now();
  const bool is_news = (refused > 0) != told_refused_schedules_;
  if (!is_news || now < later(refused_schedules_told_at_, refused_schedules_told_interval)) return;
  told_refused_schedules_ = refused > 0;
  refused_schedules_told_at_ = now;
  if (refused == 0) return log(Level::Info, "schedules.accepted", {});
  log(Level::Warning, "schedules.refused", {{"schedules", fmt::format("{}", refused)}});
}

size_t Server::serve(std::span<const ConnId> conns) {
  node_.check_lease();
  const auto others = std::ranges::find_if(conns, http::QueueClients::owns);
  if (others != conns.begin()) return connections_.service_some({conns.begin(), others});
  http_.on_changed(conns.front());
  return 1;
}

void Server::before_threads_send() {
  const std::scoped_lock lock(asks_for_lease_mutex_);
  if (asks_for_lease_) node_.check_lease();
}

void Server::let_threads_ask(bool for_lease) {
  const std::scoped_lock lock(asks_for_lease_mutex_);
  asks_for_lease_ = for_lease;
}

void Server::before_append(const store::Batch& batch) {
  appended_at_ = clock_.now();
  bodies_.before_write(batch);
  connections_.flush();  // The loop may write the batch itself, and clients work meanwhile.
}

void Server::on_body(const core::BodyRead& read, Result<Body> body) {
  if (!body.ok()) {
    log(Level::Error, "body.damaged",
        {{"job", fmt::format("{}", read.job)}, {"error", body.status().message()}});
    node_.on_lost_body(body.status());
  }
  core_.on_body(read.job, std::move(body), clock_.now());
}

}  // namespace perennial::perenniald
