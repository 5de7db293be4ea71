#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
#include <optional>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "engine/types/basic.h"

// What slows down a client that tries tokens. No user is ever locked out, because then anybody
// could lock anybody out.
namespace perennial::core {

// How long the answer to a wrong token is held.
inline constexpr Nanos wrong_token_delay = nanos_per_second;
// The wrong token of a connection with which it is closed.
inline constexpr uint32_t wrong_tokens_max = 3;
// How long a connection may stay without showing who it is.
inline constexpr Nanos sign_in_time = 10 * nanos_per_second;

// Counts the wrong tokens of each address. After failures_max within a minute of the first one,
// connections from there are closed at once until the minute is over. It remembers addresses_max
// addresses, and forgets those that failed first.
class SignInLimiter {
 public:
  static constexpr uint32_t failures_max = 10;
  static constexpr Nanos window = 60 * nanos_per_second;
  static constexpr size_t addresses_max = 10'000;

  // An empty address is never refused: a unix socket has none.
  bool is_refused(const std::string& address, Nanos now) const;
  void on_failure(const std::string& address, Nanos now);
  size_t size() const { return failures_.size(); }

 private:
  struct Failures {
    Nanos since = 0;
    uint32_t count = 0;
    std::list<std::string>::iterator place;
  };

  absl::flat_hash_map<std::string, Failures> failures_;
  std::list<std::string> by_age_;  // The address that failed first is the first.
};

// Connections that are each due the same time after they were added, so that they are due in the
// order in which they were added.
class DueConns {
 public:
  explicit DueConns(Nanos delay) : delay_(delay) {}

  void add(ConnId conn, Nanos now) { due_.push_back({now + delay_, conn}); }
  // Takes the next connection that is due, which may be closed by now.
  std::optional<ConnId> take(Nanos now) {
    if (due_.empty() || due_.front().at > now) return std::nullopt;
    const ConnId conn = due_.front().conn;
    due_.pop_front();
    return conn;
  }
  std::optional<Nanos> next() const {
    if (due_.empty()) return std::nullopt;
    return due_.front().at;
  }

 private:
  struct Due {
    Nanos at;
    ConnId conn;
  };

  const Nanos delay_;
  std::deque<Due> due_;
};

}  // namespace perennial::core
