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

// Who is asked. Empty: whom /etc/resolv.conf names.
struct DnsServer {
  std::string ipv4 = {};
  uint16_t port = 53;
};

enum class DiscoveryOf : uint8_t {
  Tls,    // Members with TLS only: nobody who answers for the DNS can take it away.
  Either  // Those with TLS, and where there are none, those without it.
};

// Of more, those with the lowest priorities count.
inline constexpr size_t discovered_endpoints_max = 9;

// The endpoints, "https://HOST:PORT" or "http://HOST:PORT", in the order of their priorities and
// names; at least one. Blocks for up to eight seconds. NotFound: the domain names none. Io: no
// server answers. Corruption: the answer is none, or names what is no host. Any thread.
Result<std::vector<std::string>> discover_endpoints(const std::string& domain, DiscoveryOf of,
                                                    const DnsServer& server = {});

struct SrvRecord {
  uint16_t priority = 0;
  uint16_t port = 0;
  std::string host;  // Without the dot at its end.

  auto operator<=>(const SrvRecord&) const = default;
};
// The records of an answer as it came, sorted. Records of other kinds are left out, and so is one
// that says that there is no such service. Corruption: it is no answer of DNS.
Result<std::vector<SrvRecord>> parse_srv_answer(std::span<const uint8_t> answer);

}  // namespace perennial::store::etcd
