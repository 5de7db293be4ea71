#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "engine/types/basic.h"
#include "engine/types/status.h"

namespace perennial::perenniald {

// The calls of an epoll descriptor that somebody else owns.
class EpollSet {
 public:
  // What a socket is watched for: any combination, or nothing. `ending`: that the client will send
  // nothing more, even if some of its bytes are unread. It is for sockets that are not read; other
  // sockets see the end after the last byte. A socket that has failed is reported with everything,
  // because reading or writing shows the error.
  struct Interest {
    bool reading = false;
    bool writing = false;
    bool ending = false;
    bool operator==(const Interest&) const = default;
  };
  struct Report {
    ConnId conn = 0;
    Interest can;
    bool operator==(const Report&) const = default;
  };
  // The most sockets of one call.
  static constexpr size_t reports_max = 32;

  explicit EpollSet(int fd) : fd_(fd) {}

  // Io: the kernel watches no more sockets: memory is short, or fs.epoll.max_user_watches is
  // reached. A socket leaves the set when it is closed.
  Status add(int fd, ConnId conn, Interest interest);
  // Both REQUIRE: the socket was added.
  void change(int fd, ConnId conn, Interest interest);
  void remove(int fd);
  // Waits until a socket is ready, for at most this time in milliseconds; -1: for any time. Returns
  // how many of `reports` were filled, perhaps none. REQUIRES: there are at most reports_max.
  size_t wait(std::span<Report> reports, int timeout_ms) const;

 private:
  int control(int operation, int fd, ConnId conn, Interest interest) const;

  const int fd_;
};

}  // namespace perennial::perenniald
