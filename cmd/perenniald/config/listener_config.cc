#include "cmd/perenniald/config/listener_config.h"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "cmd/common/list.h"
#include "cmd/common/network.h"
#include "cmd/perenniald/config/value_types.h"

namespace perennial::perenniald {
namespace {

// An address and a user are checked with the rest: finish_listener() and main.cc.
Status set_as_is(std::string& member, const ConfigField&, std::string_view text) {
  member = text;
  return {};
}

Status set_networks(std::string& member, const ConfigField&, std::string_view text) {
  for (const std::string_view network : common::list_items(text)) {
    if (const auto parsed = common::parse_network(network); !parsed.ok()) return parsed.status();
  }
  member = text;
  return {};
}

// Three octal digits, with or without a zero before them. Without a right for the server's own user
// nobody could remove the file.
Status set_mode(std::optional<uint32_t>& member, const ConfigField&, std::string_view text) {
  uint32_t mode = 0;
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, mode, 8);
  if (text.size() < 3 || text.size() > 4 || error != std::errc() || at != end || mode > 0777) {
    return bad_value(fmt::format("'{}' is not a mode such as 0660", text));
  }
  member = mode;
  return {};
}

std::string mode_text(const std::optional<uint32_t>& value, const ConfigField&) {
  return value ? fmt::format("{:04o}", *value) : std::string();
}

Status set_owner(std::string& member, const ConfigField&, std::string_view text) {
  if (text.empty()) return bad_value("expected a name or a number");
  member = text;
  return {};
}

constexpr auto as_is_type = value_type<std::string, set_as_is, text_of>(true);
constexpr auto networks_type = value_type<std::string, set_networks, text_of>(true);
constexpr auto mode_type = value_type<std::optional<uint32_t>, set_mode, mode_text>(true);
constexpr auto owner_type = value_type<std::string, set_owner, text_of>(true);

constexpr Word<ListenerProtocol> protocol_words[] = {{"beanstalk", ListenerProtocol::Beanstalk},
                                                     {"http", ListenerProtocol::Http}};
constexpr auto protocol_type = word_type<ListenerProtocol, protocol_words>(true);
constexpr Word<bool> proxy_words[] = {{"true", true}, {"false", false}};
constexpr auto proxy_type = word_type<bool, proxy_words>(true);
constexpr Word<ClientCertificate> client_words[] = {{"none", ClientCertificate::None},
                                                    {"request", ClientCertificate::Request},
                                                    {"require", ClientCertificate::Require}};
constexpr auto client_type = word_type<ClientCertificate, client_words>(true);

constexpr ConfigField tls_rows[] = {
    row("certificate", at<&TlsSettings::certificate>(file_type)),
    row("key", at<&TlsSettings::key>(file_type)),
    row("client_ca", at<&TlsSettings::client_ca>(file_type)),
    row("crl", at<&TlsSettings::crl>(file_type)),
    row("client", at<&TlsSettings::client>(client_type)),
};
using Tls = std::optional<TlsSettings>;
constexpr TypeOf<Tls> tls_type = {{
    .shape = Shape::Section,
    .form = "{certificate: ..., key: ...}",
    .fields = [] { return ConfigFields(tls_rows); },
    .object = [](void* value) -> void* { return &static_cast<Tls*>(value)->emplace(); },
    .objects =
        [](const void* value) {
          const Tls& tls = *static_cast<const Tls*>(value);
          return tls ? std::vector<const void*>{&*tls} : std::vector<const void*>{};
        },
}};

constexpr ConfigField listener_rows[] = {
    row("address", at<&ListenerConfig::address>(as_is_type)),
    hidden_at("beanstalk", row("protocol", at<&ListenerConfig::protocol>(protocol_type))),
    row("user", at<&ListenerConfig::user>(as_is_type)),
    hidden_at("false", row("proxy", at<&ListenerConfig::proxy>(proxy_type))),
    row("proxy_from", at<&ListenerConfig::proxy_from>(networks_type)),
    row("mode", at<&ListenerConfig::mode>(mode_type)),
    row("owner", at<&ListenerConfig::owner>(owner_type)),
    row("group", at<&ListenerConfig::group>(owner_type)),
    row("tls", at<&ListenerConfig::tls>(tls_type)),
};

// Without a value of its own the setting follows from whether there is a CA.
ClientCertificate default_client(const TlsSettings& tls) {
  return tls.client_ca.empty() ? ClientCertificate::None : ClientCertificate::Require;
}

// What is wrong with settings that are each valid.
std::string combination(const TlsSettings& tls) {
  if (tls.certificate.empty() || tls.key.empty()) return "tls needs certificate and key";
  if (tls.client != ClientCertificate::None && tls.client_ca.empty()) {
    return "tls.client asks for certificates that no tls.client_ca can have issued";
  }
  if (tls.client == ClientCertificate::None && !tls.client_ca.empty()) {
    return "tls.client_ca is set, and tls.client is none";
  }
  if (!tls.crl.empty() && tls.client_ca.empty()) return "tls.crl is set, and tls.client_ca is not";
  return {};
}

bool has_file_access(const ListenerConfig& listener) {
  return listener.mode || !listener.owner.empty() || !listener.group.empty();
}

}  // namespace

ConfigFields listener_fields() {
  return listener_rows;
}

Problems finish_listener(ListenerConfig& listener, const GivenKeys& given) {
  Problems problems;
  const auto add = [&](std::string problem) {
    if (!problem.empty()) problems.push_back(std::move(problem));
  };
  if (listener.tls && !given.contains("tls.client")) {
    listener.tls->client = default_client(*listener.tls);
  }
  if (!given.contains("address")) {
    add("a listener needs an address");
  } else if (const auto address = listener_address(listener, 0); !address.ok()) {
    add("address: " + address.status().message());
  } else if (has_file_access(listener) && address->kind != common::Address::Kind::Unix) {
    add("mode, owner and group are those of a socket file: only unix:PATH has one");
  }
  if (listener.tls && problems.empty()) add(combination(*listener.tls));
  if (listener.proxy == listener.proxy_from.empty()) {
    add(listener.proxy
            ? "proxy needs proxy_from, the addresses of the proxies: anybody can send a header"
            : "proxy_from is set, and proxy is not");
  }
  const bool is_http = listener.protocol == ListenerProtocol::Http;
  if (listener.tls && is_http) listener.tls->protocol = "http/1.1";
  return problems;
}

Result<common::Address> listener_address(const ListenerConfig& listener, uint16_t port) {
  if (listener.protocol == ListenerProtocol::Http) return http_address(listener.address);
  return common::parse_address(listener.address, listener.tls ? common::default_tls_port : port);
}

Result<common::Address> http_address(const std::string& text) {
  return common::parse_address(text, default_http_port);
}

}  // namespace perennial::perenniald
