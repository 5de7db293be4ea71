// What `perennial schedule ...` sends, and what it makes of each answer. The server is a script, so
// what a real one does with a schedule is not seen here: schedules_live_test.cc.

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "tests/cmd/perennial/scripted_server.h"
#include "tests/cmd/perennial/tool_process.h"

namespace perennial::tool {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using support::ScriptedServer;
using support::ToolRun;
using testing::HasSubstr;
using Turn = ScriptedServer::Turn;
using Turns = std::vector<Turn>;

std::string ok(const std::string& text) {
  return fmt::format("OK {}\r\n{}\r\n", text.size(), text);
}

const Turn asked = {"extensions",
                    ok("---\n- put-tube\n- unique\n- attempts\n- expire\n- milliseconds\n"
                       "- con-tube\n- schedules\n")};

std::string row(const std::string& name, const std::string& tube = "default") {
  return fmt::format(
      "- {{name: \"{}\", tube: \"{}\", every: 60, anchor: \"2026-03-29T00:00:00.000Z\", state: "
      "active, refused: false, refused-because: \"\", next: \"2026-03-29T00:01:00.000Z\", "
      "last-planned: \"\", "
      "last-fired: \"\", last-job: 0, last-job-state: \"\", fired: 0, skipped: 0, "
      "missed-times: 0}}\n",
      name, tube);
}

std::string list_of(const std::string& cursor, const std::string& rows) {
  return ok(fmt::format("---\ncursor: \"{}\"\nschedules:{}\n{}", cursor, rows.empty() ? " []" : "",
                        rows));
}

// The answer to stats-schedule for one of a file with `every: 60`, `tube: tube` and this priority.
std::string stats_of(const std::string& name, const std::string& tube, int pri) {
  return ok(fmt::format(
      "---\nname: \"{}\"\ntube: \"{}\"\nevery: 60\nanchor: \"2026-03-29T00:00:00.000Z\"\npri: {}\n"
      "delay: 0\nttr: 60\nbytes: 1\nmissed: one\noverlap: allow\njitter: 0\npaused: true\n"
      "state: paused\nrefused: false\nrefused-because: \"\"\nplanned: \"\"\nnext: "
      "\"\"\nlast-planned: \"\"\n"
      "last-fired: \"\"\nlast-job: 0\nlast-job-state: \"\"\nfired: 0\nskipped: 0\n"
      "missed-times: 0\n",
      name, tube, pri));
}

// Runs the words, and checks that the conversation went as written. Without turns there is no
// server, and the words need none.
ToolRun play(Turns turns, std::vector<std::string> arguments, const std::string& input = {}) {
  arguments.insert(arguments.begin(), "schedule");
  if (turns.empty()) {
    arguments.insert(arguments.end(), {"--server", "127.0.0.1:1"});
    return support::run_tool(std::move(arguments), input);
  }
  ScriptedServer server(std::move(turns));
  arguments.insert(arguments.end(), {"--server", server.address()});
  ToolRun done = support::run_tool(std::move(arguments), input);
  EXPECT_EQ(server.heard(), "");
  return done;
}

// What it says without the name of the program.
std::string said(const ToolRun& done, const std::string& subcommand) {
  const std::string who = fmt::format("perennial schedule {}: ", subcommand);
  EXPECT_EQ(done.err.substr(0, who.size()), who);
  return done.err.substr(std::min(who.size(), done.err.size()));
}

// ---- set.

TEST(ScheduleSet, SendsWhatTheFlagsSay) {
  struct Case {
    std::vector<std::string> flags;
    std::string line;
  };
  const Case all[] = {
      {{"--cron", "0  3 * * *"}, "set-schedule a 1024 0 60 4 cron:0_3_*_*_* tube:default"},
      {{"--cron", "@daily", "--zone", "Europe/Berlin", "--tube", "t"},
       "set-schedule a 1024 0 60 4 cron:@daily zone:Europe/Berlin tube:t"},
      {{"--every", "5m", "--anchor", "2026-03-29T01:59:00+01:00"},
       "set-schedule a 1024 0 60 4 every:300 anchor:2026-03-29T00:59:00.000Z tube:default"},
      {{"--at", "2026-03-29T09:00:00+02:00", "--paused", "no"},
       "set-schedule a 1024 0 60 4 at:2026-03-29T07:00:00.000Z paused:no tube:default"},
      {{"--every",  "1500ms", "--pri",     "7",       "--delay",  "250ms", "--ttr",    "1h",
        "--missed", "all",    "--overlap", "skip",    "--jitter", "1m",    "--paused", "yes",
        "--tries",  "5",      "--backoff", "10s:10m", "--dead",   "d",     "--expire", "1d",
        "--idp",    "k:1h",   "--until",   "ttl",     "--con",    "c:2"},
       "set-schedule a 7 250ms 3600 4 every:1500ms missed:all overlap:skip jitter:60 paused:yes "
       "tube:default tries:5 backoff:10:600 dead:d expire:86400 idp:k:3600 until:ttl con:c:2"},
  };
  for (const Case& one : all) {
    std::vector<std::string> line = {"set", "a", "body"};
    line.insert(line.end(), one.flags.begin(), one.flags.end());
    const ToolRun done = play({asked, {one.line, ""}, {"body", "SET\r\n"}}, line);
    EXPECT_EQ(done.code, 0) << done.err;
    EXPECT_EQ(done.out, "set a\n");
  }
}

TEST(ScheduleSet, TakesTheBodyAsPutDoes) {
  const Turns turns = {asked, {"set-schedule a 1024 0 60 5 every:60 ", ""}, {"a b c", "SET\r\n"}};
  EXPECT_EQ(play(turns, {"set", "a", "--every", "60"}, "a b c").code, 0);
  EXPECT_EQ(play(turns, {"set", "a", "-", "--every", "60"}, "a b c").code, 0);
  const std::string path = fs::temp_directory_path() / fmt::format("body.{}", ::getpid());
  std::ofstream(path) << "a b c";
  EXPECT_EQ(play(turns, {"set", "a", "--every", "60", "--file", path}).code, 0);
  fs::remove(path);
  const ToolRun none = support::run_tool({"schedule", "set", "a", "--every", "60", "--file", path});
  EXPECT_EQ(none.code, 1);
  EXPECT_EQ(said(none, "set"), path + ": No such file or directory\n");
}

TEST(ScheduleSet, ReportsAsJson) {
  const ToolRun done = play({asked, {"set-schedule", ""}, {"b", "SET\r\n"}},
                            {"set", "a", "b", "--every", "60", "--json"});
  EXPECT_EQ(json::parse(done.out), (json{{"schedule", "a"}, {"set", true}}));
}

// Nothing is asked of a server.
TEST(ScheduleSet, RefusesWhatTheServerWould) {
  struct Case {
    std::vector<std::string> flags;
    std::string why;
  };
  const Case all[] = {
      {{"a", "b"}, "say when: one of --every, --cron and --at\n"},
      {{"a", "b", "--every", "5m", "--cron", "@daily"},
       "say when: one of --every, --cron and --at\n"},
      {{"a", "b", "--every", "5m", "--zone", "UTC"}, "--zone goes with --cron alone\n"},
      {{"a", "b", "--at", "2026-03-29T07:00:00Z", "--anchor", "2026-03-29T07:00:00Z"},
       "--anchor goes with --every alone\n"},
      {{"a", "b", "--every", "5m", "--until", "ttl"}, "--until needs --idp\n"},
      {{"a", "b", "--cron", "0 3 * *"},
       "--cron: \"0 3 * *\": 4 fields, and not 5: minute, hour, day of the month, month, day of "
       "the week; or 6 with the second before them\n"},
      {{"a", "b", "--cron", "@daily", "--zone", "Europe/Bonn"},
       "--zone: there is no time zone 'Europe/Bonn' here: a name of the package tzdata, such as "
       "Europe/Berlin or UTC\n"},
      {{"a", "b", "--every", "5x"},
       "--every: \"5x\" is no period: a duration of at least 1s, such as 90s, 15m, 1h30m or 2d; a "
       "number is seconds\n"},
      {{"a b", "b", "--every", "5m"},
       "\"a b\" is no name of a schedule: 1 to 200 letters, digits and -+/;.$_(), the first of "
       "them no '-'\n"},
      {{"a", "b", "--every", "5m", "--file", "f"}, "a body and --file exclude each other\n"},
      {{"a", "b", "c", "--every", "5m"}, "more than one body: one with spaces needs quotes\n"},
  };
  for (const Case& one : all) {
    std::vector<std::string> line = {"schedule", "set"};
    line.insert(line.end(), one.flags.begin(), one.flags.end());
    line.insert(line.end(), {"--server", "127.0.0.1:1"});
    const ToolRun done = support::run_tool(line);
    EXPECT_EQ(done.code, 2);
    EXPECT_EQ(said(done, "set"), one.why);
  }
}

TEST(ScheduleSet, SaysWhyTheServerRefuses) {
  const std::pair<std::string, std::string> all[] = {
      {"BAD_FORMAT", "BAD_FORMAT: the server does not know the time zone"},
      {"JOB_TOO_BIG", "JOB_TOO_BIG: the body has more bytes than the server's max-job-size"},
      {"OUT_OF_MEMORY", "OUT_OF_MEMORY: the server is at a limit"},
      {"DENIED", "DENIED: the server does not allow schedules at present"},
      {"FORBIDDEN", "set-schedule: FORBIDDEN: the user has no right to this"},
      {"UNKNOWN_COMMAND", "set-schedule: the server answered UNKNOWN_COMMAND"},
  };
  for (const auto& [answer, why] : all) {
    const ToolRun done = play({asked, {"set-schedule a", ""}, {"b", answer + "\r\n"}},
                              {"set", "a", "b", "--every", "60"});
    EXPECT_EQ(done.code, 1);
    EXPECT_EQ(done.out, "");
    EXPECT_THAT(said(done, "set"), HasSubstr(why));
  }
}

TEST(Schedules, NeedAServerThatHasThem) {
  const std::string path = fs::temp_directory_path() / fmt::format("one.{}.yaml", ::getpid());
  std::ofstream(path) << "schedules: [{name: a, every: 60, body: b}]\n";
  const std::vector<std::vector<std::string>> all = {
      {"list"},        {"show", "a"},        {"set", "a", "b", "--every", "60"},
      {"delete", "a"}, {"pause", "a"},       {"run", "a"},
      {"apply", path}, {"next", "--of", "a"}};
  for (const std::vector<std::string>& line : all) {
    const bool asks = line.front() != "next";
    const std::string answer = asks ? "UNKNOWN_COMMAND\r\n" : ok("---\n- batch\n");
    const ToolRun done = play({{"extensions", answer}}, line);
    EXPECT_EQ(done.code, 1) << line.front();
    EXPECT_THAT(done.err, HasSubstr("'schedules'")) << line.front();
  }
  fs::remove(path);
}

// ---- list and show.

TEST(ScheduleList, GoesOnPageByPage) {
  const Turns turns = {asked,
                       {"list-schedules count:200", list_of("b", row("a") + row("b", "t"))},
                       {"list-schedules after:b count:200", list_of("", row("c"))}};
  const ToolRun done = play(turns, {"list"});
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_EQ(done.out,
            "NAME  TUBE     WHEN      ZONE  STATE   NEXT                  LAST JOB  FIRED  SKIPPED "
            " MISSED\n"
            "a     default  every 1m  -     active  2026-03-29T00:01:00Z  -             0        0 "
            "      0\n"
            "b     t        every 1m  -     active  2026-03-29T00:01:00Z  -             0        0 "
            "      0\n"
            "c     default  every 1m  -     active  2026-03-29T00:01:00Z  -             0        0 "
            "      0\n");
  const json of_tube = json::parse(play(turns, {"list", "--json", "--tube", "t"}).out);
  ASSERT_EQ(of_tube["schedules"].size(), 1U);
  EXPECT_EQ(of_tube["schedules"][0]["name"], "b");
  EXPECT_EQ(of_tube["schedules"][0]["every"], 60);
  EXPECT_EQ(of_tube["schedules"][0]["refused"], false);
}

TEST(ScheduleList, EndsWhereTheCursorDoesNotGoOn) {
  const ToolRun done = play({asked,
                             {"list-schedules count:200", list_of("b", row("b"))},
                             {"list-schedules after:b", list_of("b", row("b"))}},
                            {"list"});
  EXPECT_EQ(done.code, 1);
  EXPECT_EQ(said(done, "list"), "list-schedules: the cursor does not go on\n");
}

TEST(ScheduleList, SaysWhatIsNoAnswer) {
  EXPECT_EQ(play({asked, {"list-schedules", ok("---\nnothing\n")}}, {"list"}).code, 1);
  EXPECT_EQ(play({asked, {"list-schedules", "FORBIDDEN\r\n"}}, {"list"}).code, 1);
  EXPECT_EQ(play({}, {"list", "--tube", "a b"}).code, 2);
}

TEST(ScheduleShow, ShowsWhatIsKnownAndTheBody) {
  const Turns turns = {
      asked, {"stats-schedule a", stats_of("a", "t", 7)}, {"peek-schedule a", ok("hello")}};
  const ToolRun done = play(turns, {"show", "a"});
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_THAT(done.out, testing::StartsWith("schedule a\n  tube            t\n"));
  EXPECT_THAT(done.out, HasSubstr("  pri             7\n"));
  EXPECT_THAT(done.out, HasSubstr("  next            -\n"));
  EXPECT_THAT(done.out, testing::EndsWith("\n\nhello\n"));
  EXPECT_EQ(play(turns, {"show", "a", "--body"}).out, "hello");
  const json all = json::parse(play(turns, {"show", "a", "--json"}).out);
  EXPECT_EQ(all["body"], "hello");
  EXPECT_EQ(all["pri"], 7);
  EXPECT_EQ(all["paused"], true);
}

TEST(ScheduleShow, SaysThatThereIsNone) {
  const ToolRun done =
      play({asked, {"stats-schedule a", "NOT_FOUND\r\n"}, {"peek-schedule a", "NOT_FOUND\r\n"}},
           {"show", "a"});
  EXPECT_EQ(done.code, 1);
  EXPECT_THAT(said(done, "show"), HasSubstr("there is no schedule 'a' at "));
  EXPECT_EQ(play({}, {"show", "a", "--body", "--json"}).code, 2);
}

// ---- delete, pause and run.

TEST(ScheduleDelete, DeletesEachAndSaysWhichFailed) {
  const ToolRun one = play({asked, {"delete-schedule a", "DELETED\r\n"}}, {"delete", "a"});
  EXPECT_EQ(one.code, 0);
  EXPECT_EQ(one.out, "deleted a\n");
  const Turns two = {
      asked, {"delete-schedule a", "DELETED\r\n"}, {"delete-schedule b", "NOT_FOUND\r\n"}};
  const ToolRun failed = play(two, {"delete", "a", "b", "a", "--yes"});
  EXPECT_EQ(failed.code, 1);
  EXPECT_EQ(failed.out, "deleted a\n");
  EXPECT_EQ(failed.err,
            "perennial schedule delete: b: there is no such schedule\n"
            "perennial schedule delete: 1 of 2 schedules failed\n");
  EXPECT_EQ(json::parse(play(two, {"delete", "a", "b", "--yes", "--json"}).out),
            json::parse(R"({"deleted":["a"],"errors":[{"schedule":"b",)"
                        R"("message":"there is no such schedule"}]})"));
}

TEST(ScheduleDelete, AsksAboutSeveral) {
  const Turns turns = {asked, {"list-schedules", list_of("", row("a") + row("b"))}};
  const ToolRun refused = play(turns, {"delete", "a", "b", "c"});
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(said(refused, "delete"), HasSubstr("this would delete 2 schedules at "));
  EXPECT_THAT(said(refused, "delete"), HasSubstr("give --yes"));
  const ToolRun dry = play(turns, {"delete", "a", "b", "--dry-run"});
  EXPECT_EQ(dry.code, 0);
  EXPECT_THAT(dry.out, HasSubstr("would delete 2 schedules at "));
  EXPECT_EQ(json::parse(play(turns, {"delete", "a", "x", "--dry-run", "--json"}).out),
            json::parse(R"({"dry_run":true,"deleted":["a"]})"));
}

TEST(SchedulePause, IsOfNamesOfATubeOrOfAll) {
  EXPECT_EQ(play({asked, {"pause-schedule a", "PAUSED\r\n"}}, {"pause", "a"}).out, "paused a\n");
  EXPECT_EQ(
      play({asked, {"pause-schedule a paused:no", "SET\r\n"}}, {"pause", "a", "--resume"}).out,
      "resumed a\n");
  const Turn list = {"list-schedules", list_of("", row("a") + row("b", "t") + row("c", "t"))};
  const ToolRun of_tube =
      play({asked, list, {"pause-schedule b", "PAUSED\r\n"}, {"pause-schedule c", "PAUSED\r\n"}},
           {"pause", "--tube", "t"});
  EXPECT_EQ(of_tube.out, "paused b\npaused c\n");
  const ToolRun all = play({asked,
                            list,
                            {"pause-schedule a paused:no", "SET\r\n"},
                            {"pause-schedule b paused:no", "FORBIDDEN\r\n"},
                            {"pause-schedule c paused:no", "SET\r\n"}},
                           {"pause", "--all", "--resume", "--json"});
  EXPECT_EQ(all.code, 1);
  const json report = json::parse(all.out);
  EXPECT_EQ(report["resumed"], (json{"a", "c"}));
  EXPECT_EQ(report["errors"][0]["schedule"], "b");
  const ToolRun none =
      play({asked, {"list-schedules", list_of("", "")}}, {"pause", "--all", "--resume"});
  EXPECT_EQ(none.code, 0);
  EXPECT_THAT(none.out, HasSubstr("nothing to do: "));
  for (const std::vector<std::string>& line : {std::vector<std::string>{"pause"},
                                               {"pause", "a", "--all"},
                                               {"pause", "--all", "--tube", "t"}})
    EXPECT_EQ(play({}, line).code, 2);
}

TEST(ScheduleRun, PrintsTheIdOfTheJob) {
  const ToolRun done = play({asked, {"run-schedule a", "INSERTED 12\r\n"}}, {"run", "a"});
  EXPECT_EQ(done.code, 0);
  EXPECT_EQ(done.out, "12\n");
  const Turns old = {asked, {"run-schedule a", "INSERTED 11 RESERVED\r\n"}};
  const ToolRun duplicate = play(old, {"run", "a"});
  EXPECT_EQ(duplicate.code, 3);
  EXPECT_EQ(duplicate.out, "11\n");
  EXPECT_EQ(said(duplicate, "run"), "nothing was put: job 11 is there already, and is reserved\n");
  EXPECT_EQ(json::parse(play(old, {"run", "a", "--json"}).out),
            json::parse(R"({"schedule":"a","id":"11","duplicate":true,"state":"reserved"})"));
}

TEST(ScheduleRun, SaysWhyTheServerRefuses) {
  const std::pair<std::string, std::string> all[] = {
      {"NOT_FOUND", "there is no schedule 'a' at "},
      {"DRAINING", "DRAINING: the server, or the tube of the schedule, takes no more jobs"},
      {"OUT_OF_MEMORY", "OUT_OF_MEMORY: the server is at a limit"},
      {"DENIED", "DENIED: the server does not allow schedules at present"},
      {"UNAUTHORIZED", "run-schedule: UNAUTHORIZED: the server has users"},
  };
  for (const auto& [answer, why] : all) {
    const ToolRun done = play({asked, {"run-schedule a", answer + "\r\n"}}, {"run", "a"});
    EXPECT_EQ(done.code, 1);
    EXPECT_THAT(said(done, "run"), HasSubstr(why));
  }
}

// ---- next, of a schedule.

TEST(ScheduleNext, BeginsWithADayOfTheZone) {
  const auto next = [](std::vector<std::string> flags) {
    flags.insert(flags.begin(), {"schedule", "next"});
    return support::run_tool(std::move(flags));
  };
  // That day has 25 hours, and one time comes twice.
  EXPECT_EQ(
      next({"30 2,23 * * *", "--zone", "Europe/Berlin", "--from", "2026-10-25", "--count", "2"})
          .out,
      "Sun  2026-10-25T02:30:00+02:00  2026-10-25T00:30:00Z\n"
      "Sun  2026-10-25T23:30:00+01:00  2026-10-25T22:30:00Z\n");
  EXPECT_EQ(
      next({"--every", "1d", "--zone", "Asia/Tokyo", "--from", "2026-10-25", "--count", "1"}).out,
      "Mon  2026-10-26T00:00:00+09:00  2026-10-25T15:00:00Z\n");
  // The first moment of the day is of it.
  EXPECT_EQ(next({"@daily", "--from", "2026-10-25", "--count", "1"}).out,
            "Sun  2026-10-25T00:00:00+00:00  2026-10-25T00:00:00Z\n");
  EXPECT_EQ(next({"@daily", "--from", "2026-10-25T00:00:00Z", "--count", "1"}).out,
            "Mon  2026-10-26T00:00:00+00:00  2026-10-26T00:00:00Z\n");
  const ToolRun wrong = next({"@daily", "--from", "2026-02-30"});
  EXPECT_EQ(wrong.code, 2);
  EXPECT_THAT(wrong.err, HasSubstr("--from is no date, and no time such as"));
}

TEST(ScheduleNext, IsOfAScheduleToo) {
  const Turns turns = {asked, {"stats-schedule a", stats_of("a", "t", 7)}};
  const ToolRun done = play(turns, {"next", "--of", "a", "--from", "2026-03-29T00:59:30Z",
                                    "--count", "2", "--zone", "Europe/Berlin"});
  EXPECT_EQ(done.out,
            "Sun  2026-03-29T03:00:00+02:00  2026-03-29T01:00:00Z\n"
            "Sun  2026-03-29T03:01:00+02:00  2026-03-29T01:01:00Z\n")
      << done.err;
  const ToolRun none = play({asked, {"stats-schedule a", "NOT_FOUND\r\n"}}, {"next", "--of", "a"});
  EXPECT_EQ(none.code, 1);
  EXPECT_THAT(said(none, "next"), HasSubstr("there is no schedule 'a' at "));
  EXPECT_EQ(play({}, {"next", "--of", "a", "--every", "5m"}).code, 2);
  EXPECT_EQ(play({}, {"next", "--anchor", "2026-03-29T00:59:30Z", "@daily"}).code, 2);
}

// ---- apply.

class ScheduleApply : public testing::Test {
 protected:
  ~ScheduleApply() override { fs::remove(path_); }

  ToolRun apply(const std::string& list, Turns turns, std::vector<std::string> flags = {}) const {
    std::ofstream(path_) << "schedules: [" << list << "]\n";
    flags.insert(flags.begin(), {"apply", path_});
    return play(std::move(turns), std::move(flags));
  }
  static Turns with(Turns first, const Turns& rest) {
    first.insert(first.end(), rest.begin(), rest.end());
    return first;
  }

  const std::string path_ = fs::temp_directory_path() / fmt::format("apply.{}.yaml", ::getpid());
  // Three that are new, changed and the same.
  const std::string three_ =
      "{name: new, tube: t, every: 60, body: n}, {name: old, tube: t, every: 60, pri: 7, body: o}, "
      "{name: same, tube: t, every: 60, body: s}";
  const Turns told_ = {asked,
                       {"stats-schedule new", "NOT_FOUND\r\n"},
                       {"peek-schedule new", "NOT_FOUND\r\n"},
                       {"stats-schedule old", stats_of("old", "t", 1024)},
                       {"peek-schedule old", ok("x")},
                       {"stats-schedule same", stats_of("same", "t", 1024)},
                       {"peek-schedule same", ok("s")}};
  const std::string diff_ =
      "+ new\n~ old: pri: 1024 -> 7\n~ old: body: \"x\" -> \"o\"\n= 1 unchanged\n";
};

TEST_F(ScheduleApply, SendsWhatDiffers) {
  const ToolRun done =
      apply(three_, with(told_, {{"set-schedule new 1024 0 60 1 every:60 tube:t", ""},
                                 {"n", "SET\r\n"},
                                 {"set-schedule old 7 0 60 1 every:60 tube:t", ""},
                                 {"o", "SET\r\n"}}));
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_EQ(done.out, diff_);
  EXPECT_EQ(done.err, "");
}

TEST_F(ScheduleApply, SendsNothingTheSecondTime) {
  const std::string one = "{name: same, tube: t, every: 60, body: s}";
  const Turns told = {
      asked, {"stats-schedule same", stats_of("same", "t", 1024)}, {"peek-schedule same", ok("s")}};
  for (const char* flag : {"--yes", "--quiet", "--dry-run"}) {
    const ToolRun done = apply(one, told, {flag});
    EXPECT_EQ(done.code, 0) << done.err;
    EXPECT_EQ(done.out, flag == std::string("--quiet") ? "" : "= 1 unchanged\n");
  }
  EXPECT_EQ(json::parse(apply(one, told, {"--json"}).out),
            json::parse(R"({"added":[],"changed":[],"deleted":[],"unchanged":1,"errors":[]})"));
}

TEST_F(ScheduleApply, OnlySaysItInADryRun) {
  const ToolRun done = apply(three_, told_, {"--dry-run"});
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_EQ(done.out, diff_);
  EXPECT_EQ(json::parse(apply(three_, told_, {"--dry-run", "--json"}).out),
            json::parse(R"({"dry_run":true,"added":["new"],"changed":[{"schedule":"old","values":
              {"pri":{"before":"1024","after":"7"},
               "body":{"before":"\"x\"","after":"\"o\""}}}],
              "deleted":[],"unchanged":1,"errors":[]})"));
}

TEST_F(ScheduleApply, GoesOnWhereOneIsRefused) {
  const Turns turns = with(told_, {{"set-schedule new", ""},
                                   {"n", "FORBIDDEN\r\n"},
                                   {"set-schedule old", ""},
                                   {"o", "SET\r\n"}});
  const ToolRun done = apply(three_, turns, {"--yes"});
  EXPECT_EQ(done.code, 1);
  EXPECT_EQ(done.out, diff_);
  EXPECT_EQ(done.err,
            "perennial schedule apply: new: set-schedule: FORBIDDEN: the user has no right to "
            "this\n"
            "perennial schedule apply: 1 of 2 changes failed\n");
  const json report = json::parse(apply(three_, turns, {"--json"}).out);
  EXPECT_EQ(report["errors"][0]["schedule"], "new");
}

TEST_F(ScheduleApply, PrunesTheTubesOfTheFile) {
  const std::string one = "{name: same, tube: t, every: 60, body: s}";
  const Turns told = {asked,
                      {"stats-schedule same", stats_of("same", "t", 1024)},
                      {"peek-schedule same", ok("s")},
                      {"list-schedules", list_of("b", row("a", "t") + row("b", "u"))},
                      {"list-schedules after:b", list_of("", row("same", "t"))}};
  const ToolRun asked_first = apply(one, told, {"--prune"});
  EXPECT_EQ(asked_first.code, 2);
  EXPECT_EQ(asked_first.out, "- a\n= 1 unchanged\n");
  EXPECT_THAT(said(asked_first, "apply"), HasSubstr("this would delete 1 schedule at "));
  EXPECT_EQ(apply(one, told, {"--prune", "--dry-run"}).out, "- a\n= 1 unchanged\n");
  const ToolRun pruned =
      apply(one, with(told, {{"delete-schedule a", "DELETED\r\n"}}), {"--prune", "--yes"});
  EXPECT_EQ(pruned.code, 0) << pruned.err;
  const ToolRun all = apply(
      one,
      with(told, {{"delete-schedule a", "DELETED\r\n"}, {"delete-schedule b", "NOT_FOUND\r\n"}}),
      {"--prune-all", "--yes"});
  EXPECT_EQ(all.out, "- a\n- b\n= 1 unchanged\n");
  EXPECT_EQ(all.code, 1);
  // A file without schedules names no tube.
  EXPECT_EQ(apply("", {asked, {"list-schedules", list_of("", row("a", "t"))}}, {"--prune"}).out,
            "= 0 unchanged\n");
}

TEST_F(ScheduleApply, SendsManyAtOnce) {
  std::string list;
  Turns turns = {asked};
  Turns sets;
  for (int i = 0; i < 450; ++i) {
    const std::string name = fmt::format("s{}", i);
    list += fmt::format("{}{{name: {}, every: 60, body: b}}", i == 0 ? "" : ", ", name);
    turns.push_back({"stats-schedule " + name, "NOT_FOUND\r\n"});
    turns.push_back({"peek-schedule " + name, "NOT_FOUND\r\n"});
    sets.push_back({"set-schedule " + name + " ", ""});
    sets.push_back({"b", "SET\r\n"});
  }
  const ToolRun done = apply(list, with(turns, sets), {"--json"});
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_EQ(json::parse(done.out)["added"].size(), 450U);
}

TEST_F(ScheduleApply, ReadsStandardInput) {
  const ToolRun wrong = play({}, {"apply", "-"}, "schedules:\n- {name: a, every: 60}\n");
  EXPECT_EQ(wrong.code, 2);
  EXPECT_EQ(said(wrong, "apply"),
            "standard input:2: a: it needs a body: one of body and body_file\n");
  const ToolRun gone =
      play({}, {"apply", "-"}, "schedules: [{name: a, every: 60, body_file: not-there}]\n");
  EXPECT_EQ(said(gone, "apply"),
            "standard input:1: a: body_file: not-there: No such file or directory\n");
  EXPECT_EQ(play({}, {"apply", "-"}, "").code, 2);
}

TEST_F(ScheduleApply, ReadsTheFileBeforeItAsks) {
  const ToolRun done = apply("{name: a, every: 60}", {});
  EXPECT_EQ(done.code, 2);
  EXPECT_EQ(said(done, "apply"), path_ + ":1: a: it needs a body: one of body and body_file\n");
}

}  // namespace
}  // namespace perennial::tool
