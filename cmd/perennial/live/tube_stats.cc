#include "cmd/perennial/live/tube_stats.h"

#include <algorithm>
#include <span>

#include "cmd/perennial/live/live.h"

namespace perennial::tool {
namespace {

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
