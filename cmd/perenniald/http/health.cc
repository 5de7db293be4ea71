#include "cmd/perenniald/http/health.h"

#include <algorithm>
#include <string_view>
#include <vector>

namespace perennial::http {
namespace {

struct Check {
  std::string_view name;
  bool is_good = true;
  std::string_view reason = {};  // Of a check that failed, or why a good one is only just good.
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

Response readyz(const HealthFacts& facts, std::string_view query) {
  return answer_of(
      "readyz",
      {{.name = "recovery"},
       {.name = "drain",
        .is_good = !facts.is_draining,
        .reason = facts.is_draining ? "puts are refused: drain" : ""},
       {.name = "stop",
        .is_good = !facts.is_stopping,
        .reason = facts.is_stopping ? "the server is stopping" : ""},
       {.name = "disk",
        .reason =
            facts.accepts_puts ? "" : "degraded: puts are refused, since the disk is nearly full"}},
      query);
}

}  // namespace perennial::http
