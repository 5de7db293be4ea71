#include "cmd/perenniald/standby/standby.h"

#include <utility>

#include "engine/types/check.h"

namespace perennial::perenniald {
namespace {

// How often a leader that could not be reached is tried again.
constexpr uint64_t dial_again_ms = 100;

}  // namespace

Standby::Standby(uv_loop_t& loop, Connections& connections, Nanos wait_max, Hooks hooks)
    : connections_(connections),
      hooks_(std::move(hooks)),
      dialer_(loop),
      forwarder_(wait_max, *this),
      leader_watch_(loop, dialer_,
                    {.ended = hooks_.leader_has_ended, .reached = hooks_.leader_reached}) {
  CHECK(uv_timer_init(&loop, &timer_) == 0);
  timer_.data = this;
  const auto fired = [](uv_timer_t* timer) {
    Standby& standby = *static_cast<Standby*>(timer->data);
    standby.forwarder_.on_time(standby.hooks_.now());
  };
  CHECK(uv_timer_start(&timer_, fired, dial_again_ms, dial_again_ms) == 0);
}

core::Session& Standby::open(ConnId conn, const AcceptedSocket& socket) {
  if (socket.to_leader) return forwarder_.open_leader_side(conn);
  return forwarder_.open_client(conn, hooks_.now());
}

void Standby::set_leader(const std::optional<OtherLeader>& leader) {
  leader_ = leader.value_or(OtherLeader());
  forwarder_.set_leader(leader_.client_address, leader_.reads_forward_header);
  leader_watch_.set_leader(leader_.peer_address, leader_.epoch);
}

void Standby::dial(const std::string& address, std::function<void(int fd)> done) {
  dialer_.dial(address, [then = std::move(done)](int fd, int /*error*/) { then(fd); });
}

bool Standby::adopt(int fd) {
  return connections_.open({.fd = fd, .to_leader = true}).ok();
}

void Standby::on_circle(ConnId client) {
  ++circles_;
  connections_.log_client(ClientLine::Circle,
                          {{"peer", connections_.peer_of(client)},
                           {"leader", leader_.node},
                           {"client_address", leader_.client_address},
                           {"means",
                            "it leads to a standby, so clients go round; set client_address of "
                            "that node to an address that leads to the node itself"}});
}

void Standby::serve() {
  while (forwarder_.has_changed()) {
    forwarder_.take_changed(changed_);
    for (const ConnId conn : changed_) connections_.service(conn);
  }
}

void Standby::end() {
  set_leader({});
  uv_timer_stop(&timer_);
  for (const ConnId client : forwarder_.waiting()) {
    const Forwarder::Early early = forwarder_.take(client);
    connections_.begin_anew(client, early.bytes, early.ended);
  }
}

void Standby::close() {
  leader_watch_.close();
  dialer_.close();
  uv_close(reinterpret_cast<uv_handle_t*>(&timer_), nullptr);
}

}  // namespace perennial::perenniald
