#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <uv.h>

#include "cmd/perenniald/standby/dialer.h"

namespace perennial::perenniald {

// Notices that the leader's process has ended, long before its lease has. A connection to its peer
// address, a line, is kept open. The process is known to have ended if
// - the line ended with a FIN: the kernel of the leader's machine has closed the socket. Nothing
//   was sent over it, so the end of the process closes it so, however it ends;
// - and after that the address refuses connections, twice: the process has no socket that listens
//   either, and has not merely closed a connection that was silent.
//
// A refusal alone proves nothing: a firewall that answers with a reset refuses, too, while the
// process goes on behind it. Such a firewall resets a line at most, and never sends a FIN. A
// process whose line ended by a reset, or that was never reached, is not known to have ended, and
// its lease decides, as for a machine that is silent (C5: etc/docs/cluster.md).
//
// The line must reach the process itself. Where something ends TCP connections on the way, the end
// of that looks like the end of the process: leave `peer_address` of such a node empty.
//
// A line is replaced every few seconds, before the other side closes it as idle. If it could not be
// replaced in time, its FIN may be such a close, and proves nothing. The old line stays open for a
// second beside the new one: the process may not have accepted the new one yet, and its end would
// then reset that one, while the old one gets the FIN. For the same reason a new line that is reset
// within a second after such a FIN does not take the FIN's meaning away.
class LeaderWatch {
 public:
  // Called from the loop.
  struct Hooks {
    // The process that led in this epoch has ended. Called once for an epoch.
    std::function<void(uint64_t epoch)> ended;
    // Whether the leader is reached at its peer address: a line to it was opened, or could not be
    // for unreached_ms. None: it is not known yet. Called when that changes.
    std::function<void(std::optional<bool>)> reached;
  };
  LeaderWatch(uv_loop_t& loop, Dialer& dialer, Hooks hooks);
  LeaderWatch(const LeaderWatch&) = delete;
  LeaderWatch& operator=(const LeaderWatch&) = delete;

  // Watches the leader of this epoch at its peer address, "HOST:PORT", instead of any other. Empty:
  // none, or it has none.
  void set_leader(const std::string& address, uint64_t epoch);
  // Closes its handles, which the loop needs to end. It may be destroyed when the loop has ended.
  void close();

 private:
  struct Line;

  void dial();
  void dial_after(uint64_t milliseconds);
  void on_dialled(int fd, int error);
  void on_timer();
  // `is_end`: as that of a process that ends.
  void on_line_ended(Line* line, bool is_end);
  void drop_lines();
  void set_reached(std::optional<bool> reached);

  uv_loop_t& loop_;
  Dialer& dialer_;
  const Hooks hooks_;
  uv_timer_t timer_;  // When to dial next.
  std::string address_;
  uint64_t epoch_ = 0;
  uint64_t generation_ = 0;  // Counts set_leader(). The outcome of an earlier dial is ignored.
  int refusals_ = 0;         // In a row.
  uint64_t reached_at_ = 0;  // By uv_now(): when a line was opened last, or the watch began.
  std::optional<bool> reached_;
  // Since the last line was opened, a line has ended with a FIN that may be from the end of the
  // process.
  bool is_closed_ = false;
  bool is_dialling_ = false;
  // The newest line, and the one before while that stays. Close callbacks free them.
  Line* line_ = nullptr;
  Line* former_ = nullptr;
};

}  // namespace perennial::perenniald
