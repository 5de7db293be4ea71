// A file of schedules: what is read of a good one, and what is said of a bad one.
//
// Blind to what a server thinks of it, and to files that only YAML's parser refuses, but for two.

#include "cmd/perennial/schedules/file/schedule_file.h"

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "cmd/perennial/schedules/schedule_request.h"

namespace perennial::tool {
namespace {

namespace fs = std::filesystem;

class ScheduleFiles : public testing::Test {
 protected:
  ScheduleFiles() { fs::create_directories(dir_); }
  ~ScheduleFiles() override { fs::remove_all(dir_); }

  std::string write(const std::string& name, const std::string& text) const {
    const fs::path path = dir_ / name;
    std::ofstream(path, std::ios::binary) << text;
    return path.string();
  }
  // The message, with FILE for the path and DIR for its folder.
  std::string why_wrong_file(const std::string& text) const {
    const std::string path = write("s.yaml", text);
    const auto file = read_schedule_file(path);
    if (file.ok()) return "it is read";
    EXPECT_EQ(file.status().code(), StatusCode::InvalidArgument);
    std::string why = file.status().message();
    for (const auto& [what, word] :
         {std::pair<std::string, std::string>{path, "FILE"}, {dir_.string(), "DIR"}}) {
      for (size_t at = why.find(what); at != std::string::npos; at = why.find(what))
        why.replace(at, what.size(), word);
    }
    return why;
  }

  const fs::path dir_ =
      fs::temp_directory_path() / fmt::format("schedule_file_test.{}", ::getpid());
};

std::string text_of(const ScheduleValues& values) {
  std::string text;
  for (const auto& [name, value] : values) text += fmt::format("{}={};", name, value);
  return text;
}

TEST_F(ScheduleFiles, AreRead) {
  write("body.bin", std::string("a\0\xff\n", 4));
  const std::string path = write("good.yaml", R"(
schedules:
- name: nightly
  tube: reports
  cron: 0  3 * * *
  zone: Europe/Berlin
  body: report
- {name: ping, every: 5m, anchor: "2026-03-29T01:59:00+01:00", body: "", paused: true, missed: all}
- name: launch
  at: 2026-03-29T09:00:00+02:00
  body_file: body.bin
  pri: 7
  delay: 250ms
  ttr: 1h
  tries: 5
  backoff: 10s:10m
  dead: dead-mail
  expire: 1d
  idp: launch:1h
  until: ttl
  con: one
  missed: 3
  overlap: replace
  jitter: 1500ms
  paused: no
- {name: plain, every: 90, jitter: 0, priority: 3, body: 5}
- {name: bytes, every: 90, body: !!binary "AP8K"}
)");
  const auto file = read_schedule_file(path);
  ASSERT_TRUE(file.ok()) << file.status().message();
  const std::vector<std::pair<std::string, std::string>> want = {
      {"nightly",
       "tube=reports;cron=0 3 * * *;zone=Europe/Berlin;pri=1024;delay=0;ttr=60;missed=one;"
       "overlap=allow;jitter=0;"},
      {"ping",
       "tube=default;every=300;anchor=2026-03-29T00:59:00.000Z;pri=1024;delay=0;ttr=60;missed=all;"
       "overlap=allow;jitter=0;paused=true;"},
      {"launch",
       "tube=default;at=2026-03-29T07:00:00.000Z;pri=7;delay=250ms;ttr=3600;tries=5;"
       "backoff=10:600;dead=dead-mail;expire=86400;idp=launch:3600;until=ttl;con=one:1;missed=3;"
       "overlap=replace;jitter=1500ms;paused=false;"},
      {"plain", "tube=default;every=90;pri=3;delay=0;ttr=60;missed=one;overlap=allow;jitter=0;"},
      {"bytes",
       "tube=default;every=90;pri=1024;delay=0;ttr=60;missed=one;overlap=allow;jitter=0;"}};
  ASSERT_EQ(file->schedules.size(), want.size());
  for (size_t at = 0; at < want.size(); ++at) {
    EXPECT_EQ(file->schedules[at].command.name, want[at].first);
    EXPECT_EQ(text_of(values_of(file->schedules[at].command)), want[at].second);
  }
  EXPECT_EQ(file->schedules[0].body, "report");
  EXPECT_EQ(file->schedules[1].body, "");
  EXPECT_EQ(file->schedules[2].body, std::string("a\0\xff\n", 4));
  EXPECT_EQ(file->schedules[3].body, "5");
  EXPECT_EQ(file->schedules[4].body, std::string("\0\xff\n", 3));
}

TEST_F(ScheduleFiles, SayWhatTheServerMustAllow) {
  const auto file = read_schedule_file(
      write("needed.yaml", "schedules: [{name: a, every: 5m, body: b, idp: k, ttr: 250ms}]"));
  ASSERT_TRUE(file.ok()) << file.status().message();
  const ExtensionSet needed = file->schedules.front().needed;
  for (const Extension one :
       {Extension::Schedules, Extension::PutTube, Extension::Unique, Extension::Milliseconds})
    EXPECT_TRUE(needed.allows(one));
  EXPECT_FALSE(needed.allows(Extension::Attempts));
}

TEST_F(ScheduleFiles, HaveAZoneAndTubesOfTheirOwn) {
  const auto file = read_schedule_file(write("zone.yaml",
                                             "schedules:\n"
                                             "- {name: a, tube: t, cron: 0 3 * * *, body: x}\n"
                                             "- {name: b, cron: '@daily', zone: UTC, body: x}\n"
                                             "- {name: c, every: 5m, body: x}\n"
                                             "zone: Europe/Berlin\n"
                                             "tubes: [left, t]\n"));
  ASSERT_TRUE(file.ok()) << file.status().message();
  EXPECT_EQ(file->schedules[0].command.options->zone, "Europe/Berlin");
  EXPECT_EQ(file->schedules[1].command.options->zone, "UTC");
  EXPECT_EQ(file->schedules[2].command.options->zone, "");
  EXPECT_EQ(file->tubes, (std::set<std::string, std::less<>>{"default", "left", "t"}));
}

TEST_F(ScheduleFiles, MayBeEmpty) {
  const auto file = read_schedule_file(write("none.yaml", "schedules: []\n"));
  ASSERT_TRUE(file.ok()) << file.status().message();
  EXPECT_TRUE(file->schedules.empty());
}

struct BadFile {
  std::string text;
  std::string why;
};

TEST_F(ScheduleFiles, AreRefusedWithTheLineAndTheKey) {
  const std::string head = "schedules:\n- name: a\n";
  const std::string good = head + "  body: b\n  every: 5m\n";
  const BadFile all[] = {
      // The file.
      {"", "FILE: the file is empty"},
      {"# nothing", "FILE: the file is empty"},
      {", a", "FILE:1: what stands here belongs to no value"},
      {"a: b: c", "FILE:1: illegal map value"},
      {"schedules:\n- cron: * 3 * * *\n",
       "FILE:2: alias not found after *; an expression that begins with '*' or '@' needs quotes"},
      {"schedules:\n- {cron: @daily}\n",
       "FILE:2: unknown token; an expression that begins with '*' or '@' needs quotes"},
      {"- a", "FILE:1: there is no key 'schedules'"},
      {"{}", "FILE:1: there is no key 'schedules'"},
      {"schedule: []", "FILE:1: there is no key 'schedule'; did you mean 'schedules'?"},
      {"schedules:", "FILE:1: schedules: it is not a list; '[]' is an empty one"},
      {"schedules: {a: b}", "FILE:1: schedules: it is not a list; '[]' is an empty one"},
      {"schedules: []\nschedules: []", "FILE:2: schedules: is there twice"},
      {"schedules: []\n---\nschedules: []\n", "FILE:3: a second document begins here"},
      // A schedule.
      {"schedules: [a]", "FILE:1: a schedule is keys with values, such as 'name: x'"},
      {"schedules:\n- body: b\n", "FILE:2: a schedule has no key 'name'"},
      {"schedules:\n- name: [a]\n", "FILE:2: name: it is not one value"},
      {"schedules:\n- name: a b\n",
       "FILE:2: name: \"a b\" is no name of a schedule: 1 to 200 letters, digits and "
       "-+/;.$_(), the first of them no '-'"},
      {good + "- name: b\n  every: 5m\n  body: b\n- name: a\n  every: 1h\n  body: b\n",
       "FILE:8: a: it is there twice, in line 2 already"},
      {head + "  every: 5m\n", "FILE:2: a: it needs a body: one of body and body_file"},
      {good + "  body_file: c\n", "FILE:5: a: body_file: DIR/c: No such file or directory"},
      {head + "  every: 5m\n  body: b\n  body_file: s.yaml\n",
       "FILE:2: a: it has two bodies: body and body_file"},
      {head + "  body: b\n", "FILE:2: a: say when: one of every, cron and at"},
      {good + "  cron: 0 3 * * *\n",
       "FILE:2: a: say once when: of every, cron and at it has several"},
      {"schedules: [{name: a, cron: 0 3 1,15 * *, body: b}]\n",
       "FILE:1: a: cron: \"0 3 1\": 3 fields, and not 5: minute, hour, day of the month, month, "
       "day "
       "of the week; or 6 with the second before them; in {} an expression with a comma needs "
       "quotes"},
      {"schedules: [{name: a, cron: 0 3 * * mon,fri, body: b}]\n",
       "FILE:1: a: there is no key 'fri'; did you mean 'pri'?; in {} an expression with a comma "
       "needs quotes"},
      {"zone: Europe/Bonn\nschedules: []\n",
       "FILE:1: zone: there is no time zone 'Europe/Bonn' here: a name of the package tzdata, such "
       "as Europe/Berlin or UTC"},
      {"tubes: a\nschedules: []\n", "FILE:1: tubes: it is not a list of tubes"},
      {"zone: UTC\nzone: UTC\nschedules: []\n", "FILE:2: zone: is there twice"},
      {"zone: UTC\n", "FILE:1: there is no key 'schedules'"},
      {good + "  zone: UTC\n", "FILE:2: a: zone goes with cron alone"},
      {head + "  body: b\n  cron: 0 3 * * *\n  anchor: 2026-03-29T01:59:00Z\n",
       "FILE:2: a: anchor goes with every alone"},
      {good + "  until: reserved\n", "FILE:2: a: until needs idp"},
      {good + "  until: ttl\n  idp: k\n", "FILE:2: a: until ttl needs a time: idp KEY:DURATION"},
      // A key.
      {good + "  triess: 5\n", "FILE:5: a: there is no key 'triess'; did you mean 'tries'?"},
      {good + "  pri: 5\n  priority: 5\n", "FILE:6: a: priority: is there twice"},
      {good + "  priority: -1\n", "FILE:5: a: priority: \"-1\" is no priority: 0 to 4294967295"},
      {good + "  [pri]: 5\n", "FILE:5: a: there is no key ''"},
      {good + "  body: c\n", "FILE:5: a: body: is there twice"},
      {good + "  pri:\n", "FILE:5: a: pri: it has no value"},
      {good + "  pri: [5]\n", "FILE:5: a: pri: it is not one value"},
      {head + "  every: 5m\n  body: !!binary a-b\n", "FILE:4: a: body: it is no base64"},
      {head + "  every: 5m\n  body: {a: 1}\n", "FILE:4: a: body: it is not one value"},
      // A value.
      {good + "  pri: -1\n", "FILE:5: a: pri: \"-1\" is no priority: 0 to 4294967295"},
      {good + "  tries: 0\n", "FILE:5: a: tries: \"0\" is no number of tries: 1 to 1000000"},
      {good + "  ttr: 5ms\n",
       "FILE:5: a: ttr: \"5ms\" is no ttr: a duration of at least 10ms, such as 90s, 15m, 1h30m, "
       "2d or 250ms; a number is seconds"},
      {good + "  missed: 1001\n",
       "FILE:5: a: missed: \"1001\" is no number of missed times: none, one, all, or 0 to 1000"},
      {good + "  overlap: drop\n",
       "FILE:5: a: overlap: \"drop\" is no word for an overlap: allow, skip or replace"},
      {good + "  paused: maybe\n", "FILE:5: a: paused: \"maybe\" is no answer: yes or no"},
      {head + "  every: 500ms\n",
       "FILE:3: a: every: \"500ms\" is no period: a duration of at least 1s, such as 90s, 15m, "
       "1h30m or 2d; a number is seconds"},
      {head + "  at: tomorrow\n",
       "FILE:3: a: at: \"tomorrow\" is no time such as 2026-03-29T01:59:00+01:00"},
      {head + "  cron: 0 25 * * *\n",
       "FILE:3: a: cron: \"0 25 * * *\": hour: '25' is not understood: a number from 0 to 23"},
      {head + "  cron: 0 0 30 2 *\n",
       "FILE:3: a: cron: \"0 0 30 2 *\": no day of the calendar is meant"},
      {head + "  cron: 0 3 * * *\n  zone: Europe/Bonn\n",
       "FILE:4: a: zone: there is no time zone 'Europe/Bonn' here: a name of the package tzdata, "
       "such as Europe/Berlin or UTC"},
  };
  for (const BadFile& one : all) EXPECT_EQ(why_wrong_file(one.text), one.why) << one.text;
}

TEST_F(ScheduleFiles, ThatAreNotThereAreNamed) {
  const auto none = read_schedule_file((dir_ / "none").string());
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.status().code(), StatusCode::InvalidArgument);
  EXPECT_EQ(none.status().message(), (dir_ / "none").string() + ": No such file or directory");
}

}  // namespace
}  // namespace perennial::tool
