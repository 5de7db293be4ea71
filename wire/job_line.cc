#include "wire/job_line.h"

#include <iterator>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "wire/time_text.h"
#include "wire/yaml_text.h"

namespace perennial::wire {
namespace {

Nanos seconds(Nanos duration) {
  return duration / nanos_per_second;
}

// A job without optional fields has none of the facts.
const JobStats::More& more_of(const JobStats& job) {
  static const JobStats::More none;
  return job.more ? *job.more : none;
}

// What only one that has ended has; it has no state but that.
std::string ended_part(const JobStats::Ended& ended) {
  return fmt::format(", ended: {}, ended-age: {}, ended-by: {}", name_of(ended.how),
                     seconds(ended.age), yaml_text(ended.user));
}

void append_job(std::string& out, const JobStats& job) {
  fmt::format_to(std::back_inserter(out),
                 "- {{id: {}, tube: \"{}\", state: {}, pri: {}, age: {}, delay: {}, ttr: {}, "
                 "time-left: {}, bytes: {}, reserves: {}, attempts: {}{}{}{}}}\n",
                 job.id, job.tube, job.ended ? "ended" : state_name(job.state), job.priority,
                 seconds(job.age), seconds(job.delay), seconds(job.ttr), seconds(job.time_left),
                 job.body_bytes, job.reserves, more_of(job).attempts,
                 more_of(job).parked ? ", parked: true" : "",
                 more_of(job).notes > 0 ? fmt::format(", notes: {}", more_of(job).notes) : "",
                 job.ended ? ended_part(*job.ended) : "");
}

}  // namespace

std::string duration_text(Nanos duration) {
  if (duration % nanos_per_second == 0) return fmt::format("{}", duration / nanos_per_second);
  return fmt::format("{}ms", duration / nanos_per_ms);
}

std::string backoff_text(const std::optional<Backoff>& backoff) {
  if (!backoff || backoff->first == 0) return {};
  return duration_text(backoff->first) + ":" + duration_text(backoff->cap);
}

std::string rate_text(const std::optional<Rate>& rate) {
  return rate ? fmt::format("{}:{}", rate->jobs, duration_text(rate->period)) : std::string();
}

void append_fact(std::string& out, JobFact fact, const JobStats& job) {
  const auto append = [&out](auto value) { fmt::format_to(std::back_inserter(out), "{}", value); };
  switch (fact) {
    case JobFact::Tube:
      return append(std::string_view(job.tube));
    case JobFact::Priority:
      return append(job.priority);
    case JobFact::Age:
      return append(seconds(job.age));
    case JobFact::Delay:
      return append(seconds(job.delay));
    case JobFact::Ttr:
      return append(seconds(job.ttr));
    case JobFact::Left:
      return append(seconds(job.time_left));
    case JobFact::Reserves:
      return append(job.reserves);
    case JobFact::Timeouts:
      return append(job.timeouts);
    case JobFact::Releases:
      return append(job.releases);
    case JobFact::Buries:
      return append(job.buries);
    case JobFact::Kicks:
      return append(job.kicks);
    case JobFact::Attempts:
      return append(more_of(job).attempts);
    case JobFact::Tries:
      return append(more_of(job).tries);
    case JobFact::From:
      return append(std::string_view(more_of(job).from));
    case JobFact::Key:
      return append(std::string_view(more_of(job).key));
    case JobFact::Notes:
      return append(more_of(job).notes);
    case JobFact::Ended:
      return append(job.ended ? name_of(job.ended->how) : "");
    case JobFact::EndedAge:
      return append(job.ended ? seconds(job.ended->age) : 0);
    case JobFact::EndedBy:
      return append(job.ended ? std::string_view(job.ended->user) : "");
    case JobFact::Restored:
      if (more_of(job).restored != 0) append(more_of(job).restored);
      return;
    case JobFact::PutAt:
      return append(utc_text_if_known(more_of(job).put_at));
    case JobFact::PutBy:
      return append(std::string_view(more_of(job).put_by));
    case JobFact::FirstReserved:
      return append(utc_text_if_known(more_of(job).first_reserved));
    case JobFact::EndedAt:
      return append(utc_text_if_known(job.ended ? job.ended->at : 0));
    case JobFact::Schedule:
      return append(std::string_view(more_of(job).schedule));
    case JobFact::Planned:
      if (!more_of(job).schedule.empty()) append(utc_text(more_of(job).planned));
      return;
  }
}

std::string clients_yaml(const ClientList& list) {
  std::string out = fmt::format("---\ncursor: {}\nclients:", list.cursor);
  out += list.clients.empty() ? " []\n" : "\n";
  for (const ClientList::Client& client : list.clients) {
    const ConnStats& conn = client.stats;
    fmt::format_to(std::back_inserter(out),
                   "- {{id: {}, address: \"{}\", user: \"{}\", age: {}, idle: {}, commands: {}, "
                   "producer: {}, worker: {}, waiting: {}, reserved: {}, using: \"{}\", "
                   "watching: {}, watched: \"{}\", output-bytes: {}}}\n",
                   conn.id, client.address, client.user, seconds(client.age), seconds(client.idle),
                   client.commands, conn.is_producer, conn.is_worker, conn.is_waiting, conn.held,
                   conn.used, conn.watched_count, fmt::join(conn.watched, " "),
                   client.output_bytes);
  }
  return out;
}

std::string notes_yaml(const NoteList& list) {
  if (list.notes.empty()) return "--- []\n";
  std::string out = "---\n";
  for (const Note& note : list.notes) {
    fmt::format_to(std::back_inserter(out),
                   "- number: {}\n  time: \"{}\"\n  attempt: {}\n  user: {}\n  text: {}\n",
                   note.number, utc_text(note.time), note.attempt, yaml_text(note.user),
                   yaml_text(note.text));
  }
  return out;
}

std::string jobs_yaml(const JobList& list) {
  std::string out = fmt::format("---\ncursor: {}\njobs:", list.cursor);
  out += list.jobs.empty() ? " []\n" : "\n";
  for (const JobStats& job : list.jobs) append_job(out, job);
  return out;
}

}  // namespace perennial::wire
