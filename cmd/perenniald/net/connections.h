#pragma once

#include <cstddef>
#include <functional>
#include <string_view>
#include <vector>

#include <uv.h>

#include "absl/container/node_hash_map.h"
#include "cmd/perenniald/core/core.h"
#include "cmd/perenniald/loop/clock.h"
#include "cmd/perenniald/loop/turn_budget.h"
#include "cmd/perenniald/net/acceptor.h"
#include "cmd/perenniald/net/socket_set.h"

namespace perennial::perenniald {

// The clients. Moves bytes between their sockets and core and decides nothing: core says what to
// write, whether to read on, and when a connection is at its end.
//
// Invariants: a connection is in the map, and known to core, from open() to close(); its output
// stays in core until the kernel has taken it; all reads share one buffer, which core never keeps.
class Connections {
 public:
  // All of them outlive this. Clients of other machines may ask for checkpoints only if
  // `trust_all`. `on_closed` is called when a descriptor has become free, `on_bytes` when core has
  // been given bytes: there may be more to come in this turn.
  Connections(uv_loop_t& loop, core::Core& core, TurnClock& clock, const TurnBudget& budget,
              bool trust_all, std::function<void()> on_bytes, std::function<void()> on_closed);
  ~Connections();

  // Takes over the socket. Io: it cannot be watched, and is closed.
  Status open(const AcceptedSocket& socket);
  // Writes what may leave, and reads on, stops, or closes as core says. Unknown numbers are passed
  // over.
  void service(ConnId id);
  // From here on nothing more is read from anybody.
  void stop_reading();
  // Whether any client has not yet taken all that it is to get.
  bool writing() const { return full_count_ > 0; }
  // Closes all sockets, without a word to core, and what watches them: the last call.
  void close_all();

  size_t count() const { return connections_.size(); }

 private:
  struct Connection {
    ConnId id = 0;
    int fd = -1;
    bool full = false;   // The kernel takes no more of its output now.
    bool ended = false;  // Core knows that its client will send nothing more.
    SocketSet::Interest watched_for;
  };

  void on_ready(ConnId id, SocketSet::Interest can);
  void read(Connection& conn);
  void on_ending(Connection& conn);
  // False when the connection is gone, or will be visited again.
  bool write_out(Connection& conn);
  void set_full(Connection& conn, bool full);
  void watch(Connection& conn, bool reading);
  void close(Connection& conn);

  core::Core& core_;
  TurnClock& clock_;
  const TurnBudget& budget_;
  const bool trust_all_;
  std::function<void()> on_bytes_;
  std::function<void()> on_closed_;
  SocketSet sockets_;
  absl::node_hash_map<ConnId, Connection> connections_;
  std::vector<char> buffer_;
  ConnId last_id_ = 0;
  size_t full_count_ = 0;
  bool stopped_ = false;
};

}  // namespace perennial::perenniald
