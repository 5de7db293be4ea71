#pragma once

#include <vector>

#include "cmd/common/tls/tls_client.h"
#include "cmd/common/tool/server_connection.h"
#include "cmd/common/tool/subcommand.h"

namespace perennial::tool {

// Adds the flags by which a subcommand reaches its server with TLS.
std::vector<Flag> with_tls_flags(common::TlsClientSettings& target, std::vector<Flag> flags);
Flag token_flag(std::string& target);
Flag insecure_token_flag(bool& target);
// The same, how it shows the server who it is, and how long it waits for the server. A command that
// has a --timeout of its own gets --server-timeout.
std::vector<Flag> with_server_flags(ServerAddress& target, std::vector<Flag> flags);

}  // namespace perennial::tool
