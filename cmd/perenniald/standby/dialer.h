#pragma once

#include <functional>
#include <string>
#include <unordered_set>

#include <uv.h>

namespace perennial::perenniald {

// Opens TCP connections to other nodes, and blocks nothing: names are looked up on libuv's pool.
class Dialer {
 public:
  // `fd`: a connected, non-blocking socket, which the receiver owns; or -1, and `error` is errno's.
  // A name without an address is EHOSTUNREACH.
  using Done = std::function<void(int fd, int error)>;

  explicit Dialer(uv_loop_t& loop) : loop_(loop) {}
  Dialer(const Dialer&) = delete;
  Dialer& operator=(const Dialer&) = delete;
  // REQUIRES: close() was called, and the loop has ended.
  ~Dialer();

  // Tries the addresses of `address`, "HOST:PORT", in their order, each for at most two seconds.
  // `done` is called once from the loop, never before this returns.
  void dial(const std::string& address, Done done);
  // Ends all tries. No `done` is called from now on.
  void close();

 private:
  struct Call;

  uv_loop_t& loop_;
  std::unordered_set<Call*> calls_;
  bool closed_ = false;
};

}  // namespace perennial::perenniald
