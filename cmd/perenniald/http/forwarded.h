#pragma once

#include <optional>
#include <vector>

#include "cmd/common/network.h"
#include "cmd/perenniald/http/message.h"

// What a proxy says of the client for whom it asks: X-Forwarded-For and X-Forwarded-Proto. Anybody
// can send these fields, so only those of a proxy that the settings name are looked at (T33).
namespace perennial::http {

// The proxies that are believed.
struct Proxies {
  bool on_unix_sockets = false;  // Whoever comes over one.
  std::vector<common::Network> networks = {};

  bool holds(const common::IpAddress& address) const;
};

struct Forwarded {
  std::optional<common::IpAddress> address = {};  // None: the proxy does not say it.
  std::optional<bool> is_tls = {};                // How the client reached the first proxy.
};

// REQUIRES: the request comes from one of the proxies.
//
// Each proxy adds the address of its own client at the right, so the client is the right-most that
// is none of the proxies: what is left of it was sent by the client itself. What is no address ends
// the search. Of X-Forwarded-Proto the right-most counts: the proxy at this end has said it.
Forwarded forwarded_of(const Request& request, const Proxies& proxies);

}  // namespace perennial::http
