#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <uv.h>

#include "cmd/perenniald/core/session.h"
#include "cmd/perenniald/net/connections.h"
#include "cmd/perenniald/standby/dialer.h"
#include "cmd/perenniald/standby/forwarder.h"
#include "cmd/perenniald/standby/leader_watch.h"

namespace perennial::perenniald {

// Who leads instead of this node.
struct OtherLeader {
  std::string node;
  std::string client_address;
  bool reads_forward_header = false;  // net/forward_header.h
  std::string peer_address;           // Empty: it has none.
  uint64_t epoch = 0;

  bool operator==(const OtherLeader&) const = default;
};

// What a node does for clients while it does not lead: it passes them on to the leader, and notices
// that the leader's process has ended.
class Standby final : private Forwarder::Owner {
 public:
  struct Hooks {
    std::function<Nanos()> now;
    // The process that led in this epoch has ended.
    std::function<void(uint64_t epoch)> leader_has_ended;
    // LeaderWatch::Hooks::reached
    std::function<void(std::optional<bool>)> leader_reached;
  };
  // `loop` and `connections` outlive this. `wait_max`: how long a client waits for a leader.
  Standby(uv_loop_t& loop, Connections& connections, Nanos wait_max, Hooks hooks);

  // Makes the session of a client, or of a connection to the leader.
  core::Session& open(ConnId conn, const AcceptedSocket& socket);
  // None: nobody leads, or this node leads and does not serve yet.
  void set_leader(const std::optional<OtherLeader>& leader);
  // Writes the output of sessions that have changed. Call it before the loop blocks.
  void serve();
  // This node serves from now on: clients that wait for a leader are served here.
  void end();

  size_t forwarded() const { return forwarder_.forwarded(); }
  // How many clients were refused because they were passed on in a circle.
  uint64_t circles() const { return circles_; }
  // Closes its handles, which the loop needs to end. It may be destroyed when the loop has ended.
  void close();

 private:
  // -- Forwarder::Owner
  void dial(const std::string& address, std::function<void(int fd)> done) override;
  bool adopt(int fd) override;
  void end_output(ConnId conn) override { connections_.end_output(conn); }
  void on_circle(ConnId client) override;

  Connections& connections_;
  const Hooks hooks_;
  Dialer dialer_;
  Forwarder forwarder_;
  LeaderWatch leader_watch_;
  uv_timer_t timer_;
  OtherLeader leader_;
  uint64_t circles_ = 0;
  std::vector<ConnId> changed_;
};

}  // namespace perennial::perenniald
