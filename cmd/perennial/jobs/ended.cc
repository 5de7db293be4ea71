#include "cmd/perennial/jobs/ended.h"

#include "cmd/perennial/jobs/job_pages.h"

namespace perennial::tool {

Status each_ended(ServerConnection& server, const std::string& tube,
                  const std::function<bool(const StatsReply&)>& take) {
  ListJobs command{.tube = tube, .states = {.are_ended = true}, .count = {list_count_max}};
  do {
    const Result<Listing> page = ask_page(server, command);
    if (!page.ok()) return page.status();
    for (const StatsReply& job : page->rows)
      if (!take(job)) return {};
    command.after = page->cursor;
  } while (command.after != 0);
  return {};
}

bool fits(const StatsReply& job, const JobMatch& match) {
  return match.of(JobNumber::Age).admits(job.count("age")) &&
         match.of(JobNumber::Priority).admits(job.count("pri")) &&
         match.of(JobNumber::Reserves).admits(job.count("reserves"));
}

}  // namespace perennial::tool
