#include "tests/cmd/perennial/export/inventory.h"

#include <algorithm>

#include "cmd/common/tool/stats_reply.h"
#include "engine/types/check.h"

namespace perennial::support {
namespace {

constexpr JobId at_once = 500;
// Refused puts may have used ids, too.
constexpr JobId spare_ids = 200;

wire::ClientReply receive(tool::ServerConnection& server) {
  Result<wire::ClientReply> reply = server.receive();
  CHECK(reply.ok());
  return reply.take();
}

JobFacts facts(const std::string& yaml, std::string body) {
  const Result<tool::StatsReply> stats = tool::StatsReply::parse(yaml);
  CHECK(stats.ok());
  return {.tube = std::string(*stats->text("tube")),
          .state = std::string(*stats->text("state")),
          .priority = stats->count("pri"),
          .ttr_s = stats->count("ttr"),
          .time_left_s = stats->count("time-left"),
          .body = std::move(body)};
}

}  // namespace

std::map<JobId, JobFacts> inventory(const std::string& address) {
  const JobId last = stat(address, "total-jobs") + spare_ids;
  tool::ServerConnection server = connect(address);
  std::map<JobId, JobFacts> jobs;
  for (JobId first = 1; first <= last; first += at_once) {
    const JobId end = std::min(first + at_once, last + 1);
    for (JobId id = first; id < end; ++id) {
      server.add(StatsJob{id});
      server.add(Peek{id});
    }
    for (JobId id = first; id < end; ++id) {
      const wire::ClientReply stats = receive(server);
      wire::ClientReply peeked = receive(server);
      if (stats.is(Word::Ok) && peeked.is(Word::Found))
        jobs[id] = facts(stats.text, std::move(peeked.text));
    }
  }
  return jobs;
}

std::map<std::string, int> bodies(const std::string& address) {
  std::map<std::string, int> counts;
  for (const auto& [id, job] : inventory(address)) ++counts[job.body];
  return counts;
}

uint64_t stat(const std::string& address, const std::string& key) {
  tool::ServerConnection server = connect(address);
  const Result<wire::ClientReply> reply = server.ask(Stats{});
  CHECK(reply.ok());
  const Result<tool::StatsReply> stats = tool::StatsReply::parse(reply->text);
  CHECK(stats.ok());
  return stats->count(key);
}

tool::ServerConnection connect(const std::string& address) {
  Result<tool::ServerConnection> server = tool::ServerConnection::open(address);
  CHECK(server.ok());
  return server.take();
}

std::string ask(tool::ServerConnection& server, const perennial::Command& command,
                std::string_view body) {
  const Result<wire::ClientReply> reply = server.ask(command, body);
  CHECK(reply.ok());
  return describe(*reply);
}

}  // namespace perennial::support
