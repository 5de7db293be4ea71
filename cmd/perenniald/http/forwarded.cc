#include "cmd/perenniald/http/forwarded.h"

#include <algorithm>

#include "cmd/common/list.h"

namespace perennial::http {
namespace {

std::optional<common::IpAddress> client_of(std::string_view chain, const Proxies& proxies) {
  std::optional<common::IpAddress> client;
  const std::vector<std::string_view> hops = common::list_items(chain);
  for (auto hop = hops.rbegin(); hop != hops.rend(); ++hop) {
    const std::optional<common::IpAddress> address = common::parse_ip(*hop);
    if (!address) break;
    client = address;
    if (!proxies.holds(*address)) break;
  }
  return client;
}

}  // namespace

bool Proxies::holds(const common::IpAddress& address) const {
  return std::ranges::any_of(
      networks, [&](const common::Network& network) { return network.holds(address); });
}

Forwarded forwarded_of(const Request& request, const Proxies& proxies) {
  Forwarded out = {.address = client_of(request.field("x-forwarded-for"), proxies)};
  const std::vector<std::string_view> schemes =
      common::list_items(request.field("x-forwarded-proto"));
  if (!schemes.empty() && (schemes.back() == "https" || schemes.back() == "http")) {
    out.is_tls = schemes.back() == "https";
  }
  return out;
}

}  // namespace perennial::http
