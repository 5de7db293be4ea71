#include "cmd/perenniald/config/user_config.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "cmd/common/token.h"
#include "cmd/common/units.h"
#include "wire/command_line.h"

namespace perennial::perenniald {
namespace {

constexpr size_t name_bytes_max = 64;
constexpr size_t certificate_bytes_max = 1024;

// A name is a word of the log, so it needs no quotes.
bool is_user_name(std::string_view name) {
  const auto is_good = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("-_.@").find(c) != std::string_view::npos;
  };
  return !name.empty() && name.size() <= name_bytes_max && std::ranges::all_of(name, is_good);
}

std::string set_id(std::vector<uint32_t>& ids, const std::string& key, const std::string& value) {
  const Result<uint64_t> id = common::parse_count(value);
  if (!id.ok() || *id >= std::numeric_limits<uint32_t>::max()) {
    return fmt::format("{}: '{}' is not the number of a user or a group", key, value);
  }
  ids.push_back(static_cast<uint32_t>(*id));
  return {};
}

std::string set_value(const std::string& key, const std::string& value, core::User& out) {
  if (key == "name") {
    if (!is_user_name(value)) {
      return fmt::format("name: '{}' is not 1 to {} letters, digits and -_.@", value,
                         name_bytes_max);
    }
    out.name = value;
    return {};
  }
  if (key == "tokens") {
    Result<common::TokenRecord> record = common::parse_token_record(value);
    if (!record.ok()) return "tokens: " + record.status().message();
    out.tokens.push_back(record.take());
    return {};
  }
  if (key == "certificates") {
    if (value.empty() || value.size() > certificate_bytes_max) {
      return fmt::format("certificates: a name has 1 to {} bytes", certificate_bytes_max);
    }
    out.certificates.push_back(value);
    return {};
  }
  if (key == "uids") return set_id(out.uids, key, value);
  if (key == "gids") return set_id(out.gids, key, value);
  return fmt::format(
      "{}: there is no such setting of a user: name, tokens, certificates, uids, gids, grants",
      key);
}

std::string set_grant(const std::string& key, const std::string& value, core::Grant& out) {
  if (key == "tubes") {
    if (!is_tube_pattern(value)) {
      return fmt::format(
          "tubes: '{}' is not the name of a tube, in which '*' may stand for "
          "any bytes",
          value);
    }
    out.tubes.push_back(value);
    return {};
  }
  if (key == "verbs") {
    const auto verb = core::verb_named(value);
    if (!verb) {
      return fmt::format(
          "verbs: '{}' is not one of produce, consume, inspect, manage, monitor, admin", value);
    }
    out.verbs.add(*verb);
    return {};
  }
  return fmt::format("{}: there is no such setting of a grant: tubes, verbs", key);
}

bool needs_tubes(core::VerbSet verbs) {
  return std::ranges::any_of(core::verb_rows, [&](const core::VerbRow& row) {
    return row.is_of_tubes && verbs.holds(row.verb);
  });
}

}  // namespace

bool is_tube_pattern(std::string_view pattern) {
  if (pattern.empty() || pattern.size() > core::pattern_bytes_max) return false;
  std::string name(pattern);
  std::ranges::replace(name, '*', 'x');
  return wire::is_tube_name(name);
}

std::vector<std::string> parse_user(const UserPairs& pairs, core::User& out) {
  std::vector<std::string> problems;
  for (const auto& [key, value] : pairs) {
    std::string problem = set_value(key, value, out);
    if (!problem.empty()) problems.push_back(std::move(problem));
  }
  if (out.name.empty() && problems.empty()) problems.emplace_back("a user needs a name");
  return problems;
}

std::vector<std::string> parse_grant(const GrantPairs& pairs, core::Grant& out) {
  std::vector<std::string> problems;
  for (const auto& [key, value] : pairs) {
    std::string problem = set_grant(key, value, out);
    if (!problem.empty()) problems.push_back(std::move(problem));
  }
  if (!problems.empty()) return problems;
  if (out.verbs.empty()) problems.emplace_back("a grant needs verbs");
  if (needs_tubes(out.verbs) && out.tubes.empty()) {
    problems.emplace_back("a grant needs tubes: all its verbs but monitor and admin are of tubes");
  }
  return problems;
}

UserPairs user_pairs(const core::User& user) {
  UserPairs pairs = {{"name", user.name}};
  for (const auto& token : user.tokens) pairs.emplace_back("tokens", common::token_text(token));
  for (const std::string& name : user.certificates) pairs.emplace_back("certificates", name);
  for (const uint32_t uid : user.uids) pairs.emplace_back("uids", fmt::format("{}", uid));
  for (const uint32_t gid : user.gids) pairs.emplace_back("gids", fmt::format("{}", gid));
  return pairs;
}

GrantPairs grant_pairs(const core::Grant& grant) {
  GrantPairs pairs;
  for (const std::string& tube : grant.tubes) pairs.emplace_back("tubes", tube);
  for (const core::VerbRow& row : core::verb_rows) {
    if (grant.verbs.holds(row.verb)) pairs.emplace_back("verbs", row.name);
  }
  return pairs;
}

}  // namespace perennial::perenniald
