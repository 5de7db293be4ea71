#include "cmd/perennial/work/dry_run.h"

#include <fmt/format.h>

#include "cmd/common/tool/requests.h"
#include "cmd/perennial/output/readable.h"
#include "cmd/perennial/work/job.h"

namespace perennial::tool::work {
namespace {

Status show_tube(ServerConnection& server, const std::string& tube, const Settings& settings) {
  if (Status used = use_tube(server, tube); !used.ok()) return used;
  // The tube exists, because this connection uses it.
  const Result<StatsReply> stats = ask_stats(server, StatsTube{tube});
  if (!stats.ok()) return stats.status();
  const Result<wire::ClientReply> found = server.ask(PeekReady{});
  if (!found.ok()) return found.status();
  if (found->is(Word::NotFound)) {
    fmt::print("{}: no ready job\n", tube);
    return {};
  }
  if (!found->is(Word::Found)) return unexpected(*found, "peek-ready");
  const std::string command = command_text(command_for(settings.command, found->number));
  fmt::print("{}: {} ready; next is job {} with {} bytes: {}\n", tube,
             with_commas(stats->count("current-jobs-ready")), found->number,
             with_commas(found->text.size()), printable(command));
  return {};
}

}  // namespace

Status dry_run(const Settings& settings) {
  Result<ServerConnection> server = open_server(settings.server);
  if (!server.ok()) return server.take_status();
  for (const std::string& tube : settings.tubes)
    if (Status shown = show_tube(*server, tube, settings); !shown.ok()) return shown;
  return {};
}

}  // namespace perennial::tool::work
