#include "cmd/perenniald/access/gate.h"

#include <utility>

namespace perennial::access {

const User* Gate::user_of_token(std::string_view token, SignInMethod method,
                                const std::string& address, Nanos now) {
  if (users_ == nullptr) return nullptr;
  // A good token gets in, whoever else is at its address: nobody guesses 256 bits, so to look at
  // one more gives nothing away.
  const User* const user = users_->by_token(token);
  if (user != nullptr) {
    count_sign_in(*user, method, how_of(common::token_record(token)), address, now);
  } else if (on_wrong_token(method, address, now)) {
    audit_refused({.action = "sign-in", .from = address, .is_internal = true}, now);
  }
  return user;
}

void Gate::on_shown(const User& user, const Identity& identity, const std::string& address,
                    Nanos now) {
  const std::optional<SignInMethod> method = method_of(identity);
  if (method) count_sign_in(user, *method, how_of(identity), address, now);
}

void Gate::count_sign_in(const User& user, SignInMethod method, const std::string& how,
                         const std::string& address, Nanos now) {
  ++counts_.of(method).ok;
  const bool is_person = method == SignInMethod::Cookie;
  if (!is_person && !seen_.is_news(user.name + ' ' + how, address, now)) return;
  const std::optional<uint64_t> left_out = lines_.take(user.name, address, now);
  if (!left_out) return;
  audit({.action = "sign-in",
         .user = user.name,
         .from = address,
         .subject = is_person ? how + " (console)" : how,
         .is_internal = true,
         .not_logged = *left_out});
}

void Gate::on_refused(AuditEvent event, std::optional<Verb> missing, Nanos now) {
  if (missing) on_forbidden(*missing);
  event.is_internal = true;
  audit_refused(std::move(event), now);
}

void Gate::on_signed_in(const User& user, const Identity& identity, AuditEvent event, Nanos now) {
  const std::optional<SignInMethod> method = method_of(identity);
  if (!method) return;
  ++counts_.of(*method).ok;
  const std::optional<uint64_t> left_out = lines_.take(user.name, std::string(event.from), now);
  if (!left_out) return;
  event.action = "sign-in";
  event.subject = how_of(identity);
  event.not_logged = *left_out;
  audit(event);
}

bool Gate::on_wrong_token(SignInMethod method, const std::string& address, Nanos now) {
  if (limiter_.is_refused(address, now)) {
    ++counts_.of(method).limited;
    return false;
  }
  ++counts_.of(method).failed;
  limiter_.on_failure(address, now);
  return true;
}

void Gate::audit(const AuditEvent& event) const {
  if (write_line_) write_line_(event);
}

void Gate::audit_refused(AuditEvent event, Nanos now) {
  event.refused = true;
  common::LineLimit& lines = event.user.empty() ? unknown_refusals_ : user_refusals_;
  const std::optional<uint64_t> left_out = lines.take(now);
  if (!left_out) return;
  event.not_logged = *left_out;
  audit(event);
}

}  // namespace perennial::access
