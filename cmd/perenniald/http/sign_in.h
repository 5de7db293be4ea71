#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "cmd/common/token.h"
#include "cmd/perenniald/access/client_rights.h"
#include "cmd/perenniald/access/gate.h"
#include "cmd/perenniald/access/rules.h"
#include "cmd/perenniald/access/users.h"
#include "cmd/perenniald/http/message.h"
#include "engine/types/basic.h"

// Who asks over HTTP: the user of a token in `Authorization: Bearer`, the user of the connection,
// or the one who has signed in to the console, whose browser sends a cookie.
namespace perennial::http {

// Whoever sends a request.
struct Caller {
  std::shared_ptr<const access::Users> users = {};  // Null: everybody may do everything.
  const access::User* user = nullptr;               // Null: nobody has shown who it is.
  // For its clients of the queue. Their identity is that of the user.
  access::ClientRights rights = {};
  // The hash of the cookie that has shown it. None: something else has.
  std::optional<common::TokenHash> cookie = {};

  bool is_by_cookie() const { return cookie.has_value(); }
  bool is_known() const { return users == nullptr || user != nullptr; }
  bool may(access::Verb verb) const { return users == nullptr || (user && user->may(verb)); }
  bool may_on(std::string_view tube, access::Verb verb) const {
    return users == nullptr || (user && user->verbs_on(tube).holds(verb));
  }
  // Whether lists of tubes have this one, and whether they show its counters: access::may_list.
  bool may_list(std::string_view tube) const {
    return users == nullptr || (user && access::may_list(*user, tube));
  }
  bool may_count(std::string_view tube) const {
    return users == nullptr || (user && access::may_count(*user, tube));
  }
  // Whether lists of schedules have those of this tube: access::may_see_schedules.
  bool may_see_schedules(std::string_view tube) const {
    return users == nullptr || (user && access::may_see_schedules(*user, tube));
  }
  // What the queue would say to a command of this caller.
  access::Judgement judged(Command command, engine::EngineView engine) const {
    if (users == nullptr) return {};
    if (user == nullptr) return {access::Verdict::Forbidden, access::Verb::Produce};
    return access::judge(*user, 0, command, engine);
  }
};

// Whether a request that changes something may come from a page of another site (T5). Browsers say
// where a request comes from. A request without these headers is not from a browser, and shows a
// token, not the cookie.
bool is_cross_site(const Request& request, const Caller& caller);

class SignIns {
 public:
  static constexpr Nanos life = Nanos{12} * 3600 * nanos_per_second;
  static constexpr Nanos idle = 3600 * nanos_per_second;
  static constexpr size_t sessions_max = 1'000;

  // `gate` outlives this.
  SignIns(access::Gate& gate, std::function<Nanos()> now) : gate_(gate), now_(std::move(now)) {}

  // `rights`: of the connection.
  Caller caller(const Request& request, const access::ClientRights& rights);
  // Whether a caller is still who it was when it sent a request whose answer has no end.
  bool is_current(const Caller& caller);
  // The value of Set-Cookie for a browser whose person has shown this token. None: it is wrong.
  std::optional<std::string> sign_in(std::string_view token, const Request& request,
                                     const access::ClientRights& rights);
  // Ends the sessions of users who are gone, or whose token is. They do not begin again when such a
  // user comes back. Called after each change of the users.
  void on_users();
  // Ends what the cookie of the request stands for, and returns the Set-Cookie that forgets it.
  std::string sign_out(const Request& request, const access::ClientRights& rights);
  size_t count() const { return sessions_.size(); }

 private:
  struct Signed {
    common::TokenRecord token;
    std::string user;
    Nanos since = 0;
    Nanos used = 0;
  };

  void forget_old(Nanos now);
  // What a cookie stands for. Null: that has ended.
  const Signed* find(const common::TokenHash& cookie);

  access::Gate& gate_;
  const std::function<Nanos()> now_;
  // By the hash of what the browser keeps.
  std::map<common::TokenHash, Signed> sessions_;
};

}  // namespace perennial::http
