#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cmd/common/list.h"
#include "cmd/perenniald/http/api/answers.h"
#include "cmd/perenniald/http/api/api.h"
#include "cmd/perenniald/http/api/commands.h"
#include "cmd/perenniald/http/api/fields.h"
#include "cmd/perenniald/http/api/json.h"
#include "cmd/perenniald/http/api/reserve_answer.h"
#include "cmd/perenniald/http/leases/lease_answer.h"
#include "wire/command_line.h"

// The part of the API by which a worker does jobs: it reserves them, and finishes each by its
// lease.
namespace perennial::http {
namespace {

constexpr uint64_t wait_seconds_max = 600;
constexpr size_t tubes_max = 100;

// Those of the path and of the parameters `tube`, each of which may name several.
std::vector<std::string> tubes_of(const std::string& first, std::string_view query,
                                  std::string& problem) {
  std::set<std::string> tubes = {first};
  for (const std::string& sent : query_values(query, "tube")) {
    const std::string names = percent_decoded(sent).value_or("");
    for (const std::string_view name : common::list_items(names)) tubes.emplace(name);
    if (names.empty()) tubes.emplace();  // It is none.
  }
  if (!std::ranges::all_of(tubes, wire::is_tube_name)) problem = "tube must name tubes.";
  if (tubes.size() > tubes_max) problem = fmt::format("At most {} tubes can be named.", tubes_max);
  return {tubes.begin(), tubes.end()};
}

Response later(Status status, std::string_view why) {
  Response response = problem_response(status, why);
  response.fields = {{"Retry-After", "1"}};
  return response;
}

Response no_places(Places::Verdict verdict) {
  const bool is_of_user = verdict == Places::Verdict::UserIsFull;
  return later(
      is_of_user ? Status::TooManyRequests : Status::ServiceUnavailable,
      fmt::format("There are {} leases {}, and those that are waited for, at most: finish jobs, or "
                  "ask for fewer.",
                  is_of_user ? Leases::max.of_user : Leases::max.all,
                  is_of_user ? "of a user" : "of the server"));
}

// A user leaves half of the places to others. Where there are no users, nobody is told from
// another.
Places::Max max_of_waiting(size_t waiters_max, const std::string& user) {
  return {.all = waiters_max, .of_user = user.empty() ? waiters_max : waiters_max / 2};
}

Response no_waiting(Places::Verdict verdict, const Places::Max& max) {
  if (verdict == Places::Verdict::UserIsFull) {
    return later(Status::TooManyRequests,
                 fmt::format("{} requests of a user may wait for jobs, which are half of all: wait "
                             "with fewer, and let each ask for several jobs.",
                             max.of_user));
  }
  return later(Status::ServiceUnavailable,
               fmt::format("{} requests wait for jobs, which are three quarters of "
                           "http_connections_max.",
                           max.all));
}

}  // namespace

Api::Made Api::reserve_jobs(const Ask& ask) {
  if (!ask.request.body.empty()) {
    Fields fields(ask.request);
    if (fields.problem()) {
      return refuse(Status::BadRequest,
                    "This path takes no body, or {}: what is asked for is in the query.");
    }
  }
  if (!wire::is_tube_name(ask.names.front())) return not_found("There can be no such tube.");
  Query query(ask.request.query);
  const uint64_t wait = query.number("wait_seconds", 0, 0, wait_seconds_max);
  const uint64_t count = query.number("count", 1, 1, batch_count_max);
  std::string problem = query.problem();
  std::vector<std::string> tubes = tubes_of(ask.names.front(), ask.request.query, problem);
  if (!problem.empty()) return refuse(Status::BadRequest, problem);
  for (const std::string& tube : tubes) {
    if (Made refusal = refused(ask, Watch{.tube = tube})) return refusal;
  }
  const std::string user = ask.caller.user != nullptr ? ask.caller.user->name : std::string();
  const auto judge = [&] { return leases_.places().judge(user, count, Leases::max); };
  if (judge() != Places::Verdict::Free) leases_.end_lost();
  if (const auto verdict = judge();
      verdict != Places::Verdict::Free || !leases_.tokens().has_key()) {
    return answer_now(no_places(verdict));
  }
  const Places::Max waiting = max_of_waiting(sources_.waiters_max(), user);
  if (const auto verdict = leases_.waiters().judge(user, 1, waiting);
      wait > 0 && verdict != Places::Verdict::Free) {
    return answer_now(no_waiting(verdict, waiting));
  }
  return make_reserve_answer(sources_, leases_, ask.caller,
                             {.tubes = std::move(tubes),
                              .count = static_cast<uint32_t>(count),
                              .wait = static_cast<Nanos>(wait) * nanos_per_second});
}

// Sends what `command_of` makes for the job of the lease that the path names.
template <typename CommandOf>
Api::Made Api::by_lease(const Ask& ask, std::vector<Word> hoped, CommandOf command_of,
                        std::function<Json(uint64_t lease, const wire::ClientReply&)> value) {
  const std::string user = ask.caller.user != nullptr ? ask.caller.user->name : std::string();
  const std::optional<uint64_t> number = leases_.tokens().lease_of(ask.names.front(), user);
  if (!number) return not_found("There was no such lease since the start of this server.");
  const Leases::Lease* const lease = leases_.find(*number);
  if (lease == nullptr) return answer_now(lease_has_ended());
  LeaseCommand command = command_of(lease->job);
  command.lease = *number;
  return make_lease_answer(
      leases_, std::move(command),
      [number, hoped = std::move(hoped), value = std::move(value)](const wire::ClientReply& reply) {
        if (std::ranges::find(hoped, reply.word) == hoped.end()) {
          return refusal_of(reply);
        }
        return json_response(Status::Ok, value(*number, reply));
      });
}

Api::Made Api::finish_lease(const Ask& ask) {
  return by_lease(
      ask, {Word::Deleted}, [](JobId job) { return LeaseCommand{.command = Delete{.id = job}}; },
      [](uint64_t, const auto&) {
        return Json{{"deleted", true}};
      });
}

Api::Made Api::release_lease(const Ask& ask) {
  Fields fields(ask.request);
  const std::optional<uint64_t> priority = fields.number("priority", UINT32_MAX);
  const Nanos delay = fields.seconds("delay_seconds").value_or(0);
  const bool counts = fields.yes_or_no("count").value_or(true);
  if (const std::optional<Response> problem = fields.problem()) return answer_now(*problem);
  return by_lease(
      ask, {Word::Released, Word::Buried},
      [&](JobId job) {
        Release release = {.id = job,
                           .priority = {},
                           .delay_s = static_cast<uint32_t>(delay / nanos_per_second),
                           .delay_rest_ns = static_cast<uint32_t>(delay % nanos_per_second),
                           .count = {!counts}};
        if (priority) release.priority = {static_cast<uint32_t>(*priority)};
        return LeaseCommand{.command = release};
      },
      // A job that has had all its tries is dead.
      [](uint64_t, const wire::ClientReply& reply) {
        return Json{{"released", reply.is(Word::Released)}, {"dead", reply.is(Word::Buried)}};
      });
}

Api::Made Api::bury_lease(const Ask& ask) {
  Fields fields(ask.request);
  const std::optional<uint64_t> priority = fields.number("priority", UINT32_MAX);
  if (const std::optional<Response> problem = fields.problem()) return answer_now(*problem);
  return by_lease(
      ask, {Word::Buried},
      [&](JobId job) {
        Bury bury = {.id = job, .priority = {}};
        if (priority) bury.priority = {static_cast<uint32_t>(*priority)};
        return LeaseCommand{.command = bury};
      },
      [](uint64_t, const auto&) {
        return Json{{"buried", true}};
      });
}

Api::Made Api::touch_lease(const Ask& ask) {
  Fields fields(ask.request);
  const Nanos left = fields.seconds("seconds", ttr_ms_min * nanos_per_ms).value_or(0);
  if (const std::optional<Response> problem = fields.problem()) return answer_now(*problem);
  return by_lease(
      ask, {Word::Touched},
      [&](JobId job) { return LeaseCommand{.command = Touch{.id = job, .ttr = {left}}}; },
      [this](uint64_t lease, const auto&) {
        Json out = {{"touched", true}};
        const Nanos now = sources_.now();
        out.update(lease_end_json(leases_.renew(lease).value_or(now), now));
        return out;
      });
}

Api::Made Api::note_lease(const Ask& ask) {
  Fields fields(ask.request);
  const std::string text = fields.text("text").value_or("");
  if (text.empty() || text.size() > note_bytes_max) {
    fields.add_problem(fmt::format("text is needed, with 1 to {} bytes.", note_bytes_max));
  }
  if (const std::optional<Response> problem = fields.problem()) return answer_now(*problem);
  return by_lease(
      ask, {Word::Noted},
      [&](JobId job) {
        const auto bytes = static_cast<uint32_t>(text.size());
        return LeaseCommand{.command = NoteJob{.id = job, .bytes = bytes, .text = text}};
      },
      [](uint64_t, const auto&) {
        return Json{{"noted", true}};
      });
}

}  // namespace perennial::http
