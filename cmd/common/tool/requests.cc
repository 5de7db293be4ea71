#include "cmd/common/tool/requests.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace perennial::tool {
namespace {

constexpr uint32_t silence_ms_max = 45'000;

// The names of those in `needed` that are not allowed: "'unique' and 'expire'".
std::string names_without(ExtensionSet needed, ExtensionSet allowed) {
  std::vector<std::string> missing;
  for (const ExtensionRow& row : extension_rows) {
    if (!needed.allows(row.extension) || allowed.allows(row.extension)) continue;
    missing.push_back(fmt::format("'{}'", row.name));
  }
  return fmt::format("{}", fmt::join(missing, " and "));
}

}  // namespace

Result<ServerConnection> open_server(const ServerAddress& address) {
  Result<ServerConnection> server = ServerConnection::open(address);
  if (!server.ok()) return server;
  if (Status limited = server->limit_silence(silence_ms_max); !limited.ok()) return limited;
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
          fmt::format("{} does not know {}: it is a beanstalkd, or its setting 'extensions' is "
                      "'none'",
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

}  // namespace perennial::tool
