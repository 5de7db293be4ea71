#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cmd/perenniald/config/config.h"
#include "cmd/perenniald/core/core.h"
#include "cmd/perenniald/http/forwarded.h"
#include "cmd/perenniald/net/acceptor.h"
#include "cmd/perenniald/net/sockets.h"
#include "cmd/perenniald/tls/peer_identity.h"

// Users, from the configuration to core: reading them, and who a connection is.
namespace perennial::perenniald {

// Reads the users of the configuration and of its file. Null: there are none, and everybody may do
// everything. Adds every problem: of the file, of users that contradict each other, and of a
// listener for a user that there is not.
std::shared_ptr<const access::Users> load_users(const Config& config, Problems& problems);

// Warns of each socket without TLS that other machines may reach while there are no users: whoever
// does may do everything, as in beanstalkd.
void warn_of_open_sockets(const Config& config, const std::vector<BoundSocket>& sockets,
                          const access::Users* users);

// Whether this client is a proxy that the listener believes. REQUIRES: the listener has `proxy`.
bool is_believed_proxy(const ListenerConfig& listener, const AcceptedSocket& socket);

// What the connection and its listener show of who the client is: the user of the listener; or the
// client's certificate; or, on a unix socket, the process at the other end. And whether it may send
// a token: where nobody on the way reads it, or where the configuration says so.
access::ClientRights client_rights(const Config& config, const AcceptedSocket& socket,
                                   const PeerIdentity* peer);

// The proxies of `http_proxies`.
http::Proxies proxies_of(const Config& config);
// Whether what the peer says of forwarded clients is believed.
bool is_proxy(const http::Proxies& proxies, const AcceptedSocket& socket);
// The rights of the client for whom a proxy asks. `rights`: of the proxy's connection. A client
// gets none that it would not have without the proxy, except for what the proxy itself shows of who
// it is.
access::ClientRights forwarded_rights(const Config& config, const http::Forwarded& client,
                                      const access::ClientRights& rights);

// Writes a line of the audit.
void log_audit(const access::AuditEvent& event);

}  // namespace perennial::perenniald
