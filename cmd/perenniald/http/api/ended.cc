#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "cmd/perenniald/http/api/answers.h"
#include "cmd/perenniald/http/api/api.h"
#include "cmd/perenniald/http/api/body_windows.h"
#include "cmd/perenniald/http/api/commands.h"
#include "cmd/perenniald/http/api/ended_list.h"
#include "cmd/perenniald/http/api/ended_view.h"
#include "cmd/perenniald/http/api/fields.h"
#include "engine/types/check.h"
#include "wire/command_line.h"

// The part of the API about jobs that have ended and are kept. They are on disk only, so all of it
// is asked of the queue, also what changes nothing.
namespace perennial::http {
namespace {

constexpr std::string_view not_kept = "No job of this id that has ended is kept.";

// None: there can be no such job.
std::optional<JobId> ended_id_of(const std::string& text) {
  const std::optional<uint64_t> id = number_of(text, UINT64_MAX);
  return id && *id > 0 ? id : std::nullopt;
}

// The queue says NOT_FOUND, too, of a job that the caller may not see.
Response refusal_of_ended(const wire::ClientReply& reply) {
  if (reply.is(Word::NotFound)) return problem_response(Status::NotFound, not_kept);
  if (reply.is(Word::InternalError)) {
    return problem_response(Status::ServiceUnavailable, "The job is damaged on disk.");
  }
  return refusal_of(reply);
}

}  // namespace

Api::Made Api::ended(const Ask& ask) {
  Query query(ask.request.query);
  EndedAsked asked = {.tube = query.text("tube").value_or(""),
                      .user = query.text("by"),
                      .limit = query.number("limit", page_default, 1, page_max)};
  if (const uint64_t seconds = query.number("since_seconds", 0, 1, UINT32_MAX); seconds > 0) {
    asked.since = sources_.now() - static_cast<Nanos>(seconds) * nanos_per_second;
  }
  if (const std::optional<std::string> how = query.text("how")) {
    const std::optional<EndSet> ends = ends_of(*how);
    if (!ends) query.add_problem("how must be some of deleted, flushed, expired.");
    asked.how = ends.value_or(asked.how);
  }
  if (const std::optional<std::string> after = query.text("after")) {
    asked.after = position_of(*after);
    if (!asked.after) query.add_problem("after must be `next` of the page before.");
  }
  if (!query.problem().empty()) return refuse(Status::BadRequest, query.problem());
  if (!asked.tube.empty()) {
    if (!wire::is_tube_name(asked.tube)) return not_found("There is no such tube.");
    const ListJobs list = {.tube = asked.tube, .states = {.are_ended = true}};
    if (Made refusal = refused(ask, list)) return refusal;
  }
  return ended_lists_.open(ask.caller, std::move(asked));
}

Api::Made Api::ended_of_tube(const Ask& ask) {
  const std::string& tube = ask.names.front();
  if (!wire::is_tube_name(tube)) return not_found("There is no such tube.");
  Query query(ask.request.query);
  ListJobs list = {.tube = tube, .states = {.are_ended = true}};
  list.count.value = query.number("limit", page_default, 1, page_max);
  list.after = query.number("after", 0, 0, UINT64_MAX);
  if (!query.problem().empty()) return refuse(Status::BadRequest, query.problem());
  // Whoever may not see the tube is told so as for its other jobs.
  if (Made refusal = refused(ask, list)) return refusal;
  return make_command_answer(
      sources_.queue(), ask.caller, {{std::move(list)}},
      [may = may_json(ask.caller, tube)](const QueueReplies& replies) {
        const wire::ClientReply& reply = replies.front();
        if (!reply.is(Word::Ok)) return refusal_of(reply);
        std::optional<EndedRows> page = ended_rows(reply.text);
        CHECK(page.has_value());  // This server has written them.
        for (Json& job : page->jobs) job["may"] = may;
        const Json next = page->cursor == 0 ? Json(nullptr) : Json(fmt::format("{}", page->cursor));
        return json_response(Status::Ok, {{"jobs", std::move(page->jobs)}, {"next", next}});
      });
}

Api::Made Api::ended_job(const Ask& ask) {
  const std::optional<JobId> id = ended_id_of(ask.names.front());
  if (!id) return not_found(not_kept);
  return make_command_answer(sources_.queue(), ask.caller,
                             {{PeekEnded{.id = *id, .with = facts_of_ended()}}},
                             [id = *id, caller = ask.caller](const QueueReplies& replies) {
                               const wire::ClientReply& reply = replies.front();
                               if (!reply.is(Word::Found)) return refusal_of_ended(reply);
                               Json job = {{"id", fmt::format("{}", id)}, {"state", "ended"}};
                               job.update(ended_json(reply.facts));
                               job["body_bytes"] = reply.text.size();
                               job["may"] = may_json(caller, job["tube"].get<std::string>());
                               return json_response(Status::Ok, job);
                             });
}

Api::Made Api::ended_body(const Ask& ask) {
  Query query(ask.request.query);
  const BodyWindow window(query);
  if (!query.problem().empty()) return refuse(Status::BadRequest, query.problem());
  const std::optional<JobId> id = ended_id_of(ask.names.front());
  if (!id) return not_found(not_kept);
  return make_command_answer(sources_.queue(), ask.caller, {{PeekEnded{.id = *id}}},
                             [id = *id, window](const QueueReplies& replies) {
                               const wire::ClientReply& reply = replies.front();
                               if (!reply.is(Word::Found)) return refusal_of_ended(reply);
                               return window.of(id, reply.text);
                             });
}

Api::Made Api::restore_job(const Ask& ask) {
  Fields fields(ask.request);
  if (const std::optional<Response> problem = fields.problem()) return answer_now(*problem);
  const std::optional<JobId> id = ended_id_of(ask.names.front());
  if (!id) return not_found(not_kept);
  return make_command_answer(
      sources_.queue(), ask.caller, {{RestoreJob{.id = *id}}}, [](const QueueReplies& replies) {
        const wire::ClientReply& reply = replies.front();
        if (!reply.is(Word::Inserted)) return refusal_of_ended(reply);
        const Json number = {{"id", fmt::format("{}", reply.number)}};
        if (reply.text.empty()) return json_response(Status::Ok, number);
        return problem_response(Status::Conflict,
                                fmt::format("Job {} has its key by now.", reply.number), number);
      });
}

}  // namespace perennial::http
