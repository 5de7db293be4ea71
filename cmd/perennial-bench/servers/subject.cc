#include "cmd/perennial-bench/servers/subject.h"

#include "cmd/common/tool/requests.h"

namespace perennial::bench {

Result<tool::StatsReply> ask_stats(const Subject& subject) {
  Result<tool::ServerConnection> server = tool::open_server(server_address(subject.target));
  if (!server.ok()) return server.take_status();
  return tool::ask_stats(*server, Stats());
}

Result<ExtensionSet> ask_extensions(const Subject& subject) {
  Result<tool::ServerConnection> server = tool::open_server(server_address(subject.target));
  if (!server.ok()) return server.take_status();
  return tool::ask_extensions(*server);
}

}  // namespace perennial::bench
