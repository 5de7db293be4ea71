#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cmd/common/address.h"
#include "cmd/perenniald/tls/tls_settings.h"
#include "engine/types/status.h"

// The setting `listeners`: addresses that have settings of their own.
namespace perennial::perenniald {

enum class ListenerProtocol : uint8_t { Beanstalk, Http };

struct ListenerConfig {
  std::string address;  // Valid for listener_address().
  ListenerProtocol protocol = ListenerProtocol::Beanstalk;
  std::optional<TlsSettings> tls;  // None: a plain stream.
  std::string user = {};           // Everybody who connects here is this user. Empty: nobody is.
  // Each client is a proxy of these, which says first for whom it connects: net/proxy_header.h.
  bool proxy = false;
  std::string proxy_from = {};  // With commas between them; each is valid for parse_network().
  // Of a unix socket's file: net/socket_file.h. None and empty: as it comes. Owner and group are
  // names or numbers.
  std::optional<uint32_t> mode = {};
  std::string owner = {};
  std::string group = {};
};

// The settings of one listener by their names; those of TLS begin with "tls.".
using ListenerPairs = std::vector<std::pair<std::string, std::string>>;

// `port` is that of the setting. Returns every problem.
std::vector<std::string> parse_listener(const ListenerPairs& pairs, uint16_t port,
                                        ListenerConfig& out);
ListenerPairs listener_pairs(const ListenerConfig& listener);

// Where HTTP is spoken, if the setting http_listen names no port.
inline constexpr uint16_t default_http_port = 11380;
Result<common::Address> http_address(const std::string& text);

// An address without a port gets `port`, or the port for TLS, or that for HTTP.
Result<common::Address> listener_address(const ListenerConfig& listener, uint16_t port);

}  // namespace perennial::perenniald
