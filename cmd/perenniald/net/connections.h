#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include <uv.h>

#include "absl/container/node_hash_map.h"
#include "cmd/perenniald/core/session.h"
#include "cmd/perenniald/loop/clock.h"
#include "cmd/perenniald/loop/turn_budget.h"
#include "cmd/perenniald/net/acceptor.h"
#include "cmd/perenniald/net/socket_set.h"
#include "cmd/perenniald/net/stream.h"

namespace perennial::perenniald {

// The clients. Moves bytes between their streams and their sessions and decides nothing: a session
// says what to write, whether to read on, and when it is at its end.
//
// Invariants: a connection is in the map, and has a session, from open() to close(); its output
// stays in its session until its stream has taken it; all reads share one buffer, which no session
// keeps.
class Connections {
 public:
  struct Hooks {
    // A session for a client that has come in.
    std::function<core::Session&(ConnId conn, const AcceptedSocket& socket)> open;
    // Whether there are sessions that wait for their turn: they come before those who are read now.
    std::function<bool()> has_waiting;
    // A session was given bytes: there may be more to come in this turn.
    std::function<void()> on_bytes;
    // A descriptor has become free.
    std::function<void()> on_closed;
  };
  // All of them outlive this.
  Connections(uv_loop_t& loop, TurnClock& clock, const TurnBudget& budget, Hooks hooks);
  ~Connections();

  // Takes over the socket. Io: it cannot be watched, and is closed.
  Status open(const AcceptedSocket& socket);
  // Writes what may leave, and reads on, stops, or closes as the session says. Unknown numbers are
  // passed over.
  void service(ConnId id);
  // From here on nothing more is read from anybody.
  void stop_reading();
  // Whether any client has not yet taken all that it is to get.
  bool writing() const { return full_count_ > 0; }
  // Closes all sockets, without a word to their sessions, and what watches them: the last call.
  void close_all();

  size_t count() const { return connections_.size(); }

 private:
  struct Connection {
    ConnId id = 0;
    std::unique_ptr<Stream> stream;
    core::Session* session = nullptr;
    bool full = false;   // Its stream takes no more of its output now.
    bool ended = false;  // Its session knows that the client will send nothing more.
    SocketSet::Interest watched_for;
  };

  static std::unique_ptr<Stream> make_stream(const AcceptedSocket& socket);
  void on_ready(ConnId id, SocketSet::Interest can);
  void read(Connection& conn);
  void on_ending(Connection& conn);
  // False when the connection is gone, or will be visited again.
  bool write_out(Connection& conn);
  void set_full(Connection& conn, bool full);
  void watch(Connection& conn, bool reading);
  void close(Connection& conn);

  TurnClock& clock_;
  const TurnBudget& budget_;
  const Hooks hooks_;
  SocketSet sockets_;
  absl::node_hash_map<ConnId, Connection> connections_;
  std::vector<char> buffer_;
  ConnId last_id_ = 0;
  size_t full_count_ = 0;
  bool stopped_ = false;
};

}  // namespace perennial::perenniald
