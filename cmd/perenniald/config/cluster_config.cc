#include "cmd/perenniald/config/cluster_config.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "cmd/common/address.h"
#include "cmd/common/private_file.h"
#include "cmd/common/units.h"
#include "cmd/perenniald/config/config.h"
#include "cmd/perenniald/config/value_types.h"
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
constexpr size_t etcd_user_bytes_max = 4096;
constexpr uint64_t cluster_mib = 1ull << 20;
constexpr uint64_t cluster_gib = 1ull << 30;

bool is_host_byte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("-_.:").find(c) != std::string_view::npos;
}

bool is_domain(std::string_view text) {
  constexpr size_t domain_bytes_max = 200;
  return !text.empty() && text.size() <= domain_bytes_max &&
         std::ranges::all_of(text, is_host_byte) && text.find(':') == std::string_view::npos;
}

// Sets a text with which this is wrong, or nothing.
Status set_checked(std::string& member, std::string_view text, std::string problem) {
  if (!problem.empty()) return bad_value(std::move(problem));
  member = text;
  return {};
}

Status set_domain(std::string& member, const ConfigField&, std::string_view text) {
  return set_checked(
      member, text,
      is_domain(text) ? "" : fmt::format("'{}' is no domain, as in example.org", text));
}

Status set_cluster_name(std::string& member, const ConfigField&, std::string_view text) {
  return set_checked(member, text,
                     store::is_cluster_name(text)
                         ? ""
                         : fmt::format("'{}' is not 1 to {} letters, digits and -_.", text,
                                       store::cluster_name_bytes_max));
}

Status set_etcd_user(std::string& member, const ConfigField&, std::string_view text) {
  const bool is_good = !text.empty() && text.size() <= etcd_user_bytes_max;
  return set_checked(
      member, text,
      is_good ? "" : fmt::format("expected a name of 1 to {} bytes", etcd_user_bytes_max));
}

Status set_node_address(std::string& member, const ConfigField&, std::string_view text) {
  return set_checked(member, text, check_node_address(text));
}

Status add_endpoint(std::vector<std::string>& member, const ConfigField&, std::string_view text) {
  if (std::string problem = check_endpoint(text); !problem.empty()) {
    return bad_value(std::move(problem));
  }
  if (std::ranges::find(member, text) != member.end()) {
    return bad_value(fmt::format("'{}' is there twice", text));
  }
  if (member.size() >= endpoints_max) {
    return bad_value(fmt::format("at most {} endpoints", endpoints_max));
  }
  member.emplace_back(text);
  return {};
}

constexpr auto cluster_name_type = value_type<std::string, set_cluster_name, text_of>(true);
constexpr auto domain_type = value_type<std::string, set_domain, text_of>(true);
constexpr auto etcd_user_type = value_type<std::string, set_etcd_user, text_of>(true);
constexpr auto node_address_type = value_type<std::string, set_node_address, text_of>(true);
constexpr auto endpoints_type =
    list_type<std::vector<std::string>, add_endpoint, texts_of>("one value", true);

constexpr Word<StandbyClients> clients_words[] = {{"forward", StandbyClients::Forward},
                                                  {"refuse", StandbyClients::Refuse}};
constexpr auto clients_type = word_type<StandbyClients, clients_words>();
constexpr Word<SettingsDiffer> differ_words[] = {{"warn", SettingsDiffer::Warn},
                                                 {"refuse", SettingsDiffer::Refuse}};
constexpr auto differ_type = word_type<SettingsDiffer, differ_words>();

constexpr ConfigField etcd_tls_rows[] = {
    row("ca", at<&ClusterConfig::etcd_ca>(file_type)),
    row("certificate", at<&ClusterConfig::etcd_certificate>(file_type)),
    row("key", at<&ClusterConfig::etcd_key>(file_type)),
};
// Its values are members of the ClusterConfig.
constexpr TypeOf<ClusterConfig> etcd_tls_type = {{
    .shape = Shape::Section,
    .form = "{ca: ..., certificate: ..., key: ...}",
    .copy =
        [](void* to, const void* from) {
          for (const ConfigField& file : etcd_tls_rows) {
            file.type().copy(file.value(to), file.value(from));
          }
        },
    .fields = [] { return ConfigFields(etcd_tls_rows); },
    .object = [](void* value) { return value; },
    .objects = [](const void* value) { return std::vector<const void*>{value}; },
}};
constexpr ValuePlace in_cluster = {&etcd_tls_type, [](void* object) { return object; }};

constexpr ConfigField cluster_rows[] = {
    row("name", at<&ClusterConfig::name>(cluster_name_type)),
    row("node", at<&ClusterConfig::node>(cluster_name_type)),
    reloaded(always_shown(row("etcd", at<&ClusterConfig::etcd>(endpoints_type)))),
    row("etcd_discovery", at<&ClusterConfig::etcd_discovery>(domain_type)),
    reloaded(row("etcd_tls", in_cluster)),
    reloaded(row("etcd_user", at<&ClusterConfig::etcd_user>(etcd_user_type))),
    reloaded(row("etcd_password_file", at<&ClusterConfig::etcd_password_file>(file_type))),
    row("client_address", at<&ClusterConfig::client_address>(node_address_type)),
    row("peer_address", at<&ClusterConfig::peer_address>(node_address_type)),
    row("peer_ca", at<&ClusterConfig::peer_ca>(file_type)),
    row("peer_certificate", at<&ClusterConfig::peer_certificate>(file_type)),
    row("peer_key", at<&ClusterConfig::peer_key>(file_type)),
    row("peer_token_file", at<&ClusterConfig::peer_token_file>(file_type)),
    row("priority", at<&ClusterConfig::priority>(count_type), 0, 100),
    row("lease_s", at<&ClusterConfig::lease_s>(count_type), 5, 300),
    row("clock_offset_max_s", at<&ClusterConfig::clock_offset_max_s>(count_type), 1, 3600),
    row("copies_min", at<&ClusterConfig::copies_min>(count_type), 1, 9),
    row("log_keep_bytes", at<&ClusterConfig::log_keep_bytes>(bytes_type), cluster_mib,
        16 * cluster_gib),
    row("log_bytes_max", at<&ClusterConfig::log_bytes_max>(bytes_type), 8 * cluster_mib,
        16 * cluster_gib),
    row("etcd_compact", at<&ClusterConfig::etcd_compact>(switch_type)),
    row("etcd_quota_bytes", at<&ClusterConfig::etcd_quota_bytes>(bytes_type), 64 * cluster_mib,
        64 * cluster_gib),
    row("sync_ms", at<&ClusterConfig::sync_ms>(count_type), 1, 10'000),
    row("standby_clients", at<&ClusterConfig::standby_clients>(clients_type)),
    row("forward_wait_s", at<&ClusterConfig::forward_wait_s>(count_type), 0, 300),
    row("settings_differ", at<&ClusterConfig::settings_differ>(differ_type)),
};

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
  copy_reloaded(cluster_rows, &config, &from);
}

ConfigFields cluster_fields() {
  return cluster_rows;
}

bool cluster_is_built() {
  return has_cluster;
}

std::string check_cluster_is_built(bool is_built) {
  if (is_built) return {};
  return "this program is built without clusters: leave the section out, or build it with "
         "-DPERENNIAL_CLUSTER=ON";
}

std::string set_cluster(ClusterConfig& config, std::string_view key, std::string_view value) {
  const ConfigField* const field = find_field(cluster_rows, key);
  CHECK(field != nullptr);
  return set_value(*field, &config, value).message();
}

Problems check_cluster(const ClusterConfig& config) {
  Problems problems;
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

std::string check_node_address(std::string_view text) {
  std::string refusal = fmt::format(
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
