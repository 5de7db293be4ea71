// The part of Core that knows users: signing in, and what each may do.

#include <algorithm>
#include <optional>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "cmd/perenniald/core/access.h"
#include "cmd/perenniald/core/beanstalk_session.h"
#include "cmd/perenniald/core/core.h"
#include "engine/types/check.h"

namespace perennial::core {
namespace {

// How many connections are looked up at once after a change of users.
constexpr size_t examined_at_once = 64;

std::string how_of(const Identity& identity) {
  struct Text {
    std::string operator()(std::monostate) const { return {}; }
    std::string operator()(const UserName& /*user*/) const { return "listener"; }
    std::string operator()(const CertificateNames& /*names*/) const { return "certificate"; }
    std::string operator()(const PeerProcess& peer) const {
      return fmt::format("uid {} gid {}", peer.uid, peer.gid);
    }
    std::string operator()(const common::TokenRecord& token) const {
      return fmt::format("token {}", token.id);
    }
  };
  return std::visit(Text(), identity);
}

// None: the listener belongs to a user, or nobody has shown anything.
std::optional<SignInMethod> method_of(const Identity& identity) {
  if (std::holds_alternative<CertificateNames>(identity)) return SignInMethod::Certificate;
  if (std::holds_alternative<PeerProcess>(identity)) return SignInMethod::Process;
  if (std::holds_alternative<common::TokenRecord>(identity)) return SignInMethod::Token;
  return std::nullopt;
}

}  // namespace

ExtensionSet Core::parsed_extensions(const ClientRights& rights) const {
  if (rights.is_internal) return ExtensionSet::all();
  return users_ == nullptr ? options_.extensions : options_.extensions.with(Extension::Auth);
}

void Core::set_users(std::shared_ptr<const Users> users) {
  CHECK(users != nullptr);
  CHECK(users_ != nullptr || sessions_.empty());
  users_ = std::move(users);
  to_examine_.clear();
  for (const auto& [id, session] : sessions_) to_examine_.push_back(id);
  std::ranges::sort(to_examine_);
}

void Core::begin_sign_in(BeanstalkSession& conn, const ClientRights& rights, Nanos now) {
  conn.access =
      std::make_unique<SessionAccess>(SessionAccess{.identity = rights.identity,
                                                    .address = rights.address,
                                                    .may_send_token = rights.may_send_token,
                                                    .users = users_});
  if (const User* const user = users_->by_identity(conn.access->identity))
    return set_user(conn, user);
  const std::optional<ConnId> gives_way =
      unidentified_.add(conn.id, conn.access->address, rights.is_local);
  if (BeanstalkSession* const oldest = gives_way ? find(*gives_way) : nullptr) {
    refuse_sign_in(*oldest, SignInRefusal::Unidentified);
  }
  sign_in_due_.add(conn.id, now);
}

void Core::set_user(BeanstalkSession& conn, const User* user) {
  conn.access->user = user;
  unidentified_.remove(conn.id);
  const std::optional<SignInMethod> method = method_of(conn.access->identity);
  if (!method || conn.is_internal) return;
  ++access_counts_.of(*method).ok;
  if (options_.on_signed_in) options_.on_signed_in(conn.id);
  const std::optional<uint64_t> left_out =
      sign_in_lines_.take(user->name, conn.access->address, caught_up_);
  if (!left_out) return;
  audit(conn,
        {.action = "sign-in", .subject = how_of(conn.access->identity), .not_logged = *left_out});
}

// A token may replace what the listener knows, but only as the first command.
void Core::on_auth(BeanstalkSession& conn, const Auth& auth, Nanos now) {
  const User* user = nullptr;
  if (std::exchange(conn.access->may_auth, false) && conn.access->may_send_token) {
    user = users_->by_token(auth.token);
  }
  if (user == nullptr) return on_wrong_token(conn, now);
  conn.access->users = users_;
  conn.access->identity = common::token_record(auth.token);
  set_user(conn, user);
  reply_to(conn, Word::Authenticated);
}

const User* Core::user_of_token(std::string_view token, SignInMethod method,
                                const std::string& address, Nanos now) {
  if (users_ == nullptr) return nullptr;
  // A good token gets in, whoever else is at its address: nobody guesses 256 bits, so to look at
  // one more gives nothing away.
  const User* const user = users_->by_token(token);
  if (user != nullptr) {
    count_sign_in(*user, method, how_of(common::token_record(token)), address, now);
    return user;
  }
  if (sign_in_limiter_.is_refused(address, now)) {
    ++access_counts_.of(method).limited;
    return nullptr;
  }
  ++access_counts_.of(method).failed;
  sign_in_limiter_.on_failure(address, now);
  audit_refused({.action = "sign-in", .from = address, .is_internal = true}, now);
  return nullptr;
}

void Core::on_shown(const User& user, const Identity& identity, const std::string& address,
                    Nanos now) {
  const std::optional<SignInMethod> method = method_of(identity);
  if (method) count_sign_in(user, *method, how_of(identity), address, now);
}

void Core::count_sign_in(const User& user, SignInMethod method, const std::string& how,
                         const std::string& address, Nanos now) {
  ++access_counts_.of(method).ok;
  const bool is_person = method == SignInMethod::Cookie;
  if (!is_person && !seen_sign_ins_.is_news(user.name + ' ' + how, address, now)) return;
  const std::optional<uint64_t> left_out = sign_in_lines_.take(user.name, address, now);
  if (!left_out || !options_.audit) return;
  options_.audit({.action = "sign-in",
                  .user = user.name,
                  .from = address,
                  .subject = is_person ? how + " (console)" : how,
                  .is_internal = true,
                  .not_logged = *left_out});
}

// The connection may try again, and is not read until the answer has left. It has only one try
// where its address has shown too many wrong tokens already.
void Core::on_wrong_token(BeanstalkSession& conn, Nanos now) {
  if (sign_in_limiter_.is_refused(conn.access->address, now)) {
    ++access_counts_.of(SignInMethod::Token).limited;
    return refuse_sign_in(conn, SignInRefusal::Limited);
  }
  conn.access->may_auth = conn.access->user == nullptr;
  ++conn.access->wrong_tokens;
  ++access_counts_.of(SignInMethod::Token).failed;
  sign_in_limiter_.on_failure(conn.access->address, now);
  wrong_token_due_.add(conn.id, now);
  audit_refusal(conn, {.action = "sign-in"}, now);
}

bool Core::is_admitted(BeanstalkSession& conn, Command& command) {
  if (conn.access->users != users_) examine(conn);
  if (conn.is_cut) return false;
  if (conn.access->user == nullptr) {
    // A body that is too large was not kept, but whoever sends it need not be listened to.
    if (std::holds_alternative<PutTooBig>(command) ||
        ++conn.access->refused_commands >= refused_commands_max) {
      refuse_sign_in(conn, SignInRefusal::Unauthorized);
    } else {
      audit_refusal(conn, {.action = word_of(command), .subject = subject_of(command)}, caught_up_);
      if (kind_of(command) == CommandKind::Put) ++answer_counts_.puts_refused.unauthorized;
      reply_to(conn, Word::Unauthorized);
    }
    return false;
  }
  conn.access->may_auth = false;
  const Judgement judgement = judge(*conn.access->user, conn.id, command, engine_.view());
  if (judgement.verdict == Verdict::Allowed) {
    conn.access->lists_all_tubes = std::holds_alternative<ListTubes>(command);
    if (is_of_operator(command)) {
      audit(conn, {.action = word_of(command), .subject = subject_of(command)});
    }
    return true;
  }
  audit_refusal(conn, {.action = word_of(command), .subject = subject_of(command)}, caught_up_);
  if (judgement.verdict == Verdict::Hidden) {
    // The engine answers and counts it as any other job that is not there. Only the audit knows.
    hide(command);
    return true;
  }
  ++access_counts_.forbidden[static_cast<size_t>(judgement.missing)];
  if (kind_of(command) == CommandKind::Put) ++answer_counts_.puts_refused.forbidden;
  reply_to(conn, Word::Forbidden);
  return false;
}

// A connection that is not signed in may be known now. One that is loses its place with its user,
// and with the right to reserve from a tube that it watches or to finish a job that it holds.
void Core::examine(BeanstalkSession& conn) {
  const bool was_known = conn.access->user != nullptr;
  conn.access->users = users_;
  const User* const user = users_->by_identity(conn.access->identity);
  if (!was_known && user != nullptr) return set_user(conn, user);
  conn.access->user = user;
  if (!was_known) return;
  const auto may_consume = [&](const std::string* tube) {
    return conn.access->user->verbs_on(*tube).holds(Verb::Consume);
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
    if (conn != nullptr && conn->access->users != users_) examine(*conn);
  }
}

void Core::close_now(BeanstalkSession& conn) {
  conn.is_cut = true;
  touch(conn);
}

void Core::refuse_sign_in(BeanstalkSession& conn, SignInRefusal why) {
  ++access_counts_.of(why);
  unidentified_.remove(conn.id);
  close_now(conn);
}

// Whoever has not signed in by now is closed. And wrong tokens are answered.
void Core::on_sign_in_time(Nanos now) {
  while (const std::optional<ConnId> id = sign_in_due_.take(now)) {
    BeanstalkSession* const conn = find(*id);
    if (conn != nullptr && unidentified_.holds(conn->id)) {
      audit_refusal(*conn, {.action = "sign-in", .subject = "nobody within 10 s"}, now);
      refuse_sign_in(*conn, SignInRefusal::Timeout);
    }
  }
  while (const std::optional<ConnId> id = wrong_token_due_.take(now)) {
    BeanstalkSession* const conn = find(*id);
    if (conn == nullptr) continue;
    conn->quitting = conn->access->wrong_tokens >= wrong_tokens_max;
    if (conn->quitting) ++access_counts_.of(SignInRefusal::WrongTokens);
    conn->command.at = now;  // It has waited on purpose.
    reply_to(*conn, Word::Unauthorized);
  }
}

std::optional<Nanos> Core::sign_in_deadline() const {
  const std::optional<Nanos> sign_in = sign_in_due_.next();
  const std::optional<Nanos> answer = wrong_token_due_.next();
  return sign_in && answer ? std::min(*sign_in, *answer) : (sign_in ? sign_in : answer);
}

void Core::audit(const BeanstalkSession& conn, AuditEvent event) {
  if (!options_.audit) return;
  event.conn = conn.id;
  event.from = conn.access->address;
  event.is_internal = conn.is_internal;
  if (conn.access->user != nullptr) event.user = conn.access->user->name;
  options_.audit(event);
}

// Those of users have a share of their own, so that nobody who has not signed in can hide them.
void Core::audit_refused(AuditEvent event, Nanos now) {
  event.refused = true;
  common::LineLimit& lines = event.user.empty() ? unknown_refusals_ : user_refusals_;
  const std::optional<uint64_t> left_out = lines.take(now);
  if (!left_out || !options_.audit) return;
  event.not_logged = *left_out;
  options_.audit(event);
}

void Core::audit_refusal(const BeanstalkSession& conn, AuditEvent event, Nanos now) {
  event.conn = conn.id;
  event.from = conn.access->address;
  event.is_internal = conn.is_internal;
  if (conn.access->user != nullptr) event.user = conn.access->user->name;
  audit_refused(std::move(event), now);
}

void Core::on_refused(AuditEvent event, std::optional<Verb> missing, Nanos now) {
  if (missing) ++access_counts_.forbidden[static_cast<size_t>(*missing)];
  event.is_internal = true;
  audit_refused(std::move(event), now);
}

TubeNames Core::visible_to(const BeanstalkSession& conn, const TubeNames& names) const {
  TubeNames visible;
  if (conn.access->user == nullptr) return visible;  // It is about to be closed.
  for (const auto& name : names.names) {
    if (may_list(*conn.access->user, name)) visible.names.push_back(name);
  }
  return visible;
}

}  // namespace perennial::core
