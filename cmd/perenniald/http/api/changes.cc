#include <algorithm>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cmd/perenniald/http/api/api.h"
#include "cmd/perenniald/http/api/commands.h"
#include "cmd/perenniald/http/api/fields.h"
#include "cmd/perenniald/http/api/job_filter.h"
#include "cmd/perenniald/http/api/json.h"
#include "cmd/perenniald/http/api/options.h"
#include "wire/command_line.h"

// The part of the API that changes something. Each change is a command of a client of the queue,
// and is answered when the disk has it.
namespace perennial::http {
namespace {

constexpr uint32_t idempotency_seconds = 86'400;

// The id of a job or a connection in a path. None: there can be no such one.
std::optional<uint64_t> id_of(const std::string& text) {
  const std::optional<uint64_t> id = number_of(text, UINT64_MAX);
  return id && *id > 0 ? id : std::nullopt;
}

std::unique_ptr<Answer> no_such_job() {
  return answer_now(problem_response(Status::NotFound, "There is no such job."));
}

uint32_t whole_seconds(Nanos time) {
  return static_cast<uint32_t>(time / nanos_per_second);
}
uint32_t rest_of(Nanos time) {
  return static_cast<uint32_t>(time % nanos_per_second);
}

struct PutAsked {
  Put put = {};
  std::string body = {};
};

// What is wrong is a problem of `fields`.
PutAsked read_put(Fields& fields, std::string body) {
  PutAsked out = {.put = read_put(fields), .body = std::move(body)};
  out.put.body_bytes = static_cast<uint32_t>(out.body.size());
  return out;
}

// The key of a job whose request has this Idempotency-Key; `number`: of a job of an array. No key
// of the one kind is one of the other: slashes of the field are doubled, and the number has one.
std::string key_of_request(std::string_view given, std::optional<size_t> number) {
  std::string key;
  for (const char letter : given) key.append(letter == '/' ? 2 : 1, letter);
  if (number) key += fmt::format("/{}", *number);
  return key;
}

// A request that is sent again, because its answer was lost, puts nothing: the field
// Idempotency-Key makes the key of each of its jobs for a day.
void keep_from_repeating(const Request& request, Put& put, std::optional<size_t> number,
                         Fields& fields) {
  if (!request.fields.contains("idempotency-key")) return;
  const std::string_view given = request.field("idempotency-key");
  std::string key = key_of_request(given, number);
  if (put.options->key) fields.add_problem("Give key or Idempotency-Key, and not both.");
  // A key that a program has left empty would keep nothing from being put again.
  if (given.empty() || !wire::is_tube_name(key)) {
    const bool is_too_long = wire::is_tube_name(given);
    fields.add_problem(is_too_long ? "Idempotency-Key is too long: with what is added for each job "
                                     "of an array, such as /0, it may have 200 bytes."
                                   : "Idempotency-Key must have the form of a tube's name.");
  }
  put.options->key = KeyOption{.key = std::move(key), .seconds = idempotency_seconds};
  put.options->until = KeyUntil::Ttl;
}

// The tube, or the dead tube, of which the caller has no grant to put there. Empty: there is none.
// The queue refuses it, and its audit has it; this is for what the answer says.
std::string forbidden_tube(const Caller& caller, const Put& put) {
  const std::string& named = put.options->tube;
  std::string tube = named.empty() ? "default" : named;
  if (!caller.may_on(tube, access::Verb::Produce)) return tube;
  const std::string& dead = put.options->dead;
  const bool is_good = dead.empty() || caller.may_on(dead, access::Verb::Produce) ||
                       caller.may_on(dead, access::Verb::Manage);
  return is_good ? "" : dead;
}

}  // namespace

Api::Made Api::change(const Ask& ask, std::vector<QueueCommand> commands, Word hoped,
                      std::function<Json(const wire::ClientReply&)> value) {
  return change(ask, std::move(commands), hoped, std::move(value), refusal_of);
}

Api::Made Api::change(const Ask& ask, std::vector<QueueCommand> commands, Word hoped,
                      std::function<Json(const wire::ClientReply&)> value, Refusal refusal) {
  return make_command_answer(
      sources_.queue(), ask.caller, std::move(commands),
      [hoped, value = std::move(value), refusal = std::move(refusal)](const QueueReplies& replies) {
        // What comes before the last command only prepares it.
        for (const wire::ClientReply& reply : replies) {
          const bool is_preparing =
              &reply != &replies.back() && (reply.is(Word::Using) || reply.is(Word::Reserved));
          if (!is_preparing && !reply.is(hoped)) return refusal(reply);
        }
        return json_response(Status::Ok, value(replies.back()));
      });
}

// The queue answers NOT_FOUND for both. Whoever may not do this to the job is told of none.
Api::Refusal Api::refusal_for(const Ask& ask, JobId id, access::Verb verb,
                              std::vector<JobState> forbidding) const {
  const std::optional<JobStats> before = sources_.engine().job_statistics(id);
  if (!before || !ask.caller.may_on(before->tube, verb)) return refusal_of;
  return [this, id, forbidding = std::move(forbidding)](const wire::ClientReply& reply) {
    if (!reply.is(Word::NotFound)) return refusal_of(reply);
    const std::optional<JobStats> now = sources_.engine().job_statistics(id);
    if (!now || std::ranges::find(forbidding, now->state) == forbidding.end()) {
      return problem_response(Status::NotFound, "There is no such job.");
    }
    if (now->state == JobState::Reserved) {
      return problem_response(Status::Conflict,
                              "The job is reserved: only the worker that holds it can do this.");
    }
    return problem_response(
        Status::Conflict,
        fmt::format("The job is {}, and this is not done to such a job.", state_name(now->state)));
  };
}

Api::Made Api::sign_in(const Ask& ask) {
  Request request = ask.request;
  const common::SecretText token = take_token(request.body);
  Fields fields(request);
  if (!fields.text("token") || token.empty()) fields.add_problem("token is missing.");
  if (const std::optional<Response> problem = fields.problem()) return answer_now(*problem);
  const std::optional<std::string> cookie =
      sources_.sign_ins().sign_in(token, ask.request, ask.caller.rights);
  if (!cookie) {
    return answer_now(problem_response(Status::Unauthorized, "The token is not known."));
  }
  const access::User* const user = ask.caller.users->by_token(token);
  Response response = json_response(Status::Ok, {{"user", user->name}});
  response.fields = {{"Set-Cookie", *cookie}};
  return answer_now(std::move(response));
}

Api::Made Api::sign_out(const Ask& ask) {
  return answer_now(
      {.status = Status::NoContent,
       .fields = {{"Set-Cookie", sources_.sign_ins().sign_out(ask.request, ask.caller.rights)}}});
}

Api::Made Api::put(const Ask& ask) {
  const bool is_query = is_bytes(ask.request);
  if (!is_query && !ask.request.query.empty()) {
    return answer_now(problem_response(Status::BadRequest,
                                       "The options of a job in JSON are its members. Those in the "
                                       "query are of application/octet-stream."));
  }
  if (is_lines(ask.request) || (!is_query && is_array(ask.request))) return put_several(ask);
  Fields fields = is_query ? Fields::of_query(ask.request.query) : Fields(ask.request);
  std::string body =
      is_query ? std::string(ask.request.body.begin(), ask.request.body.end()) : read_body(fields);
  PutAsked asked = read_put(fields, std::move(body));
  keep_from_repeating(ask.request, asked.put, {}, fields);
  if (const std::optional<Response> problem = fields.problem()) return answer_now(*problem);
  std::string missing = forbidden_tube(ask.caller, asked.put);
  return make_command_answer(sources_.queue(), ask.caller,
                             {{std::move(asked.put), std::move(asked.body), std::move(missing)}},
                             [&sources = sources_](const QueueReplies& replies) {
                               const wire::ClientReply& reply = replies.front();
                               if (!reply.is(Word::Inserted))
                                 return refusal_of_put(sources, reply, 1);
                               return inserted_response(reply);
                             });
}

// All of them, or none.
Api::Made Api::put_several(const Ask& ask) {
  std::optional<Response> refusal;
  std::vector<Fields> each = Fields::of_array(ask.request, batch_count_max, refusal);
  if (refusal) return answer_now(*std::move(refusal));
  std::string items;
  std::string missing;
  for (size_t i = 0; i < each.size(); ++i) {
    PutAsked asked = read_put(each[i], read_body(each[i]));
    keep_from_repeating(ask.request, asked.put, i, each[i]);
    if (const std::string& problem = each[i].problem_text(); !problem.empty()) {
      // The first one is job 0, and an empty line is none.
      const std::string_view all = is_lines(ask.request) ? "lines" : "array";
      return answer_now(problem_response(Status::BadRequest,
                                         fmt::format("Job {} of the {}: {}", i, all, problem)));
    }
    if (missing.empty()) missing = forbidden_tube(ask.caller, asked.put);
    wire::append_item(items, asked.put, asked.body);
  }
  if (items.size() > put_batch_bytes_max) {
    return answer_now(problem_response(Status::ContentTooLarge,
                                       "The jobs of a request may have 1 MiB together."));
  }
  PutBatch batch = {.count = {each.size()},
                    .bytes = static_cast<uint32_t>(items.size()),
                    .tube = {},
                    .items = {}};
  return make_command_answer(
      sources_.queue(), ask.caller, {{std::move(batch), std::move(items), std::move(missing)}},
      [&sources = sources_, count = each.size()](const QueueReplies& replies) {
        if (!replies.front().is(Word::InsertedBatch)) {
          return refusal_of_put(sources, replies.front(), count);
        }
        Json jobs = Json::array();
        bool is_new = false;
        for (const wire::ClientReply& reply : std::span(replies).subspan(1)) {
          is_new = is_new || !is_duplicate(reply);
          jobs.push_back(inserted_json(reply));
        }
        return json_response(is_new ? Status::Created : Status::Ok, {{"jobs", std::move(jobs)}});
      });
}

Api::Made Api::delete_job(const Ask& ask) {
  const std::optional<uint64_t> id = id_of(ask.names.front());
  if (!id) return no_such_job();
  return change(
      ask, {{Delete{.id = *id}}}, Word::Deleted,
      [](const auto&) {
        return Json{{"deleted", true}};
      },
      refusal_for(ask, *id, access::Verb::Manage, {JobState::Reserved}));
}

Api::Made Api::kick_job(const Ask& ask) {
  Fields fields(ask.request);
  if (const std::optional<Response> problem = fields.problem()) return answer_now(*problem);
  const std::optional<uint64_t> id = id_of(ask.names.front());
  if (!id) return no_such_job();
  return change(
      ask, {{KickJob{.id = *id}}}, Word::Kicked,
      [](const auto&) {
        return Json{{"kicked", true}};
      },
      refusal_for(ask, *id, access::Verb::Manage, {JobState::Reserved, JobState::Ready}));
}

Api::Made Api::note_job(const Ask& ask) {
  Fields fields(ask.request);
  const std::string text = fields.text("text").value_or("");
  if (text.empty() || text.size() > note_bytes_max) {
    fields.add_problem(fmt::format("text is needed, with 1 to {} bytes.", note_bytes_max));
  }
  if (const std::optional<Response> problem = fields.problem()) return answer_now(*problem);
  const std::optional<uint64_t> id = id_of(ask.names.front());
  if (!id) return no_such_job();
  const auto bytes = static_cast<uint32_t>(text.size());
  return change(ask, {{NoteJob{.id = *id, .bytes = bytes, .text = text}}}, Word::Noted,
                [](const auto&) {
                  return Json{{"noted", true}};
                });
}

// Only a job that is reserved can be buried, so the client reserves it first.
Api::Made Api::bury_job(const Ask& ask) {
  Fields fields(ask.request);
  const std::optional<uint64_t> priority = fields.number("priority", UINT32_MAX);
  if (const std::optional<Response> problem = fields.problem()) return answer_now(*problem);
  const std::optional<uint64_t> id = id_of(ask.names.front());
  if (!id) return no_such_job();
  Bury bury = {.id = *id, .priority = {}};
  if (priority) bury.priority = static_cast<uint32_t>(*priority);
  return change(
      ask, {{ReserveJob{.id = *id}}, {bury}}, Word::Buried,
      [](const auto&) {
        return Json{{"buried", true}};
      },
      refusal_for(ask, *id, access::Verb::Consume, {JobState::Reserved, JobState::Ready}));
}

Api::Made Api::change_job(const Ask& ask) {
  Fields fields(ask.request);
  SetJob set = {.id = id_of(ask.names.front()).value_or(0)};
  if (const auto tube = fields.tube("tube")) set.tube = *tube;
  if (const auto priority = fields.number("priority", UINT32_MAX)) {
    set.priority = static_cast<uint32_t>(*priority);
  }
  if (const auto delay = fields.seconds("delay_seconds")) set.delay = Duration{*delay};
  if (const auto ttr = fields.seconds("ttr_seconds")) set.ttr = TtrOption{{*ttr}};
  if (set.tube.empty() && !set.priority && !set.delay && !set.ttr) {
    fields.add_problem("One of tube, priority, delay_seconds, ttr_seconds is needed.");
  }
  if (const std::optional<Response> problem = fields.problem()) return answer_now(*problem);
  if (set.id == 0) return no_such_job();
  const JobId id = set.id;
  std::string missing = ask.caller.judged(set, sources_.engine()).tube;
  return change(
      ask, {{std::move(set), {}, std::move(missing)}}, Word::Set,
      [](const auto&) {
        return Json{{"changed", true}};
      },
      refusal_for(ask, id, access::Verb::Manage, {JobState::Reserved}));
}

Api::Made Api::pause_tube(const Ask& ask) {
  Fields fields(ask.request);
  const std::optional<Nanos> time = fields.seconds("seconds");
  if (!time) fields.add_problem("seconds is missing.");
  if (const std::optional<Response> problem = fields.problem()) return answer_now(*problem);
  const std::string& tube = ask.names.front();
  if (!wire::is_tube_name(tube)) {
    return answer_now(problem_response(Status::NotFound, "There is no such tube."));
  }
  return change(
      ask,
      {{PauseTube{.tube = tube, .delay_s = whole_seconds(*time), .delay_rest_ns = rest_of(*time)}}},
      Word::Paused, [seconds = in_seconds(*time)](const auto&) {
        return Json{{"pause_seconds", seconds}};
      });
}

// Replaces what is set. The tube need not be there.
Api::Made Api::set_tube(const Ask& ask) {
  Fields fields(ask.request);
  const TubeSettings settings = read_settings(fields);
  // A body that was forgotten must not take all settings away.
  if (ask.request.body.empty())
    fields.add_problem("The body must be a JSON object, or {} for none.");
  if (const std::optional<Response> problem = fields.problem()) return answer_now(*problem);
  const std::string& tube = ask.names.front();
  if (!wire::is_tube_name(tube)) {
    return answer_now(problem_response(Status::NotFound, "There can be no tube of this name."));
  }
  SetTube set = replace_settings(tube, settings);
  std::string missing = ask.caller.judged(set, sources_.engine()).tube;
  return change(ask, {{std::move(set), {}, std::move(missing)}}, Word::Set,
                [this, tube](const auto&) { return settings_of(tube); });
}

Api::Made Api::kick_tube(const Ask& ask) {
  Fields fields(ask.request);
  const std::optional<uint64_t> count = fields.number("count", UINT32_MAX);
  if (!count) fields.add_problem("count is missing.");
  if (const std::optional<Response> problem = fields.problem()) return answer_now(*problem);
  const std::string& tube = ask.names.front();
  const Kick kick = {.bound = static_cast<uint32_t>(*count)};
  if (Made refusal = refused(ask, KickTube{.tube = tube})) return refusal;
  // To use a tube would make it.
  if (!sources_.engine().tube_statistics(tube)) {
    return answer_now(problem_response(Status::NotFound, "There is no such tube."));
  }
  return change(ask, {{Use{.tube = tube}}, {kick}}, Word::KickedCount, [](const auto& reply) {
    return Json{{"kicked", reply.number}};
  });
}

Api::Made Api::start_operation(const Ask& ask) {
  using Action = OperationAsked::Action;
  Fields fields(ask.request);
  OperationAsked asked;
  const std::string action = fields.text("action").value_or("");
  if (action == "delete") {
    asked.action = Action::Delete;
  } else if (action == "kick") {
    asked.action = Action::Kick;
  } else if (action == "move") {
    asked.action = Action::Move;
  } else if (action == "restore") {
    asked.action = Action::Restore;
    return start_restore(ask, fields, std::move(asked));
  } else {
    fields.add_problem("action must be delete, kick, move or restore.");
  }
  const std::optional<std::string> tube = fields.tube("tube");
  const std::optional<StateSet> states = fields.states("states");
  fields.object("match", [&](Fields& match) { asked.match = JobFilter(match).match(); });
  const std::optional<std::string> to = fields.tube("to");
  const std::optional<uint64_t> confirmed = fields.number("confirmed", UINT64_MAX);
  if (!tube) fields.add_problem("tube is missing.");
  if (!states) fields.add_problem("states is missing.");
  if (!confirmed) fields.add_problem("confirmed, the number of jobs that was seen, is missing.");
  if (to.has_value() != (asked.action == Action::Move)) {
    fields.add_problem("to is the tube of a move, and of nothing else.");
  }
  if (states && asked.action == Action::Kick &&
      (states->holds(JobState::Ready) || states->holds(JobState::Reserved))) {
    fields.add_problem("Only buried and delayed jobs can be kicked.");
  }
  if (states && asked.action == Action::Move && states->holds(JobState::Reserved)) {
    fields.add_problem("A reserved job belongs to its worker and is not moved.");
  }
  if (tube && to && *tube == *to) fields.add_problem("to must be another tube.");
  if (const std::optional<Response> problem = fields.problem()) return answer_now(*problem);
  asked.tube = *tube;
  asked.states = *states;
  asked.to = to.value_or("");
  asked.confirmed = *confirmed;
  const Command command = Operations::command_of(asked);
  if (Made refusal = refused(ask, command)) return refusal;
  return operations_.start(ask.caller, std::move(asked));
}

// What has ended is on disk only, so nothing is counted before, and nothing confirmed.
Api::Made Api::start_restore(const Ask& ask, Fields& fields, OperationAsked asked) {
  const std::optional<std::string> tube = fields.tube("tube");
  const std::optional<Nanos> since = fields.seconds("since_seconds");
  if (const std::optional<EndSet> how = fields.ends("how")) asked.how = *how;
  fields.object("match", [&](Fields& match) { asked.match = JobFilter(match).match(); });
  if (!tube) fields.add_problem("tube is missing.");
  if (since && *since == 0) fields.add_problem("since_seconds must be more than 0.");
  if (const std::optional<Response> problem = fields.problem()) return answer_now(*problem);
  asked.tube = *tube;
  asked.since = since.value_or(0);
  if (Made refusal = refused(ask, Operations::command_of(asked))) return refusal;
  return operations_.start(ask.caller, std::move(asked));
}

Api::Made Api::cancel_operation(const Ask& ask) {
  const std::optional<uint64_t> id = id_of(ask.names.front());
  const std::optional<Json> ended = id ? operations_.cancel(ask.caller, *id) : std::nullopt;
  if (!ended) return answer_now(problem_response(Status::NotFound, "There is no such operation."));
  return answer_now(json_response(Status::Ok, *ended));
}

Api::Made Api::close_connection(const Ask& ask) {
  const std::optional<uint64_t> id = id_of(ask.names.front());
  if (!id || !sources_.close_connection(*id)) {
    return answer_now(problem_response(Status::NotFound, "There is no such connection."));
  }
  audit_change(ask, "close-connection", fmt::format("connection {}", *id));
  return answer_now(json_response(Status::Ok, {{"closed", true}}));
}

// As for commands there is an audit where there are users.
void Api::audit_change(const Ask& ask, std::string_view action, std::string subject) {
  if (ask.caller.user == nullptr) return;
  sources_.audit({.action = action,
                  .user = ask.caller.user->name,
                  .from = ask.caller.rights.address,
                  .subject = std::move(subject),
                  .is_internal = true});
}

// This answer is among the last that this server gives.
Api::Made Api::hand_over(const Ask& ask) {
  Fields fields(ask.request);
  if (const std::optional<Response> problem = fields.problem()) return answer_now(*problem);
  const std::string problem = sources_.ask_handover();
  if (!problem.empty()) return answer_now(problem_response(Status::Conflict, problem));
  audit_change(ask, "handover", "");
  return answer_now(json_response(Status::Accepted, {{"asked", true}}));
}

Api::Made Api::reload(const Ask& ask) {
  Fields fields(ask.request);
  if (const std::optional<Response> problem = fields.problem()) return answer_now(*problem);
  Json read = Json::array();
  for (const FileRead& each : sources_.reload()) {
    read.push_back(
        {{"name", each.name}, {"error", each.error.empty() ? Json(nullptr) : Json(each.error)}});
  }
  audit_change(ask, "reload", "");
  return answer_now(json_response(Status::Ok, {{"read", read}}));
}

Api::Made Api::drain(const Ask& ask) {
  Fields fields(ask.request);
  if (const std::optional<Response> problem = fields.problem()) return answer_now(*problem);
  return change(ask, {{Drain{}}}, Word::Draining, [](const auto&) {
    return Json{{"draining", true}};
  });
}

Api::Made Api::undrain(const Ask& ask) {
  Fields fields(ask.request);
  if (const std::optional<Response> problem = fields.problem()) return answer_now(*problem);
  return change(ask, {{Undrain{}}}, Word::NotDraining, [](const auto&) {
    return Json{{"draining", false}};
  });
}

Api::Made Api::checkpoint(const Ask& ask) {
  Fields fields(ask.request);
  if (const std::optional<Response> problem = fields.problem()) return answer_now(*problem);
  return make_command_answer(
      sources_.queue(), ask.caller, {{Checkpoint{}}}, [](const QueueReplies& replies) {
        const wire::ClientReply& reply = replies.front();
        if (reply.is(Word::Failed)) {
          const auto failure = wire::parse_checkpoint_failure(reply.text);
          return problem_response(Status::ServiceUnavailable,
                                  failure ? failure->reason : "The checkpoint failed.");
        }
        const auto made = reply.is(Word::Ok) ? wire::parse_checkpoint(reply.text) : std::nullopt;
        if (!made) return refusal_of(reply);
        return json_response(Status::Ok,
                             {{"name", made->name}, {"path", made->path}, {"jobs", made->jobs}});
      });
}

}  // namespace perennial::http
