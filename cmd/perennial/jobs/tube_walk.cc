#include "cmd/perennial/jobs/tube_walk.h"

#include <algorithm>
#include <cstdio>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cmd/perennial/arguments/arguments.h"
#include "cmd/perennial/jobs/job_pages.h"
#include "cmd/perennial/output/json.h"

namespace perennial::tool {
namespace {

std::string act_of(const ServerConnection& server, const TubeWalk& walk, const JobCounts& counts) {
  const uint64_t count = std::min(counts.total(), walk.count_max);
  std::string act =
      fmt::format("{} {} of the tube '{}'", walk.verb, count_text(count, "job"), walk.tube);
  // Of the first few nobody has asked in which state they are.
  if (count == counts.total()) act += fmt::format(" ({})", states_text(counts));
  if (!walk.to.empty()) act += fmt::format(" to the tube '{}'", walk.to);
  return fmt::format("{} at {}", act, server.address());
}

void report(const TubeWalk& walk, bool json, bool dry_run, uint64_t count) {
  if (!json) {
    if (!dry_run) std::fputs(walk.line(count).c_str(), stdout);
    return;
  }
  nlohmann::ordered_json out;
  if (dry_run) out["dry_run"] = true;
  out["tube"] = walk.tube;
  if (!walk.to.empty()) out["to"] = walk.to;
  out[std::string(walk.done)] = count;
  print_result(out);
}

// Returns the number of jobs. The answer to a walk over millions of them takes minutes, so only a
// timeout that was asked for limits the wait.
Result<uint64_t> run(ServerConnection& server, const ServerAddress& address, const TubeWalk& walk) {
  const auto silence_max = address.timeout.value_or(std::chrono::milliseconds(0));
  if (Status limited = server.limit_silence(silence_max); !limited.ok()) return limited;
  const Result<wire::ClientReply> reply = server.ask(walk.command);
  if (!reply.ok()) return reply.status();
  if (reply->is(walk.success)) return reply->number;
  if (reply->is(Word::NotFound)) return no_tube(server, walk.tube);
  if (reply->is(Word::Denied)) return denied();
  return unexpected(*reply, walk.tube);
}

}  // namespace

Status run_tube_walk(const ServerAddress& address, const Consent& consent, const TubeWalk& walk) {
  Result<ServerConnection> server = open_server(address);
  if (!server.ok()) return server.take_status();
  if (Status known = require_extensions(*server, walk.needed); !known.ok()) return known;
  if (is_asked(consent)) {
    const Result<JobCounts> counts = count_jobs(*server, walk.tube, walk.states, walk.match);
    if (!counts.ok()) return counts.status();
    const uint64_t count = std::min(counts->total(), walk.count_max);
    const Result<Decision> decision =
        decide(consent, {.act = act_of(*server, walk, *counts),
                         .count = count,
                         .why_nothing = fmt::format("the tube '{}' at {} has no such jobs",
                                                    walk.tube, server->address())});
    if (!decision.ok()) return decision.status();
    if (*decision != Decision::Do) {
      if (consent.json) report(walk, true, *decision == Decision::DryRun, count);
      return {};
    }
  }
  const Result<uint64_t> count = run(*server, address, walk);
  if (!count.ok()) return count.status();
  report(walk, consent.json, false, *count);
  return {};
}

}  // namespace perennial::tool
