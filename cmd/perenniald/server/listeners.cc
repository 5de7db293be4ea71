#include "cmd/perenniald/server/listeners.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "cmd/common/address.h"
#include "cmd/perenniald/net/activation.h"
#include "cmd/perenniald/process/log.h"

namespace perennial::perenniald {
namespace {

using Sockets = std::vector<BoundSocket>;

Result<Sockets> bind_plain(const Config& config) {
  if (config.listen.empty() && !config.listeners.empty()) return Sockets();
  std::vector<common::Address> addresses;
  for (const std::string& text : config.listen) {
    Result<common::Address> address = common::parse_address(text, config.port);
    if (!address.ok()) return address.take_status();
    addresses.push_back(address.take());
  }
  return bind_sockets(addresses, config.port);
}

void set_listener(BoundSocket& socket, const ListenerConfig& listener, size_t number) {
  socket.set_listener(number);
  if (listener.protocol == ListenerProtocol::Http) socket.set_role(ListenerRole::Http);
}

Status bind_listeners(const Config& config, Sockets& out) {
  for (size_t i = 0; i < config.listeners.size(); ++i) {
    const ListenerConfig& listener = config.listeners[i];
    const Result<common::Address> address = listener_address(listener, config.port);
    if (!address.ok()) return address.status();
    const SocketAccess access = {
        .mode = listener.mode, .owner = listener.owner, .group = listener.group};
    Result<Sockets> bound = bind_sockets({*address}, address->port, access);
    if (!bound.ok()) return bound.take_status();
    for (BoundSocket& socket : *bound) set_listener(socket, listener, i);
    std::ranges::move(*bound, std::back_inserter(out));
  }
  return {};
}

// The service manager may have passed it.
Status bind_http(const Config& config, Sockets& out) {
  const auto is_http = [](const BoundSocket& socket) {
    return socket.role() == ListenerRole::Http && !socket.listener();
  };
  if (config.http_listen.empty() || std::ranges::any_of(out, is_http)) return {};
  const Result<common::Address> address = http_address(config.http_listen);
  if (!address.ok()) return address.status();
  Result<Sockets> bound = bind_sockets({*address}, address->port);
  if (!bound.ok()) return bound.take_status();
  for (BoundSocket& socket : *bound) socket.set_role(ListenerRole::Http);
  std::ranges::move(*bound, std::back_inserter(out));
  return {};
}

// Gives a passed socket the settings of the listener with its address. A listener with TLS needs
// one: otherwise clients would meet a plain stream where they are meant to meet TLS.
Status assign_listeners(const Config& config, Sockets& passed) {
  for (size_t i = 0; i < config.listeners.size(); ++i) {
    const Result<common::Address> address = listener_address(config.listeners[i], config.port);
    if (!address.ok()) return address.status();
    bool is_passed = false;
    for (BoundSocket& socket : passed) {
      if (socket.name() != common::to_text(*address)) continue;
      set_listener(socket, config.listeners[i], i);
      is_passed = true;
    }
    if (is_passed || !config.listeners[i].tls) continue;
    return {StatusCode::InvalidArgument,
            fmt::format("listeners: the service manager passed no socket at {}: add it to the "
                        "socket unit, as a number and a port",
                        common::to_text(*address))};
  }
  return {};
}

}  // namespace

Result<Sockets> open_sockets(const Config& config) {
  Result<Sockets> sockets = activated_sockets();
  if (!sockets.ok()) return sockets;
  if (sockets->empty()) {
    sockets = bind_plain(config);
    if (!sockets.ok()) return sockets;
    if (Status bound = bind_listeners(config, *sockets); !bound.ok()) return bound;
    if (Status bound = bind_http(config, *sockets); !bound.ok()) return bound;
    return sockets;
  }
  if (!config.listen.empty() || config.port != common::default_port) {
    log(Level::Info, "listen",
        {{"ignored", "listen and port: the service manager passed sockets"}});
  }
  if (Status assigned = assign_listeners(config, *sockets); !assigned.ok()) return assigned;
  if (Status bound = bind_http(config, *sockets); !bound.ok()) return bound;
  return sockets;
}

bool has_tls_at(const Config& config, const std::string& address) {
  const Result<common::Address> wanted = common::parse_address(address, config.port);
  return wanted.ok() && std::ranges::any_of(config.listeners, [&](const ListenerConfig& listener) {
           const Result<common::Address> own = listener_address(listener, config.port);
           return listener.tls && listener.protocol == ListenerProtocol::Beanstalk && own.ok() &&
                  own->kind == common::Address::Kind::Internet && own->port == wanted->port;
         });
}

TlsListeners load_tls(const Config& config, Problems& problems) {
  TlsListeners out;
  for (const ListenerConfig& listener : config.listeners) {
    out.emplace_back();
    if (!listener.tls) continue;
    Result<std::unique_ptr<TlsListener>> loaded = TlsListener::load(*listener.tls);
    if (loaded.ok()) {
      out.back() = loaded.take();
    } else {
      problems.push_back(
          fmt::format("listener {}: {}", listener.address, loaded.status().message()));
    }
  }
  return out;
}

}  // namespace perennial::perenniald
