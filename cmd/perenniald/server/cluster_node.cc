#include "cmd/perenniald/server/cluster_node.h"

#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "absl/strings/numbers.h"
#include "cmd/common/exit_codes.h"
#include "cmd/perenniald/http/problem.h"
#include "cmd/perenniald/server/listeners.h"
#include "cmd/perenniald/server/shared_settings.h"
#include "engine/types/check.h"

namespace perennial::perenniald {

ClusterNode::ClusterNode(uv_loop_t& loop, TurnClock& clock, Connections& connections,
                         const Config& config)
    : loop_(loop), clock_(clock), connections_(connections), config_(config) {}

std::optional<Failure> ClusterNode::join(const std::string& version, const access::Users* users,
                                         std::function<void()> wake) {
  Result<std::unique_ptr<NodeRunner>> runner =
      NodeRunner::create(config_.cluster, version, std::move(wake));
  if (!runner.ok()) {
    const bool is_of_dns = runner.status().code() == StatusCode::NotFound;  // It may answer later.
    return Failure{is_of_dns ? common::exit_system : common::exit_usage, "cluster",
                   runner.status().message()};
  }
  runner_ = runner.take();
  const auto wake_peer = [](uv_async_t* handle) {
    static_cast<ClusterNode*>(handle->data)->peer_checkpoints_->on_wake();
  };
  CHECK(uv_async_init(&loop_, &peer_, wake_peer) == 0);
  peer_.data = this;
  peer_checkpoints_ = std::make_unique<PeerCheckpoints>(PeerCheckpoints::Parts{
      .data_dir = config_.data_dir,
      .version = version,
      .create =
          [this](BatchIndex at, std::string dir, std::function<void(Result<BatchIndex>)> done) {
            runner_->checkpoint_at(at, std::move(dir), std::move(done));
          },
      .wake = [this] { uv_async_send(&peer_); }});
  tell_settings(users);
  const Nanos wait_max = static_cast<Nanos>(config_.cluster.forward_wait_s) * nanos_per_second;
  standby_.emplace(
      loop_, connections_, wait_max,
      Standby::Hooks{
          .now = [this] { return clock_.now(); },
          .leader_has_ended = [this](uint64_t epoch) { runner_->leader_has_ended(epoch); },
          .leader_reached =
              [this](std::optional<bool> reached) { runner_->on_leader_reached(reached); }});
  return std::nullopt;
}

std::optional<OtherLeader> ClusterNode::other_leader() const {
  const NodeFacts facts = runner_->facts();
  if (!facts.leader || facts.leader->node == config_.cluster.node) return std::nullopt;
  return OtherLeader{.node = facts.leader->node,
                     .client_address = facts.leader->client_address,
                     .reads_forward_header = facts.leader->reads_forward_header,
                     .peer_address = facts.leader->peer_address,
                     .epoch = facts.leader->epoch};
}

void ClusterNode::follow(const std::optional<OtherLeader>& leader) {
  standby_->set_leader(leader);
}

// A leader is reached at one address, so clients are passed on who speak as those at this node's
// own address do: with TLS or without. Who they are is shown to the leader by what they send.
// Clients of a unix socket are known by their process, which a leader elsewhere cannot see.
bool ClusterNode::is_forwarded(const BoundSocket& socket, bool has_tls) const {
  if (config_.cluster.standby_clients != StandbyClients::Forward) return false;
  if (socket.role() != ListenerRole::Queue || socket.is_unix()) return false;
  return has_tls == has_tls_at(config_, config_.cluster.client_address);
}

core::Session& ClusterNode::open(ConnId conn, const AcceptedSocket& socket) {
  return standby_->open(conn, socket);
}

void ClusterNode::serve() {
  if (standby_) standby_->serve();
}

std::unique_ptr<store::Log> ClusterNode::take_log(Nanos now) {
  runner_->set_time(now);
  return runner_->take_log();
}

void ClusterNode::begin_serving() {
  if (standby_) standby_->end();
}

void ClusterNode::check_lease() const {
  if (runner_ != nullptr) runner_->check_lease();
}

void ClusterNode::on_lost_body(const Status& why) const {
  if (runner_ != nullptr) runner_->on_lost_body(why);
}

void ClusterNode::on_loop_stalled(Nanos stalled) const {
  if (runner_ != nullptr) runner_->on_loop_stalled(stalled);
}

bool ClusterNode::has_successor() const {
  return runner_ != nullptr && runner_->facts().standbys.has_successor;
}

std::string ClusterNode::ask_handover() {
  if (runner_ == nullptr) return "This server is part of no cluster.";
  if (!has_successor()) {
    return "No standby that may lead is up to date, or takeovers are paused, so nobody would "
           "serve: see `perennial cluster status`.";
  }
  runner_->ask_handover();
  return {};
}

bool ClusterNode::hands_over() const {
  return runner_ != nullptr && runner_->hands_over();
}

void ClusterNode::tell_settings(const access::Users* users) {
  if (runner_ != nullptr) runner_->set_shared_settings(shared_settings(config_, users));
}

Status ClusterNode::reconfigure() {
  return runner_->reconfigure(config_.cluster);
}

std::optional<ClusterStats> ClusterNode::stats() const {
  if (runner_ == nullptr) return std::nullopt;
  const NodeFacts facts = runner_->facts();
  return ClusterStats{.role = facts.leads ? "leader" : "standby",
                      .epoch = facts.epoch,
                      .lag = facts.lag(),
                      .standbys = facts.leads ? facts.standbys.count : 0,
                      .standby_lag = facts.leads ? facts.standbys.lag : 0};
}

std::optional<http::ClusterFacts> ClusterNode::facts() const {
  if (runner_ == nullptr) return std::nullopt;
  const NodeFacts facts = runner_->facts();
  return http::ClusterFacts{.leads = facts.leads,
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
                            .standbys = facts.leads ? facts.standbys.count : 0,
                            .standby_lag = facts.leads ? facts.standbys.lag : 0,
                            .settings_differ = facts.settings_differ,
                            .appends = runner_->append_times()};
}

http::ClusterHealth ClusterNode::health(bool serves, bool is_stopping) const {
  http::ClusterHealth health = {.is_stopping = is_stopping};
  if (runner_ == nullptr) return health;
  const NodeFacts facts = runner_->facts();
  health.is_node = true;
  health.name = config_.cluster.name;
  health.node = config_.cluster.node;
  health.is_elected = facts.leads;
  health.leads = facts.leads && serves;
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

std::optional<http::Http::Handled> ClusterNode::answer(const http::Request& request) {
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
        digest, http::answer_now(http::problem_response(http::Status::BadRequest,
                                                        "at: the index of a batch, from 1 on."))};
  }
  return http::Http::Handled{digest, peer_checkpoints_->digest(index)};
}

void ClusterNode::leave() {
  if (runner_ != nullptr) runner_->leave();
}

void ClusterNode::close() {
  if (!standby_) return;
  standby_->close();
  peer_checkpoints_->stop();
  uv_close(reinterpret_cast<uv_handle_t*>(&peer_), nullptr);
}

void ClusterNode::end() {
  standby_.reset();
  runner_.reset();
}

}  // namespace perennial::perenniald
