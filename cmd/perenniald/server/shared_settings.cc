#include "cmd/perenniald/server/shared_settings.h"

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cmd/common/address.h"

namespace perennial::perenniald {
namespace {

// What clients meet at the leader, whichever node that is.
constexpr std::string_view keys[] = {
    "job_bytes_max", "jobs_max", "tubes_max",    "memory_bytes_max", "watched_max",
    "reserved_max",  "keys_max", "settings_max", "schedules_max",    "extensions",
    "stats_quotes",  "admin_on", "tubes",        "checkpoint_from",  "auth_plaintext"};

// One that cannot be read is like none: whoever uses it says so.
std::string content_of(const std::string& path) {
  if (path.empty()) return {};
  std::ifstream file(path, std::ios::binary);
  std::ostringstream content;
  content << file.rdbuf();
  return content.str();
}

// In which order they are written does not matter.
std::string text_of(const access::Users* users) {
  if (users == nullptr) return "none";
  std::vector<access::User> all = users->all();
  std::ranges::sort(all, {}, &access::User::name);
  return users_text(all);
}

// How clients of other machines come in: with TLS or without, and as whom. Where that is differs
// between nodes.
std::string ways_in(const Config& config) {
  std::set<std::string> ways;
  if (config.listen.empty() && config.listeners.empty()) ways.insert("plain");  // Everywhere.
  for (const std::string& text : config.listen) {
    const Result<common::Address> address = common::parse_address(text, config.port);
    if (address.ok() && !common::is_local(*address)) ways.insert("plain");
  }
  for (const ListenerConfig& listener : config.listeners) {
    const Result<common::Address> address = listener_address(listener, config.port);
    const bool is_queue = listener.protocol == ListenerProtocol::Beanstalk;
    if (!is_queue || !address.ok() || common::is_local(*address)) continue;
    std::string way = listener.tls ? "tls" : "plain";
    if (listener.tls) way += fmt::format(" {}", static_cast<int>(listener.tls->client));
    ways.insert(listener.user.empty() ? way : way + " user " + listener.user);
  }
  return fmt::format("{}", fmt::join(ways, ", "));
}

}  // namespace

std::map<std::string, std::string> shared_settings(const Config& config,
                                                   const access::Users* users) {
  std::map<std::string, std::string> texts;
  for (const std::string_view key : keys) {
    texts.emplace(key, config_text(config, config_field(key)));
  }
  texts.emplace("users", text_of(users));
  texts.emplace("listeners", ways_in(config));
  texts.emplace("cluster.peer_ca", content_of(config.cluster.peer_ca));
  texts.emplace("cluster.peer_token_file", content_of(config.cluster.peer_token_file));
  return texts;
}

}  // namespace perennial::perenniald
