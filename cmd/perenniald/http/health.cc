#include "cmd/perenniald/http/health.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace perennial::http {
namespace {

struct Check {
  std::string_view name;
  bool is_good = true;
  std::string reason = {};  // Of a check that failed, or why a good one is only just good.
};

Response answer_of(std::string_view path, std::vector<Check> checks, std::string_view query) {
  for (const std::string& name : query_values(query, "exclude")) {
    std::erase_if(checks, [&](const Check& check) { return check.name == name; });
  }
  const bool is_good = std::ranges::all_of(checks, [](const Check& each) { return each.is_good; });
  Response response = {.status = is_good ? Status::Ok : Status::ServiceUnavailable};
  if (is_good && query_values(query, "verbose").empty()) {
    response.body = "ok\n";
    return response;
  }
  for (const Check& check : checks) {
    response.body += check.is_good ? "[+]" : "[-]";
    response.body += check.name;
    if (check.is_good) response.body += " ok";
    if (!check.reason.empty()) (response.body += check.is_good ? ", " : " ") += check.reason;
    response.body += '\n';
  }
  response.body += path;
  response.body += is_good ? " check passed\n" : " check failed\n";
  return response;
}

// A standby that lags by more has not followed the log for a while.
constexpr uint64_t lag_max = 10'000;

Check cluster_check(const ClusterHealth& cluster) {
  if (cluster.leads && !cluster.append_failure.empty()) {
    return {"cluster", false,
            fmt::format("the leader, and etcd takes no entry of its log: {}; see cluster.etcd in "
                        "the log",
                        cluster.append_failure)};
  }
  if (cluster.leads) return {.name = "cluster", .reason = "leader"};
  if (cluster.leader.empty()) return {"cluster", false, "no node leads"};
  if (!cluster.forwards) return {"cluster", false, "a standby, which refuses clients"};
  if (cluster.lag > lag_max) return {"cluster", false, "a standby that lags behind the log"};
  return {.name = "cluster", .reason = "a standby, which passes clients on"};
}

std::string disk_reason(const HealthFacts& facts, const ClusterHealth& cluster) {
  const bool is_standby = cluster.is_node && !cluster.leads;
  if (is_standby && !cluster.has_space) {
    return "degraded: the disk is nearly full, so this node leads only if no other can";
  }
  if (facts.accepts_puts) return {};
  if (cluster.is_node && cluster.has_space) {
    return "degraded: puts are refused, since the database of etcd is nearly full, or has raised "
           "an alarm: see `perennial cluster status`";
  }
  return "degraded: puts are refused, since the disk is nearly full";
}

std::string lost_bodies(uint64_t jobs) {
  if (jobs == 0) return {};
  return fmt::format("degraded: damage on disk has cost {} job{} the body", jobs,
                     jobs == 1 ? "" : "s");
}

std::string damaged_tables(const HealthFacts& facts) {
  if (facts.damaged_rows > 0) {
    return "degraded: rows of jobs are damaged on disk, and whole in memory: see "
           "store.damaged_rows in the log";
  }
  if (!facts.is_table_damaged) return {};
  return "degraded: the last checkpoint has met damage: see checkpoint.failed in the log";
}

}  // namespace

Response livez(const HealthFacts& facts, std::string_view query) {
  return answer_of("livez",
                   {{.name = "loop"},
                    {.name = "commit",
                     .is_good = facts.commit_age < facts.commit_age_max,
                     .reason = facts.commit_age < facts.commit_age_max
                                   ? ""
                                   : "a batch is not on disk after a long time"}},
                   query);
}

Response leader(const ClusterHealth& cluster) {
  if (!cluster.is_stopping && (!cluster.is_node || cluster.leads)) return {.body = "leader\n"};
  Response response = {.status = Status::ServiceUnavailable};
  if (cluster.is_stopping) {
    response.body = "the server is stopping\n";
  } else if (cluster.leader.empty()) {
    response.body = "no node leads\n";
  } else {
    response.body = fmt::format("the leader is {} at {}\n", cluster.leader, cluster.leader_address);
  }
  return response;
}

Response readyz(const HealthFacts& facts, const ClusterHealth& cluster, std::string_view query) {
  const bool is_standby = cluster.is_node && !facts.is_recovered && !cluster.leader.empty();
  std::vector<Check> checks = {{.name = "recovery",
                                .is_good = facts.is_recovered || is_standby,
                                .reason = facts.is_recovered ? ""
                                          : is_standby       ? "standby"
                                                             : "the data directory is being read"},
                               {.name = "drain",
                                .is_good = !facts.is_draining,
                                .reason = facts.is_draining ? "puts are refused: drain" : ""},
                               {.name = "stop",
                                .is_good = !facts.is_stopping,
                                .reason = facts.is_stopping ? "the server is stopping" : ""},
                               {.name = "disk", .reason = disk_reason(facts, cluster)},
                               {.name = "bodies", .reason = lost_bodies(facts.jobs_without_body)},
                               {.name = "tables", .reason = damaged_tables(facts)}};
  if (cluster.is_node) checks.push_back(cluster_check(cluster));
  return answer_of("readyz", std::move(checks), query);
}

}  // namespace perennial::http
