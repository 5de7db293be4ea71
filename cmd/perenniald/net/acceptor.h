#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <uv.h>

#include "cmd/perenniald/loop/turn_budget.h"
#include "cmd/perenniald/net/socket_set.h"
#include "cmd/perenniald/net/sockets.h"
#include "engine/types/status.h"

namespace perennial::perenniald {

// A client that was accepted, or a connection that this server has opened: a connected,
// non-blocking socket, which the receiver owns.
struct AcceptedSocket {
  int fd = -1;
  bool to_leader = false;  // This node has opened it, to the leader of its cluster.
  bool is_local = false;   // The client is on this machine.
  bool is_unix = false;    // It came over a unix socket.
  // Where the client is. None: it came over a unix socket, or this node has opened it.
  std::optional<common::IpAddress> address = {};
  bool wants_proxy_header = false;  // A proxy says first for whom it connects.
  std::string proxied_peer = {};    // What it has said: "192.0.2.1:4711". Empty: nothing yet.
  ListenerRole role = ListenerRole::Queue;
  // Which of the setting `listeners` has its listening socket. None: an address of `listen`.
  std::optional<size_t> listener = {};
};

// Accepts clients from the listening sockets, as many as there are free slots. Further clients wait
// in the kernel's queue until a slot is free. One socket may have a slot while another has none.
//
// It calls accept itself, and not through uv_listen, because libuv closes waiting clients when
// descriptors run out. The listening sockets stay in a set of their own even while they are not
// watched, because libuv ends the process when the kernel refuses to watch a socket again.
class Acceptor {
 public:
  struct Hooks {
    // Whether one more client of this socket may be accepted.
    std::function<bool(const BoundSocket&)> has_slot;
    // Io: the system lacks the means for this client. It is closed, and further clients wait a
    // while.
    std::function<Status(const AcceptedSocket&)> accepted;
  };
  // `loop` and `budget` outlive this.
  Acceptor(uv_loop_t& loop, std::vector<BoundSocket> sockets, const TurnBudget& budget,
           Hooks hooks);
  ~Acceptor();

  using Choice = std::function<bool(const BoundSocket&)>;
  // Begins to listen and to accept at those of the chosen sockets that do not yet, and adds their
  // addresses to `names`.
  Status listen(const Choice& is_chosen, std::vector<std::string>& names);
  // A client has left, or its handshake has ended, so a slot may be free.
  void on_slot_free();
  // Closes the chosen sockets for good, or all of them. Socket files are removed with this object.
  void close(const Choice& is_chosen);
  void close();

  // Whether one of the sockets has this role.
  bool has_role(ListenerRole role) const;

 private:
  void take_clients(size_t index);
  void pause_a_while(const std::string& error);
  void resume();
  void watch(size_t index, bool reading);

  std::vector<BoundSocket> sockets_;
  const TurnBudget& budget_;
  Hooks hooks_;
  SocketSet listeners_;  // Those of sockets_, by their index.
  uv_timer_t* retry_;    // Its close callback frees it. Null: closed.
  std::vector<bool> listens_;
  std::vector<bool> paused_;
  bool warned_ = false;
};

}  // namespace perennial::perenniald
