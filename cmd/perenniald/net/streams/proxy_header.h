#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "cmd/common/network.h"

// The header with which a proxy says for whom it connects: the PROXY protocol, versions 1 and 2
// (haproxy, doc/proxy-protocol.txt). Anybody can send it, so it is read only where the settings say
// so, and of proxies that they name.
namespace perennial::perenniald {

struct ProxyHeader {
  size_t bytes = 0;  // Its length. What follows is the client's.
  // The proxy speaks for itself, as for a check of its health: LOCAL of version 2.
  bool is_own = false;
  // None: it does so, or does not say for whom it speaks.
  std::optional<common::IpAddress> address = {};
  std::string peer = {};  // With the port: "192.0.2.1:4711".
};

struct ProxyHeaderRead {
  // None: the bytes begin no such header, or it is longer than proxy_header_bytes_max.
  enum class State { Whole, Incomplete, None };
  State state = State::None;
  ProxyHeader header = {};  // If it is whole.
};

// One of version 2 may hold more than addresses, which is passed over.
inline constexpr size_t proxy_header_bytes_max = 4096;

ProxyHeaderRead read_proxy_header(std::string_view bytes);

}  // namespace perennial::perenniald
