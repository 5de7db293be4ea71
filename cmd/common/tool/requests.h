#pragma once

#include <string>
#include <string_view>

#include "cmd/common/tool/server_connection.h"
#include "cmd/common/tool/stats_reply.h"

// The requests that more than one command sends to a running server.
namespace perennial::tool {

inline constexpr std::string_view default_server = "127.0.0.1:11300";

// A connection that gives a server up which has been silent for 45 seconds: a perennial whose disk
// hangs gives itself up after 30.
Result<ServerConnection> open_server(const std::string& address);

// The error for a reply that was not expected: the server's, not ours.
Status unexpected(const wire::ClientReply& reply, std::string_view doing);

// One of the three statistics. NotFound: the server says so.
Result<StatsReply> ask_stats(ServerConnection& server, const Command& command);
// `use`. Fails when the server answers anything but USING.
Status use_tube(ServerConnection& server, const std::string& tube);

}  // namespace perennial::tool
