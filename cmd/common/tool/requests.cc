#include "cmd/common/tool/requests.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace perennial::tool {
namespace {

// The names of those in `needed` that are not allowed: "'unique' and 'expire'".
std::string names_without(ExtensionSet needed, ExtensionSet allowed) {
  std::vector<std::string> missing;
  for (const ExtensionRow& row : extension_rows) {
    if (!needed.allows(row.extension) || allowed.allows(row.extension)) continue;
    missing.push_back(fmt::format("'{}'", row.name));
  }
  return fmt::format("{}", fmt::join(missing, " and "));
}

// The number of commands without a reply. Their replies, of about 400 bytes each, fit into the
// buffers on the way, so that neither side blocks.
constexpr size_t stats_in_flight_max = 200;

Status ask_some(ServerConnection& server, std::span<const std::string> names,
                std::vector<StatsReply>& tubes) {
  for (const std::string& name : names) server.add(StatsTube{name});
  for (size_t left = names.size(); left > 0; --left) {
    Result<wire::ClientReply> reply = server.receive();
    if (!reply.ok()) return reply.take_status();
    if (reply->is(Word::NotFound)) continue;
    if (!reply->is(Word::Ok)) return unexpected(*reply, "stats-tube");
    Result<StatsReply> stats = StatsReply::parse(reply->text);
    if (!stats.ok()) return stats.take_status();
    tubes.push_back(stats.take());
  }
  return {};
}

}  // namespace

Result<ServerConnection> open_server(const ServerAddress& address) {
  Result<ServerConnection> server = ServerConnection::open(address);
  if (!server.ok()) return server;
  if (Status limited = server->limit_silence(address.timeout.value_or(default_timeout));
      !limited.ok())
    return limited;
  return server;
}

Status unexpected(const wire::ClientReply& reply, std::string_view doing) {
  if (reply.is(Word::Unauthorized)) {
    return {StatusCode::Io, fmt::format("{}: UNAUTHORIZED: the server has users; show it who this "
                                        "is with --token-file, or --tls and --certificate",
                                        doing)};
  }
  if (reply.is(Word::Forbidden)) {
    return {StatusCode::Io, fmt::format("{}: FORBIDDEN: the user has no right to this", doing)};
  }
  return {StatusCode::Io, fmt::format("{}: the server answered {}", doing, describe(reply))};
}

Status denied() {
  return {StatusCode::Unsupported,
          "DENIED: the server's setting 'admin_on' does not allow this command at this address"};
}

Result<StatsReply> ask_stats(ServerConnection& server, const Command& command) {
  Result<wire::ClientReply> reply = server.ask(command);
  if (!reply.ok()) return reply.take_status();
  if (reply->is(Word::NotFound)) return Status(StatusCode::NotFound, "NOT_FOUND");
  if (!reply->is(Word::Ok)) return unexpected(*reply, "statistics");
  return StatsReply::parse(reply->text);
}

Result<ExtensionSet> ask_extensions(ServerConnection& server) {
  Result<wire::ClientReply> reply = server.ask(Extensions{});
  if (!reply.ok()) return reply.take_status();
  if (reply->is(Word::UnknownCommand)) return ExtensionSet();
  if (!reply->is(Word::Ok)) return unexpected(*reply, "extensions");
  const Result<std::vector<std::string>> names = parse_names(reply->text);
  if (!names.ok()) return names.status();
  ExtensionSet allowed = ExtensionSet::probe();
  for (const std::string& name : *names) {
    // A newer server may have extensions that this program does not know.
    if (const auto extension = extension_named(name)) allowed = allowed.with(*extension);
  }
  return allowed;
}

Status require_extensions(ServerConnection& server, ExtensionSet needed) {
  if (needed == ExtensionSet()) return {};
  const Result<ExtensionSet> allowed = ask_extensions(server);
  if (!allowed.ok()) return allowed.status();
  const std::string missing = names_without(needed, *allowed);
  if (missing.empty()) return {};
  if (allowed->allows(Extension::Probe)) {
    return {StatusCode::Unsupported,
            fmt::format("{} does not allow {}: it is an older version, or its setting "
                        "'extensions' leaves that out",
                        server.address(), missing)};
  }
  return {StatusCode::Unsupported,
          fmt::format("{} does not know {}: it is a beanstalkd or an older version, or its setting "
                      "'extensions' is 'none'",
                      server.address(), missing)};
}

Status use_tube(ServerConnection& server, const std::string& tube) {
  Result<wire::ClientReply> reply = server.ask(Use{tube});
  if (!reply.ok()) return reply.take_status();
  if (reply->is(Word::Using)) return {};
  return unexpected(*reply, "use " + tube);
}

Status require_tube(ServerConnection& server, const std::string& tube) {
  const Result<wire::ClientReply> reply = server.ask(StatsTube{tube});
  if (!reply.ok()) return reply.status();
  return reply->is(Word::NotFound) ? no_tube(server, tube) : Status();
}

Status no_tube(const ServerConnection& server, std::string_view tube) {
  return {StatusCode::NotFound, fmt::format("there is no tube '{}' at {}", tube, server.address())};
}

Result<bool> is_drained(ServerConnection& server, const std::string& tube) {
  const Result<wire::ClientReply> reply = server.ask(StatsTube{tube});
  if (!reply.ok()) return reply.status();
  if (!reply->is(Word::Ok)) return false;
  const Result<StatsReply> stats = StatsReply::parse(reply->text);
  return stats.ok() && stats->text("draining") == "true";
}

Result<std::vector<std::string>> ask_tube_names(ServerConnection& server) {
  Result<wire::ClientReply> reply = server.ask(ListTubes{});
  if (!reply.ok()) return reply.take_status();
  if (!reply->is(Word::Ok)) return unexpected(*reply, "list-tubes");
  Result<std::vector<std::string>> names = parse_names(reply->text);
  if (names.ok()) std::ranges::sort(*names);
  return names;
}

Result<std::vector<StatsReply>> ask_all_tubes(ServerConnection& server) {
  const Result<std::vector<std::string>> names = ask_tube_names(server);
  if (!names.ok()) return names.status();
  std::vector<StatsReply> tubes;
  for (std::span<const std::string> rest = *names; !rest.empty();) {
    const size_t count = std::min(rest.size(), stats_in_flight_max);
    if (Status s = ask_some(server, rest.first(count), tubes); !s.ok()) return s;
    rest = rest.subspan(count);
  }
  return tubes;
}

}  // namespace perennial::tool
