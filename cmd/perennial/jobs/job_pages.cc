#include "cmd/perennial/jobs/job_pages.h"

#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <span>

#include <fmt/format.h>

#include "cmd/common/tool/requests.h"
#include "cmd/perennial/output/readable.h"

namespace perennial::tool {
namespace {

constexpr std::array all_states = {JobState::Ready, JobState::Reserved, JobState::Delayed,
                                   JobState::Buried};
constexpr size_t stats_in_flight_max = 100;  // Each reply has less than a kilobyte.

// Whether it fits by what list-jobs says of it.
bool fits_as_listed(const JobMatch& match, const StatsReply& job) {
  return match.of(JobNumber::Age).admits(job.count("age")) &&
         match.of(JobNumber::Priority).admits(job.count("pri")) &&
         match.of(JobNumber::Reserves).admits(job.count("reserves"));
}

// Calls `take` with the statistics of each job, or with nothing for one that does not exist.
Status ask_each(ServerConnection& server, std::span<const JobId> ids,
                const std::function<void(const std::optional<StatsReply>&)>& take) {
  while (!ids.empty()) {
    const size_t count = std::min(ids.size(), stats_in_flight_max);
    for (const JobId id : ids.first(count)) server.add(StatsJob{id});
    for (size_t left = count; left > 0; --left) {
      const Result<wire::ClientReply> reply = server.receive();
      if (!reply.ok()) return reply.status();
      if (reply->is(Word::NotFound)) {
        take({});
        continue;
      }
      if (!reply->is(Word::Ok)) return unexpected(*reply, "stats-job");
      Result<StatsReply> stats = StatsReply::parse(reply->text);
      if (!stats.ok()) return stats.take_status();
      take(stats.take());
    }
    ids = ids.subspan(count);
  }
  return {};
}

}  // namespace

Result<Listing> ask_page(ServerConnection& server, const ListJobs& command) {
  const Result<wire::ClientReply> reply = server.ask(command);
  if (!reply.ok()) return reply.status();
  if (reply->is(Word::NotFound)) return no_tube(server, command.tube);
  if (!reply->is(Word::Ok)) return unexpected(*reply, "list-jobs");
  return parse_job_list(reply->text);
}

Status keep_matching(ServerConnection& server, const JobMatch& match,
                     std::vector<StatsReply>& jobs) {
  if (!match.is_set()) return {};
  std::erase_if(jobs, [&match](const StatsReply& job) { return !fits_as_listed(match, job); });
  const NumberRange& timeouts = match.of(JobNumber::Timeouts);
  if (timeouts == NumberRange()) return {};
  std::vector<JobId> ids;
  ids.reserve(jobs.size());
  for (const StatsReply& job : jobs) ids.push_back(job.count("id"));
  std::vector<bool> fits;
  Status asked = ask_each(server, ids, [&](const std::optional<StatsReply>& stats) {
    fits.push_back(stats && timeouts.admits(stats->count("timeouts")));
  });
  if (!asked.ok()) return asked;
  size_t place = 0;
  std::erase_if(jobs, [&](const StatsReply& /*job*/) { return !fits[place++]; });
  return {};
}

void JobCounts::add(std::string_view state) {
  for (const JobState each : all_states)
    if (state == state_name(each)) ++of(each);
}

std::string states_text(const JobCounts& counts) {
  std::string text;
  for (const JobState state : all_states) {
    if (counts.of(state) == 0) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", with_commas(counts.of(state)),
                        state_name(state));
  }
  return text;
}

Result<JobCounts> count_jobs(ServerConnection& server, const std::string& tube, StateSet states,
                             const JobMatch& match) {
  JobCounts counts;
  if (!match.is_set()) {
    const Result<StatsReply> stats = ask_stats(server, StatsTube{tube});
    if (!stats.ok() && stats.status().code() == StatusCode::NotFound) return no_tube(server, tube);
    if (!stats.ok()) return stats.status();
    for (const JobState state : all_states) {
      if (!states.holds(state)) continue;
      counts.of(state) = stats->count(fmt::format("current-jobs-{}", state_name(state)));
    }
    return counts;
  }
  ListJobs command{.tube = tube, .states = {.states = states}, .count = {list_count_max}};
  do {
    Result<Listing> page = ask_page(server, command);
    if (!page.ok()) return page.take_status();
    if (Status kept = keep_matching(server, match, page->rows); !kept.ok()) return kept;
    for (const StatsReply& job : page->rows) counts.add(job.text("state").value_or(""));
    command.after = page->cursor;
  } while (command.after != 0);
  return counts;
}

Result<FoundJobs> find_unreserved(ServerConnection& server, const std::vector<JobId>& ids) {
  FoundJobs found;
  Status asked = ask_each(server, ids, [&found](const std::optional<StatsReply>& stats) {
    if (!stats || stats->text("state") == state_name(JobState::Reserved)) return;
    found.ids.push_back(stats->count("id"));
    found.counts.add(stats->text("state").value_or(""));
  });
  if (!asked.ok()) return asked;
  return found;
}

}  // namespace perennial::tool
