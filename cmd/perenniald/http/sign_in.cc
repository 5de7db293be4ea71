#include "cmd/perenniald/http/sign_in.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "cmd/common/list.h"

namespace perennial::http {
namespace {

// The port by which the browser calls, as its field Host has it: digits, as many as a port has.
std::string_view port_of(const Request& request, bool is_tls) {
  const std::string_view host = request.field("host");
  const size_t colon = host.rfind(':');
  const std::string_view port = colon == std::string_view::npos ? "" : host.substr(colon + 1);
  const bool is_port = !port.empty() && port.size() <= 5 &&
                       std::ranges::all_of(port, [](char c) { return c >= '0' && c <= '9'; });
  return is_port ? port : (is_tls ? "443" : "80");
}

// Browsers keep the cookies of all ports of a host together, so that without the port in its name a
// server would replace the cookie of another one. Over TLS the browser sends the cookie over TLS
// only, and takes it from no other host.
std::string cookie_name(const Request& request, bool is_tls) {
  return fmt::format("{}perennial-{}", is_tls ? "__Host-" : "", port_of(request, is_tls));
}
constexpr std::string_view bearer = "Bearer ";

// The value of the server's cookie; empty if the request has none.
std::string_view cookie_of(const Request& request, bool is_tls) {
  const std::string name = cookie_name(request, is_tls);
  for (const std::string_view pair : common::list_items(request.field("cookie"), ';')) {
    const size_t equals = pair.find('=');
    if (equals != std::string_view::npos && pair.substr(0, equals) == name) {
      return pair.substr(equals + 1);
    }
  }
  return {};
}

std::string set_cookie(const std::string& name, std::string_view value, Nanos life, bool is_tls) {
  return fmt::format("{}={}; Path=/; HttpOnly; SameSite=Strict; Max-Age={}{}", name, value,
                     life / nanos_per_second, is_tls ? "; Secure" : "");
}

}  // namespace

bool is_cross_site(const Request& request, const Caller& caller) {
  if (request.fields.contains("sec-fetch-site")) {
    return request.field("sec-fetch-site") != "same-origin";
  }
  if (request.fields.contains("origin")) {
    const std::string_view origin = request.field("origin");
    const std::string_view host = request.field("host");
    return origin != fmt::format("{}://{}", caller.rights.is_tls ? "https" : "http", host);
  }
  return caller.is_by_cookie();
}

Caller SignIns::caller(const Request& request, const access::ClientRights& rights) {
  Caller out = {.users = gate_.users(), .rights = rights};
  if (out.users == nullptr) return out;
  if (const std::string_view shown = request.field("authorization"); shown.starts_with(bearer)) {
    const std::string_view token = shown.substr(bearer.size());
    if (!rights.may_send_token) return out;
    out.user = gate_.user_of_token(token, access::SignInMethod::Bearer, rights.address, now_());
    if (out.user != nullptr) out.rights.identity = common::token_record(token);
    return out;
  }
  if (const std::string_view cookie = cookie_of(request, rights.is_tls); !cookie.empty()) {
    const common::TokenHash hash = common::token_hash(cookie);
    if (const Signed* const session = find(hash)) {
      out.rights.identity = session->token;
      out.cookie = hash;
    }
  }
  out.user = out.users->by_identity(out.rights.identity);
  if (out.user != nullptr && !out.is_by_cookie()) {
    gate_.on_shown(*out.user, rights.identity, rights.address, now_());
  }
  return out;
}

// With the same users a token, a certificate and a process stand for the same user.
bool SignIns::is_current(const Caller& caller) {
  if (gate_.users() != caller.users) return false;
  return !caller.is_by_cookie() || find(*caller.cookie) != nullptr;
}

void SignIns::on_users() {
  const std::shared_ptr<const access::Users> users = gate_.users();
  std::erase_if(sessions_, [&](const auto& each) {
    const access::User* const user = users->by_identity(access::Identity(each.second.token));
    return user == nullptr || user->name != each.second.user;
  });
}

const SignIns::Signed* SignIns::find(const common::TokenHash& cookie) {
  const Nanos now = now_();
  forget_old(now);
  const auto found = sessions_.find(cookie);
  if (found == sessions_.end()) return nullptr;
  found->second.used = now;
  return &found->second;
}

std::optional<std::string> SignIns::sign_in(std::string_view token, const Request& request,
                                            const access::ClientRights& rights) {
  const access::User* const user =
      rights.may_send_token
          ? gate_.user_of_token(token, access::SignInMethod::Cookie, rights.address, now_())
          : nullptr;
  if (user == nullptr) return std::nullopt;
  const Result<std::string> secret = common::make_token("console");
  if (!secret.ok()) return std::nullopt;
  const Nanos now = now_();
  forget_old(now);
  if (sessions_.size() >= sessions_max) {
    sessions_.erase(std::ranges::min_element(
        sessions_, {}, [](const auto& session) { return session.second.used; }));
  }
  sessions_[common::token_hash(*secret)] = {
      .token = common::token_record(token), .user = user->name, .since = now, .used = now};
  return set_cookie(cookie_name(request, rights.is_tls), *secret, life, rights.is_tls);
}

std::string SignIns::sign_out(const Request& request, const access::ClientRights& rights) {
  sessions_.erase(common::token_hash(cookie_of(request, rights.is_tls)));
  return set_cookie(cookie_name(request, rights.is_tls), "", 0, rights.is_tls);
}

void SignIns::forget_old(Nanos now) {
  std::erase_if(sessions_, [&](const auto& session) {
    return now - session.second.since >= life || now - session.second.used >= idle;
  });
}

}  // namespace perennial::http
