#pragma once

#include <ctime>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <uv.h>

#include "cmd/perenniald/config/config.h"
#include "cmd/perenniald/loop/clock.h"
#include "cmd/perenniald/server/listeners.h"
#include "engine/types/status.h"

namespace perennial::perenniald {

// Reads the files of the TLS listeners again: when it is told to, and when one of them has changed.
// Bad files change nothing, and are one line in the log.
class TlsReload {
 public:
  // `loop` and `clock` outlive this.
  TlsReload(uv_loop_t& loop, TurnClock& clock, const Config& config, TlsListeners listeners);

  // Says which listeners have TLS, and begins to look at their files every minute.
  void start();
  // The address of each listener with TLS, and whether its files are in use.
  std::vector<std::pair<std::string, Status>> reload_all();
  // Closes its handle, which the loop needs to end.
  void close();

  bool has_any() const;
  // Whether files were reloaded since the last take_news(), perhaps with other revocation lists.
  bool has_news() const { return has_news_; }
  bool take_news() { return std::exchange(has_news_, false); }
  // Whether the files of each listener were good when they were read last.
  bool is_current() const { return bad_.empty(); }
  // When files could be used that were read again; 0: none was yet.
  Nanos reloaded_at() const { return reloaded_at_; }
  // The address of each listener with TLS, and when its certificate expires, in seconds since the
  // epoch.
  std::vector<std::pair<std::string, std::time_t>> certificate_ends() const;
  // Null: this listener has no TLS.
  TlsListener* find(size_t listener) const { return listeners_[listener].get(); }

 private:
  void look();
  Status reload(size_t listener);

  TurnClock& clock_;
  std::vector<std::string> names_;  // The addresses, for the log.
  const TlsListeners listeners_;
  bool has_news_ = false;
  std::set<size_t> bad_;  // Those whose files could not be used when they were read last.
  Nanos reloaded_at_ = 0;
  uv_timer_t timer_;
};

}  // namespace perennial::perenniald
