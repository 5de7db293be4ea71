#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
#include <optional>
#include <string>
#include <string_view>

#include "absl/container/flat_hash_map.h"
#include "cmd/common/line_limit.h"
#include "cmd/perenniald/access/recent.h"
#include "cmd/perenniald/access/users.h"
#include "engine/types/basic.h"
#include "engine/types/later.h"

// What is counted of sign-ins, what bounds their lines in the log, and what slows down a client
// that tries tokens. No user is ever locked out, because then anybody could lock anybody out.
namespace perennial::access {

// How a client shows who it is. A listener's own user shows nothing, and is not counted.
enum class SignInMethod : uint8_t {
  Token,        // The command auth.
  Certificate,  // When a connection is opened, or with a request of HTTP.
  Process,      // The same, on a unix socket.
  Bearer,       // A token with a request of HTTP.
  Cookie,       // A token for the console, whose browser then has a cookie.
};
inline constexpr std::array<std::string_view, 5> sign_in_method_names = {
    "token", "certificate", "process", "bearer", "cookie"};

// Whether it can be guessed: a certificate and a process cannot.
constexpr bool has_secret(SignInMethod method) {
  return method != SignInMethod::Certificate && method != SignInMethod::Process;
}

// None: the listener belongs to a user, or nobody has shown anything.
std::optional<SignInMethod> method_of(const Identity& identity);
// What was shown, in words for the audit: "token k1". No secret is in it.
std::string how_of(const Identity& identity);

// Why a connection was closed that had not shown who it is.
enum class SignInRefusal : uint8_t {
  Limited,       // It has shown a wrong token, and its address too many of them before.
  Unidentified,  // Too many connections had not shown it yet.
  Timeout,       // It did not show it in time.
  WrongTokens,   // It has shown too many wrong tokens.
  Unauthorized,  // It has sent a body that is larger than that of any job, or too many commands.
};
inline constexpr std::array<std::string_view, 5> sign_in_refusal_names = {
    "limited", "unidentified", "timeout", "wrong_tokens", "unauthorized"};

struct SignInCounts {
  uint64_t ok = 0;
  uint64_t failed = 0;   // Wrong tokens.
  uint64_t limited = 0;  // The same, when their address had shown too many of them before.

  bool operator==(const SignInCounts&) const = default;
};

// What users were granted and refused since the start.
struct AccessCounts {
  std::array<SignInCounts, sign_in_method_names.size()> sign_ins = {};  // By SignInMethod.
  // Commands that no grant allows, by the Verb that would have allowed them.
  std::array<uint64_t, verb_rows.size()> forbidden = {};
  // Connections to the queue, by SignInRefusal.
  std::array<uint64_t, sign_in_refusal_names.size()> refused = {};

  uint64_t& of(SignInRefusal why) { return refused[static_cast<size_t>(why)]; }
  SignInCounts& of(SignInMethod method) { return sign_ins[static_cast<size_t>(method)]; }
  const SignInCounts& of(SignInMethod method) const {
    return sign_ins[static_cast<size_t>(method)];
  }
};

// How long the answer to a wrong token is held.
inline constexpr Nanos wrong_token_delay = nanos_per_second;
// A connection is closed at its third wrong token.
inline constexpr uint32_t wrong_tokens_max = 3;
// A connection that has not shown who it is is closed at this refused command. A client shows it
// first, so more than a few commands are a flood: each would have its turn beside those of users.
inline constexpr uint32_t refused_commands_max = 100;
// How long a connection may stay without showing who it is.
inline constexpr Nanos sign_in_time = 10 * nanos_per_second;

// Counts the wrong tokens of each address. After failures_max within a minute of the first one, a
// further one closes its connection at once, without an answer and a line of its own, until the
// minute is over. A good token is never refused. It remembers addresses_max addresses, and forgets
// those that failed first.
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

// Who has shown itself from where. Requests of HTTP show who asks each time, so a line for each
// would fill the log. They have a line when they come from an address from which the same was not
// shown for an hour. It remembers pairs_max of them, and forgets those that were seen first.
class SeenSignIns {
 public:
  static constexpr Nanos idle = 3600 * nanos_per_second;
  static constexpr size_t pairs_max = 10'000;

  // Returns whether this is to be in the log. `who` says the user, and how it was shown.
  bool is_news(const std::string& who, const std::string& address, Nanos now);
  size_t size() const { return seen_.size(); }

 private:
  Recent<std::optional<Nanos>> seen_{pairs_max};  // When it was seen last. None: not yet.
};

// The lines of sign-ins that were allowed: of each user so many in a second from each address. So a
// client that signs in all the time does not fill the log, and hides no other sign-in. It remembers
// pairs_max of them, and forgets those that were seen longest ago.
class SignInLines {
 public:
  static constexpr uint64_t per_second_max = 10;
  static constexpr size_t pairs_max = 10'000;

  // As common::LineLimit::take().
  std::optional<uint64_t> take(const std::string& user, const std::string& address, Nanos now);

 private:
  Recent<common::LineLimit> lines_{pairs_max};
};

// Connections that are each due the same time after they were added, so that they are due in the
// order in which they were added.
class DueConns {
 public:
  explicit DueConns(Nanos delay) : delay_(delay) {}

  void add(ConnId conn, Nanos now) { due_.push_back({later(now, delay_), conn}); }
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

}  // namespace perennial::access
