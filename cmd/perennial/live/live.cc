#include "cmd/perennial/live/live.h"

#include <fmt/format.h>

#include "cmd/common/units.h"
#include "wire/command_line.h"

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

Flag server_flag(std::string& target) {
  return {"--server", "ADDR", "The server: HOST:PORT or unix:PATH", &target};
}

Flag tube_flag(std::string& target) {
  return {"--tube", "TUBE", "The tube", &target};
}

Status check_tube_name(std::string_view name) {
  if (wire::is_tube_name(name)) return {};
  return {StatusCode::InvalidArgument,
          fmt::format("{:?} is no name of a tube: 1 to {} letters, digits and -+/;.$_(), the first "
                      "of them no '-'",
                      name, tube_name_bytes_max)};
}

Result<std::vector<JobId>> parse_ids(const std::vector<std::string>& texts) {
  std::vector<JobId> ids;
  for (const std::string& text : texts) {
    const Result<uint64_t> id = common::parse_count(text);
    if (!id.ok() || *id == 0) {
      return Status(StatusCode::InvalidArgument,
                    fmt::format("{:?} is no id of a job: a whole number from 1", text));
    }
    ids.push_back(*id);
  }
  return ids;
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
