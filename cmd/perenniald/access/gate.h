#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "cmd/common/line_limit.h"
#include "cmd/perenniald/access/audit.h"
#include "cmd/perenniald/access/sign_in.h"
#include "cmd/perenniald/access/users.h"
#include "engine/types/basic.h"

namespace perennial::access {

// Who may use the server now, and what was granted and refused since the start: it looks up who
// shows a token, slows down whoever tries them, counts, and writes the lines of the audit. The
// queue and the HTTP port ask the same gate. It knows no connection, and closes none: core does.
//
// `now` never goes back. All calls are made on one thread.
class Gate {
 public:
  // The refusals that have a line of the audit in a second: of users, and of unknown clients.
  static constexpr uint64_t refusals_per_second_max = 10;

  using Audit = std::function<void(const AuditEvent&)>;

  // `write_line`: writes a line of the audit. Null: there is none.
  explicit Gate(Audit write_line) : write_line_(std::move(write_line)) {}

  // Null: everybody may do everything.
  const std::shared_ptr<const Users>& users() const { return users_; }
  void set_users(std::shared_ptr<const Users> users) { users_ = std::move(users); }

  // ---- Of the HTTP port.
  // The user of a token, which came as a bearer or for a cookie. Null: it is none.
  const User* user_of_token(std::string_view token, SignInMethod method, const std::string& address,
                            Nanos now);
  // A request has come over a connection that shows who it is. No identity is a token.
  void on_shown(const User& user, const Identity& identity, const std::string& address, Nanos now);
  // The port has refused what no command of the queue does. It counts and is audited as a refused
  // command is. `missing`: the verb that would have allowed it; none: no verb would have.
  void on_refused(AuditEvent event, std::optional<Verb> missing, Nanos now);

  // ---- Of a connection of the queue. Where there is an event, it names the connection.
  // It has shown that it is this user. The event lacks only what it was that was shown.
  void on_signed_in(const User& user, const Identity& identity, AuditEvent event, Nanos now);
  // Counts a wrong token. Returns false if its address has shown too many of them before.
  bool on_wrong_token(SignInMethod method, const std::string& address, Nanos now);
  // A command was refused that this verb would have allowed.
  void on_forbidden(Verb missing) { ++counts_.forbidden[static_cast<size_t>(missing)]; }
  // It is closed, and had not shown who it is.
  void on_closed(SignInRefusal why) { ++counts_.of(why); }
  void audit(const AuditEvent& event) const;
  // As refused, and only if there were not too many of its kind in this second.
  void audit_refused(AuditEvent event, Nanos now);

  const AccessCounts& counts() const { return counts_; }

 private:
  // `how`: for the audit.
  void count_sign_in(const User& user, SignInMethod method, const std::string& how,
                     const std::string& address, Nanos now);

  const Audit write_line_;
  std::shared_ptr<const Users> users_;
  SignInLimiter limiter_;
  SeenSignIns seen_;
  SignInLines lines_;
  // Those of users have a share of their own, so that nobody who has not signed in can hide them.
  common::LineLimit user_refusals_{refusals_per_second_max};
  common::LineLimit unknown_refusals_{refusals_per_second_max};
  AccessCounts counts_;
};

}  // namespace perennial::access
