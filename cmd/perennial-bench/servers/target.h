#pragma once

#include <string>
#include <utility>

#include "cmd/common/address.h"
#include "cmd/common/tls/client_stream.h"
#include "cmd/common/tls/tls_client.h"
#include "cmd/common/tool/server_connection.h"

namespace perennial::bench {

// Where a server is, and how it is reached.
struct Target {
  common::Address address = {};
  common::TlsClientSettings tls_settings = {};
  const common::TlsClient* tls = nullptr;  // Null: plain. It outlives this.
  std::string token_file = {};
  std::string token = {};       // Of the file, or of the environment. Empty: there is none.
  bool insecure_token = false;  // It may go to another machine without TLS.

  Target() = default;
  Target(common::Address where) : address(std::move(where)) {}  // NOLINT: implicit on purpose
};

// The same for the tool's connections.
inline tool::ServerAddress server_address(const Target& target) {
  tool::ServerAddress server(common::to_text(target.address));
  server.tls = target.tls_settings;
  server.token_file = target.token_file;
  server.insecure_token = target.insecure_token;
  return server;
}

// Connects, and shows the token. The socket blocks. Io: as ClientStream::connect, or the server
// refuses the token.
Result<common::ClientStream> open_stream(const Target& target);

}  // namespace perennial::bench
