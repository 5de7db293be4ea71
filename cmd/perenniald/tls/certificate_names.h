#pragma once

#include <optional>

#include "cmd/perenniald/tls/openssl.h"
#include "cmd/perenniald/tls/peer_identity.h"

namespace perennial::perenniald {

// The names of a certificate. Nothing if one of them is empty or holds a NUL, a control character
// or what is no UTF-8: to leave out such a name would let another one decide who the client is.
std::optional<PeerIdentity> names_of(const X509& certificate);

}  // namespace perennial::perenniald
