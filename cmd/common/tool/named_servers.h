#pragma once

#include <string>
#include <string_view>

#include "cmd/common/tool/server_connection.h"
#include "engine/types/status.h"

// Servers that have a name in a file of the user's, so that "--server @prod" says address, TLS and
// token at once:
//
//   prod:
//     server: queue.example.com:11400
//     tls: true
//     ca: ca.pem
//     token_file: prod.token
//
// The keys are those flags of the tool that reach a server: server, tls, ca, certificate, key,
// token_file, insecure_token. A path begins at the folder of the file, or with "~/".
namespace perennial::tool {

// $XDG_CONFIG_HOME/perennial/servers.yaml, else ~/.config/perennial/servers.yaml. Empty: there is
// no home directory.
std::string named_servers_path();

// The server that `server` means: itself, unless its address is "@NAME". What flags said beside the
// name wins over the file. InvalidArgument: there is no such file or name in it, or the file is
// wrong; the message says the line.
Result<ServerAddress> resolve_server(const ServerAddress& server);
// The same with a file of that path.
Result<ServerAddress> resolve_server(const ServerAddress& server, const std::string& path);

}  // namespace perennial::tool
