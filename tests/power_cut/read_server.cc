#include <string>
#include <string_view>

#include <fmt/format.h>

#include "tests/power_cut/found.h"
#include "tests/support/reply_text.h"

namespace perennial::power_cut {
namespace {

using support::yaml_number;
using support::yaml_value;

JobState state_named(std::string_view name) {
  for (const JobState state : {JobState::Reserved, JobState::Delayed, JobState::Buried}) {
    if (state_name(state) == name) return state;
  }
  return JobState::Ready;
}

FoundJob found_job(std::string_view stats, std::string_view peeked) {
  const auto number = [&](std::string_view key) {
    return static_cast<uint32_t>(yaml_number(stats, key, 0));
  };
  FoundJob job = {.facts = {.exists = true,
                            .state = state_named(yaml_value(stats, "state")),
                            .priority = number("pri"),
                            .delay_s = number("delay"),
                            .reserves = number("reserves"),
                            .releases = number("releases"),
                            .buries = number("buries"),
                            .kicks = number("kicks")},
                  .tube = std::string(yaml_value(stats, "tube")),
                  .ttr_s = number("ttr"),
                  .body = std::string(support::body_in(peeked))};
  return job;
}

constexpr std::string_view ended_facts = "with:tube,pri,delay,ttr,reserves,releases,buries,kicks";

// The state of a job before its end is not told.
FoundJob ended_job(const std::string& peeked) {
  const std::string line = peeked.substr(0, peeked.find('\r'));
  const auto fact = [&line](const std::string& name) {
    const size_t at = line.find(" " + name + ":") + name.size() + 2;
    return line.substr(at, line.find(' ', at) - at);
  };
  const auto number = [&fact](const std::string& name) {
    return static_cast<uint32_t>(std::stoul(fact(name)));
  };
  return {.facts = {.exists = false,
                    .has_ended = true,
                    .priority = number("pri"),
                    .delay_s = number("delay"),
                    .reserves = number("reserves"),
                    .releases = number("releases"),
                    .buries = number("buries"),
                    .kicks = number("kicks")},
          .tube = fact("tube"),
          .ttr_s = number("ttr"),
          .body = std::string(support::body_in(peeked))};
}

}  // namespace

Result<Found> read_server(const support::ServerProcess& server, const History& history) {
  Found found;
  found.has_keys = false;
  found.has_fields = false;
  support::ClientSocket client = server.connect();
  for (const auto& [id, story] : history.jobs) {
    Result<std::string> stats = client.ask(fmt::format("stats-job {}\r\n", id));
    if (!stats.ok()) return stats.take_status();
    Result<std::string> peeked = client.ask(fmt::format("peek {}\r\n", id));
    if (!peeked.ok()) return peeked.take_status();
    if (stats->starts_with("OK ")) found.jobs.emplace(id, found_job(*stats, *peeked));
    Result<std::string> ended = client.ask(fmt::format("peek-ended {} {}\r\n", id, ended_facts));
    if (!ended.ok()) return ended.take_status();
    if (ended->starts_with("FOUND ")) found.ended.emplace(id, ended_job(*ended));
  }
  for (const auto& [tube, pauses] : history.pauses) {
    Result<std::string> stats = client.ask(fmt::format("stats-tube {}\r\n", tube));
    if (!stats.ok()) return stats.take_status();
    const uint64_t seconds = yaml_number(*stats, "pause", 0);
    if (seconds > 0) found.pauses[tube] = seconds;
  }
  for (const auto& [tube, tries] : history.tries) {
    Result<std::string> stats = client.ask(fmt::format("stats-tube {}\r\n", tube));
    if (!stats.ok()) return stats.take_status();
    found.tries[tube] = static_cast<uint32_t>(yaml_number(*stats, "tries", 0));
  }
  Result<std::string> stats = client.ask("stats\r\n");
  if (!stats.ok()) return stats.take_status();
  uint64_t total = 0;
  for (const char* state : {"ready", "reserved", "delayed", "buried"}) {
    total += yaml_number(*stats, fmt::format("current-jobs-{}", state), 0);
  }
  if (total != found.jobs.size()) {
    return Status(StatusCode::Corruption, fmt::format("the server has {} jobs, and {} are known",
                                                      total, found.jobs.size()));
  }
  Result<std::string> put = client.ask("put 0 0 10 1\r\nx\r\n");
  if (!put.ok()) return put.take_status();
  found.next_id = support::first_number(*put);
  if (found.next_id == 0) return Status(StatusCode::Corruption, "a put is answered " + *put);
  return found;
}

}  // namespace perennial::power_cut
