#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include <uv.h>

#include "cmd/perenniald/sockets.h"
#include "engine/types/status.h"

namespace perennial::perenniald {

// A client that has come in: a connected, non-blocking socket, which is the receiver's.
struct AcceptedSocket {
  int fd = -1;
  bool is_unix = false;
  bool is_local = false;  // The client is on this machine.
};

// Takes clients from the listening sockets, as many as there is room for. Past that they wait in
// the kernel's queue until one has left. It calls accept itself and leaves that to no uv_listen,
// because libuv closes waiting clients when descriptors run out.
class Acceptor {
 public:
  struct Hooks {
    std::function<bool()> has_room;
    std::function<void(const AcceptedSocket&)> accepted;
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
  struct Door {
    uv_poll_t poll;  // Freed by its close callback.
    Acceptor* owner;
    int fd;
    bool is_unix;
  };
  static void on_client(uv_poll_t* poll, int status, int events);
  void take_clients(const Door& door);
  void pause();
  void pause_a_while(int error);
  void resume();

  uv_loop_t& loop_;
  std::vector<BoundSocket> sockets_;
  Hooks hooks_;
  std::vector<Door*> doors_;
  uv_timer_t* retry_;
  bool paused_ = false;
  bool warned_ = false;
};

}  // namespace perennial::perenniald
