#include "cmd/perennial/jobs/each_job.h"

#include <algorithm>
#include <span>

#include <fmt/format.h>

#include "cmd/perennial/output/readable.h"

namespace perennial::tool {
namespace {

constexpr size_t requests_in_flight_max =
    1000;  // Requests and replies are short lines, so no buffer fills.

Status explain(ServerConnection& server, JobId id, const EachJob& what) {
  const Result<StatsReply> stats = ask_stats(server, StatsJob{id});
  if (!stats.ok() && stats.status().code() != StatusCode::NotFound) return stats.status();
  const std::string why =
      stats.ok() ? what.reason(stats->text("state").value_or("?")) : "there is no such job";
  complain(what.subcommand, fmt::format("job {}: {}", id, why));
  return {};
}

// Appends the ids that were not found to `missing`, and counts other failures.
Status run_some(ServerConnection& server, std::span<const JobId> ids, const EachJob& what,
                std::vector<JobId>& missing, size_t& failed) {
  for (const JobId id : ids) server.add(what.command(id));
  for (const JobId id : ids) {
    const Result<wire::ClientReply> reply = server.receive();
    if (!reply.ok()) return reply.status();
    if (reply->is(what.success)) {
      fmt::print("{} {}\n", what.done, id);
    } else if (reply->is(Word::NotFound)) {
      missing.push_back(id);
    } else {
      ++failed;
      complain(what.subcommand,
               fmt::format("job {}: the server answered {}", id, describe(*reply)));
    }
  }
  return {};
}

}  // namespace

Status run_on_each(ServerConnection& server, const std::vector<JobId>& ids, const EachJob& what) {
  size_t failed = 0;
  for (std::span<const JobId> rest = ids; !rest.empty();) {
    const size_t count = std::min(rest.size(), requests_in_flight_max);
    std::vector<JobId> missing;
    Status s = run_some(server, rest.first(count), what, missing, failed);
    if (!s.ok()) return s;
    for (const JobId id : missing)
      if (s = explain(server, id, what); !s.ok()) return s;
    failed += missing.size();
    rest = rest.subspan(count);
  }
  return count_failures(failed, ids.size());
}

Status count_failures(size_t failed, size_t total) {
  if (failed == 0) return {};
  if (total == 1) return {StatusCode::NotFound, "nothing was done"};
  return {StatusCode::NotFound, fmt::format("{} of {} jobs failed", failed, total)};
}

}  // namespace perennial::tool
