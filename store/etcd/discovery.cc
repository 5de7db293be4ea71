#include "store/etcd/discovery.h"

#include <algorithm>
#include <array>
#include <utility>

#include <arpa/inet.h>
#include <arpa/nameser.h>
#include <netdb.h>
#include <netinet/in.h>
#include <resolv.h>

#include "engine/types/check.h"

namespace perennial::store::etcd {
namespace {

constexpr size_t answer_bytes_max = 65'535;
constexpr int tries_max = 2;
constexpr int seconds_of_a_try = 2;

// A forged answer may hold any bytes, so a host is checked before anybody sees it.
bool is_host_byte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '_' || c == '.';
}

// The state of the resolver for one look-up.
class Resolver {
 public:
  explicit Resolver(const DnsServer& server) : is_open_(::res_ninit(&state_) == 0) {
    if (!is_open_) return;
    state_.retry = tries_max;
    state_.retrans = seconds_of_a_try;
    if (server.ipv4.empty()) return;
    sockaddr_in& address = state_.nsaddr_list[0];
    address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(server.port);
    CHECK(::inet_pton(AF_INET, server.ipv4.c_str(), &address.sin_addr) == 1);
    state_.nscount = 1;
  }
  ~Resolver() {
    if (is_open_) ::res_nclose(&state_);
  }
  Resolver(const Resolver&) = delete;
  Resolver& operator=(const Resolver&) = delete;

  // An empty list: the name does not exist, or has no SRV records.
  Result<std::vector<SrvRecord>> services(const std::string& name) {
    if (!is_open_) return Status(StatusCode::Io, "the resolver's configuration cannot be read");
    std::vector<uint8_t> answer(answer_bytes_max);
    const int bytes = ::res_nquery(&state_, name.c_str(), ns_c_in, ns_t_srv, answer.data(),
                                   static_cast<int>(answer.size()));
    if (bytes >= 0) return parse_srv_answer(std::span(answer).first(static_cast<size_t>(bytes)));
    if (state_.res_h_errno == HOST_NOT_FOUND || state_.res_h_errno == NO_DATA)
      return std::vector<SrvRecord>();
    return Status(StatusCode::Io, "DNS does not answer for " + name);
  }

 private:
  struct __res_state state_ = {};
  const bool is_open_;
};

}  // namespace

Result<std::vector<SrvRecord>> parse_srv_answer(std::span<const uint8_t> answer) {
  const Status bad(StatusCode::Corruption, "an answer of DNS cannot be read");
  constexpr int fixed_bytes = 6;  // Priority, weight and port.
  ns_msg message;
  if (::ns_initparse(answer.data(), static_cast<int>(answer.size()), &message) != 0) return bad;
  std::vector<SrvRecord> records;
  for (int i = 0; i < ns_msg_count(message, ns_s_an); ++i) {
    ns_rr record;
    if (::ns_parserr(&message, ns_s_an, i, &record) != 0) return bad;
    if (ns_rr_type(record) != ns_t_srv) continue;
    const uint8_t* const data = ns_rr_rdata(record);
    std::array<char, NS_MAXDNAME> host = {};
    if (ns_rr_rdlen(record) <= fixed_bytes ||
        ::dn_expand(ns_msg_base(message), ns_msg_end(message), data + fixed_bytes, host.data(),
                    host.size()) < 0)
      return bad;
    const auto number_at = [data](int at) {
      return static_cast<uint16_t>(data[at] << 8 | data[at + 1]);
    };
    if (host[0] == '\0') continue;
    records.push_back({.priority = number_at(0), .port = number_at(4), .host = host.data()});
  }
  std::ranges::sort(records);
  return records;
}

Result<std::vector<std::string>> discover_endpoints(const std::string& domain, DiscoveryOf of,
                                                    const DnsServer& server) {
  struct Service {
    std::string name;
    std::string scheme;
  };
  const std::array<Service, 2> services = {Service{"_etcd-client-ssl._tcp.", "https://"},
                                           Service{"_etcd-client._tcp.", "http://"}};
  Resolver resolver(server);
  for (const Service& service : services) {
    Result<std::vector<SrvRecord>> records = resolver.services(service.name + domain);
    if (!records.ok()) return records.take_status();
    std::vector<std::string> endpoints;
    for (const SrvRecord& record : *records) {
      if (!std::ranges::all_of(record.host, is_host_byte) || record.port == 0)
        return Status(StatusCode::Corruption,
                      "DNS names a member of etcd that is no host: " + service.name + domain);
      endpoints.push_back(service.scheme + record.host + ":" + std::to_string(record.port));
    }
    if (endpoints.size() > discovered_endpoints_max) endpoints.resize(discovered_endpoints_max);
    if (!endpoints.empty()) return endpoints;
    if (of == DiscoveryOf::Tls) break;
  }
  return Status(StatusCode::NotFound,
                "DNS names no member of etcd: there is no record " + services[0].name + domain);
}

}  // namespace perennial::store::etcd
