#pragma once

#include <ctime>
#include <string>
#include <vector>

#include "cmd/perenniald/tls/openssl.h"
#include "cmd/perenniald/tls/ticket_keys.h"
#include "cmd/perenniald/tls/tls_settings.h"
#include "engine/types/status.h"

namespace perennial::perenniald {

// What new connections of a listener begin with: the certificate, and what a client may do.
struct TlsContext {
  ContextPtr context;
  std::string certificate_end;         // When the server's certificate expires.
  std::time_t certificate_end_at = 0;  // The same in seconds since the epoch.
  std::vector<CrlPtr> revocations;     // The lists of revoked certificates of clients.
};

// Reads the files, and checks that they are complete, fit together and are valid now.
// `session_context` names the listener: a session of another one is not resumed. `keys` outlives
// all connections. InvalidArgument: the message names the file and says what to do.
Result<TlsContext> make_context(const TlsSettings& settings, const TicketKeys& keys,
                                const std::string& session_context);

}  // namespace perennial::perenniald
