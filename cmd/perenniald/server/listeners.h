#pragma once

#include <memory>
#include <vector>

#include "cmd/perenniald/config/config.h"
#include "cmd/perenniald/net/sockets.h"
#include "cmd/perenniald/tls/tls_listener.h"
#include "engine/types/status.h"

// From the settings `listen` and `listeners` to sockets and their TLS.
namespace perennial::perenniald {

// The sockets that the service manager has passed on, or else those of the settings, bound. A
// socket of a listener knows which it is. InvalidArgument: an address cannot be bound, or no passed
// socket has the address of a listener with TLS.
Result<std::vector<BoundSocket>> open_sockets(const Config& config);

// Has an entry for each of Config::listeners, which is null if that has no TLS.
using TlsListeners = std::vector<std::unique_ptr<TlsListener>>;

// Reads the files of all listeners. Adds what is wrong with them to `problems`.
TlsListeners load_tls(const Config& config, Problems& problems);

// Whether clients at this node's address "HOST:PORT" meet TLS: by the listener with its port.
bool has_tls_at(const Config& config, const std::string& address);

}  // namespace perennial::perenniald
