#include "cmd/perenniald/config/cluster_config.h"

#include <algorithm>
#include <array>
#include <variant>

#include <fmt/format.h>

#include "cmd/common/address.h"
#include "cmd/common/private_file.h"
#include "cmd/common/units.h"
#include "cmd/perenniald/config/config.h"
#include "engine/types/check.h"
#include "store/types/cluster_name.h"

// Whether the program is built with clusters: 1 or 0, as the build says.
#ifndef PERENNIAL_HAS_CLUSTER
#define PERENNIAL_HAS_CLUSTER 1
#endif

namespace perennial::perenniald {
namespace {

constexpr bool has_cluster = PERENNIAL_HAS_CLUSTER != 0;

constexpr size_t endpoints_max = 9;
constexpr size_t cluster_text_bytes_max = 4096;
constexpr uint64_t cluster_mib = 1ull << 20;
constexpr uint64_t cluster_gib = 1ull << 30;

using TextMember = std::string ClusterConfig::*;
using NumberMember = uint64_t ClusterConfig::*;
using ListMember = std::vector<std::string> ClusterConfig::*;

enum class Kind : uint8_t {
  Name,
  Endpoints,
  File,
  Text,
  Address,
  Count,
  Bytes,
  Switch,
  Clients,
  Differ,
  Domain
};

struct ClusterRow {
  std::string_view key;
  Kind kind;
  std::variant<std::monostate, TextMember, NumberMember, ListMember> member = {};
  uint64_t lowest = 0;
  uint64_t highest = 0;
};

// In the order in which they are printed. Those of a map in the section have its name in front.
constexpr std::array cluster_rows = {
    ClusterRow{"name", Kind::Name, &ClusterConfig::name},
    ClusterRow{"node", Kind::Name, &ClusterConfig::node},
    ClusterRow{"etcd", Kind::Endpoints, &ClusterConfig::etcd},
    ClusterRow{"etcd_discovery", Kind::Domain, &ClusterConfig::etcd_discovery},
    ClusterRow{"etcd_tls.ca", Kind::File, &ClusterConfig::etcd_ca},
    ClusterRow{"etcd_tls.certificate", Kind::File, &ClusterConfig::etcd_certificate},
    ClusterRow{"etcd_tls.key", Kind::File, &ClusterConfig::etcd_key},
    ClusterRow{"etcd_user", Kind::Text, &ClusterConfig::etcd_user},
    ClusterRow{"etcd_password_file", Kind::File, &ClusterConfig::etcd_password_file},
    ClusterRow{"client_address", Kind::Address, &ClusterConfig::client_address},
    ClusterRow{"peer_address", Kind::Address, &ClusterConfig::peer_address},
    ClusterRow{"peer_ca", Kind::File, &ClusterConfig::peer_ca},
    ClusterRow{"peer_certificate", Kind::File, &ClusterConfig::peer_certificate},
    ClusterRow{"peer_key", Kind::File, &ClusterConfig::peer_key},
    ClusterRow{"peer_token_file", Kind::File, &ClusterConfig::peer_token_file},
    ClusterRow{"priority", Kind::Count, &ClusterConfig::priority, 0, 100},
    ClusterRow{"lease_s", Kind::Count, &ClusterConfig::lease_s, 5, 300},
    ClusterRow{"clock_offset_max_s", Kind::Count, &ClusterConfig::clock_offset_max_s, 1, 3600},
    ClusterRow{"copies_min", Kind::Count, &ClusterConfig::copies_min, 1, 9},
    ClusterRow{"log_keep_bytes", Kind::Bytes, &ClusterConfig::log_keep_bytes, cluster_mib,
               16 * cluster_gib},
    ClusterRow{"log_bytes_max", Kind::Bytes, &ClusterConfig::log_bytes_max, 8 * cluster_mib,
               16 * cluster_gib},
    ClusterRow{"etcd_compact", Kind::Switch},
    ClusterRow{"etcd_quota_bytes", Kind::Bytes, &ClusterConfig::etcd_quota_bytes, 64 * cluster_mib,
               64 * cluster_gib},
    ClusterRow{"sync_ms", Kind::Count, &ClusterConfig::sync_ms, 1, 10'000},
    ClusterRow{"standby_clients", Kind::Clients},
    ClusterRow{"forward_wait_s", Kind::Count, &ClusterConfig::forward_wait_s, 0, 300},
    ClusterRow{"settings_differ", Kind::Differ}};

// How etcd is reached.
constexpr std::array<std::string_view, 6> etcd_keys = {
    "etcd",         "etcd_tls.ca", "etcd_tls.certificate",
    "etcd_tls.key", "etcd_user",   "etcd_password_file"};

bool is_etcd_key(std::string_view key) {
  return std::ranges::find(etcd_keys, key) != etcd_keys.end();
}

const ClusterRow* row_of(std::string_view key) {
  const auto* const row = std::ranges::find(cluster_rows, key, &ClusterRow::key);
  return row == cluster_rows.end() ? nullptr : row;
}

std::string cluster_number_text(Kind kind, uint64_t value) {
  return kind == Kind::Bytes ? common::format_bytes(value) : fmt::format("{}", value);
}

std::string set_cluster_number(uint64_t& member, const ClusterRow& row, std::string_view text) {
  const Result<uint64_t> value =
      row.kind == Kind::Bytes ? common::parse_bytes(text) : common::parse_count(text);
  if (value.ok() && row.lowest <= *value && *value <= row.highest) {
    member = *value;
    return {};
  }
  return fmt::format("'{}' is not a {} from {} to {}", text,
                     row.kind == Kind::Bytes ? "number of bytes" : "whole number",
                     cluster_number_text(row.kind, row.lowest),
                     cluster_number_text(row.kind, row.highest));
}

std::string add_endpoint(std::vector<std::string>& member, const std::string& text) {
  if (std::string problem = check_endpoint(text); !problem.empty()) return problem;
  if (std::ranges::find(member, text) != member.end()) {
    return fmt::format("'{}' is there twice", text);
  }
  if (member.size() >= endpoints_max) return fmt::format("at most {} endpoints", endpoints_max);
  member.push_back(text);
  return {};
}

bool is_host_byte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("-_.:").find(c) != std::string_view::npos;
}

std::string check_domain(std::string_view text) {
  constexpr size_t domain_bytes_max = 200;
  const bool is_domain = !text.empty() && text.size() <= domain_bytes_max &&
                         std::ranges::all_of(text, is_host_byte) &&
                         text.find(':') == std::string_view::npos;
  return is_domain ? "" : fmt::format("'{}' is no domain, as in example.org", text);
}

// What is wrong with the text of a row that has one.
std::string check_cluster_text(Kind kind, std::string_view text) {
  if (kind == Kind::Address) return check_node_address(text);
  if (kind == Kind::Domain) return check_domain(text);
  if (kind == Kind::Name) {
    if (store::is_cluster_name(text)) return {};
    return fmt::format("'{}' is not 1 to {} letters, digits and -_.", text,
                       store::cluster_name_bytes_max);
  }
  if (!text.empty() && text.size() <= cluster_text_bytes_max) return {};
  return fmt::format("expected {} of 1 to {} bytes",
                     kind == Kind::File ? "the path of a file" : "a name", cluster_text_bytes_max);
}

std::string set_clients(StandbyClients& member, std::string_view text) {
  if (text != "forward" && text != "refuse") {
    return fmt::format("'{}' is not one of forward, refuse", text);
  }
  member = text == "forward" ? StandbyClients::Forward : StandbyClients::Refuse;
  return {};
}

std::string set_differ(SettingsDiffer& member, std::string_view text) {
  if (text != "warn" && text != "refuse")
    return fmt::format("'{}' is not one of warn, refuse", text);
  member = text == "warn" ? SettingsDiffer::Warn : SettingsDiffer::Refuse;
  return {};
}

std::string set_compact(bool& member, std::string_view text) {
  if (text != "true" && text != "false") return fmt::format("'{}' is not true or false", text);
  member = text == "true";
  return {};
}

bool is_https(std::string_view endpoint) {
  return endpoint.starts_with("https://");
}

}  // namespace

common::PeerAccess peer_access(const ClusterConfig& config) {
  return {.ca_file = config.peer_ca,
          .certificate_file = config.peer_certificate,
          .key_file = config.peer_key,
          .token_file = config.peer_token_file};
}

Status check_etcd_secrets(const ClusterConfig& config) {
  for (const std::string& secret : {config.etcd_key, config.etcd_password_file}) {
    if (Status is_private = common::check_private(secret); !is_private.ok()) {
      return std::move(is_private).with("cluster");
    }
  }
  return {};
}

void set_etcd_settings(ClusterConfig& config, const ClusterConfig& from) {
  for (const std::string_view key : etcd_keys) {
    const ClusterRow& row = *row_of(key);
    if (const auto* const list = std::get_if<ListMember>(&row.member)) {
      config.** list = from.**list;
    } else {
      const TextMember text = std::get<TextMember>(row.member);
      config.*text = from.*text;
    }
  }
}

std::vector<std::string> other_cluster_differences(const ClusterConfig& one,
                                                   const ClusterConfig& other) {
  // No row but that of the endpoints has more than one value.
  const auto value_of = [](const std::vector<ClusterPair>& pairs, std::string_view key) {
    const auto found = std::ranges::find(pairs, key, &ClusterPair::key);
    return found == pairs.end() ? std::string() : found->value;
  };
  const std::vector<ClusterPair> ones = cluster_pairs(one);
  const std::vector<ClusterPair> others = cluster_pairs(other);
  std::vector<std::string> names;
  for (const ClusterRow& row : cluster_rows) {
    if (is_etcd_key(row.key) || value_of(ones, row.key) == value_of(others, row.key)) continue;
    names.emplace_back(row.key);
  }
  return names;
}

bool cluster_is_built() {
  return has_cluster;
}

std::string check_cluster_is_built(bool is_built) {
  if (is_built) return {};
  return "this program is built without clusters: leave the section out, or build it with "
         "-DPERENNIAL_CLUSTER=ON";
}

bool is_cluster_key(std::string_view key) {
  return row_of(key) != nullptr;
}

std::string cluster_keys() {
  std::vector<std::string_view> keys;
  for (const ClusterRow& row : cluster_rows) keys.push_back(row.key);
  return fmt::format("{}", fmt::join(keys, ", "));
}

std::string set_cluster(ClusterConfig& config, std::string_view key, const std::string& value) {
  const ClusterRow* const row = row_of(key);
  CHECK(row != nullptr);
  switch (row->kind) {
    case Kind::Endpoints:
      return add_endpoint(config.*std::get<ListMember>(row->member), value);
    case Kind::Count:
    case Kind::Bytes:
      return set_cluster_number(config.*std::get<NumberMember>(row->member), *row, value);
    case Kind::Switch:
      return set_compact(config.etcd_compact, value);
    case Kind::Clients:
      return set_clients(config.standby_clients, value);
    case Kind::Differ:
      return set_differ(config.settings_differ, value);
    case Kind::Name:
    case Kind::File:
    case Kind::Text:
    case Kind::Address:
    case Kind::Domain:
      break;
  }
  if (std::string problem = check_cluster_text(row->kind, value); !problem.empty()) return problem;
  config.*std::get<TextMember>(row->member) = value;
  return {};
}

std::vector<std::string> check_cluster(const ClusterConfig& config) {
  std::vector<std::string> problems;
  const auto need = [&](bool is_there, const char* problem) {
    if (!is_there) problems.emplace_back(problem);
  };
  need(!config.name.empty(), "a cluster needs a name");
  need(!config.node.empty(), "node: this server needs a name in the cluster");
  need(!config.etcd.empty() || !config.etcd_discovery.empty(),
       "etcd: the endpoints of etcd are needed, or etcd_discovery");
  need(config.etcd.empty() || config.etcd_discovery.empty(),
       "etcd_discovery takes the place of etcd: leave one of the two out");
  need(!config.client_address.empty(),
       "client_address: the HOST:PORT where clients and other nodes reach this one is needed");
  const bool has_tls = config.has_etcd_tls();
  const auto https = std::ranges::count_if(config.etcd, is_https);
  need(https == 0 || static_cast<size_t>(https) == config.etcd.size(),
       "etcd: some endpoints are http and some https: all must be alike");
  need(!has_tls || config.etcd.empty() || https > 0,
       "etcd_tls is set, and the endpoints are http: write https, or leave etcd_tls out");
  need(config.etcd_certificate.empty() == config.etcd_key.empty(),
       "etcd_tls: certificate and key go together");
  need(config.etcd_user.empty() == config.etcd_password_file.empty(),
       "etcd_user and etcd_password_file go together");
  need(config.peer_certificate.empty() == config.peer_key.empty(),
       "peer_certificate and peer_key go together");
  need(config.peer_certificate.empty() || !config.peer_ca.empty(),
       "peer_certificate needs peer_ca: without it the nodes speak HTTP without TLS");
  need(
      config.peer_token_file.empty() || !config.peer_ca.empty(),
      "peer_token_file needs peer_ca: without it the token would travel where anybody can read it");
  need(config.peer_address.empty() || config.peer_address != config.client_address,
       "peer_address is the same as client_address: it is the port of HTTP");
  need(config.log_keep_bytes <= config.log_bytes_max,
       "log_keep_bytes is more than log_bytes_max: lower it, or raise log_bytes_max");
  need(config.log_bytes_max <= config.etcd_quota_bytes / 2,
       "log_bytes_max is more than half of etcd_quota_bytes: etcd needs the rest for what it has "
       "not compacted");
  return problems;
}

std::vector<ClusterPair> cluster_pairs(const ClusterConfig& config) {
  std::vector<ClusterPair> pairs;
  for (const ClusterRow& row : cluster_rows) {
    const std::string key(row.key);
    if (row.kind == Kind::Switch) {
      pairs.push_back({key, config.etcd_compact ? "true" : "false", false});
    } else if (row.kind == Kind::Clients) {
      const bool forward = config.standby_clients == StandbyClients::Forward;
      pairs.push_back({key, forward ? "forward" : "refuse", false});
    } else if (row.kind == Kind::Differ) {
      const bool warn = config.settings_differ == SettingsDiffer::Warn;
      pairs.push_back({key, warn ? "warn" : "refuse", false});
    } else if (const auto* const number = std::get_if<NumberMember>(&row.member)) {
      pairs.push_back({key, cluster_number_text(row.kind, config.**number), false});
    } else if (const auto* const list = std::get_if<ListMember>(&row.member)) {
      for (const std::string& value : config.**list) pairs.push_back({key, value, true});
    } else if (const std::string& text = config.*std::get<TextMember>(row.member); !text.empty()) {
      pairs.push_back({key, text, true});
    }
  }
  return pairs;
}

std::string check_node_address(std::string_view text) {
  const std::string refusal = fmt::format(
      "'{}' is not HOST:PORT, as in 10.0.0.1:11300, [fd00::1]:11300 or a.example.org:11300", text);
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return refusal;
  const Result<uint64_t> port = common::parse_count(text.substr(colon + 1));
  if (!port.ok() || *port == 0 || *port > 65'535) return refusal;
  const Result<common::Address> address = common::parse_address(text, 0);
  // The port differs for an IPv6 number without brackets, whose last part is no port.
  if (!address.ok() || address->kind != common::Address::Kind::Internet || address->port != *port) {
    return refusal;
  }
  const bool is_ipv6 = address->host.find(':') != std::string::npos;
  if (text.starts_with('[') != is_ipv6) return refusal;
  if (address->host.empty() || !std::ranges::all_of(address->host, is_host_byte)) return refusal;
  if (address->host == "0.0.0.0" || address->host == "::") {
    return fmt::format("'{}' stands for every interface: name an address that others reach", text);
  }
  return {};
}

std::string check_endpoint(std::string_view text) {
  constexpr std::string_view http = "http://";
  constexpr std::string_view https = "https://";
  const std::string_view scheme = is_https(text) ? https : http;
  if (!text.starts_with(scheme) || !check_node_address(text.substr(scheme.size())).empty()) {
    return fmt::format("'{}' is not http://HOST:PORT or https://HOST:PORT", text);
  }
  return {};
}

Problems check_cluster_limits(const Config& config) {
  Problems problems;
  if (!config.cluster.is_set()) return problems;
  if (config.durability != store::Durability::Commit) {
    problems.push_back(fmt::format(
        "cluster: durability is {}, and in a cluster it must be commit, because answers "
        "wait for etcd: leave out the setting and the flags -f and -F",
        store::durability_name(config.durability)));
  }
  if (config.job_bytes_max > cluster_job_bytes_max) {
    problems.push_back(fmt::format(
        "cluster: job_bytes_max is {}, and in a cluster at most {}, because etcd takes no more in "
        "one transaction: lower the setting or the flag -z",
        common::format_bytes(config.job_bytes_max), common::format_bytes(cluster_job_bytes_max)));
  }
  if (config.batch_bytes_max > cluster_batch_bytes_max) {
    problems.push_back(fmt::format(
        "cluster: batch_bytes_max is {}, and in a cluster at most {}, because a batch is one "
        "transaction of etcd: lower it, or leave it out",
        common::format_bytes(config.batch_bytes_max),
        common::format_bytes(cluster_batch_bytes_max)));
  }
  return problems;
}

}  // namespace perennial::perenniald
