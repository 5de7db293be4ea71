#pragma once

#include <string_view>

#include "cmd/common/tls/tls_client.h"

namespace perennial::common {

// Says what is spoken over the connections of `client` that are opened from now on, as ALPN names
// it: at most 255 bytes. Without this call it is "beanstalk", and a server of HTTP closes them.
void set_tls_protocol(const TlsClient& client, std::string_view name);

}  // namespace perennial::common
