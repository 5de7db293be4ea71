#include "cmd/perennial/jobs/each_job.h"

#include <algorithm>
#include <span>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cmd/perennial/output/json.h"
#include "cmd/perennial/output/readable.h"

namespace perennial::tool {
namespace {

constexpr size_t requests_in_flight_max =
    1000;  // Requests and replies are short lines, so no buffer fills.

Status explain(ServerConnection& server, JobId id, const EachJob& what, EachJobReport& report) {
  const Result<StatsReply> stats = ask_stats(server, StatsJob{id});
  if (!stats.ok() && stats.status().code() != StatusCode::NotFound) return stats.status();
  report.failed(
      id, stats.ok() ? what.reason(stats->text("state").value_or("?")) : "there is no such job");
  return {};
}

// Appends the ids that were not found to `missing`.
Status run_some(ServerConnection& server, std::span<const JobId> ids, const EachJob& what,
                std::vector<JobId>& missing, EachJobReport& report) {
  for (const JobId id : ids) server.add(what.command(id));
  for (const JobId id : ids) {
    const Result<wire::ClientReply> reply = server.receive();
    if (!reply.ok()) return reply.status();
    if (reply->is(what.success)) {
      report.succeeded(id);
    } else if (reply->is(Word::NotFound)) {
      missing.push_back(id);
    } else {
      report.failed(id, fmt::format("the server answered {}", describe(*reply)));
    }
  }
  return {};
}

Status run_all(ServerConnection& server, std::span<const JobId> ids, const EachJob& what,
               EachJobReport& report) {
  while (!ids.empty()) {
    const size_t count = std::min(ids.size(), requests_in_flight_max);
    std::vector<JobId> missing;
    Status s = run_some(server, ids.first(count), what, missing, report);
    if (!s.ok()) return s;
    for (const JobId id : missing)
      if (s = explain(server, id, what, report); !s.ok()) return s;
    ids = ids.subspan(count);
  }
  return {};
}

}  // namespace

void EachJobReport::succeeded(JobId id) {
  ++success_count_;
  if (json_) return succeeded_.push_back(id);
  fmt::print("{} {}\n", done_, id);
}

void EachJobReport::failed(JobId id, std::string message) {
  if (!json_) complain(subcommand_, fmt::format("job {}: {}", id, message));
  failed_.emplace_back(id, std::move(message));
}

Status EachJobReport::finish(Status ended) {
  if (json_) {
    auto done = nlohmann::ordered_json::array();
    for (const JobId id : succeeded_) done.push_back(json_id(id));
    auto errors = nlohmann::ordered_json::array();
    for (const auto& [id, message] : failed_) {
      const nlohmann::ordered_json error = {{"id", json_id(id)}, {"message", message}};
      errors.push_back(error);
    }
    print_result({{std::string(done_), std::move(done)}, {"errors", std::move(errors)}});
  }
  if (!ended.ok() || failed_.empty()) return ended;
  const size_t total = success_count_ + failed_.size();
  if (total == 1) return {StatusCode::NotFound, "nothing was done"};
  return {StatusCode::NotFound, fmt::format("{} of {} jobs failed", failed_.size(), total)};
}

Status run_on_each(ServerConnection& server, const std::vector<JobId>& ids, const EachJob& what) {
  EachJobReport report(what.subcommand, what.done, what.json);
  return report.finish(run_all(server, ids, what, report));
}

}  // namespace perennial::tool
