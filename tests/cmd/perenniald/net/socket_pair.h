#pragma once

#include <array>
#include <cerrno>
#include <cstddef>
#include <string>
#include <string_view>

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

namespace perennial::perenniald {

// The two ends of a connection that does not block: ours, which the code under test has, and
// theirs.
class SocketPair {
 public:
  SocketPair() { EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends_.data()), 0); }
  SocketPair(const SocketPair&) = delete;
  SocketPair& operator=(const SocketPair&) = delete;
  ~SocketPair() {
    close_ours();
    close_theirs();
  }

  int ours() const { return ends_[0]; }
  void close_ours() { close_end(ends_[0]); }
  // Takes a byte that they have said.
  void take() const {
    char byte = 0;
    EXPECT_EQ(recv(ends_[0], &byte, 1, 0), 1);
  }
  // Sends until our end takes no more.
  void fill() const {
    const std::string bytes(piece_bytes, 'x');
    while (send(ends_[0], bytes.data(), bytes.size(), 0) > 0) continue;
    EXPECT_EQ(errno, EAGAIN);
  }

  void say(std::string_view bytes = "x") const {
    EXPECT_EQ(send(ends_[1], bytes.data(), bytes.size(), 0), static_cast<ssize_t>(bytes.size()));
  }
  // Returns all that our end has sent.
  std::string hear() const {
    std::string heard;
    std::string piece(piece_bytes, '\0');
    for (;;) {
      const ssize_t count = recv(ends_[1], piece.data(), piece.size(), 0);
      if (count <= 0) return heard;
      heard.append(piece, 0, static_cast<size_t>(count));
    }
  }
  // They send nothing more, and still listen.
  void end_theirs() const { EXPECT_EQ(shutdown(ends_[1], SHUT_WR), 0); }
  void close_theirs() { close_end(ends_[1]); }

 private:
  static constexpr size_t piece_bytes = 64 << 10;

  static void close_end(int& fd) {
    if (fd >= 0) close(fd);
    fd = -1;
  }

  std::array<int, 2> ends_ = {-1, -1};
};

}  // namespace perennial::perenniald
