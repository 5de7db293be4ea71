#include "cmd/perenniald/config/listener_config.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>
#include <system_error>

#include <fmt/format.h>

#include "cmd/common/list.h"
#include "cmd/common/network.h"

namespace perennial::perenniald {
namespace {

struct FileRow {
  std::string_view key;
  std::string TlsSettings::*member;
};
constexpr std::array files = {
    FileRow{"tls.certificate", &TlsSettings::certificate}, FileRow{"tls.key", &TlsSettings::key},
    FileRow{"tls.client_ca", &TlsSettings::client_ca}, FileRow{"tls.crl", &TlsSettings::crl}};
constexpr size_t path_bytes_max = 4096;
constexpr std::string_view beanstalk_name = "beanstalk";
constexpr std::string_view http_name = "http";

struct ClientRow {
  std::string_view name;
  ClientCertificate value;
};
constexpr std::array clients = {ClientRow{"none", ClientCertificate::None},
                                ClientRow{"request", ClientCertificate::Request},
                                ClientRow{"require", ClientCertificate::Require}};

// Without a value of its own the setting follows from whether there is a CA.
ClientCertificate default_client(const TlsSettings& tls) {
  return tls.client_ca.empty() ? ClientCertificate::None : ClientCertificate::Require;
}

std::string set_file(TlsSettings& tls, const FileRow& row, const std::string& value) {
  if (value.empty() || value.size() > path_bytes_max) {
    return fmt::format("{}: expected the path of a file", row.key);
  }
  tls.*row.member = value;
  return {};
}

std::string set_client(TlsSettings& tls, std::string_view value) {
  const auto* const row = std::ranges::find(clients, value, &ClientRow::name);
  if (row == clients.end()) {
    return fmt::format("tls.client: '{}' is not one of none, request, require", value);
  }
  tls.client = row->value;
  return {};
}

std::string set_proxies(const std::string& value, ListenerConfig& out) {
  for (const std::string_view network : common::list_items(value)) {
    if (const auto parsed = common::parse_network(network); !parsed.ok()) {
      return "proxy_from: " + parsed.status().message();
    }
  }
  out.proxy_from = value;
  return {};
}

// Three octal digits, with or without a zero before them. Without a right for the server's own user
// nobody could remove the file.
std::string set_mode(const std::string& value, ListenerConfig& out) {
  uint32_t mode = 0;
  const char* const end = value.data() + value.size();
  const auto [at, error] = std::from_chars(value.data(), end, mode, 8);
  if (value.size() < 3 || value.size() > 4 || error != std::errc() || at != end || mode > 0777) {
    return fmt::format("mode: '{}' is not a mode such as 0660", value);
  }
  out.mode = mode;
  return {};
}

std::string set_value(const std::string& key, const std::string& value, ListenerConfig& out) {
  if (key == "address") {
    out.address = value;
    return {};
  }
  if (key == "user") {
    out.user = value;
    return {};
  }
  if (key == "protocol") {
    if (value != beanstalk_name && value != http_name) {
      return fmt::format("protocol: '{}' is not one of beanstalk, http", value);
    }
    out.protocol = value == http_name ? ListenerProtocol::Http : ListenerProtocol::Beanstalk;
    return {};
  }
  if (key == "proxy") {
    if (value != "true" && value != "false") {
      return fmt::format("proxy: '{}' is not one of true, false", value);
    }
    out.proxy = value == "true";
    return {};
  }
  if (key == "proxy_from") return set_proxies(value, out);
  if (key == "mode") return set_mode(value, out);
  if (key == "owner" || key == "group") {
    if (value.empty()) return fmt::format("{}: expected a name or a number", key);
    (key == "owner" ? out.owner : out.group) = value;
    return {};
  }
  if (!key.starts_with("tls.")) {
    return fmt::format(
        "{}: there is no such setting of a listener: address, protocol, user, mode, owner, group, "
        "proxy, proxy_from, tls",
        key);
  }
  if (key == "tls.client") return set_client(*out.tls, value);
  const auto* const file = std::ranges::find(files, key, &FileRow::key);
  if (file == files.end()) {
    return fmt::format("{}: there is no such setting: certificate, key, client_ca, client, crl",
                       key);
  }
  return set_file(*out.tls, *file, value);
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

bool has_key(const ListenerPairs& pairs, std::string_view key) {
  return std::ranges::any_of(pairs, [&](const auto& pair) { return pair.first == key; });
}

}  // namespace

std::vector<std::string> parse_listener(const ListenerPairs& pairs, uint16_t port,
                                        ListenerConfig& out) {
  std::vector<std::string> problems;
  const auto add = [&](std::string problem) {
    if (!problem.empty()) problems.push_back(std::move(problem));
  };
  const bool has_tls =
      std::ranges::any_of(pairs, [](const auto& pair) { return pair.first.starts_with("tls."); });
  if (has_tls) out.tls.emplace();
  for (const auto& [key, value] : pairs) add(set_value(key, value, out));
  if (out.tls && !has_key(pairs, "tls.client")) out.tls->client = default_client(*out.tls);
  if (!has_key(pairs, "address")) {
    add("a listener needs an address");
  } else if (const Result<common::Address> address = listener_address(out, port); !address.ok()) {
    add("address: " + address.status().message());
  } else if (has_file_access(out) && address->kind != common::Address::Kind::Unix) {
    add("mode, owner and group are those of a socket file: only unix:PATH has one");
  }
  if (out.tls && problems.empty()) add(combination(*out.tls));
  const bool is_refused = has_key(pairs, "proxy_from") && !problems.empty();
  if (out.proxy == out.proxy_from.empty() && !is_refused) {
    add(out.proxy
            ? "proxy needs proxy_from, the addresses of the proxies: anybody can send a header"
            : "proxy_from is set, and proxy is not");
  }
  if (out.tls && out.protocol == ListenerProtocol::Http) out.tls->protocol = "http/1.1";
  return problems;
}

ListenerPairs listener_pairs(const ListenerConfig& listener) {
  ListenerPairs pairs = {{"address", listener.address}};
  if (listener.protocol == ListenerProtocol::Http) pairs.emplace_back("protocol", http_name);
  if (!listener.user.empty()) pairs.emplace_back("user", listener.user);
  if (listener.proxy) {
    pairs.emplace_back("proxy", "true");
    pairs.emplace_back("proxy_from", listener.proxy_from);
  }
  if (listener.mode) pairs.emplace_back("mode", fmt::format("{:04o}", *listener.mode));
  if (!listener.owner.empty()) pairs.emplace_back("owner", listener.owner);
  if (!listener.group.empty()) pairs.emplace_back("group", listener.group);
  if (!listener.tls) return pairs;
  for (const FileRow& row : files) {
    const std::string& path = *listener.tls.*row.member;
    if (!path.empty()) pairs.emplace_back(row.key, path);
  }
  const auto* const row = std::ranges::find(clients, listener.tls->client, &ClientRow::value);
  pairs.emplace_back("tls.client", row->name);
  return pairs;
}

Result<common::Address> listener_address(const ListenerConfig& listener, uint16_t port) {
  if (listener.protocol == ListenerProtocol::Http) return http_address(listener.address);
  return common::parse_address(listener.address, listener.tls ? common::default_tls_port : port);
}

Result<common::Address> http_address(const std::string& text) {
  return common::parse_address(text, default_http_port);
}

}  // namespace perennial::perenniald
