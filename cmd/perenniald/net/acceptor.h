#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <uv.h>

#include "cmd/perenniald/net/socket_set.h"
#include "cmd/perenniald/net/sockets.h"
#include "engine/types/status.h"

namespace perennial::perenniald {

// A client that has come in: a connected, non-blocking socket, which is the receiver's.
struct AcceptedSocket {
  int fd = -1;
  bool is_local = false;  // The client is on this machine.
  ListenerRole role = ListenerRole::Queue;
};

// Takes clients from the listening sockets, as many as there is room for. Past that they wait in
// the kernel's queue until one has left. It calls accept itself and leaves that to no uv_listen,
// because libuv closes waiting clients when descriptors run out. And the listening sockets stay in
// a set of their own while they are not watched, because libuv ends the process when the kernel
// refuses to watch one again.
class Acceptor {
 public:
  struct Hooks {
    std::function<bool()> has_room;
    // Io: the system has no means for this client. It is closed, and the others wait a while.
    std::function<Status(const AcceptedSocket&)> accepted;
  };
  Acceptor(uv_loop_t& loop, std::vector<BoundSocket> sockets, Hooks hooks);
  ~Acceptor();

  // Opens the doors.
  Status listen();
  // A client has left, so there may be room again.
  void on_room();
  // Closes the doors for good; socket files go when this object does.
  void close();

  std::vector<std::string> names() const;

 private:
  void take_clients(const BoundSocket& door);
  void pause();
  void pause_a_while(const std::string& error);
  void resume();
  void watch(bool reading);

  std::vector<BoundSocket> sockets_;
  Hooks hooks_;
  SocketSet doors_;    // Those of sockets_, by their index.
  uv_timer_t* retry_;  // Freed by its close callback. None: closed.
  bool paused_ = false;
  bool warned_ = false;
};

}  // namespace perennial::perenniald
