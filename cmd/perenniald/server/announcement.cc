#include "cmd/perenniald/server/announcement.h"

#include <algorithm>
#include <string_view>

#include <nlohmann/json.hpp>
#include <unistd.h>

#include "cmd/common/address.h"

namespace perennial::perenniald {
namespace {

using nlohmann::ordered_json;

bool has_tls(const Config& config, const BoundSocket& socket) {
  return socket.listener() && config.listeners[*socket.listener()].tls.has_value();
}

// Null: there is none. One without TLS goes first.
const BoundSocket* find_socket(const Config& config, const std::vector<BoundSocket>& sockets,
                               ListenerRole role) {
  for (const bool wants_tls : {false, true}) {
    const auto found = std::ranges::find_if(sockets, [&](const BoundSocket& socket) {
      return socket.role() == role && has_tls(config, socket) == wants_tls;
    });
    if (found != sockets.end()) return &*found;
  }
  return nullptr;
}

void add_queue(ordered_json& line, const BoundSocket& socket) {
  line["address"] = socket.name();
  const Result<common::Address> address = common::parse_address(socket.name(), 0);
  if (socket.is_unix() || !address.ok()) return;
  line["host"] = address->host;
  line["port"] = address->port;
}

std::string http_text(const BoundSocket& socket, bool is_tls) {
  if (socket.is_unix()) return socket.name();
  return (is_tls ? "https://" : "http://") + socket.name();
}

}  // namespace

std::string announcement(const Config& config, const std::vector<BoundSocket>& sockets,
                         const std::string& version) {
  ordered_json line;
  if (const auto* const queue = find_socket(config, sockets, ListenerRole::Queue))
    add_queue(line, *queue);
  if (const auto* const http = find_socket(config, sockets, ListenerRole::Http))
    line["http"] = http_text(*http, has_tls(config, *http));
  line["pid"] = ::getpid();
  line["data_dir"] = config.data_dir;
  line["version"] = version;
  return line.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

}  // namespace perennial::perenniald
