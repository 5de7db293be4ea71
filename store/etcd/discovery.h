#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/types/status.h"

// Where the members of an etcd cluster are, as its domain says: the SRV records
// _etcd-client-ssl._tcp.DOMAIN and _etcd-client._tcp.DOMAIN, which `etcdctl --discovery-srv` reads.
namespace perennial::store::etcd {

// The DNS server to ask. `ipv4` empty: those of /etc/resolv.conf.
struct DnsServer {
  std::string ipv4 = {};
  uint16_t port = 53;
};

enum class DiscoveryOf : uint8_t {
  Tls,    // Members with TLS only, so that a forged DNS answer cannot switch it off.
  Either  // Members with TLS or, if there are none, those without it.
};

// If there are more, those with the lowest priority values are used.
inline constexpr size_t discovered_endpoints_max = 9;

// The endpoints, "https://HOST:PORT" or "http://HOST:PORT", in the order of their priorities and
// names; at least one. Blocks for up to eight seconds. NotFound: the domain has no such records.
// Io: no server answers. Corruption: the answer is malformed, or has an invalid host. Any thread.
Result<std::vector<std::string>> discover_endpoints(const std::string& domain, DiscoveryOf of,
                                                    const DnsServer& server = {});

struct SrvRecord {
  uint16_t priority = 0;
  uint16_t port = 0;
  std::string host;  // Without the trailing dot.

  auto operator<=>(const SrvRecord&) const = default;  // NOLINT: as in etcd.h.
};
// The SRV records of a DNS answer, sorted. Records of other types are left out, and so is the one
// that says that there is no such service (target "."). Corruption: the answer is malformed.
Result<std::vector<SrvRecord>> parse_srv_answer(std::span<const uint8_t> answer);

}  // namespace perennial::store::etcd
