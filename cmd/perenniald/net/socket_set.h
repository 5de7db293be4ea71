#pragma once

#include <cstdint>
#include <functional>

#include <uv.h>

#include "cmd/perenniald/loop/watched_fd.h"
#include "engine/types/basic.h"
#include "engine/types/status.h"

namespace perennial::perenniald {

// Tells which of many sockets can be read or written, a few at a time and in turns. An epoll set,
// which libuv watches as one descriptor.
//
// libuv's own streams tell of all that are ready in one turn, however many there are, always in the
// same order, and ask up to 48 times for a thousand more: thousands of clients at once were turns
// of 60 to 90 ms, half of which went into asking. Here a turn ends when its time is over, and
// the next goes on with those who were not told of.
class SocketSet {
 public:
  // What a socket is watched for; all, some, or none. `ending`: that the client will send nothing
  // more, whatever of it is still unread; for sockets that nobody reads, as to the others it shows
  // behind what they read. A socket that has failed can do all of them, for reading and writing is
  // how to learn why.
  struct Interest {
    bool reading = false;
    bool writing = false;
    bool ending = false;
    bool operator==(const Interest&) const = default;
  };
  // Of one that was told of. It may be closed meanwhile, or changed.
  using Ready = std::function<void(ConnId conn, Interest can)>;

  // `ready` is called from the loop, again and again for as long as it can be. After a few of them
  // `has_time` says whether there may be more in this turn. Both may do anything here but close().
  // What they need, and the loop, outlive this. CHECK: an epoll set cannot be had.
  SocketSet(uv_loop_t& loop, Ready ready, std::function<bool()> has_time);
  SocketSet(const SocketSet&) = delete;
  SocketSet& operator=(const SocketSet&) = delete;

  // Io: the kernel watches no more, for want of memory or by fs.epoll.max_user_watches. A socket
  // that is closed has left the set.
  Status add(int fd, ConnId conn, Interest interest);
  // REQUIRES: it was added.
  void change(int fd, ConnId conn, Interest interest);
  // Ends its handle, as the loop's end wants it. It may be destroyed when the loop has run out.
  void close() { set_.close(); }

 private:
  int control(int operation, int fd, ConnId conn, Interest interest);
  void tell();

  const Ready ready_;
  const std::function<bool()> has_time_;
  WatchedFd set_;
};

}  // namespace perennial::perenniald
