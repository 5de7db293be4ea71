#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cmd/perenniald/http/api/answers.h"
#include "cmd/perenniald/http/api/api.h"
#include "cmd/perenniald/http/api/commands.h"
#include "cmd/perenniald/http/api/fields.h"
#include "cmd/perenniald/http/api/json.h"

// One act on jobs that are named: what a person has selected in a list.
namespace perennial::http {
namespace {

// The answer to the last command for a job when it is done.
std::optional<Word> done_word_of(std::string_view action) {
  if (action == "kick") return Word::Kicked;
  if (action == "delete") return Word::Deleted;
  if (action == "bury") return Word::Buried;
  if (action == "move") return Word::Set;
  if (action == "restore") return Word::Inserted;
  return std::nullopt;
}

std::vector<Command> commands_for(Word done, JobId id, const std::string& to) {
  if (done == Word::Kicked) return {KickJob{.id = id}};
  if (done == Word::Deleted) return {Delete{.id = id}};
  if (done == Word::Inserted) return {RestoreJob{.id = id}};
  // Only a job that is reserved can be buried, so the client reserves it first.
  if (done == Word::Buried) return {ReserveJob{.id = id}, Bury{.id = id, .priority = {}}};
  SetJob set = {.id = id};
  set.tube = to;
  return {std::move(set)};
}

// Why the job is left as it is. None: it is gone, or a worker holds it, or it was done.
std::optional<RefusedAs> problem_of(const wire::ClientReply& last, Word done_word) {
  if (last.is(Word::NotFound)) return std::nullopt;
  if (done_word == Word::Inserted && last.is(Word::InternalError)) {
    return RefusedAs{.status = Status::ServiceUnavailable, .text = "One is damaged on disk."};
  }
  if (!last.is(done_word)) return refused_as(last);
  if (done_word != Word::Inserted || last.text.empty()) return std::nullopt;
  // A put of it would have been a duplicate.
  return RefusedAs{.status = Status::Conflict,
                   .text = fmt::format("Job {} has the key of one of them by now.", last.number)};
}

// Which jobs it was done to. One that is gone, or that a worker holds, is left; so is one for which
// the queue had another answer, of which the first is said.
Response outcome(const std::vector<JobId>& ids, Word done_word, const QueueReplies& replies) {
  const size_t replies_per_job = replies.size() / ids.size();
  Json done = Json::array();
  Json left = Json::array();
  Json new_ids = Json::array();  // Of jobs that were restored.
  std::optional<RefusedAs> first_problem;
  for (size_t i = 0; i < ids.size(); ++i) {
    const wire::ClientReply& last = replies[(i + 1) * replies_per_job - 1];
    const std::optional<RefusedAs> problem = problem_of(last, done_word);
    const bool is_done = last.is(done_word) && !problem;
    (is_done ? done : left).push_back(fmt::format("{}", ids[i]));
    if (is_done && done_word == Word::Inserted) {
      new_ids.push_back(fmt::format("{}", last.number));
    }
    if (problem && !first_problem) first_problem = problem;
  }
  if (first_problem && done.empty()) {
    return problem_response(first_problem->status, first_problem->text);
  }
  Json out = {{"done", std::move(done)},
              {"left", std::move(left)},
              {"problem", first_problem ? Json(first_problem->text) : Json(nullptr)}};
  if (done_word == Word::Inserted) out["new_ids"] = std::move(new_ids);
  return json_response(Status::Ok, out);
}

}  // namespace

Api::Made Api::act_on_jobs(const Ask& ask) {
  Fields fields(ask.request);
  const std::optional<Word> done = done_word_of(fields.text("action").value_or(""));
  if (!done) fields.add_problem("action must be kick, delete, bury, move or restore.");
  const std::vector<JobId> ids = fields.ids("ids", selected_max);
  const std::optional<std::string> to = fields.tube("to");
  if (done && to.has_value() != (*done == Word::Set)) {
    fields.add_problem("to is the tube of a move, and of nothing else.");
  }
  if (const std::optional<Response> problem = fields.problem()) return answer_now(*problem);
  std::vector<QueueCommand> commands;
  for (const JobId id : ids) {
    for (Command& command : commands_for(*done, id, to.value_or(""))) {
      commands.push_back({std::move(command)});
    }
  }
  return make_command_answer(
      sources_.queue(), ask.caller, std::move(commands),
      [ids, done = *done](const QueueReplies& replies) { return outcome(ids, done, replies); });
}

}  // namespace perennial::http
