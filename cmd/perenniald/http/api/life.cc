#include "cmd/perenniald/http/api/life.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "cmd/perenniald/http/api/answers.h"
#include "cmd/perenniald/http/api/api.h"
#include "cmd/perenniald/http/api/commands.h"
#include "cmd/perenniald/http/api/ended_view.h"
#include "cmd/perenniald/http/api/fields.h"
#include "engine/types/check.h"

namespace perennial::http {
namespace {

Json row(std::string_view what, Json time) {
  return {{"what", what},
          {"time", std::move(time)},
          {"by", nullptr},
          {"attempt", nullptr},
          {"detail", nullptr}};
}

Json note_row(const wire::ToldNote& note) {
  Json out = row("note", note.time);
  if (!note.user.empty()) out["by"] = note.user;
  out["attempt"] = note.attempt;
  out["detail"] = note.text;
  return out;
}

// The first reservation, and the notes. RFC 3339 in UTC sorts as text.
std::vector<Json> rows_of_attempts(const Json& job, const std::vector<wire::ToldNote>& notes) {
  std::vector<Json> rows;
  if (const Json& first = job.at("first_reserved_at"); !first.is_null()) {
    rows.push_back(row("reserved", first));
    rows.back()["attempt"] = 1;
  }
  for (const wire::ToldNote& note : notes) rows.push_back(note_row(note));
  std::ranges::stable_sort(rows, {},
                           [](const Json& each) { return each["time"].get<std::string>(); });
  return rows;
}

Json last_row(const Json& job) {
  if (!job.contains("ended")) {
    Json out = row("now", nullptr);
    out["detail"] = job.at("state");
    return out;
  }
  Json out = row("ended", job.at("ended_at"));
  out["by"] = job.at("ended_by");
  out["detail"] = job.at("ended");
  return out;
}

constexpr std::string_view no_job =
    "There is no such job, and none of this id that has ended is kept.";

}  // namespace

Json life_json(const Json& job, const std::vector<wire::ToldNote>& notes) {
  Json life = Json::array();
  life.push_back(row("put", job.at("put_at")));
  life.back()["by"] = job.at("put_by");
  std::vector<Json> attempts = rows_of_attempts(job, notes);
  // A restored job has the attempts of the one that it was, and which came before is not known.
  for (Json& each : attempts) life.push_back(std::move(each));
  if (const Json& restored = job.at("restored"); !restored.is_null()) {
    life.push_back(row("restored", nullptr));
    life.back()["detail"] = restored;
  }
  if (const std::string from = job.at("from"); !from.empty()) {
    life.push_back(row("dead", nullptr));
    life.back()["detail"] = from;
  }
  life.push_back(last_row(job));
  return life;
}

// What a list of the notes tells decides who may see it, of a job that has ended, too.
Api::Made Api::life(const Ask& ask) {
  const std::optional<uint64_t> id = number_of(ask.names.front(), UINT64_MAX);
  if (!id || *id == 0) return not_found(no_job);
  const std::optional<JobStats> stats = sources_.engine().job_statistics(*id);
  std::vector<QueueCommand> commands;
  commands.push_back({ListNotes{.id = *id}});
  if (!stats) commands.push_back({PeekEnded{.id = *id, .with = facts_of_ended()}});
  std::optional<Json> live;
  if (stats) live = job_json(*stats);
  return make_command_answer(sources_.queue(), ask.caller, std::move(commands),
                             [id = *id, live = std::move(live)](const QueueReplies& replies) {
                               const wire::ClientReply& listed = replies.front();
                               if (listed.is(Word::NotFound))
                                 return problem_response(Status::NotFound, no_job);
                               if (!listed.is(Word::Ok)) return refusal_of(listed);
                               const std::optional<std::vector<wire::ToldNote>> notes =
                                   wire::parse_notes(listed.text);
                               CHECK(notes.has_value());  // This server has written them.
                               Json out = {{"id", fmt::format("{}", id)}};
                               if (live) {
                                 out["life"] = life_json(*live, *notes);
                                 return json_response(Status::Ok, out);
                               }
                               const wire::ClientReply& ended = replies.back();
                               if (ended.is(Word::NotFound))
                                 return problem_response(Status::NotFound, no_job);
                               if (!ended.is(Word::Found)) return refusal_of(ended);
                               out["life"] = life_json(ended_json(ended.facts), *notes);
                               return json_response(Status::Ok, out);
                             });
}

}  // namespace perennial::http
