// The part of Core that knows users: signing in, and what each may do.

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "cmd/perenniald/access/rules.h"
#include "cmd/perenniald/core/beanstalk_session.h"
#include "cmd/perenniald/core/core.h"
#include "engine/types/check.h"

namespace perennial::core {
namespace {

// How many connections are looked up at once after a change of users.
constexpr size_t examined_at_once = 64;

}  // namespace

ExtensionSet Core::parsed_extensions(const access::ClientRights& rights) const {
  if (rights.is_internal) return ExtensionSet::all();
  return gate_.users() == nullptr ? options_.extensions : options_.extensions.with(Extension::Auth);
}

void Core::set_users(std::shared_ptr<const access::Users> users) {
  CHECK(users != nullptr);
  CHECK(gate_.users() != nullptr || sessions_.empty());
  gate_.set_users(std::move(users));
  to_examine_.clear();
  for (const auto& [id, session] : sessions_) to_examine_.push_back(id);
  std::ranges::sort(to_examine_);
}

void Core::begin_sign_in(BeanstalkSession& conn, const access::ClientRights& rights, Nanos now) {
  conn.access =
      std::make_unique<SessionAccess>(SessionAccess{.identity = rights.identity,
                                                    .address = rights.address,
                                                    .may_send_token = rights.may_send_token,
                                                    .users = gate_.users()});
  if (const access::User* const user = gate_.users()->by_identity(conn.access->identity))
    return set_user(conn, user);
  const std::optional<ConnId> gives_way =
      unidentified_.add(conn.id, conn.access->address, rights.is_local);
  if (BeanstalkSession* const oldest = gives_way ? find(*gives_way) : nullptr) {
    refuse_sign_in(*oldest, access::SignInRefusal::Unidentified);
  }
  sign_in_due_.add(conn.id, now);
}

void Core::set_user(BeanstalkSession& conn, const access::User* user) {
  conn.access->user = user;
  unidentified_.remove(conn.id);
  if (conn.is_internal || !access::method_of(conn.access->identity)) return;
  if (options_.on_signed_in) options_.on_signed_in(conn.id);
  gate_.on_signed_in(*user, conn.access->identity, audit_event(conn), caught_up_);
}

// A token may replace what the listener knows, but only as the first command.
void Core::on_auth(BeanstalkSession& conn, const Auth& auth, Nanos now) {
  const access::User* user = nullptr;
  if (std::exchange(conn.access->may_auth, false) && conn.access->may_send_token) {
    user = gate_.users()->by_token(auth.token);
  }
  if (user == nullptr) return on_wrong_token(conn, now);
  conn.access->users = gate_.users();
  conn.access->identity = common::token_record(auth.token);
  set_user(conn, user);
  reply_to(conn, Word::Authenticated);
}

// The connection may try again, and is not read until the answer has left. It has only one try
// where its address has shown too many wrong tokens already.
void Core::on_wrong_token(BeanstalkSession& conn, Nanos now) {
  if (!gate_.on_wrong_token(access::SignInMethod::Token, conn.access->address, now)) {
    return refuse_sign_in(conn, access::SignInRefusal::Limited);
  }
  conn.access->may_auth = conn.access->user == nullptr;
  ++conn.access->wrong_tokens;
  wrong_token_due_.add(conn.id, now);
  gate_.audit_refused(audit_event(conn, "sign-in"), now);
}

bool Core::is_admitted(BeanstalkSession& conn, Command& command) {
  if (conn.access->users != gate_.users()) examine(conn);
  if (conn.is_cut) return false;
  if (conn.access->user == nullptr) {
    // A body that is too large was not kept, but whoever sends it need not be listened to.
    const auto* const note = std::get_if<NoteRefused>(&command);
    const auto* const schedule = std::get_if<ScheduleRefused>(&command);
    const bool was_too_big = std::holds_alternative<PutTooBig>(command) ||
                             (note != nullptr && note->why == NoteRefused::Why::TooBig) ||
                             (schedule != nullptr && schedule->why == ScheduleRefused::Why::TooBig);
    if (was_too_big || ++conn.access->refused_commands >= access::refused_commands_max) {
      refuse_sign_in(conn, access::SignInRefusal::Unauthorized);
    } else {
      gate_.audit_refused(audit_event(conn, command), caught_up_);
      if (kind_of(command) == CommandKind::Put) ++answer_counts_.puts_refused.unauthorized;
      reply_to(conn, Word::Unauthorized);
    }
    return false;
  }
  conn.access->may_auth = false;
  const access::Judgement judgement =
      access::judge(*conn.access->user, conn.id, command, engine_.view());
  if (judgement.verdict == access::Verdict::Allowed) {
    conn.access->lists_all_tubes = std::holds_alternative<ListTubes>(command);
    // Which job that has ended a client may put back is known when it is read.
    const bool is_judged_later = std::holds_alternative<RestoreJob>(command);
    if (access::is_of_operator(command) && !is_judged_later) {
      gate_.audit(audit_event(conn, command));
    }
    return true;
  }
  gate_.audit_refused(audit_event(conn, command), caught_up_);
  if (judgement.verdict == access::Verdict::Hidden) {
    // The engine answers and counts it as any other job that is not there. Only the audit knows.
    access::hide(command);
    return true;
  }
  gate_.on_forbidden(judgement.missing);
  if (kind_of(command) == CommandKind::Put) ++answer_counts_.puts_refused.forbidden;
  reply_to(conn, Word::Forbidden);
  return false;
}

// A connection that is not signed in may be known now. One that is signed in is closed when its
// user is removed, or loses the right to reserve from a tube that it watches or to finish a job
// that it holds.
void Core::examine(BeanstalkSession& conn) {
  const bool was_known = conn.access->user != nullptr;
  conn.access->users = gate_.users();
  const access::User* const user = gate_.users()->by_identity(conn.access->identity);
  if (!was_known && user != nullptr) return set_user(conn, user);
  conn.access->user = user;
  if (!was_known) return;
  const auto may_consume = [&](const std::string* tube) {
    return conn.access->user->verbs_on(*tube).holds(access::Verb::Consume);
  };
  const auto is_lost = [&](const std::string* tube) {
    // Each connection watches `default` from the beginning, whether it may reserve from it or not.
    return !may_consume(tube) && (*tube != "default" || engine_.view().is_waiting(conn.id));
  };
  const bool is_cut = conn.access->user == nullptr ||
                      std::ranges::any_of(engine_.view().watched_tubes(conn.id), is_lost) ||
                      !std::ranges::all_of(engine_.view().held_tubes(conn.id), may_consume);
  if (is_cut) close_now(conn);
}

void Core::examine_some() {
  for (size_t i = 0; i < examined_at_once && !to_examine_.empty(); ++i) {
    BeanstalkSession* const conn = find(to_examine_.front());
    to_examine_.pop_front();
    if (conn != nullptr && conn->access->users != gate_.users()) examine(*conn);
  }
}

void Core::close_now(BeanstalkSession& conn) {
  conn.is_cut = true;
  touch(conn);
}

void Core::refuse_sign_in(BeanstalkSession& conn, access::SignInRefusal why) {
  gate_.on_closed(why);
  unidentified_.remove(conn.id);
  close_now(conn);
}

// Closes connections past the deadline of signing in, and answers wrong tokens.
void Core::on_sign_in_time(Nanos now) {
  while (const std::optional<ConnId> id = sign_in_due_.take(now)) {
    BeanstalkSession* const conn = find(*id);
    if (conn != nullptr && unidentified_.holds(conn->id)) {
      gate_.audit_refused(audit_event(*conn, "sign-in", "nobody within 10 s"), now);
      refuse_sign_in(*conn, access::SignInRefusal::Timeout);
    }
  }
  while (const std::optional<ConnId> id = wrong_token_due_.take(now)) {
    BeanstalkSession* const conn = find(*id);
    if (conn == nullptr) continue;
    conn->quitting = conn->access->wrong_tokens >= access::wrong_tokens_max;
    if (conn->quitting) gate_.on_closed(access::SignInRefusal::WrongTokens);
    conn->command.at = now;  // It has waited on purpose.
    reply_to(*conn, Word::Unauthorized);
  }
}

std::optional<Nanos> Core::sign_in_deadline() const {
  const std::optional<Nanos> sign_in = sign_in_due_.next();
  const std::optional<Nanos> answer = wrong_token_due_.next();
  return sign_in && answer ? std::min(*sign_in, *answer) : (sign_in ? sign_in : answer);
}

access::AuditEvent Core::audit_event(const BeanstalkSession& conn, std::string_view action,
                                     std::string subject) const {
  const access::User* const user = conn.access ? conn.access->user : nullptr;
  std::string from;
  if (conn.access) {
    from = conn.access->address;
  } else if (conn.asked_from) {
    from = *conn.asked_from;
  } else if (options_.address_of && !conn.is_unix) {
    // Without the port and the brackets of IPv6, as where there are users.
    from = options_.address_of(conn.id);
    from.resize(std::min(from.rfind(':'), from.size()));
    if (from.starts_with('[') && from.ends_with(']')) from = from.substr(1, from.size() - 2);
  }
  return {.conn = conn.id,
          .action = action,
          .user = user != nullptr ? std::string_view(user->name) : std::string_view(),
          .from = std::move(from),
          .subject = std::move(subject),
          .is_internal = conn.is_internal};
}

access::AuditEvent Core::audit_event(const BeanstalkSession& conn, const Command& command) const {
  return audit_event(conn, access::word_of(command), access::subject_of(command));
}

TubeNames Core::visible_to(const BeanstalkSession& conn, const TubeNames& names) const {
  TubeNames visible;
  if (conn.access->user == nullptr) return visible;  // It is about to be closed.
  for (const auto& name : names.names) {
    if (access::may_list(*conn.access->user, name)) visible.names.push_back(name);
  }
  return visible;
}

}  // namespace perennial::core
