#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include <uv.h>

#include "cmd/perenniald/standby/dialer.h"

namespace perennial::perenniald {

// Notices that the leader's process has ended, long before its lease has: a connection to its peer
// address is kept open, and when that ends it is opened again at once. A machine that answers and
// refuses the connection has no such process any more. A machine that is silent says nothing, and
// its lease decides (C5).
//
// Nothing is sent over the connection. It is replaced every few seconds, before the other side
// closes it for its silence.
class LeaderWatch {
 public:
  // `ended`: the process that led in this epoch has ended. Called from the loop, once for an epoch.
  LeaderWatch(uv_loop_t& loop, Dialer& dialer, std::function<void(uint64_t epoch)> ended);
  LeaderWatch(const LeaderWatch&) = delete;
  LeaderWatch& operator=(const LeaderWatch&) = delete;

  // Watches the leader of this epoch at its peer address, "HOST:PORT", instead of any other. Empty:
  // none, or it has none.
  void set_leader(const std::string& address, uint64_t epoch);
  // Closes its handles, which the loop needs to end. It may be destroyed when the loop has ended.
  void close();

 private:
  struct Line;  // An open connection.

  void dial();
  void dial_after(uint64_t milliseconds);
  void on_dialled(int fd, int error);
  void drop_line();

  uv_loop_t& loop_;
  Dialer& dialer_;
  const std::function<void(uint64_t epoch)> ended_;
  uv_timer_t timer_;  // When to dial next.
  std::string address_;
  uint64_t epoch_ = 0;
  uint64_t life_ = 0;  // Counts set_leader(), so that what was dialled before does nothing.
  int refusals_ = 0;   // In a row.
  bool is_dialling_ = false;
  Line* line_ = nullptr;  // Its close callback frees it.
};

}  // namespace perennial::perenniald
