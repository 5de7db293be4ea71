#include "cmd/perenniald/access/users.h"

#include <algorithm>
#include <functional>
#include <utility>

#include <fmt/format.h>

namespace perennial::access {

std::optional<Verb> verb_named(std::string_view name) {
  const auto row = std::ranges::find(verb_rows, name, &VerbRow::name);
  if (row == verb_rows.end()) return std::nullopt;
  return row->verb;
}

// Goes back at most to the last "*", which then takes one byte more.
bool fits_pattern(std::string_view pattern, std::string_view name) {
  size_t at = 0;
  size_t name_at = 0;
  size_t star = std::string_view::npos;
  size_t name_star = 0;
  while (name_at < name.size()) {
    if (at < pattern.size() && pattern[at] == '*') {
      star = at++;
      name_star = name_at;
    } else if (at < pattern.size() && pattern[at] == name[name_at]) {
      ++at;
      ++name_at;
    } else if (star != std::string_view::npos) {
      at = star + 1;
      name_at = ++name_star;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', at) == std::string_view::npos;
}

VerbSet User::verbs_on(std::string_view tube) const {
  VerbSet verbs;
  for (const Grant& grant : grants) {
    const bool fits = std::ranges::any_of(
        grant.tubes, [&](const std::string& pattern) { return fits_pattern(pattern, tube); });
    if (fits) verbs.add(grant.verbs);
  }
  return verbs;
}

bool User::may_everywhere(Verb verb) const {
  return std::ranges::any_of(grants, [verb](const Grant& grant) {
    const bool is_everywhere = std::ranges::any_of(grant.tubes, [](const std::string& pattern) {
      return pattern.find_first_not_of('*') == std::string::npos;
    });
    return is_everywhere && grant.verbs.holds(verb);
  });
}

bool User::may(Verb verb) const {
  return std::ranges::any_of(grants,
                             [verb](const Grant& grant) { return grant.verbs.holds(verb); });
}

std::vector<std::string> Users::problems(const std::vector<User>& users) {
  std::vector<std::string> problems;
  std::map<std::string, std::string, std::less<>> seen;
  const auto claim = [&](const User& user, const std::string& what) {
    const auto [other, is_new] = seen.emplace(what, user.name);
    if (is_new) return;
    problems.push_back(
        other->second == user.name
            ? fmt::format("user '{}' has {} twice", user.name, what)
            : fmt::format("users '{}' and '{}' both have {}", other->second, user.name, what));
  };
  std::map<std::string, int> names;
  for (const User& user : users) {
    if (++names[user.name] == 2)
      problems.push_back(fmt::format("user '{}' is there twice", user.name));
    for (const auto& token : user.tokens) claim(user, fmt::format("the token id '{}'", token.id));
    for (const auto& name : user.certificates)
      claim(user, fmt::format("the certificate '{}'", name));
    for (const uint32_t uid : user.uids) claim(user, fmt::format("the uid {}", uid));
    for (const uint32_t gid : user.gids) claim(user, fmt::format("the gid {}", gid));
  }
  return problems;
}

Users::Users(std::vector<User> users) : users_(std::move(users)) {
  for (const User& user : users_) {
    by_name_.emplace(user.name, &user);
    for (const auto& token : user.tokens) by_token_id_[token.id] = {&user, token.hash};
    for (const std::string& name : user.certificates) by_certificate_.emplace(name, &user);
    for (const uint32_t uid : user.uids) by_uid_.emplace(uid, &user);
    for (const uint32_t gid : user.gids) by_gid_.emplace(gid, &user);
  }
}

namespace {

// Names of one kind are not looked for among those of another. A certificate may have "CN=operator"
// as a DNS name, which a CA that signs for hosts may well not refuse.
bool is_common_name(std::string_view name) {
  return name.starts_with("CN=");
}
bool is_uri(std::string_view name) {
  return !is_common_name(name) && name.find(':') != std::string_view::npos;
}
bool is_dns_name(std::string_view name) {
  return !is_common_name(name) && !is_uri(name);
}

template <typename Map, typename Key>
const User* find_in(const Map& map, const Key& key) {
  const auto found = map.find(key);
  return found == map.end() ? nullptr : found->second;
}

}  // namespace

const User* Users::find(std::string_view name) const {
  return find_in(by_name_, name);
}

// An unknown id takes the same steps as a known one with a wrong secret.
const User* Users::by_token(std::string_view token) const {
  static const OfToken nobody = {.user = nullptr, .hash = {}};
  const auto found = by_token_id_.find(common::token_id(token));
  const OfToken& known = found == by_token_id_.end() ? nobody : found->second;
  const bool is_same = common::same_hash(common::token_hash(token), known.hash);
  return is_same ? known.user : nullptr;
}

const User* Users::by_certificate(const CertificateNames& names) const {
  const auto first_of = [this](const std::vector<std::string>& any,
                               bool (&is_kind)(std::string_view)) -> const User* {
    for (const std::string& name : any) {
      const User* const user = is_kind(name) ? find_in(by_certificate_, name) : nullptr;
      if (user != nullptr) return user;
    }
    return nullptr;
  };
  if (!names.uris.empty()) return first_of(names.uris, is_uri);
  if (!names.dns.empty()) return first_of(names.dns, is_dns_name);
  if (names.common_name.empty()) return nullptr;
  return find_in(by_certificate_, "CN=" + names.common_name);
}

const User* Users::by_identity(const Identity& identity) const {
  struct Find {
    const Users& users;
    const User* operator()(std::monostate) const { return nullptr; }
    const User* operator()(const UserName& user) const { return users.find(user.name); }
    const User* operator()(const CertificateNames& names) const {
      return users.by_certificate(names);
    }
    const User* operator()(const PeerProcess& peer) const { return users.by_process(peer); }
    const User* operator()(const common::TokenRecord& token) const {
      const auto found = users.by_token_id_.find(token.id);
      const bool is_same =
          found != users.by_token_id_.end() && common::same_hash(found->second.hash, token.hash);
      return is_same ? found->second.user : nullptr;
    }
  };
  return std::visit(Find{*this}, identity);
}

const User* Users::by_process(const PeerProcess& peer) const {
  const User* const user = find_in(by_uid_, peer.uid);
  return user != nullptr ? user : find_in(by_gid_, peer.gid);
}

}  // namespace perennial::access
