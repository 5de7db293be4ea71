#include "cmd/perenniald/server/access_report.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "cmd/common/address.h"
#include "cmd/perenniald/config/listener_config.h"

namespace perennial::perenniald {
namespace {

using access::User;
using access::Users;
using access::Verb;

// One address, and how its clients may show who they are.
struct Entrance {
  std::string address;
  std::string kind;  // "plain", "TLS", "unix socket".
  std::string user = {};
  bool certificate = false;  // A client's certificate names a user.
  bool certificate_required = false;
  bool process = false;
  bool token = false;  // From every machine; otherwise from this one only.
  bool is_local = false;
};

Entrance entrance_of(const Config& config, const std::string& text, const common::Address& address,
                     const ListenerConfig* listener) {
  Entrance out = {.address = text, .kind = "plain"};
  const bool is_unix = address.kind == common::Address::Kind::Unix;
  if (is_unix) out.kind = "unix socket";
  out.is_local = common::is_local(address);
  if (listener != nullptr) {
    const bool is_http = listener->protocol == ListenerProtocol::Http;
    if (is_http) out.kind = "HTTP";
    out.user = listener->user;
    if (listener->tls) {
      out.kind = is_http ? "HTTPS" : "TLS";
      out.certificate = listener->tls->client != ClientCertificate::None;
      out.certificate_required = listener->tls->client == ClientCertificate::Require;
    }
  }
  out.process = is_unix;
  out.token = (listener != nullptr && listener->tls) || out.is_local || config.auth_plaintext;
  return out;
}

// The addresses are valid, as the configuration has checked them.
std::vector<Entrance> entrances_of(const Config& config) {
  std::vector<Entrance> out;
  // As bind_plain() has it: without any the server listens everywhere.
  std::vector<std::string> plain = config.listen;
  if (plain.empty() && config.listeners.empty()) plain = {fmt::format("[::]:{}", config.port)};
  for (const std::string& text : plain) {
    const Result<common::Address> address = common::parse_address(text, config.port);
    if (address.ok()) out.push_back(entrance_of(config, text, *address, nullptr));
  }
  for (const ListenerConfig& listener : config.listeners) {
    const Result<common::Address> address = listener_address(listener, config.port);
    if (address.ok()) out.push_back(entrance_of(config, listener.address, *address, &listener));
  }
  if (const auto address = http_address(config.http_listen);
      !config.http_listen.empty() && address.ok()) {
    out.push_back(entrance_of(config, config.http_listen, *address, nullptr));
    out.back().kind = "HTTP";
  }
  return out;
}

std::string ways_in(const Entrance& entrance) {
  if (!entrance.user.empty()) return fmt::format("everybody is {}", entrance.user);
  std::vector<std::string> ways;
  if (entrance.certificate) ways.emplace_back("by certificate");
  if (entrance.process) ways.emplace_back("by process (uid, then gid)");
  if (entrance.token) {
    ways.emplace_back("by token");
  } else {
    ways.emplace_back("by token from this machine only, since auth_plaintext is off");
  }
  std::string text = fmt::format("{}", fmt::join(ways, ", else "));
  if (entrance.certificate_required) text += "; no connection without a certificate";
  return text;
}

// The addresses at which this user can show who it is.
std::vector<std::string> entrances_for(const User& user, const std::vector<Entrance>& entrances) {
  std::vector<std::string> out;
  for (const Entrance& at : entrances) {
    if (!at.user.empty()) {
      if (at.user == user.name) out.push_back(at.address);
      continue;
    }
    const bool shows_certificate = at.certificate && !user.certificates.empty();
    const bool shows_process = at.process && (!user.uids.empty() || !user.gids.empty());
    if (shows_certificate || shows_process || !user.tokens.empty()) out.push_back(at.address);
  }
  return out;
}

std::vector<std::string> proofs_of(const User& user) {
  std::vector<std::string> out;
  for (const common::TokenRecord& token : user.tokens) out.push_back("token " + token.id);
  for (const std::string& name : user.certificates) out.push_back("certificate " + name);
  for (const uint32_t uid : user.uids) out.push_back(fmt::format("uid {}", uid));
  for (const uint32_t gid : user.gids) out.push_back(fmt::format("gid {}", gid));
  return out;
}

std::string names_of(access::VerbSet verbs, bool of_tubes) {
  std::vector<std::string_view> names;
  for (const access::VerbRow& row : access::verb_rows) {
    if (row.is_of_tubes == of_tubes && verbs.holds(row.verb)) names.push_back(row.name);
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

std::vector<std::string> rights_of(const User& user) {
  std::vector<std::string> out;
  access::VerbSet of_server;
  for (const access::Grant& grant : user.grants) {
    const std::string verbs = names_of(grant.verbs, true);
    if (!verbs.empty() && !grant.tubes.empty()) {
      out.push_back(fmt::format("{} on {}", verbs, fmt::join(grant.tubes, ", ")));
    }
    for (const Verb verb : {Verb::Monitor, Verb::Admin}) {
      if (grant.verbs.holds(verb)) of_server.add(verb);
    }
  }
  const std::string server = names_of(of_server, false);
  if (!server.empty()) out.push_back(server + " of the server");
  return out;
}

std::vector<std::string> remarks_on(const User& user, const std::vector<Entrance>& entrances) {
  std::vector<std::string> out;
  if (entrances_for(user, entrances).empty()) {
    out.push_back(fmt::format("{} gets in nowhere: {}", user.name,
                              proofs_of(user).empty()
                                  ? "it has no token, certificate, uid or gid, and no listener"
                                  : "no listener takes what it can show"));
  }
  if (rights_of(user).empty()) out.push_back(user.name + " may do nothing: it has no grants");
  const auto consumes = [](const access::Grant& grant) { return grant.verbs.holds(Verb::Consume); };
  if (std::ranges::any_of(user.grants, consumes) &&
      !user.verbs_on("default").holds(Verb::Consume)) {
    out.push_back(user.name +
                  " may not reserve from 'default', which every connection watches at first: its "
                  "workers must watch a tube and ignore default before they reserve");
  }
  return out;
}

std::vector<std::string> remarks_on(const Entrance& entrance, const Users& users) {
  std::vector<std::string> out;
  const auto has_certificate = [](const User& user) { return !user.certificates.empty(); };
  if (entrance.user.empty() && entrance.certificate_required &&
      std::ranges::none_of(users.all(), has_certificate)) {
    out.push_back(
        fmt::format("{} demands a certificate, but no user has one: clients need a token besides",
                    entrance.address));
  }
  if (!entrance.user.empty() && !entrance.is_local && entrance.kind == "plain") {
    out.push_back(fmt::format("{} is plain and not on this machine: whoever reaches it is {}",
                              entrance.address, entrance.user));
  }
  return out;
}

}  // namespace

AccessReport access_report(const Config& config, const Users* users) {
  const std::vector<Entrance> entrances = entrances_of(config);
  AccessReport out;
  out.has_users = users != nullptr;
  for (const Entrance& at : entrances) {
    out.listeners.push_back(
        {at.address, at.kind, users == nullptr ? "everybody, and may do everything" : ways_in(at)});
  }
  if (users == nullptr) return out;
  const auto remark = [&](const std::vector<std::string>& more) {
    out.remarks.insert(out.remarks.end(), more.begin(), more.end());
  };
  for (const User& user : users->all()) {
    out.users.push_back(
        {user.name, proofs_of(user), entrances_for(user, entrances), rights_of(user)});
    remark(remarks_on(user, entrances));
  }
  for (const Entrance& at : entrances) remark(remarks_on(at, *users));
  return out;
}

std::string to_text(const AccessReport& report) {
  std::string out = "listeners:\n";
  for (const AccessReport::Listener& at : report.listeners)
    out += fmt::format("  {} ({}): {}\n", at.address, at.kind, at.ways_in);
  if (!report.has_users) return out + "users: none\n";
  out += "users:\n";
  for (const AccessReport::User& user : report.users) {
    out += fmt::format("  {}:\n", user.name);
    const auto line = [&](std::string_view what, const std::vector<std::string>& list,
                          std::string_view separator, std::string_view none) {
      out += fmt::format(
          "    {}: {}\n", what,
          list.empty() ? std::string(none) : fmt::format("{}", fmt::join(list, separator)));
    };
    line("shows", user.shows, "; ", "nothing");
    line("gets in at", user.gets_in_at, ", ", "nowhere");
    line("may", user.may, "; ", "nothing");
  }
  if (!report.remarks.empty()) out += "remarks:\n";
  for (const std::string& text : report.remarks) out += fmt::format("  - {}\n", text);
  return out;
}

std::string to_json(const AccessReport& report) {
  nlohmann::ordered_json out = {{"listeners", nlohmann::ordered_json::array()},
                                {"users", nullptr},
                                {"remarks", report.remarks}};
  for (const AccessReport::Listener& at : report.listeners) {
    out["listeners"].push_back(
        {{"address", at.address}, {"kind", at.kind}, {"ways_in", at.ways_in}});
  }
  if (report.has_users) out["users"] = nlohmann::ordered_json::array();
  for (const AccessReport::User& user : report.users) {
    out["users"].push_back({{"name", user.name},
                            {"shows", user.shows},
                            {"gets_in_at", user.gets_in_at},
                            {"may", user.may}});
  }
  return out.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace perennial::perenniald
