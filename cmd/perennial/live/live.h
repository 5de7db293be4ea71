#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cmd/perennial/live/server_connection.h"
#include "cmd/perennial/live/stats_reply.h"
#include "cmd/perennial/subcommand.h"

// What the subcommands share that talk to a running server.
namespace perennial::tool {

inline constexpr std::string_view default_server = "127.0.0.1:11300";
inline constexpr uint64_t u32_max = ~uint32_t{0};

// A connection that gives a server up which has been silent for 45 seconds: a perennial whose disk
// hangs gives itself up after 30.
Result<ServerConnection> open_server(const std::string& address);

Flag server_flag(std::string& target);
Flag tube_flag(std::string& target);

// InvalidArgument, with the rule: the protocol does not allow this name.
Status check_tube_name(std::string_view name);
// The numbers of jobs, as given on the command line.
Result<std::vector<JobId>> parse_ids(const std::vector<std::string>& texts);

// The error for a reply that was not expected: the server's, not ours.
Status unexpected(const wire::ClientReply& reply, std::string_view doing);

// One of the three statistics. NotFound: the server says so.
Result<StatsReply> ask_stats(ServerConnection& server, const Command& command);
// `use`. Fails when the server answers anything but USING.
Status use_tube(ServerConnection& server, const std::string& tube);

}  // namespace perennial::tool
