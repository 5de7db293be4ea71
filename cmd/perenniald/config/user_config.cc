#include "cmd/perenniald/config/user_config.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "cmd/common/token.h"
#include "cmd/common/units.h"
#include "cmd/perenniald/config/value_types.h"

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

Status set_user_name(std::string& member, const ConfigField&, std::string_view text) {
  if (!is_user_name(text)) {
    return bad_value(
        fmt::format("'{}' is not 1 to {} letters, digits and -_.@", text, name_bytes_max));
  }
  member = text;
  return {};
}

using Tokens = std::vector<common::TokenRecord>;

Status add_token(Tokens& tokens, const ConfigField&, std::string_view text) {
  Result<common::TokenRecord> record = common::parse_token_record(text);
  if (!record.ok()) return record.take_status();
  tokens.push_back(record.take());
  return {};
}

std::vector<std::string> token_texts(const Tokens& tokens) {
  std::vector<std::string> texts;
  for (const common::TokenRecord& token : tokens) texts.push_back(common::token_text(token));
  return texts;
}

Status add_certificate(std::vector<std::string>& names, const ConfigField&, std::string_view text) {
  if (text.empty() || text.size() > certificate_bytes_max) {
    return bad_value(fmt::format("a name has 1 to {} bytes", certificate_bytes_max));
  }
  names.emplace_back(text);
  return {};
}

using Ids = std::vector<uint32_t>;

Status add_id(Ids& ids, const ConfigField&, std::string_view text) {
  const Result<uint64_t> id = common::parse_count(text);
  if (!id.ok() || *id >= std::numeric_limits<uint32_t>::max()) {
    return bad_value(fmt::format("'{}' is not the number of a user or a group", text));
  }
  ids.push_back(static_cast<uint32_t>(*id));
  return {};
}

std::vector<std::string> id_texts(const Ids& ids) {
  std::vector<std::string> texts;
  for (const uint32_t id : ids) texts.push_back(fmt::format("{}", id));
  return texts;
}

Status add_verb(access::VerbSet& verbs, const ConfigField&, std::string_view text) {
  const auto verb = access::verb_named(text);
  if (!verb) {
    return bad_value(
        fmt::format("'{}' is not one of produce, consume, inspect, manage, monitor, admin", text));
  }
  verbs.add(*verb);
  return {};
}

std::vector<std::string> verb_texts(const access::VerbSet& verbs) {
  std::vector<std::string> texts;
  for (const access::VerbRow& row : access::verb_rows) {
    if (verbs.holds(row.verb)) texts.emplace_back(row.name);
  }
  return texts;
}

bool needs_tubes(access::VerbSet verbs) {
  return std::ranges::any_of(access::verb_rows, [&](const access::VerbRow& row) {
    return row.is_of_tubes && verbs.holds(row.verb);
  });
}

Problems finish_grant(access::Grant& grant, const GivenKeys&) {
  if (grant.verbs.empty()) return {"a grant needs verbs"};
  if (needs_tubes(grant.verbs) && grant.tubes.empty()) {
    return {"a grant needs tubes: all its verbs but monitor and admin are of tubes"};
  }
  return {};
}

// A list that says "expected a list of words".
template <typename T, Status (*Add)(T&, const ConfigField&, std::string_view),
          std::vector<std::string> (*Texts)(const T&)>
constexpr TypeOf<T> words_type() {
  TypeOf<T> type = list_type<T, Add, Texts>("a list of words", true);
  type.item = type.form;
  return type;
}
using Texts = std::vector<std::string>;
constexpr auto user_name_type = value_type<std::string, set_user_name, text_of>(true);
constexpr auto tokens_type = words_type<Tokens, add_token, token_texts>();
constexpr auto certificates_type = words_type<Texts, add_certificate, texts_of>();
constexpr auto ids_type = words_type<Ids, add_id, id_texts>();
constexpr auto granted_tubes_type = words_type<Texts, add_pattern, texts_of>();
constexpr auto verbs_type = words_type<access::VerbSet, add_verb, verb_texts>();

constexpr ConfigField grant_rows[] = {
    row("tubes", at<&access::Grant::tubes>(granted_tubes_type)),
    row("verbs", at<&access::Grant::verbs>(verbs_type)),
};
ConfigFields grant_fields() {
  return grant_rows;
}
constexpr auto grants_type = sections_type<access::Grant, grant_fields, finish_grant>(
    "{tubes: [...], verbs: [...]}", "a grant");

constexpr ConfigField user_rows[] = {
    row("name", at<&access::User::name>(user_name_type)),
    row("tokens", at<&access::User::tokens>(tokens_type)),
    row("certificates", at<&access::User::certificates>(certificates_type)),
    row("uids", at<&access::User::uids>(ids_type)),
    row("gids", at<&access::User::gids>(ids_type)),
    always_shown(row("grants", at<&access::User::grants>(grants_type))),
};

}  // namespace

ConfigFields user_fields() {
  return user_rows;
}

Problems finish_user(access::User& user, const GivenKeys&) {
  if (user.name.empty()) return {"a user needs a name"};
  return {};
}

}  // namespace perennial::perenniald
