#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cmd/common/tool/server_connection.h"
#include "cmd/common/tool/stats_reply.h"
#include "engine/types/extension.h"

// The requests that more than one command sends to a running server.
namespace perennial::tool {

// Connects to a server. A wait for the server that is longer than its `timeout`, or else
// default_timeout, is an error.
Result<ServerConnection> open_server(const ServerAddress& address);

// The error for a reply that was not expected. It is Io, because the server is at fault.
Status unexpected(const wire::ClientReply& reply, std::string_view doing);
// The error for DENIED, which answers the commands of an operator.
Status denied();

// Asks for one of the three statistics. NotFound: the server answered NOT_FOUND.
Result<StatsReply> ask_stats(ServerConnection& server, const Command& command);
// Asks which extensions the server allows. The set is empty for a server that has none: a
// beanstalkd, or a perennial with the setting `extensions: none`.
Result<ExtensionSet> ask_extensions(ServerConnection& server);
// Asks the server, unless `needed` is empty. Unsupported: the server does not allow all of them;
// the message says which, and what to do.
Status require_extensions(ServerConnection& server, ExtensionSet needed);
// Sends `use`. Fails if the server does not answer USING.
Status use_tube(ServerConnection& server, const std::string& tube);
// Fails if the tube certainly does not exist. A user who may not see its statistics is let on.
Status require_tube(ServerConnection& server, const std::string& tube);
Status no_tube(const ServerConnection& server, std::string_view tube);
// Whether the tube's own settings refuse puts, as far as the server says. It explains DRAINING.
Result<bool> is_drained(ServerConnection& server, const std::string& tube);

// The reply to list-tubes, sorted.
Result<std::vector<std::string>> ask_tube_names(ServerConnection& server);
// The statistics of all tubes, sorted by name. Pipelines the requests, so that ten thousand tubes
// take a few round trips. A tube that ended after the names were listed is left out.
Result<std::vector<StatsReply>> ask_all_tubes(ServerConnection& server);

}  // namespace perennial::tool
