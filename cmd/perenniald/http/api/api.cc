#include "cmd/perenniald/http/api/api.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cmd/perenniald/http/api/answers.h"
#include "cmd/perenniald/http/api/description.h"
#include "cmd/perenniald/http/api/json.h"
#include "engine/types/check.h"

// Which request is answered by which function. reads.cc, server_reads.cc, ended.cc and changes.cc
// have them.
namespace perennial::http {
namespace {

constexpr std::string_view root = "/api/v1/";

// An id has 20 digits at most, in quotes and with a comma; and the rest of the object takes little.
static_assert(Api::selection_body_bytes_max >= 23 * Api::selected_max + 1024);
// A byte that is escaped takes at most six, "\u0000"; and the rest of the object takes little.
static_assert(Api::note_body_bytes_max >= 6 * note_bytes_max + 1024);

constexpr std::string_view sign_in_path = "/api/v1/session";

// The texts at the places of the names in braces, without percent-encoding. None: the path does not
// fit.
std::optional<std::vector<std::string>> fit(std::string_view pattern, std::string_view path) {
  std::vector<std::string> names;
  while (!pattern.empty() && !path.empty()) {
    const size_t pattern_end = std::min(pattern.find('/', 1), pattern.size());
    const size_t path_end = std::min(path.find('/', 1), path.size());
    const std::string_view wanted = pattern.substr(0, pattern_end);
    const std::string_view given = path.substr(0, path_end);
    if (wanted.starts_with("/{")) {
      std::optional<std::string> name = percent_decoded(given.substr(1));
      // Clients take "." and ".." for "here" and "above", encoded or not. No name begins with a
      // dash, so a name of dots alone may have one in front.
      const bool is_of_tubes = wanted == "/{tube}" || wanted == "/{schedule}";
      const bool has_dots =
          name && name->starts_with("-.") && name->find_first_not_of('.', 1) == name->npos;
      if (has_dots && is_of_tubes) name->erase(0, 1);
      if (!name || name->empty()) return std::nullopt;
      names.push_back(*std::move(name));
    } else if (wanted != given) {
      return std::nullopt;
    }
    pattern.remove_prefix(pattern_end);
    path.remove_prefix(path_end);
  }
  if (!pattern.empty() || !path.empty()) return std::nullopt;
  return names;
}

constexpr Needs of_monitors = Needs::verb(access::Verb::Monitor);
constexpr Needs of_admins = Needs::verb(access::Verb::Admin);
constexpr Needs of_operations =
    Needs::nothing("nothing; only operations on tubes with `manage` are there");
constexpr Needs of_holders = Needs::judged("the lease, and `consume` on the tube of its job");
constexpr Needs of_everybody = Needs::nothing_of_anybody();

// A parameter that is not known would change nothing, and whoever has mistyped it would not learn
// that. Empty: all are known.
std::string problem_of_query(const Api::Route& route, std::string_view query) {
  const auto& known = query_parameters(route);
  for (const std::string& name : query_names(query)) {
    if (known.contains(name)) continue;
    if (known.empty()) return fmt::format("This path takes no parameters, such as '{}'.", name);
    return fmt::format("There is no parameter '{}' here; there are: {}.", name,
                       fmt::join(known, ", "));
  }
  return {};
}

}  // namespace

// clang-format off
const Api::Row Api::rows[] = {
    {{"GET", "/api/v1/node", Needs::nothing("nothing; the log of the node only with `monitor`"), false, true},
     &Api::node},
    {{"GET", "/api/v1/server", of_monitors}, &Api::server},
    {{"GET", "/api/v1/server/details", of_monitors}, &Api::server_details},
    {{"GET", "/api/v1/work-times", of_monitors}, &Api::work_times},
    {{"GET", "/api/v1/audit", of_admins}, &Api::audit},
    {{"GET", "/api/v1/tubes",
      Needs::nothing("as `list-tubes`; the counters of a tube as `stats-tube`")},
     &Api::tubes},
    {{"GET", "/api/v1/tubes/{tube}", Needs::commands<StatsTube>()}, &Api::tube},
    {{"GET", "/api/v1/tubes/{tube}/jobs", Needs::commands<ListJobs>()}, &Api::jobs_of_tube},
    {{"GET", "/api/v1/tubes/{tube}/jobs/count", Needs::commands<ListJobs>()}, &Api::count_jobs},
    {{"GET", "/api/v1/tubes/{tube}/ended", Needs::commands<ListJobs>()}, &Api::ended_of_tube},
    {{"GET", "/api/v1/tubes/{tube}/settings", Needs::commands<StatsTube>()}, &Api::tube_settings},
    {{"PUT", "/api/v1/tubes/{tube}/settings", Needs::commands<SetTube>()}, &Api::set_tube},
    {{"POST", "/api/v1/tubes/{tube}/pause", Needs::commands<PauseTube>()}, &Api::pause_tube},
    {{"POST", "/api/v1/tubes/{tube}/kick", Needs::commands<Kick>()}, &Api::kick_tube},
    {{"POST", "/api/v1/tubes/{tube}/reservations", Needs::commands<ReserveBatch>()},
     &Api::reserve_jobs},
    {{"DELETE", "/api/v1/reservations/{lease}", of_holders}, &Api::finish_lease},
    {{"POST", "/api/v1/reservations/{lease}/release", of_holders}, &Api::release_lease},
    {{"POST", "/api/v1/reservations/{lease}/bury", of_holders}, &Api::bury_lease},
    {{"POST", "/api/v1/reservations/{lease}/touch", of_holders}, &Api::touch_lease},
    {{"POST", "/api/v1/reservations/{lease}/note", of_holders, false, false, note_body_bytes_max},
     &Api::note_lease},
    {{"GET", "/api/v1/leases",
      Needs::judged("`manage` on a tube that is named; else only leases of jobs in tubes with it are there")},
     &Api::leases},
    {{"DELETE", "/api/v1/leases/{id}",
      Needs::judged("`manage` on the tube of its job; other leases are not there")},
     &Api::end_lease},
    {{"GET", "/api/v1/jobs", Needs::commands<ListJobs>()}, &Api::jobs},
    {{"POST", "/api/v1/jobs", Needs::commands<Put>(), false, false, job_body_bytes_max},
     &Api::put},
    {{"GET", "/api/v1/jobs/{id}", Needs::commands<StatsJob>()}, &Api::job},
    {{"DELETE", "/api/v1/jobs/{id}", Needs::commands<Delete>()}, &Api::delete_job},
    {{"GET", "/api/v1/jobs/{id}/body", Needs::commands<Peek>()}, &Api::body},
    {{"GET", "/api/v1/jobs/{id}/notes", Needs::commands<ListNotes>()}, &Api::notes},
    {{"POST", "/api/v1/jobs/{id}/notes", Needs::commands<NoteJob>(), false, false, note_body_bytes_max},
     &Api::note_job},
    {{"GET", "/api/v1/jobs/{id}/life", Needs::commands<ListNotes>()}, &Api::life},
    {{"POST", "/api/v1/jobs/{id}/kick", Needs::commands<KickJob>()}, &Api::kick_job},
    {{"POST", "/api/v1/jobs/{id}/bury", Needs::commands<ReserveJob>()}, &Api::bury_job},
    {{"POST", "/api/v1/jobs/{id}/change", Needs::commands<SetJob>()}, &Api::change_job},
    {{"GET", "/api/v1/schedules",
      Needs::judged("`inspect` or `manage` on a tube that is named; else only schedules of tubes with either are there")},
     &Api::schedules},
    {{"GET", "/api/v1/schedules/{schedule}", Needs::commands<StatsSchedule>()}, &Api::schedule},
    {{"PUT", "/api/v1/schedules/{schedule}", Needs::commands<SetSchedule>(), false, false,
      job_body_bytes_max},
     &Api::set_schedule},
    {{"DELETE", "/api/v1/schedules/{schedule}", Needs::commands<DeleteSchedule>()},
     &Api::delete_schedule},
    {{"POST", "/api/v1/schedules/{schedule}/pause", Needs::commands<PauseSchedule>()},
     &Api::pause_schedule},
    {{"POST", "/api/v1/schedules/{schedule}/run", Needs::commands<RunSchedule>()},
     &Api::run_schedule},
    {{"GET", "/api/v1/schedule-times", Needs::nothing("nothing; the times are those of the calendar")},
     &Api::schedule_times},
    {{"GET", "/api/v1/failures",
      Needs::judged("as `list-jobs` of a tube that is named; of all others only those with `inspect` are there")},
     &Api::failures},
    {{"POST", "/api/v1/jobs/batch",
      Needs::judged("as `kick-job`, `delete`, `reserve-job`, `set-job` or `restore-job` of each job; what is hidden is left"),
      false, false, selection_body_bytes_max},
     &Api::act_on_jobs},
    {{"GET", "/api/v1/ended",
      Needs::judged("as `list-jobs` of a tube that is named; of all others only those with `inspect` are there")},
     &Api::ended},
    {{"GET", "/api/v1/ended/{id}", Needs::commands<PeekEnded>()}, &Api::ended_job},
    {{"GET", "/api/v1/ended/{id}/body", Needs::commands<PeekEnded>()}, &Api::ended_body},
    {{"POST", "/api/v1/ended/{id}/restore", Needs::commands<RestoreJob>()}, &Api::restore_job},
    {{"GET", "/api/v1/operations", of_operations}, &Api::operations},
    {{"POST", "/api/v1/operations", Needs::commands<FlushTube, KickTube, MoveTube, RestoreTube>()},
     &Api::start_operation},
    {{"GET", "/api/v1/operations/{id}", of_operations}, &Api::operation},
    {{"DELETE", "/api/v1/operations/{id}", of_operations}, &Api::cancel_operation},
    {{"GET", "/api/v1/connections", of_admins}, &Api::connections},
    {{"DELETE", "/api/v1/connections/{id}", of_admins}, &Api::close_connection},
    {{"GET", "/api/v1/configuration", of_admins}, &Api::configuration},
    {{"POST", "/api/v1/drain", Needs::commands<Drain>()}, &Api::drain},
    {{"POST", "/api/v1/undrain", Needs::commands<Undrain>()}, &Api::undrain},
    {{"POST", "/api/v1/checkpoint", Needs::commands<Checkpoint>()}, &Api::checkpoint},
    {{"POST", "/api/v1/reload", of_admins}, &Api::reload},
    {{"POST", "/api/v1/cluster/handover", of_admins}, &Api::hand_over},
    {{"GET", "/api/v1/events",
      Needs::judged("by topic: `monitor` for `server`, as `stats-tube` for `tube:NAME`; `operations` "
                    "has those on tubes with `manage`")},
     &Api::events},
    {{"GET", "/api/v1/history",
      Needs::judged("by series: `monitor` for `server`, as `stats-tube` for `tube:NAME`")},
     &Api::history},
    {{"GET", "/api/v1/search", Needs::commands<ListJobs>()}, &Api::search},
    {{"GET", "/api/v1/session", of_everybody, true, true}, &Api::session},
    {{"POST", sign_in_path, of_everybody, true, true}, &Api::sign_in},
    {{"DELETE", "/api/v1/session", of_everybody, true, true}, &Api::sign_out},
    {{"GET", "/api/v1/openapi.json", of_everybody, true, true}, &Api::description},
};
// clang-format on

Api::Api(ApiSources& sources)
    : sources_(sources),
      leases_({.engine = [this] { return sources_.engine(); },
               .now = [this] { return sources_.now(); }}),
      operations_(sources),
      events_([this](const std::string& topic) { return frame(topic); }),
      searches_(sources),
      ended_lists_(sources),
      failures_(sources, notes_read_) {}

bool Api::owns(std::string_view path) {
  return path.starts_with(root);
}

bool Api::is_early(const Request& request) {
  return std::ranges::any_of(
      rows, [&](const Row& row) { return row.route.is_early && row.route.path == request.path; });
}

bool Api::is_sign_in(const Request& request) {
  return request.method == "POST" && request.path == sign_in_path;
}

bool Api::is_work(const Request& request) {
  return request.method != "GET" && (request.path.starts_with("/api/v1/reservations/") ||
                                     request.path.ends_with("/reservations"));
}

size_t Api::body_bytes_max_of(std::string_view method, std::string_view path) {
  const auto row = std::ranges::find_if(rows, [&](const Row& each) {
    return each.route.method == method && fit(each.route.path, path);
  });
  return row == std::end(rows) ? small_body_bytes_max : row->route.body_bytes_max;
}

std::span<const Api::Route> Api::routes() {
  static const auto all = [] {
    std::vector<Route> routes;
    std::ranges::transform(rows, std::back_inserter(routes), &Row::route);
    return routes;
  }();
  return all;
}

void Api::on_time() {
  history_.on_second(sources_.engine(), sources_.now());
  events_.on_time();
  body_windows_.on_time(sources_.now());
  leases_.on_time();
}

Api::Made Api::forbidden(const Ask& ask, access::Verb missing, std::string subject) {
  const std::string text = forbidden_text(missing, subject);
  on_refused(ask, missing, std::move(subject));
  return refuse(Status::Forbidden, text);
}

// As in the queue a job that is hidden is counted as one that is not there.
Api::Made Api::refused(const Ask& ask, const Command& command, std::string_view absent) {
  const access::Judgement judgement = ask.caller.judged(command, sources_.engine());
  switch (judgement.verdict) {
    case access::Verdict::Allowed:
      break;
    case access::Verdict::Forbidden:
      return forbidden(ask, judgement.missing,
                       judgement.tube.empty() ? access::subject_of(command) : judgement.tube);
    case access::Verdict::Hidden:
      on_refused(ask, std::nullopt, access::subject_of(command));
      return not_found(absent);
  }
  return nullptr;
}

// As for commands there is an audit where there are users.
void Api::on_refused(const Ask& ask, std::optional<access::Verb> missing, std::string subject) {
  if (ask.caller.users == nullptr) return;
  const std::string action = fmt::format("{} {}", ask.route.method, ask.route.path);
  sources_.refused({.action = action,
                    .user = ask.caller.user != nullptr ? std::string_view(ask.caller.user->name)
                                                       : std::string_view(),
                    .from = ask.caller.rights.address,
                    .subject = std::move(subject)},
                   missing);
}

void Api::audit_other(std::string_view action, const Request& request, const Caller& caller,
                      std::optional<access::Verb> missing) {
  if (caller.users == nullptr) return;
  access::AuditEvent event = {
      .action = action,
      .user = caller.user != nullptr ? std::string_view(caller.user->name) : std::string_view(),
      .from = caller.rights.address,
      .subject = request.path,
      .is_internal = true};
  missing ? sources_.refused(event, missing) : sources_.audit(event);
}

Http::Handled Api::handle(const Request& request, const Caller& caller) {
  std::string allowed;  // The methods of the path.
  std::string_view method = request.method;
  if (method == "HEAD") method = "GET";
  std::string_view route = "/api/v1";
  for (const Row& row : rows) {
    std::optional<std::vector<std::string>> names = fit(row.route.path, request.path);
    if (!names) continue;
    route = row.route.path;
    if (row.route.method != method) {
      if (!allowed.empty()) allowed += ", ";
      allowed += row.route.method == "GET" ? "GET, HEAD" : row.route.method;
      continue;
    }
    if (!caller.is_known() && !row.route.is_open) {
      const bool has_token = request.fields.contains("authorization");
      Response response =
          problem_response(Status::Unauthorized,
                           has_token ? "The field Authorization has no token of a user: it must be "
                                       "Bearer and a token that the file of users knows."
                                     : "Sign in, or send the field Authorization with Bearer and a "
                                       "token.");
      response.fields = {{"WWW-Authenticate", "Bearer"}};
      return {route, answer_now(std::move(response))};
    }
    const Ask ask = {request, caller, row.route, *std::move(names)};
    if (method != "GET" && is_cross_site(request, caller)) {
      on_refused(ask, std::nullopt, "asked for by a page of another site");
      return {route, answer_now(problem_response(Status::Forbidden,
                                                 "A page of another site may not change "
                                                 "anything here."))};
    }
    if (const std::optional<access::Verb> verb = row.route.needs.verb();
        verb && !caller.may(*verb)) {
      return {route, forbidden(ask, *verb)};
    }
    if (const std::string problem = problem_of_query(row.route, request.query); !problem.empty()) {
      return {route, answer_now(problem_response(Status::BadRequest, problem))};
    }
    return {route, (this->*row.function)(ask)};
  }
  if (allowed.empty()) {
    return {"/api/v1", answer_now(problem_response(Status::NotFound, "There is nothing here."))};
  }
  Response response = problem_response(Status::MethodNotAllowed, allowed + " only.");
  response.fields = {{"Allow", allowed}};
  return {route, answer_now(std::move(response))};
}

}  // namespace perennial::http
