#include "cmd/perenniald/http/api/json.h"

#include <fmt/format.h>

#include "wire/time_text.h"

namespace perennial::http {

Json time_json(Nanos time) {
  return time == 0 ? Json(nullptr) : Json(wire::utc_text(time));
}

Json job_json(const JobStats& job) {
  const JobStats::More none;
  const JobStats::More& more = job.more ? *job.more : none;
  return {{"id", fmt::format("{}", job.id)},
          {"tube", job.tube},
          {"state", state_name(job.state)},
          {"priority", job.priority},
          {"age_seconds", in_seconds(job.age)},
          {"delay_seconds", in_seconds(job.delay)},
          {"ttr_seconds", in_seconds(job.ttr)},
          {"left_seconds", in_seconds(job.time_left)},
          {"body_bytes", job.body_bytes},
          {"reserves", job.reserves},
          {"timeouts", job.timeouts},
          {"releases", job.releases},
          {"buries", job.buries},
          {"kicks", job.kicks},
          {"attempts", more.attempts},
          {"tries", more.tries},
          {"dead", more.dead},
          {"from", more.from},
          {"key", more.key},
          {"expire_left_seconds", in_seconds(more.expire_left)},
          {"parked", more.parked},
          {"notes", more.notes},
          {"restored", more.restored == 0 ? Json(nullptr) : Json(fmt::format("{}", more.restored))},
          {"put_at", time_json(more.put_at)},
          {"put_by", more.put_by.empty() ? Json(nullptr) : Json(more.put_by)},
          {"first_reserved_at", time_json(more.first_reserved)},
          {"schedule", more.schedule.empty() ? Json(nullptr) : Json(more.schedule)},
          {"planned", time_json(more.planned)}};
}

Json counts_json(const StateCounts& jobs) {
  return {{"ready", jobs.ready},
          {"urgent", jobs.urgent},
          {"reserved", jobs.reserved},
          {"delayed", jobs.delayed},
          {"buried", jobs.buried}};
}

Json tube_json(const TubeStats& tube) {
  const TubeStats::More none;
  const TubeStats::More& more = tube.more ? *tube.more : none;
  Json out = {{"name", tube.name}};
  out.update(counts_json(tube.jobs));
  out.update({{"puts", tube.puts},
              {"put_bytes", tube.put_bytes},
              {"reserves", tube.job_ends.reserved},
              {"releases", tube.job_ends.released},
              {"buries", tube.job_ends.buried},
              {"kicks", tube.job_ends.kicked},
              {"timeouts", tube.timeouts},
              {"deletes", tube.cmd_delete},
              {"using", tube.using_count},
              {"watching", tube.watching_count},
              {"waiting", tube.waiting_count},
              {"pause_left_seconds", in_seconds(tube.pause_time_left)},
              {"oldest_ready_seconds", in_seconds(tube.oldest_ready_age)},
              {"parked", more.jobs_parked},
              {"duplicates", more.jobs_duplicate},
              {"dead", more.jobs_dead},
              {"expired", more.jobs_expired},
              {"holds_dead", tube.holds_dead}});
  return out;
}

std::string dumped(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Response json_response(Status status, const Json& value) {
  return {.status = status, .content_type = "application/json", .body = dumped(value) + "\n"};
}

}  // namespace perennial::http
