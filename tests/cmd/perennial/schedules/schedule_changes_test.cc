// What differs between a file of schedules and a server: each value, and the lines that say so; and
// the file that is written of a server. What the server tells is written by the functions that it
// uses itself.
//
// Blind to a server that writes its answers in another way.

#include "cmd/perennial/schedules/file/schedule_changes.h"

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "cmd/perennial/schedules/file/schedule_file.h"
#include "cmd/perennial/schedules/schedules_table.h"
#include "engine/types/reply.h"
#include "wire/schedule_text.h"

namespace perennial::tool {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<WantedSchedule> wanted_of_file(const std::string& text) {
  const std::string path =
      std::filesystem::temp_directory_path() / fmt::format("changes_test.{}.yaml", ::getpid());
  std::ofstream(path, std::ios::binary) << text;
  auto file = read_schedule_file(path);
  std::filesystem::remove(path);
  EXPECT_TRUE(file.ok()) << file.status().message();
  return file.ok() ? file.take().schedules : std::vector<WantedSchedule>();
}

// The schedules of a file with this list.
std::vector<WantedSchedule> wanted_of(const std::string& list) {
  return wanted_of_file("schedules: [" + list + "]\n");
}

// What a server answers that has it.
ToldSchedule told_of(const WantedSchedule& wanted, bool is_paused = false) {
  ScheduleSeen seen;
  seen.schedule = schedule_of(wanted.command, "default");
  seen.schedule.put.body_bytes = static_cast<uint32_t>(wanted.body.size());
  if (auto* const every = std::get_if<ScheduleEvery>(&seen.schedule.when)) {
    if (!every->anchor) every->anchor = 1'700'000'000 * nanos_per_second;
  }
  seen.progress.is_paused = is_paused;
  return {.stats = StatsReply::parse(wire::schedule_yaml(seen)).take(), .body = wanted.body};
}

std::vector<std::string> changes_between(const std::string& before, const std::string& after,
                                         bool is_paused = false) {
  const std::vector<WantedSchedule> old = wanted_of("{name: a, " + before + "}");
  const std::vector<WantedSchedule> now = wanted_of("{name: a, " + after + "}");
  if (old.empty() || now.empty()) return {"the file is wrong"};
  std::vector<std::string> lines;
  for (const ChangedValue& value : changed_values(now.front(), told_of(old.front(), is_paused)))
    lines.push_back(fmt::format("{}: {} -> {}", value.name, value.before, value.after));
  return lines;
}

TEST(ScheduleChanges, OfTheSameAreNone) {
  const std::string all[] = {
      "every: 5m, body: b",
      "every: 300, body: b, jitter: 0, missed: one, overlap: allow",
      "every: 1500ms, anchor: '2026-03-29T01:59:00.5+01:00', body: b",
      "cron: '*/5  0,12 * * 1-5', zone: Europe/Berlin, body: b",
      "cron: '@daily', body: ''",
      "at: 2026-03-29T09:00:00+02:00, body: b, paused: no",
      "every: 5m, body: b, tube: t, pri: 1, delay: 250ms, ttr: 0, tries: 5, backoff: 10, dead: d, "
      "expire: 1d, idp: 'k:1h', until: ttl, con: c, missed: 7, overlap: skip, jitter: 1m"};
  for (const std::string& one : all) EXPECT_THAT(changes_between(one, one), IsEmpty()) << one;
}

TEST(WrittenScheduleFile, SaysWhatIsNotUsual) {
  EXPECT_EQ(schedule_file_text({}), "schedules:\n  []\n");
  std::vector<WantedSchedule> wanted = wanted_of(
      "{name: a, every: 90, body: b}, {name: b, tube: t, cron: '*/5  0,12 * * 1-5', zone: "
      "Europe/Berlin, body: \"two\\nlines\", priority: 7, paused: yes}, {name: c, at: "
      "2026-03-29T09:00:00+02:00, tries: 5, overlap: skip, body: !!binary AP8K}");
  ASSERT_EQ(wanted.size(), 3U);
  EXPECT_EQ(schedule_file_text({told_of(wanted[0]), told_of(wanted[1], true), told_of(wanted[2])}),
            "schedules:\n"
            "  - name: a\n"
            "    every: 90\n"
            "    anchor: 2023-11-14T22:13:20.000Z\n"
            "    body: \"b\"\n"
            "  - name: b\n"
            "    tube: t\n"
            "    cron: \"*/5 0,12 * * 1-5\"\n"
            "    zone: Europe/Berlin\n"
            "    priority: 7\n"
            "    paused: true\n"
            "    body: \"two\\nlines\"\n"
            "  - name: c\n"
            "    at: 2026-03-29T07:00:00.000Z\n"
            "    tries: 5\n"
            "    overlap: skip\n"
            "    body: !!binary \"AP8K\"\n");
}

TEST(WrittenScheduleFile, IsReadAsWhatItWasMadeOf) {
  std::vector<WantedSchedule> wanted = wanted_of(
      "{name: 'null', every: 1500ms, body: b}, {name: 'no', tube: 'yes', cron: '@daily', body: ''},"
      "{name: '7', cron: '0 30 2 L * ?', body: b}, {name: d, tube: '1e3', every: 1s, pri: 1, "
      "delay: "
      "250ms, ttr: 0, tries: 5, backoff: 10, dead: d, expire: 1d, idp: 'k:1h', until: ttl, con: "
      "'c:3', missed: 7, overlap: replace, jitter: 1m, body: b}");
  ASSERT_EQ(wanted.size(), 4U);
  // Each byte alone, and what YAML would take for something else.
  std::vector<std::string> bodies = {"~",
                                     "null",
                                     "- a",
                                     "# a",
                                     " a ",
                                     "a: b",
                                     "\u00e9\u2028\U0001f600",
                                     "\xc3",
                                     std::string(1'000, '\xff'),
                                     "a\r\nb\tc"};
  for (int byte = 0; byte < 256; ++byte)
    bodies.push_back("a" + std::string(1, static_cast<char>(byte)));
  for (const std::string& body : bodies) {
    WantedSchedule one = wanted.front();
    one.command.name = "body" + std::to_string(wanted.size());
    one.body = body;
    wanted.push_back(one);
  }
  std::vector<ToldSchedule> told;
  for (const WantedSchedule& one : wanted) told.push_back(told_of(one));
  const std::vector<WantedSchedule> again = wanted_of_file(schedule_file_text(told));
  ASSERT_EQ(again.size(), wanted.size());
  for (size_t at = 0; at < wanted.size(); ++at) {
    EXPECT_EQ(again[at].command.name, wanted[at].command.name);
    EXPECT_THAT(changed_values(again[at], told[at]), IsEmpty()) << wanted[at].command.name;
  }
}

TEST(ScheduleChanges, LeaveToTheServerWhatTheFileDoesNotSay) {
  EXPECT_THAT(changes_between("every: 5m, body: b", "every: 5m, body: b", true), IsEmpty());
  EXPECT_THAT(
      changes_between("every: 5m, anchor: '2026-03-29T01:59:00Z', body: b", "every: 300s, body: b"),
      IsEmpty());
  EXPECT_THAT(changes_between("every: 5m, body: b", "every: 5m, body: b, paused: no", true),
              ElementsAre("paused: true -> false"));
}

TEST(ScheduleChanges, NameEachValue) {
  struct Case {
    std::string before;
    std::string after;
    std::vector<std::string> lines;
  };
  const std::string base = "every: 5m, body: b";
  const std::string small(60, 'x');
  const std::string large(61, 'x');
  const std::string other(61, 'y');
  const Case all[] = {
      {base, "every: 10m, body: b", {"every: 300 -> 600"}},
      {base, base + ", tube: t", {"tube: default -> t"}},
      {base, base + ", pri: 7", {"pri: 1024 -> 7"}},
      {base, base + ", delay: 250ms", {"delay: 0 -> 250ms"}},
      {base, base + ", ttr: 1h", {"ttr: 60 -> 3600"}},
      {base, base + ", tries: 5", {"tries: - -> 5"}},
      {base + ", tries: 5", base, {"tries: 5 -> -"}},
      {base, base + ", backoff: '10s:10m'", {"backoff: - -> 10:600"}},
      {base, base + ", dead: d", {"dead: - -> d"}},
      {base, base + ", expire: 1d", {"expire: - -> 86400"}},
      {base, base + ", idp: k, until: reserved", {"idp: - -> k", "until: - -> reserved"}},
      {base, base + ", con: 'c:2'", {"con: - -> c:2"}},
      {base, base + ", missed: all", {"missed: one -> all"}},
      {base, base + ", overlap: skip", {"overlap: allow -> skip"}},
      {base, base + ", jitter: 30s", {"jitter: 0 -> 30"}},
      {base + ", anchor: '2026-03-29T01:59:00Z'",
       base + ", anchor: '2026-03-29T02:00:00Z'",
       {"anchor: 2026-03-29T01:59:00.000Z -> 2026-03-29T02:00:00.000Z"}},
      {base,
       "cron: 0 3 * * *, body: b",
       {"every: 300 -> -", "cron: - -> 0 3 * * *", "zone: - -> UTC"}},
      {"cron: 0 3 * * *, body: b",
       "cron: 0 3 * * *, zone: Europe/Berlin, body: b",
       {"zone: UTC -> Europe/Berlin"}},
      {"at: 2026-03-29T09:00:00Z, body: b",
       "at: 2026-03-29T10:00:00Z, body: b",
       {"at: 2026-03-29T09:00:00.000Z -> 2026-03-29T10:00:00.000Z"}},
      {base, "every: 5m, body: c", {"body: \"b\" -> \"c\""}},
      {base, "every: 5m, body: " + small, {"body: \"b\" -> \"" + small + "\""}},
      {base, "every: 5m, body: " + large, {"body: 1 bytes -> 61 bytes"}},
      {"every: 5m, body: " + large,
       "every: 5m, body: " + other,
       {"body: 61 bytes -> 61 other bytes"}},
  };
  for (const Case& one : all)
    EXPECT_EQ(changes_between(one.before, one.after), one.lines) << one.after;
}

TEST(ScheduleChanges, ALineForEach) {
  const auto wanted = wanted_of(
      "{name: new, every: 5m, body: b}, {name: same, every: 5m, body: b}, "
      "{name: other, every: 10m, body: c}");
  ASSERT_EQ(wanted.size(), 3U);
  const auto old = wanted_of("{name: other, every: 5m, body: b}");
  const ScheduleChanges changes =
      compare(wanted, {std::nullopt, told_of(wanted[1]), told_of(old[0])}, {"gone"});
  EXPECT_EQ(changes_text(changes),
            "+ new\n"
            "~ other: every: 300 -> 600\n"
            "~ other: body: \"b\" -> \"c\"\n"
            "- gone\n"
            "= 1 unchanged\n");
  EXPECT_EQ(changes.count(ScheduleChange::Kind::Delete), 1U);
  EXPECT_EQ(changes_text(compare({}, {}, {})), "= 0 unchanged\n");
}

// ---- The table of `perennial schedule list`.

TEST(SchedulesTable, HasALineForEach) {
  const auto listing = parse_named_listing(
      "---\ncursor: \"\"\nschedules:\n"
      "- {name: \"nightly\", tube: \"reports\", cron: \"0,30 3 * * *\", zone: \"Europe/Berlin\", "
      "state: active, refused: true, refused-because: \"jobs_max\", next: "
      "\"2026-03-29T01:00:00.000Z\", last-planned: \"\", last-fired: \"\", last-job: 12, "
      "last-job-state: \"\", fired: 1234, skipped: 1, "
      "missed-times: 2}\n"
      "- {name: \"ping\", tube: \"default\", every: 90, anchor: \"1970-01-01T00:00:00.000Z\", "
      "state: active, refused: true, next: \"2026-03-29T01:00:00.250Z\", last-planned: \"\", "
      "last-fired: \"\", last-job: 13, last-job-state: \"ready\", fired: 1, skipped: 0, "
      "missed-times: 0}\n"
      "- {name: \"once\", tube: \"default\", at: \"2026-03-29T07:00:00.000Z\", state: over, "
      "refused: false, next: \"\", last-planned: \"\", last-fired: \"\", last-job: 0, "
      "last-job-state: \"\", fired: 0, skipped: 0, missed-times: 0}\n",
      "schedules");
  ASSERT_TRUE(listing.ok()) << listing.status().message();
  EXPECT_EQ(listing->cursor, "");
  EXPECT_EQ(
      schedules_table(listing->rows),
      "NAME     TUBE     WHEN                     ZONE           STATE                       NEXT"
      "                      LAST JOB  FIRED  SKIPPED  MISSED\n"
      "nightly  reports  0,30 3 * * *             Europe/Berlin  active (refused: jobs_max)  "
      "2026-03-29T01:00:00Z      12 gone   1,234        1       2\n"
      "ping     default  every 1m30s              -              active (refused)            "
      "2026-03-29T01:00:00.250Z  13 ready      1        0       0\n"
      "once     default  at 2026-03-29T07:00:00Z  -              over                        -    "
      "                     -             0        0       0\n")
      << "ping: an earlier version";
}

TEST(SchedulesTable, OfNoneIsTheHeading) {
  const auto listing = parse_named_listing("---\ncursor: \"\"\nschedules: []\n", "schedules");
  ASSERT_TRUE(listing.ok()) << listing.status().message();
  EXPECT_EQ(schedules_table(listing->rows),
            "NAME  TUBE  WHEN  ZONE  STATE  NEXT  LAST JOB  FIRED  SKIPPED  MISSED\n");
}

TEST(NamedListing, RefusesWhatIsNone) {
  const std::string bad[] = {"",
                             "---\ncursor: a\nschedules: []\n",
                             "---\ncursor: \"a\nschedules:",
                             "---\ncursor: \"\"\nother: []\n",
                             "---\ncursor: \"\"\nschedules:\n- name: a\n",
                             "---\ncursor: \"\"\nschedules:\n- {name}\n"};
  for (const std::string& document : bad) {
    const auto listing = parse_named_listing(document, "schedules");
    EXPECT_FALSE(listing.ok()) << document;
  }
}

}  // namespace
}  // namespace perennial::tool
