#include "cmd/perennial/jobs/tube_walk.h"

#include <fmt/format.h>

#include "cmd/perennial/arguments/arguments.h"

namespace perennial::tool {

Result<uint64_t> run_tube_walk(const ServerAddress& address, const TubeWalk& walk) {
  Result<ServerConnection> server = open_server(address);
  if (!server.ok()) return server.take_status();
  if (Status known = require_extensions(*server, walk.needed); !known.ok()) return known;
  // The answer to a walk over millions of jobs takes minutes.
  const auto silence_max = address.timeout.value_or(std::chrono::milliseconds(0));
  if (Status limited = server->limit_silence(silence_max); !limited.ok()) return limited;
  const Result<wire::ClientReply> reply = server->ask(walk.command);
  if (!reply.ok()) return reply.status();
  if (reply->is(walk.success)) return reply->number;
  if (reply->is(Word::NotFound)) return no_tube(*server, walk.tube);
  if (reply->is(Word::Denied)) return denied();
  return unexpected(*reply, walk.tube);
}

}  // namespace perennial::tool
