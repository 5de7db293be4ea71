#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cmd/common/list.h"
#include "cmd/perenniald/access/rules.h"
#include "cmd/perenniald/http/api/answers.h"
#include "cmd/perenniald/http/api/api.h"
#include "cmd/perenniald/http/api/commands.h"
#include "cmd/perenniald/http/api/description.h"
#include "cmd/perenniald/http/api/fields.h"
#include "cmd/perenniald/http/api/job_filter.h"
#include "cmd/perenniald/http/api/job_view.h"
#include "cmd/perenniald/http/api/jobs_page.h"
#include "cmd/perenniald/http/api/json.h"
#include "cmd/perenniald/http/api/options.h"
#include "cmd/perenniald/http/api/row_text.h"
#include "cmd/perenniald/http/api/tubes_page.h"
#include "cmd/perenniald/http/json_path.h"
#include "engine/types/check.h"
#include "wire/command_line.h"

// The part of the API that changes nothing.
namespace perennial::http {
namespace {

using access::Verb;

}  // namespace

Api::Made Api::tubes(const Ask& ask) {
  Query query(ask.request.query);
  TubesAsked asked = {.match = query.text("match").value_or(""),
                      .limit = query.number("limit", page_default, 1, page_max),
                      .offset = query.number("offset", 0, 0, UINT32_MAX)};
  if (asked.match.size() > access::pattern_bytes_max) query.add_problem("match is too long.");
  const std::string sort = query.text("sort").value_or("name");
  if (sort != "name") {
    asked.column = tube_column(sort);
    if (asked.column == nullptr) query.add_problem("sort names no column of tubes.");
  }
  const std::string order = query.text("order").value_or("asc");
  if (order != "asc" && order != "desc") query.add_problem("order must be asc or desc.");
  asked.is_descending = order == "desc";
  const std::string gone = query.text("gone").value_or("no");
  if (gone != "yes" && gone != "no") query.add_problem("gone must be yes or no.");
  asked.with_gone = gone == "yes";
  if (!query.problem().empty()) return refuse(Status::BadRequest, query.problem());
  return make_tubes_page(sources_.engine(), history_, ask.caller, std::move(asked), sources_.now());
}

Api::Made Api::tube(const Ask& ask) {
  const std::string& name = ask.names.front();
  if (Made refusal = refused(ask, StatsTube{.tube = name})) return refusal;
  const std::optional<TubeStats> stats = sources_.engine().tube_statistics(name);
  if (!stats) {
    // Whoever may put makes it.
    return answer_now(problem_response(Status::NotFound,
                                       "There is no such tube now. It begins with its first job.",
                                       {{"may", may_json(ask.caller, name)}}));
  }
  Json value = tube_json(*stats);
  value["may"] = may_json(ask.caller, name);
  value["settings"] = settings_json(stats->more ? stats->more->settings : TubeSettings());
  return answer_with(value);
}

Json Api::settings_of(const std::string& tube) const {
  const TubeSettings* const set = sources_.engine().settings_set(tube);
  return {{"set", settings_with_value(set != nullptr ? *set : TubeSettings())},
          {"in_force", settings_json(sources_.engine().settings_of(tube))}};
}

// A tube that is not there may have settings: they wait for it.
Api::Made Api::tube_settings(const Ask& ask) {
  const std::string& name = ask.names.front();
  if (Made refusal = refused(ask, StatsTube{.tube = name})) return refusal;
  return answer_with(settings_of(name));
}

std::optional<ListJobs> Api::asked_jobs(const Ask& ask, std::string tube, Made& refusal,
                                        uint64_t& limit) {
  Query query(ask.request.query);
  ListJobs asked = {.tube = std::move(tube)};
  limit = query.number("limit", page_default, 1, page_max);
  asked.after = query.number("after", 0, 0, UINT64_MAX);
  if (const std::optional<std::string> states = query.text("state")) {
    const std::optional<StateSet> set = states_of(*states);
    if (!set) query.add_problem("state must be some of ready, reserved, delayed, buried.");
    asked.states.states = set.value_or(StateSet::all());
  }
  if (!query.problem().empty()) {
    refusal = refuse(Status::BadRequest, query.problem());
    return std::nullopt;
  }
  refusal = refused(ask, asked);
  if (refusal != nullptr) return std::nullopt;
  return asked;
}

Api::Made Api::list_jobs(const Ask& ask, std::string tube) {
  Query query(ask.request.query);
  JobsAsked jobs = {.list = {}, .filter = JobFilter(query)};
  const std::string order = query.text("order").value_or("oldest");
  if (order != "oldest" && order != "newest") query.add_problem("order must be oldest or newest.");
  jobs.is_newest_first = order == "newest";
  const std::string with = query.text("with").value_or("");
  if (!with.empty() && with != "note") query.add_problem("with must be note.");
  jobs.with_notes = with == "note";
  jobs.note = query.words("note");
  if (!query.problem().empty()) return refuse(Status::BadRequest, query.problem());
  Made refusal;
  std::optional<ListJobs> asked = asked_jobs(ask, std::move(tube), refusal, jobs.limit);
  if (!asked) return refusal;
  jobs.list = *std::move(asked);
  return make_jobs_page(sources_, leases_, notes_read_, ask.caller, std::move(jobs));
}

namespace {

// What a search wants of a body: ?q=TEXT, or ?path=$.a.b&equals=VALUE.
Searches::BodyTest wanted(Query& query) {
  const std::optional<std::string> bytes = query.words("q");
  const std::optional<std::string> path = query.text("path");
  const std::optional<std::string> value = query.words("equals");
  if (!query.problem().empty()) return {};
  const auto fits = [](const std::optional<std::string>& text) {
    return text && text->size() <= Searches::bytes_max;
  };
  if (!path && !value) {
    if (!fits(bytes) || bytes->empty()) {
      query.add_problem("q, the bytes to look for, is missing or longer than 1000.");
    }
    return [bytes = bytes.value_or("")](std::string_view body) {
      return body.find(bytes) != std::string_view::npos;
    };
  }
  const std::optional<JsonPath> parsed = fits(path) ? JsonPath::parse(*path) : std::nullopt;
  if (!parsed) query.add_problem("path must be a path such as $.customer.id or $.items[*].sku.");
  if (!fits(value)) query.add_problem("equals, the value, is missing or longer than 1000.");
  if (bytes) query.add_problem("Either q, or path and equals.");
  if (!query.problem().empty()) return {};
  return [path = *parsed, value = scalar_of(*value)](std::string_view body) {
    return has_value(body, path, value);
  };
}

}  // namespace

Api::Made Api::search(const Ask& ask) {
  Query query(ask.request.query);
  Searches::BodyTest is_wanted = wanted(query);
  const std::string tube = query.text("tube").value_or("");
  if (!query.problem().empty()) return refuse(Status::BadRequest, query.problem());
  Made refusal;
  uint64_t limit = 0;
  std::optional<ListJobs> asked = asked_jobs(ask, tube, refusal, limit);
  if (!asked) return refusal;
  if (searches_.is_busy()) {
    return refuse(Status::TooManyRequests, "Another search runs. Try again when it has ended.");
  }
  return searches_.open(JobView(sources_, &leases_, ask.caller), *std::move(asked),
                        std::move(is_wanted), limit);
}

namespace {

class CountAnswer final : public Answer {
 public:
  CountAnswer(engine::EngineView engine, engine::EngineView::CountJobs asked)
      : counter_(engine, std::move(asked)) {}

  Step step() override { return counter_.step() ? Step::Whole : Step::Again; }
  Response take() override { return json_response(Status::Ok, {{"count", counter_.count()}}); }

 private:
  JobCounter counter_;
};

}  // namespace

Api::Made Api::count_jobs(const Ask& ask) {
  Query query(ask.request.query);
  const JobFilter filter(query);
  if (!query.problem().empty()) return refuse(Status::BadRequest, query.problem());
  Made refusal;
  uint64_t limit = 0;
  const std::optional<ListJobs> asked = asked_jobs(ask, ask.names.front(), refusal, limit);
  if (!asked) return refusal;
  return std::make_unique<CountAnswer>(
      sources_.engine(),
      engine::EngineView::CountJobs{
          .tube = asked->tube, .states = asked->states.states, .match = filter.match()});
}

Api::Made Api::jobs(const Ask& ask) {
  return list_jobs(ask, "");
}

Api::Made Api::jobs_of_tube(const Ask& ask) {
  return list_jobs(ask, ask.names.front());
}

Api::Made Api::job(const Ask& ask) {
  constexpr std::string_view absent =
      "There is no such job: it was deleted, or never put. "
      "If its tube keeps jobs that have ended, it is at /api/v1/ended/ID.";
  const JobId id = number_of(ask.names.front(), UINT64_MAX).value_or(0);
  if (Made refusal = refused(ask, StatsJob{.id = id}, absent)) return refusal;
  const std::optional<JobStats> stats = sources_.engine().job_statistics(id);
  if (!stats) return not_found(absent);
  return answer_with(JobView(sources_, &leases_, ask.caller).of(*stats));
}

Api::Made Api::body(const Ask& ask) {
  Query query(ask.request.query);
  const BodyWindow window(query);
  if (!query.problem().empty()) return refuse(Status::BadRequest, query.problem());
  const std::optional<uint64_t> id = number_of(ask.names.front(), UINT64_MAX);
  if (!id || *id == 0) return not_found("There is no such job.");
  const std::optional<JobStats> stats = sources_.engine().job_statistics(*id);
  if (stats && ask.caller.may_on(stats->tube, Verb::Inspect)) {
    if (const std::string* const kept = body_windows_.find(*id, sources_.now())) {
      return answer_now(window.of(*id, *kept));
    }
  }
  return make_command_answer(sources_.queue(), ask.caller, {{Peek{.id = *id}}},
                             [this, id = *id, window](QueueReplies replies) {
                               wire::ClientReply& reply = replies.front();
                               if (!reply.is(Word::Found)) return refusal_of(reply);
                               Response part = window.of(id, reply.text);
                               const bool has_more = reply.text.size() > part.body.size();
                               if (has_more) {
                                 body_windows_.keep(id, std::move(reply.text), sources_.now());
                               }
                               return part;
                             });
}

Api::Made Api::notes(const Ask& ask) {
  const std::optional<uint64_t> id = number_of(ask.names.front(), UINT64_MAX);
  if (!id || *id == 0) return not_found("There is no such job.");
  return make_command_answer(
      sources_.queue(), ask.caller, {{ListNotes{.id = *id}}}, [](const QueueReplies& replies) {
        const wire::ClientReply& reply = replies.front();
        if (!reply.is(Word::Ok)) return refusal_of(reply);
        const std::optional<std::vector<wire::ToldNote>> notes = wire::parse_notes(reply.text);
        CHECK(notes.has_value());  // This server has written them.
        Json list = Json::array();
        for (const wire::ToldNote& note : *notes) {
          list.push_back({{"number", note.number},
                          {"time", note.time},
                          {"attempt", note.attempt},
                          {"user", note.user},
                          {"text", note.text}});
        }
        return json_response(Status::Ok, {{"notes", std::move(list)}});
      });
}

Api::Made Api::operations(const Ask& ask) {
  return answer_with(operations_.list(ask.caller));
}

Api::Made Api::operation(const Ask& ask) {
  const std::optional<uint64_t> id = number_of(ask.names.front(), UINT64_MAX);
  const std::optional<Json> found = id ? operations_.find(ask.caller, *id) : std::nullopt;
  return found ? answer_with(*found) : not_found("There is no such operation.");
}

std::string Api::frame(const std::string& topic) const {
  if (topic == "server") return dumped(server_json());
  constexpr std::string_view of_tube = "tube:";
  const std::optional<TubeStats> tube =
      sources_.engine().tube_statistics(std::string_view(topic).substr(of_tube.size()));
  return tube ? dumped(tube_json(*tube)) : "null";
}

Api::Made Api::events(const Ask& ask) {
  Query query(ask.request.query);
  const std::string asked = query.text("topics").value_or("server");
  std::vector<std::string> topics;
  Json refused = Json::array();
  std::optional<Verb> missing;    // For the first topic that is not allowed,
  std::string_view refused_tube;  // and its tube; empty: it is the server.
  for (const std::string_view topic : common::list_items(asked)) {
    std::optional<Verb> needed;
    std::string_view tube;
    if (topic == "server") {
      if (!ask.caller.may(Verb::Monitor)) needed = Verb::Monitor;
    } else if (topic.starts_with("tube:") && wire::is_tube_name(topic.substr(5))) {
      tube = topic.substr(5);
      if (!ask.caller.may_count(tube)) needed = Verb::Inspect;
    } else if (topic != "operations") {
      query.add_problem("topics must be some of server, operations, tube:NAME.");
    }
    if (needed) {
      if (!missing) refused_tube = tube;
      missing = missing.value_or(*needed);
      refused.push_back(topic);
    } else {
      topics.emplace_back(topic);
    }
  }
  if (topics.size() + refused.size() > Events::topics_max) {
    query.add_problem("These are too many topics.");
  }
  if (!query.problem().empty()) return refuse(Status::BadRequest, query.problem());
  if (missing && topics.empty()) return forbidden(ask, *missing, std::string(refused_tube));
  if (!events_.has_slot()) {
    return refuse(Status::ServiceUnavailable, "Too many streams of events are open.");
  }
  // What is not allowed is named, and does not keep the others away.
  std::string first;
  if (missing) {
    on_refused(ask, missing, std::string(refused_tube));
    first = fmt::format("event: refused\ndata: {}\n\n", dumped(refused));
  }
  // After a change of users the browser connects again, and is judged anew.
  const auto is_over = [this, caller = ask.caller] {
    return !sources_.sign_ins().is_current(caller);
  };
  const auto own = [this, caller = ask.caller](const std::string& topic) {
    return topic == "operations" ? dumped(operations_.list(caller)) : std::string();
  };
  return events_.open(std::move(topics), std::move(first), is_over, own);
}

namespace {

class HistoryAnswer final : public Answer {
 public:
  explicit HistoryAnswer(HistoryPart part) : text_(std::move(part)) {}

  Step step() override {
    is_whole_ = is_whole_ || text_.step();
    return is_whole_ ? Step::Whole : Step::Again;
  }
  Response take() override {
    return {.status = Status::Ok, .content_type = "application/json", .body = text_.take()};
  }

 private:
  HistoryText text_;
  bool is_whole_ = false;
};

}  // namespace

Api::Made Api::history(const Ask& ask) {
  Query query(ask.request.query);
  const std::string series = query.text("series").value_or("server");
  const uint64_t span = query.number("span", 0, 1, UINT32_MAX);
  constexpr std::string_view of_tube = "tube:";
  const bool is_of_server = series == "server";
  if (!is_of_server && !series.starts_with(of_tube)) {
    query.add_problem("series must be server or tube:NAME.");
  }
  if (!query.problem().empty()) return refuse(Status::BadRequest, query.problem());
  const std::string tube = is_of_server ? "" : series.substr(of_tube.size());
  if (is_of_server && !ask.caller.may(Verb::Monitor)) return forbidden(ask, Verb::Monitor);
  if (!is_of_server) {
    if (Made refusal = refused(ask, StatsTube{.tube = tube})) return refusal;
  }
  const Series* const found = is_of_server ? &history_.server() : history_.tube(tube);
  if (found == nullptr) return not_found("There is no history of this tube.");
  std::optional<HistoryPart> part = found->part(span, sources_.now());
  if (part) return std::make_unique<HistoryAnswer>(*std::move(part));
  return not_found(
      fmt::format("There is no history of this span. There is one of these spans, in seconds: {}.",
                  found->spans_text()));
}

// With `?with=server` it is all that the first page of the console shows of the server.
Api::Made Api::session(const Ask& ask) {
  Query query(ask.request.query);
  const std::optional<std::string> with = query.text("with");
  if (with && *with != "server") query.add_problem("with must be server.");
  if (!query.problem().empty()) return refuse(Status::BadRequest, query.problem());
  const bool serves = sources_.is_loaded();
  Json value = {{"users", ask.caller.users != nullptr},
                {"user", user_json(ask.caller)},
                {"may", may_json(ask.caller)},
                {"serves", serves}};
  if (with && serves && ask.caller.may(Verb::Monitor)) value["server"] = server_json(ask.caller);
  return answer_with(value);
}

Api::Made Api::description(const Ask& /*ask*/) {
  return answer_now(Response{.content_type = "application/json", .body = api_description()});
}

}  // namespace perennial::http
