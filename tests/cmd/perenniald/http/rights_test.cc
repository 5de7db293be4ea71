#include <algorithm>
#include <cctype>
#include <charconv>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "cmd/common/token.h"
#include "engine/types/command.h"
#include "tests/cmd/perenniald/http/port.h"
#include "tests/support/documents.h"

// T16 and T17, for the queue and for HTTP at once: every command and every path, for every verb, on
// a tube that exists and on one that does not. Whoever has no right to something is told the same
// in both cases, by the answer and by every counter, and both doors judge alike.
namespace perennial::http {
namespace {

using access::User;
using access::Verb;
using access::VerbSet;

constexpr VerbSet nothing = {};
constexpr VerbSet of_tubes = {Verb::Produce, Verb::Consume, Verb::Inspect, Verb::Manage};
const std::string set_schedule = "set-schedule s 0 0 60 1 every:3600 tube:t\r\na\r\n";

std::string token_of(const std::string& name) {
  return "prn_" + name + "_" + std::string(common::token_secret_bytes, 'x');
}

// A command, or a request. "{id}" stands for each of the jobs 1 to 3, which are in the tube "t",
// and 6, which was in it and has ended.
struct Row {
  std::string name;  // The word of the command; or the method and the path as the API has it.
  std::string ask;   // The lines; or the path that is asked for.
  VerbSet on_tube = nothing;    // Each allows it, granted on the tube "t".
  VerbSet on_server = nothing;  // Each allows it, wherever it is granted.
  std::string prepare = {};     // Lines that the client sends before.
  std::string body = {};        // Of a request.
  // The command that HTTP must be judged like, with its lines. Empty: the queue has none.
  std::string like = {};
  std::string prepare_like = {};
  bool waits = false;  // Where it is allowed, its answer does not come here.
  bool never = false;  // No job or tube of this test lets it be done.
};

const std::vector<Row>& commands() {
  static const std::vector<Row> rows = {
      {"put", "put 0 0 60 1\r\na\r\n", {Verb::Produce}, nothing, "use t\r\n"},
      {"put", "put 0 0 60 1 tube:t\r\na\r\n", {Verb::Produce}},
      {"put", "put 0 0 60 1 dead:t\r\na\r\n", nothing},
      {"peek", "peek {id}\r\n", {Verb::Inspect}},
      {"peek-ready", "peek-ready\r\n", {Verb::Inspect}, nothing, "use t\r\n"},
      {"peek-delayed", "peek-delayed\r\n", {Verb::Inspect}, nothing, "use t\r\n"},
      {"peek-buried", "peek-buried\r\n", {Verb::Inspect}, nothing, "use t\r\n"},
      {"peek-reserved", "peek-reserved\r\n", {Verb::Inspect}, nothing, "use t\r\n"},
      {"reserve", "reserve\r\n", {Verb::Consume}, nothing, "watch t\r\nignore default\r\n"},
      {"reserve-with-timeout",
       "reserve-with-timeout 0\r\n",
       {Verb::Consume},
       nothing,
       "watch t\r\nignore default\r\n"},
      {"reserve-batch",
       "reserve-batch 2\r\n",
       {Verb::Consume},
       nothing,
       "watch t\r\nignore default\r\n"},
      {"reserve-job", "reserve-job {id}\r\n", {Verb::Consume}},
      {"delete", "delete {id}\r\n", {Verb::Manage}},
      // Of these only the holder of the job has a use.
      {"release", "release {id} 0 0\r\n"},
      {"bury", "bury {id} 0\r\n"},
      {"touch", "touch {id}\r\n"},
      {"touch-batch", "touch-batch 1 2 3 4\r\n"},
      {"delete-batch", "delete-batch 1 2 3 4\r\n", {Verb::Manage}},
      {"use", "use t\r\n", {Verb::Produce, Verb::Inspect, Verb::Manage}},
      {"watch", "watch t\r\n", {Verb::Consume}},
      {"ignore", "ignore t\r\n"},
      {"kick", "kick 10\r\n", {Verb::Manage}, nothing, "use t\r\n"},
      {"kick-job", "kick-job {id}\r\n", {Verb::Manage}},
      {"stats", "stats\r\n", nothing, {Verb::Monitor}},
      {"stats-job", "stats-job {id}\r\n", {Verb::Inspect}},
      {"stats-tube", "stats-tube t\r\n", {Verb::Inspect}, {Verb::Monitor}},
      {"list-tubes", "list-tubes\r\n", of_tubes, {Verb::Monitor}},
      {"list-tube-used", "list-tube-used\r\n"},
      {"list-tubes-watched", "list-tubes-watched\r\n"},
      {"pause-tube", "pause-tube t 1\r\n", {Verb::Manage}},
      {"quit", "quit\r\n"},
      {.name = "checkpoint", .ask = "checkpoint\r\n", .on_server = {Verb::Admin}, .waits = true},
      {"extensions", "extensions\r\n"},
      {"auth", "auth prn_x_wrong\r\n"},
      {"put-batch", "put-batch 1 16 tube:t\r\nput 0 0 60 1\r\na\r\n", {Verb::Produce}},
      {"flush-tube", "flush-tube t\r\n", {Verb::Manage}},
      {"list-jobs", "list-jobs t\r\n", {Verb::Inspect}},
      {"list-jobs", "list-jobs *\r\n"},
      {"set-job", "set-job {id} pri:7\r\n", {Verb::Manage}},
      // It needs a right on both tubes.
      {.name = "set-job", .ask = "set-job {id} tube:elsewhere\r\n", .never = true},
      {.name = "set-job", .ask = "set-job {id} dead:elsewhere\r\n", .never = true},
      {"set-tube", "set-tube t tries:3\r\n", {Verb::Manage}},
      {.name = "move-tube", .ask = "move-tube t elsewhere\r\n", .never = true},
      {"reserve-mode", "reserve-mode fifo\r\n"},
      {"kick-tube", "kick-tube t\r\n", {Verb::Manage}},
      {"drain", "drain\r\n", nothing, {Verb::Admin}},
      {"undrain", "undrain\r\n", nothing, {Verb::Admin}},
      {"list-clients", "list-clients\r\n", nothing, {Verb::Admin}},
      {"note", "note {id} 3\r\nwhy\r\n", {Verb::Manage}},
      {"list-notes", "list-notes {id}\r\n", {Verb::Inspect}},
      {"peek-ended", "peek-ended {id}\r\n", {Verb::Inspect}},
      {"restore-job", "restore-job {id}\r\n", {Verb::Manage}},
      {"restore-tube", "restore-tube t how:deleted\r\n", {Verb::Manage}},
      {"set-schedule", set_schedule, {Verb::Manage}},
      {"delete-schedule", "delete-schedule s\r\n", {Verb::Manage}},
      {"pause-schedule", "pause-schedule s\r\n", {Verb::Manage}},
      {"run-schedule", "run-schedule s\r\n", {Verb::Manage}},
      {"list-schedules", "list-schedules\r\n", {Verb::Inspect, Verb::Manage}},
      {"stats-schedule", "stats-schedule s\r\n", {Verb::Inspect}},
      {"peek-schedule", "peek-schedule s\r\n", {Verb::Inspect}},
  };
  return rows;
}

// Requests whose row of the program does not say all.
std::vector<Row> written_requests() {
  const std::string operation = R"("tube":"t","states":["buried"],"confirmed":4)";
  return {
      {"GET /api/v1/tubes", "/api/v1/tubes?gone=yes&sort=ready", of_tubes, {Verb::Monitor}},
      {.name = "PUT /api/v1/tubes/{tube}/settings",
       .ask = "/api/v1/tubes/t/settings",
       .on_tube = {Verb::Manage},
       .body = R"({"tries":3})",
       .like = "set-tube t tries:3\r\n"},
      {.name = "PUT /api/v1/tubes/{tube}/settings",
       .ask = "/api/v1/tubes/t/settings",
       .body = R"({"dead":"elsewhere"})",
       .like = "set-tube t dead:elsewhere\r\n",
       .never = true},
      {.name = "POST /api/v1/tubes/{tube}/pause",
       .ask = "/api/v1/tubes/t/pause",
       .on_tube = {Verb::Manage},
       .body = R"({"seconds":1})",
       .like = "pause-tube t 1\r\n"},
      {.name = "POST /api/v1/tubes/{tube}/kick",
       .ask = "/api/v1/tubes/t/kick",
       .on_tube = {Verb::Manage},
       .body = R"({"count":1})",
       .like = "kick 1\r\n",
       .prepare_like = "use t\r\n"},
      {.name = "POST /api/v1/tubes/{tube}/reservations",
       .ask = "/api/v1/tubes/t/reservations",
       .on_tube = {Verb::Consume},
       .like = "reserve-batch 2\r\n",
       .prepare_like = "watch t\r\nignore default\r\n"},
      // Nobody has these leases, whatever may be done.
      {"DELETE /api/v1/reservations/{lease}", "/api/v1/reservations/x"},
      {.name = "POST /api/v1/reservations/{lease}/release",
       .ask = "/api/v1/reservations/x/release",
       .body = "{}"},
      {.name = "POST /api/v1/reservations/{lease}/bury",
       .ask = "/api/v1/reservations/x/bury",
       .body = "{}"},
      {.name = "POST /api/v1/reservations/{lease}/touch",
       .ask = "/api/v1/reservations/x/touch",
       .body = "{}"},
      {.name = "POST /api/v1/reservations/{lease}/note",
       .ask = "/api/v1/reservations/x/note",
       .body = R"({"text":"why"})"},
      // What is not managed is not there. No job of this test is reserved over HTTP: leases_test.cc
      // has the rest.
      {.name = "GET /api/v1/leases", .ask = "/api/v1/leases", .on_tube = {Verb::Manage}},
      {.name = "GET /api/v1/leases",
       .ask = "/api/v1/leases?tube=t",
       .on_tube = {Verb::Manage},
       .like = "kick-tube t\r\n"},
      {.name = "DELETE /api/v1/leases/{id}",
       .ask = "/api/v1/leases/1",
       .on_tube = {Verb::Manage},
       .never = true},
      {.name = "GET /api/v1/jobs", .ask = "/api/v1/jobs", .like = "list-jobs *\r\n"},
      {.name = "POST /api/v1/jobs",
       .ask = "/api/v1/jobs",
       .on_tube = {Verb::Produce},
       .body = R"({"tube":"t","body":"a"})",
       .like = "put 0 0 60 1 tube:t\r\na\r\n"},
      {.name = "POST /api/v1/jobs",
       .ask = "/api/v1/jobs",
       .body = R"({"tube":"t","body":"a","dead":"elsewhere"})",
       .like = "put 0 0 60 1 tube:t dead:elsewhere\r\na\r\n",
       .never = true},
      {.name = "DELETE /api/v1/jobs/{id}",
       .ask = "/api/v1/jobs/{id}",
       .on_tube = {Verb::Manage},
       .like = "delete {id}\r\n"},
      {.name = "POST /api/v1/jobs/{id}/notes",
       .ask = "/api/v1/jobs/{id}/notes",
       .on_tube = {Verb::Manage},
       .body = R"({"text":"why"})",
       .like = "note {id} 3\r\nwhy\r\n"},
      {.name = "POST /api/v1/jobs/{id}/kick",
       .ask = "/api/v1/jobs/{id}/kick",
       .on_tube = {Verb::Manage},
       .body = "{}",
       .like = "kick-job {id}\r\n"},
      {.name = "POST /api/v1/jobs/{id}/bury",
       .ask = "/api/v1/jobs/{id}/bury",
       .on_tube = {Verb::Consume},
       .body = "{}",
       .like = "reserve-job {id}\r\n"},
      {.name = "POST /api/v1/jobs/{id}/change",
       .ask = "/api/v1/jobs/{id}/change",
       .on_tube = {Verb::Manage},
       .body = R"({"priority":7})",
       .like = "set-job {id} pri:7\r\n"},
      {.name = "POST /api/v1/jobs/{id}/change",
       .ask = "/api/v1/jobs/{id}/change",
       .body = R"({"tube":"elsewhere"})",
       .like = "set-job {id} tube:elsewhere\r\n",
       .never = true},
      {.name = "POST /api/v1/operations",
       .ask = "/api/v1/operations",
       .on_tube = {Verb::Manage},
       .body = "{\"action\":\"delete\"," + operation + "}",
       .like = "flush-tube t\r\n"},
      {.name = "POST /api/v1/operations",
       .ask = "/api/v1/operations",
       .on_tube = {Verb::Manage},
       .body = "{\"action\":\"kick\"," + operation + "}",
       .like = "kick-tube t\r\n"},
      {.name = "POST /api/v1/operations",
       .ask = "/api/v1/operations",
       .body = R"({"action":"move","to":"elsewhere",)" + operation + "}",
       .like = "move-tube t elsewhere\r\n",
       .never = true},
      {.name = "POST /api/v1/operations",
       .ask = "/api/v1/operations",
       .on_tube = {Verb::Manage},
       .body = R"({"action":"restore","tube":"t"})",
       .like = "restore-tube t\r\n"},
      {.name = "PUT /api/v1/schedules/{schedule}",
       .ask = "/api/v1/schedules/s",
       .on_tube = {Verb::Manage},
       .body = R"({"tube":"t","body":"a","every_seconds":3600})",
       .like = set_schedule},
      {.name = "DELETE /api/v1/schedules/{schedule}",
       .ask = "/api/v1/schedules/s",
       .on_tube = {Verb::Manage},
       .like = "delete-schedule s\r\n"},
      {.name = "POST /api/v1/schedules/{schedule}/pause",
       .ask = "/api/v1/schedules/s/pause",
       .on_tube = {Verb::Manage},
       .body = R"({"paused":true})",
       .like = "pause-schedule s\r\n"},
      {.name = "POST /api/v1/schedules/{schedule}/run",
       .ask = "/api/v1/schedules/s/run",
       .on_tube = {Verb::Manage},
       .body = "{}",
       .like = "run-schedule s\r\n"},
      {.name = "GET /api/v1/schedules",
       .ask = "/api/v1/schedules",
       .on_tube = {Verb::Inspect, Verb::Manage}},
      {.name = "GET /api/v1/schedules",
       .ask = "/api/v1/schedules?tube=t",
       .on_tube = {Verb::Inspect, Verb::Manage}},
      {"GET /api/v1/schedule-times", "/api/v1/schedule-times?every_seconds=60"},
      // What may not be inspected is not there, and counts for nothing.
      {.name = "GET /api/v1/ended", .ask = "/api/v1/ended", .on_tube = {Verb::Inspect}},
      {.name = "GET /api/v1/ended",
       .ask = "/api/v1/ended?tube=t",
       .on_tube = {Verb::Inspect},
       .like = "list-jobs t state:ended\r\n"},
      {.name = "GET /api/v1/failures", .ask = "/api/v1/failures", .on_tube = {Verb::Inspect}},
      {.name = "GET /api/v1/failures",
       .ask = "/api/v1/failures?tube=t",
       .on_tube = {Verb::Inspect},
       .like = "list-jobs t\r\n"},
      // A job that is hidden is left, as one that is not there.
      {.name = "POST /api/v1/jobs/batch",
       .ask = "/api/v1/jobs/batch",
       .on_tube = {Verb::Manage},
       .body = R"({"action":"kick","ids":["3"]})"},
      {.name = "POST /api/v1/jobs/batch",
       .ask = "/api/v1/jobs/batch",
       .on_tube = {Verb::Consume},
       .body = R"({"action":"bury","ids":["2"]})"},
      {.name = "POST /api/v1/jobs/batch",
       .ask = "/api/v1/jobs/batch",
       .on_tube = {Verb::Manage},
       .body = R"({"action":"restore","ids":["6"]})"},
      {.name = "POST /api/v1/ended/{id}/restore",
       .ask = "/api/v1/ended/{id}/restore",
       .on_tube = {Verb::Manage},
       .body = "{}",
       .like = "restore-job {id}\r\n"},
      {"GET /api/v1/operations/{id}", "/api/v1/operations/1"},
      {"DELETE /api/v1/operations/{id}", "/api/v1/operations/1"},
      {.name = "DELETE /api/v1/connections/{id}",
       .ask = "/api/v1/connections/99",
       .on_server = {Verb::Admin},
       .like = "drain\r\n",
       .never = true},
      {.name = "POST /api/v1/drain",
       .ask = "/api/v1/drain",
       .on_server = {Verb::Admin},
       .body = "{}",
       .like = "drain\r\n"},
      {.name = "POST /api/v1/undrain",
       .ask = "/api/v1/undrain",
       .on_server = {Verb::Admin},
       .body = "{}",
       .like = "undrain\r\n"},
      {.name = "POST /api/v1/checkpoint",
       .ask = "/api/v1/checkpoint",
       .on_server = {Verb::Admin},
       .body = "{}",
       .like = "checkpoint\r\n",
       .waits = true},
      {.name = "POST /api/v1/reload",
       .ask = "/api/v1/reload",
       .on_server = {Verb::Admin},
       .body = "{}",
       .like = "drain\r\n"},
      {.name = "POST /api/v1/cluster/handover",
       .ask = "/api/v1/cluster/handover",
       .on_server = {Verb::Admin},
       .body = "{}",
       .like = "drain\r\n"},
      {.name = "GET /api/v1/events",
       .ask = "/api/v1/events?topics=tube:t",
       .on_tube = {Verb::Inspect},
       .on_server = {Verb::Monitor},
       .like = "stats-tube t\r\n"},
      {.name = "GET /api/v1/events",
       .ask = "/api/v1/events",
       .on_server = {Verb::Monitor},
       .like = "stats\r\n"},
      // Nothing is refused whole, and what is refused is not shown.
      {.name = "GET /api/v1/events",
       .ask = "/api/v1/events?topics=operations,tube:t",
       .on_tube = {Verb::Inspect},
       .on_server = {Verb::Monitor}},
      {.name = "GET /api/v1/history",
       .ask = "/api/v1/history?series=tube:t",
       .on_tube = {Verb::Inspect},
       .on_server = {Verb::Monitor},
       .like = "stats-tube t\r\n"},
      {.name = "GET /api/v1/history",
       .ask = "/api/v1/history",
       .on_server = {Verb::Monitor},
       .like = "stats\r\n"},
      {.name = "GET /api/v1/search",
       .ask = "/api/v1/search?q=a&tube=t",
       .on_tube = {Verb::Inspect},
       .like = "list-jobs t\r\n"},
      {.name = "GET /api/v1/search", .ask = "/api/v1/search?q=a", .like = "list-jobs *\r\n"},
      {"GET /api/v1/session", "/api/v1/session"},
      {"GET /api/v1/session", "/api/v1/session?with=server", nothing, {Verb::Monitor}},
      {.name = "POST /api/v1/session",
       .ask = "/api/v1/session",
       .body = R"({"token":"prn_x_wrong"})"},
      {"DELETE /api/v1/session", "/api/v1/session"},
      // Those that are not of the API.
      {"GET /livez", "/livez?verbose"},
      {"GET /readyz", "/readyz?verbose"},
      {"GET /leader", "/leader"},
      {"GET /metrics", "/metrics", nothing, {Verb::Monitor}},
      {"GET /metrics", "/metrics?names=beanstalkd", nothing, {Verb::Monitor}},
      {"GET /metrics/tubes", "/metrics/tubes?match=t", nothing, {Verb::Monitor}},
      {"GET /cluster/", "/cluster/checkpoint", nothing, {Verb::Admin}},
  };
}

// A GET is asked for as its path stands. It is judged by the verb of its row in the program, or
// like the command of that row.
Row implied_request(const Api::Route& route) {
  const std::string name = fmt::format("{} {}", route.method, route.path);
  std::string path(route.path);
  constexpr std::string_view tube = "{tube}";
  if (const size_t at = path.find(tube); at != std::string::npos)
    path.replace(at, tube.size(), "t");
  constexpr std::string_view schedule = "{schedule}";
  if (const size_t at = path.find(schedule); at != std::string::npos)
    path.replace(at, schedule.size(), "s");
  if (const auto verb = route.needs.verb()) {
    const std::string like = *verb == Verb::Monitor ? "stats\r\n" : "drain\r\n";
    return {.name = name, .ask = path, .on_server = {*verb}, .like = like};
  }
  const std::string word(route.needs.commands().front());
  if (word.empty()) return {.name = name, .ask = path};
  const auto command = std::ranges::find(commands(), word, &Row::name);
  return {.name = name,
          .ask = path,
          .on_tube = command->on_tube,
          .on_server = command->on_server,
          .like = command->ask,
          .prepare_like = command->prepare};
}

const std::vector<Row>& requests() {
  static const std::vector<Row> all = [] {
    std::vector<Row> rows = written_requests();
    for (const Api::Route& route : Api::routes()) {
      Row row = implied_request(route);
      const bool is_written = std::ranges::find(rows, row.name, &Row::name) != rows.end();
      if (route.method == "GET" && !is_written) rows.push_back(std::move(row));
    }
    return rows;
  }();
  return all;
}

bool may(const User& user, const Row& row) {
  if (user.verbs_on("t").holds_any(row.on_tube)) return true;
  return std::ranges::any_of(access::verb_rows, [&](const access::VerbRow& verb) {
    return row.on_server.holds(verb.verb) && user.may(verb.verb);
  });
}

// A server with the user "u" and an operator. The jobs 1 to 4 were put into the tube "t": one each
// is reserved, ready, buried and delayed. Job 5 is in the tube "other". Job 6 was deleted in "t".
// The schedule "s" puts jobs into "t".
class World : public Port {
 public:
  using Port::Got;

  // `exists`: the jobs of "t", its schedule and the tube are there, and job 6 is kept; else they
  // were deleted, and none is.
  World(const User& user, bool exists) : user_(user) {
    std::vector<User> users = {{.name = "operator",
                                .tokens = {common::token_record(token_of("operator"))},
                                .grants = {{{"*"},
                                            {Verb::Produce, Verb::Consume, Verb::Inspect,
                                             Verb::Manage, Verb::Monitor, Verb::Admin}}}}};
    if (!user.name.empty()) {
      users.push_back(user);
      users.back().tokens = {common::token_record(token_of("u"))};
    }
    harness_.core().set_users(std::make_shared<const access::Users>(std::move(users)));
    operator_ = harness_.open();
    harness_.send(operator_, "auth " + token_of("operator") + "\r\n");
    harness_.send(operator_,
                  "use t\r\nput 0 0 60 1\r\na\r\nput 0 0 60 1\r\na\r\nput 0 0 60 1\r\na\r\n"
                  "put 0 1000 60 1\r\na\r\nuse other\r\nput 0 0 60 1\r\na\r\n"
                  "reserve-job 1\r\nreserve-job 3\r\nbury 3 0\r\n");
    if (exists) harness_.send(operator_, "set-tube t keep:3600\r\n");
    harness_.send(operator_, set_schedule);
    if (!exists) harness_.send(operator_, "delete-schedule s\r\n");
    harness_.send(operator_, "use t\r\nput 0 0 60 1\r\na\r\ndelete 6\r\nuse other\r\n");
    api_.on_time();
    if (!exists) harness_.send(operator_, "delete-batch 1 2 3 4\r\n");
    harness_.advance(2 * nanos_per_second);  // Wrong tokens are answered late.
    client_ = harness_.open_as({.may_checkpoint = true});
    if (!user.name.empty()) harness_.send(client_, "auth " + token_of("u") + "\r\n");
    harness_.receive(client_);
  }

  std::string command(const std::string& prepare, const std::string& lines) {
    harness_.send(client_, prepare);
    harness_.receive(client_);
    before_ = counters();
    harness_.send(client_, lines);
    harness_.advance(2 * nanos_per_second);
    return harness_.receive(client_);
  }
  Got request(const Row& row, const std::string& path) {
    before_ = counters();
    const std::string method = row.name.substr(0, row.name.find(' '));
    const std::string fields =
        user_.name.empty() ? "" : "Authorization: Bearer " + token_of("u") + "\r\n";
    Got answer = change(method, path, row.body, fields);
    harness_.advance(2 * nanos_per_second);
    return answer;
  }
  // What the last one has changed in `stats` and in the metrics, as an operator sees them.
  std::map<std::string, double> changes() {
    std::map<std::string, double> out = counters();
    for (const auto& [name, value] : before_) out[name] -= value;
    // Ages grow with the time, whatever is done.
    std::erase_if(out, [](const auto& each) {
      return each.second == 0 || each.first.find("oldest") != std::string::npos;
    });
    return out;
  }

 private:
  void TestBody() override {}

  std::map<std::string, double> counters() {
    harness_.receive(operator_);
    harness_.send(operator_, "stats\r\n");
    std::string text = harness_.receive(operator_);
    text += got(get("/metrics",
                    "Host: localhost\r\nAuthorization: Bearer " + token_of("operator") + "\r\n"))
                .body;
    std::map<std::string, double> out;
    for (size_t at = 0; at < text.size();) {
      const size_t end = std::min(text.find('\n', at), text.size());
      const std::string_view line = std::string_view(text).substr(at, end - at);
      at = end + 1;
      const size_t space = line.rfind(' ');
      if (space == std::string_view::npos || line.starts_with('#')) continue;
      const std::string_view number = line.substr(space + 1);
      double value = 0;
      const auto read = std::from_chars(number.data(), number.data() + number.size(), value);
      if (read.ptr == number.data() + number.size())
        out[std::string(line.substr(0, space))] = value;
    }
    return out;
  }

  const User user_;
  ConnId operator_ = 0;
  ConnId client_ = 0;
  std::map<std::string, double> before_;
};

// Nobody; and users with no verb or one on the tube "t", and nothing or everything on another one.
std::vector<User> users() {
  std::vector<User> out = {{.name = ""}, {.name = "u", .grants = {{{"other"}, of_tubes}}}};
  VerbSet all = of_tubes;
  all.add({Verb::Monitor, Verb::Admin});
  for (const VerbSet other : {nothing, all}) {
    out.push_back({.name = "u", .grants = {{{"other"}, other}}});
    for (const access::VerbRow& verb : access::verb_rows) {
      out.push_back({.name = "u", .grants = {{{"t"}, {verb.verb}}, {{"other"}, other}}});
    }
  }
  return out;
}

std::string described(const User& user) {
  if (user.name.empty()) return "nobody";
  std::string out;
  for (const access::Grant& grant : user.grants) {
    for (const access::VerbRow& verb : access::verb_rows) {
      if (grant.verbs.holds(verb.verb)) {
        out += fmt::format(" {} on {}", verb.name, grant.tubes.front());
      }
    }
  }
  return out.empty() ? "no grants" : out;
}

std::vector<std::string> with_ids(const std::string& text) {
  const size_t at = text.find("{id}");
  if (at == std::string::npos) return {text};
  std::vector<std::string> out;
  for (const char id : {'1', '2', '3', '6'}) {
    out.push_back(std::string(text).replace(at, 4, 1, id));
  }
  return out;
}

bool is_refusal(const std::string& answer) {
  return answer.find("FORBIDDEN") != std::string::npos ||
         answer.find("NOT_FOUND") != std::string::npos ||
         answer.find("UNAUTHORIZED") != std::string::npos;
}

// Of a time the answer may differ between two clocks, but here there is one.
std::string text_of(const World::Got& answer) {
  return fmt::format("{} {}", answer.status, answer.body);
}

class Rights : public testing::TestWithParam<User> {};

TEST_P(Rights, OfEveryCommandDoNotTellWhatThereIs) {
  const User& user = GetParam();
  for (const Row& row : commands()) {
    const bool is_allowed = may(user, row);
    bool was_done = false;
    for (const std::string& lines : with_ids(row.ask)) {
      if (is_allowed && row.waits) continue;
      World with(user, true);
      const std::string told = with.command(row.prepare, lines);
      if (is_allowed) {
        was_done = was_done || !is_refusal(told);
        continue;
      }
      World without(user, false);
      EXPECT_EQ(without.command(row.prepare, lines), told) << lines;
      EXPECT_EQ(without.changes(), with.changes()) << lines;
    }
    EXPECT_TRUE(!is_allowed || row.waits || row.never || was_done) << row.ask;
  }
}

// The queue's answer as a status of HTTP; 0: it is no refusal.
unsigned status_of(const std::string& reply) {
  if (reply.starts_with("UNAUTHORIZED")) return 401;
  if (reply.starts_with("FORBIDDEN")) return 403;
  return reply.starts_with("NOT_FOUND") ? 404 : 0;
}

// And both doors judge alike: 403 where the queue says FORBIDDEN, and 404 where it says NOT_FOUND.
TEST_P(Rights, OfEveryPathAreThoseOfTheQueueAndDoNotTellWhatThereIs) {
  const User& user = GetParam();
  std::map<std::string, unsigned> judged;  // Commands that several paths are like.
  for (const Row& row : requests()) {
    const bool is_allowed = may(user, row);
    bool was_done = false;
    const std::vector<std::string> paths = with_ids(row.ask);
    const std::vector<std::string> likes = with_ids(row.like);
    for (size_t i = 0; i < paths.size(); ++i) {
      const std::string& path = paths[i];
      if (is_allowed && row.waits) continue;
      World with(user, true);
      const World::Got told = with.request(row, path);
      if (is_allowed) {
        was_done = was_done || told.status / 100 == 2;
        continue;
      }
      World without(user, false);
      const World::Got other = without.request(row, path);
      EXPECT_EQ(text_of(other), text_of(told)) << row.name << " " << path << " " << row.body;
      EXPECT_EQ(other.fields, told.fields) << row.name << " " << path;
      EXPECT_EQ(without.changes(), with.changes()) << row.name << " " << path;
      if (row.like.empty()) continue;
      // By the first test the queue says the same where there is nothing.
      const std::string lines = row.prepare_like + likes[i];
      if (!judged.contains(lines)) {
        judged[lines] = status_of(World(user, true).command(row.prepare_like, likes[i]));
      }
      EXPECT_EQ(told.status, judged[lines]) << row.name << " " << path << " " << lines;
    }
    EXPECT_TRUE(!is_allowed || row.waits || row.never || was_done) << row.name << " " << row.ask;
  }
}

INSTANTIATE_TEST_SUITE_P(Of, Rights, testing::ValuesIn(users()), [](const auto& param) {
  std::string name = described(param.param);
  // The long ones have all verbs on the other tube.
  if (const size_t other = name.find(" on other"); other != std::string::npos) {
    const bool has_all = name.find("admin on other") != std::string::npos;
    const size_t end = name.find(" on t");
    name = (end == std::string::npos ? "" : name.substr(0, end + 5)) +
           (has_all ? " all on other" : " verbs of tubes on other");
  }
  std::string out;
  bool is_start = true;
  for (const char c : name) {
    if (c == ' ') {
      is_start = true;
      continue;
    }
    out += is_start ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
    is_start = false;
  }
  return out;
});

// A new command or path without a row fails here.
TEST(RightsTable, HasEveryCommandAndPath) {
  std::set<std::string> words;
  for_each_command([&](const auto& row) { words.emplace(row.word()); });
  std::set<std::string> tested;
  for (const Row& row : commands()) tested.insert(row.name);
  EXPECT_EQ(tested, words);

  std::set<std::string> paths;
  for (const Api::Route& route : Api::routes()) {
    paths.insert(fmt::format("{} {}", route.method, route.path));
  }
  for (const Routes::Path& each : Routes::paths()) paths.insert(fmt::format("GET {}", each.path));
  tested.clear();
  for (const Row& row : requests()) tested.insert(row.name);
  EXPECT_EQ(tested, paths);
}

// What the rows of the program say is what the requests of this test are judged by.
TEST(RightsTable, IsThatOfTheRowsOfTheProgram) {
  std::map<std::string, Needs> rows;
  for (const Api::Route& each : Api::routes()) {
    rows.emplace(fmt::format("{} {}", each.method, each.path), each.needs);
  }
  for (const Routes::Path& each : Routes::paths()) {
    rows.emplace(fmt::format("GET {}", each.path), each.needs);
  }
  for (const Row& row : requests()) {
    const Needs& needs = rows.at(row.name);
    if (needs.verb()) {
      EXPECT_EQ(row.on_server, VerbSet{*needs.verb()}) << row.name;
      EXPECT_EQ(row.on_tube, nothing) << row.name;
    }
    if (needs.commands().front().empty()) continue;
    const std::string word = row.like.substr(0, row.like.find_first_of(" \r"));
    EXPECT_NE(std::ranges::find(needs.commands(), word), needs.commands().end())
        << row.name << " " << word;
  }
}

TEST(RightsTable, OfTheDocumentIsThatOfTheRows) {
  std::vector<std::pair<std::string, std::string>> rows;  // What is needed, and for which paths.
  const auto add = [&](std::string_view method, std::string_view path, const Needs& needs) {
    const std::string text = text_of(needs);
    auto row = std::ranges::find(rows, text, &std::pair<std::string, std::string>::first);
    if (row == rows.end()) row = rows.insert(row, {text, ""});
    row->second += fmt::format("{}`{} {}`", row->second.empty() ? "" : ", ", method, path);
  };
  for (const Routes::Path& each : Routes::paths()) add("GET", each.path, each.needs);
  for (const Api::Route& each : Api::routes()) add(each.method, each.path, each.needs);
  std::vector<std::string> lines;
  for (const auto& [text, paths] : rows) lines.push_back(fmt::format("| {} | {} |", paths, text));
  EXPECT_EQ(support::documented_rows("http.md", "### What each path needs", lines), lines);
}

// Whoever may put into a tube or reserve from it is told its name, and no number.
TEST(RightsTable, CountersNeedInspectOrMonitor) {
  for (const access::VerbRow& verb : access::verb_rows) {
    const User user = {.name = "u", .grants = {{{"t"}, {verb.verb}}}};
    World world(user, true);
    Row row = {"GET /api/v1/tubes", "/api/v1/tubes"};
    const nlohmann::json tubes = world.request(row, row.ask).json();
    const bool is_counted = verb.verb == Verb::Inspect || verb.verb == Verb::Monitor;
    const bool is_named = verb.verb != Verb::Admin;
    const auto shown = std::ranges::find_if(
        tubes["tubes"], [](const nlohmann::json& tube) { return tube["name"] == "t"; });
    ASSERT_EQ(shown != tubes["tubes"].end(), is_named) << verb.name;
    if (is_named) {
      EXPECT_EQ(shown->contains("ready"), is_counted) << verb.name;
    }
    EXPECT_EQ(is_refusal(World(user, true).command("", "stats-tube t\r\n")), !is_counted)
        << verb.name;
    const std::string listed = World(user, true).command("", "list-tubes\r\n");
    EXPECT_EQ(listed.find("- t\n") != std::string::npos, is_named) << verb.name;
  }
}

// A worker has been told of the job that it holds, so it learns why it is refused.
TEST(RightsTable, TheHolderOfAJobIsToldThatItMayNot) {
  World world({.name = "u", .grants = {{{"t"}, {Verb::Consume}}, {{"other"}, {Verb::Inspect}}}},
              true);
  EXPECT_EQ(world.command("reserve-job 2\r\n", "stats-job 2\r\nstats-job 3\r\nstats-job 99\r\n"),
            "FORBIDDEN\r\nNOT_FOUND\r\nNOT_FOUND\r\n");
}

}  // namespace
}  // namespace perennial::http
