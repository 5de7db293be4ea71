#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cmd/common/address.h"
#include "cmd/perenniald/config/field.h"
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

// The rows of a listener.
ConfigFields listener_fields();
// Completes a listener, and returns every problem of settings that are each valid.
Problems finish_listener(ListenerConfig& listener, const GivenKeys& given);

// Where HTTP is spoken, if the setting http_listen names no port.
inline constexpr uint16_t default_http_port = 11380;
Result<common::Address> http_address(const std::string& text);

// An address without a port gets `port`, or the port for TLS, or that for HTTP.
Result<common::Address> listener_address(const ListenerConfig& listener, uint16_t port);

}  // namespace perennial::perenniald
