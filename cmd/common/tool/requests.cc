#include "cmd/common/tool/requests.h"

#include <fmt/format.h>

namespace perennial::tool {
namespace {

constexpr uint32_t silence_ms_max = 45'000;

}  // namespace

Result<ServerConnection> open_server(const std::string& address) {
  Result<ServerConnection> server = ServerConnection::open(address);
  if (!server.ok()) return server;
  if (Status limited = server->limit_silence(silence_ms_max); !limited.ok()) return limited;
  return server;
}

Status unexpected(const wire::ClientReply& reply, std::string_view doing) {
  return {StatusCode::Io, fmt::format("{}: the server answered {}", doing, describe(reply))};
}

Result<StatsReply> ask_stats(ServerConnection& server, const Command& command) {
  Result<wire::ClientReply> reply = server.ask(command);
  if (!reply.ok()) return reply.take_status();
  if (reply->is(Word::NotFound)) return Status(StatusCode::NotFound, "NOT_FOUND");
  if (reply->kind != wire::ClientReply::Kind::Ok) return unexpected(*reply, "statistics");
  return StatsReply::parse(reply->text);
}

Status use_tube(ServerConnection& server, const std::string& tube) {
  Result<wire::ClientReply> reply = server.ask(Use{tube});
  if (!reply.ok()) return reply.take_status();
  if (reply->kind == wire::ClientReply::Kind::Using) return {};
  return unexpected(*reply, "use " + tube);
}

}  // namespace perennial::tool
