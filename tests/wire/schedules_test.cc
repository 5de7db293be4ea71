// The lines of schedules, as a client writes them and the server reads them, and what replies show.
// It is blind to calendars: whether an expression or a zone is one, core asks.

#include <cstdint>
#include <limits>
#include <string>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "tests/wire/describe.h"
#include "wire/client.h"
#include "wire/format.h"
#include "wire/parser.h"
#include "wire/schedule_text.h"
#include "wire/time_text.h"

namespace perennial::wire {
namespace {

constexpr Nanos some_time = 1'795'748'740'127 * nanos_per_ms;  // 2026-11-27T03:05:40.127Z

Command parse(const std::string& options, ExtensionSet allowed = ExtensionSet::all()) {
  const std::string bytes = "set-schedule s 1 2 3 4 " + options + "\r\nbody\r\n";
  Parser parser(100, allowed);
  Step step = parser.feed({bytes.data(), bytes.size()});
  EXPECT_EQ(step.consumed, bytes.size());
  const bool is_set = std::holds_alternative<SetSchedule>(*step.command);
  EXPECT_EQ(step.body.view(), is_set ? "body" : "");
  return std::move(*step.command);
}

struct OptionsCase {
  std::string name;
  std::string options;
  bool is_good;
};

class SetScheduleTest : public testing::TestWithParam<OptionsCase> {};

TEST_P(SetScheduleTest, ReadsItsOptions) {
  const Command command = parse(GetParam().options);
  if (GetParam().is_good) {
    EXPECT_TRUE(std::holds_alternative<SetSchedule>(command));
  } else {
    const auto* const refused = std::get_if<ScheduleRefused>(&command);
    ASSERT_NE(refused, nullptr);
    EXPECT_EQ(refused->why, ScheduleRefused::Why::BadFormat);
  }
}

const std::vector<OptionsCase> options_cases = {
    {"Every", "every:60", true},
    {"EveryOfMilliseconds", "every:1500ms", true},
    {"EveryTooShort", "every:999ms", false},
    {"EveryZero", "every:0", false},
    {"Cron", "cron:30_2_*_*_1-5", true},
    {"CronOfOneWord", "cron:@daily", true},
    {"CronEmpty", "cron:", false},
    {"CronTooLong", "cron:" + std::string(201, '*'), false},
    {"CronWithZone", "cron:@daily zone:America/Argentina/Buenos_Aires", true},
    {"At", "at:2026-11-27T03:05:40Z", true},
    {"AtWithOffsetAndFraction", "at:2026-11-27T03:05:40.5+05:30", true},
    {"AtWithoutOffset", "at:2026-11-27T03:05:40", false},
    {"AtBeforeTheEpoch", "at:1969-12-31T23:59:59Z", false},
    {"AtTooLate", "at:2263-01-01T00:00:00Z", false},
    {"AtForEver", "at:infinite-future", false},
    {"Nothing", "", false},
    {"NoTimes", "tube:t", false},
    {"TwoKinds", "every:60 cron:@daily", false},
    {"AllKinds", "every:60 cron:@daily at:2026-11-27T03:05:40Z", false},
    {"EveryWithAnchor", "every:60 anchor:2026-11-27T00:00:00Z", true},
    {"AnchorWithoutEvery", "cron:@daily anchor:2026-11-27T00:00:00Z", false},
    {"ZoneWithoutCron", "every:60 zone:UTC", false},
    {"MissedNone", "every:60 missed:none", true},
    {"MissedAll", "every:60 missed:all", true},
    {"MissedNumber", "every:60 missed:1000", true},
    {"MissedTooMany", "every:60 missed:1001", false},
    {"MissedOther", "every:60 missed:some", false},
    {"OverlapSkip", "every:60 overlap:skip", true},
    {"OverlapOther", "every:60 overlap:never", false},
    {"Jitter", "every:60 jitter:30", true},
    {"JitterZero", "every:60 jitter:0", false},
    {"Paused", "every:60 paused:yes", true},
    {"PausedOther", "every:60 paused:1", false},
    {"OptionsOfAPut",
     "every:60 tube:t tries:3 backoff:5:60 dead:d expire:9 idp:k:9 until:ttl con:c:2", true},
    {"UntilWithoutKey", "every:60 until:ttl", false},
    {"Twice", "every:60 every:61", false},
    {"Unknown", "every:60 colour:red", false},
    {"Junk", "every:60 x", false},
    {"TwoSpaces", "every:60  jitter:5", false},
};

INSTANTIATE_TEST_SUITE_P(Wire, SetScheduleTest, testing::ValuesIn(options_cases),
                         [](const auto& tested) { return tested.param.name; });

// All fields of a schedule, each with a value that is not its default.
Schedule full(ScheduleWhen when) {
  PutOptions options = {.tube = {},
                        .tries = TriesOption{3},
                        .backoff = Backoff{.first = nanos_per_second, .cap = 2 * nanos_per_second},
                        .dead = "dead",
                        .expire = {{90 * nanos_per_second}},
                        .key = KeyOption{"k", 9},
                        .until = KeyUntil::Ttl,
                        .concurrency = ConcurrencyKey{"c", 2},
                        .delay_rest_ns = 500'000'000,
                        .ttr_rest_ns = 250'000'000};
  return {.name = "nightly",
          .tube = "mail",
          .when = std::move(when),
          .put = {.priority = 1, .delay_s = 2, .ttr_s = 3, .body_bytes = 4, .options = options},
          .missed_max = 7,
          .overlap = ScheduleOverlap::Replace,
          .jitter = 1500 * nanos_per_ms};
}

TEST(SetSchedule, SaysAgainWhatWasSet) {
  const std::vector<ScheduleWhen> kinds = {
      ScheduleEvery{60 * nanos_per_second}, ScheduleEvery{1500 * nanos_per_ms, some_time},
      ScheduleCron{"30 2 * * 1-5", "Europe/Berlin"}, ScheduleAt{some_time}};
  for (const ScheduleWhen& when : kinds) {
    for (const std::optional<bool> is_paused : {std::optional<bool>(), std::optional(true)}) {
      const Schedule schedule = full(when);
      std::string bytes;
      append_command(bytes, set_schedule(schedule, is_paused), "body");
      Parser parser(100);
      const Step step = parser.feed({bytes.data(), bytes.size()});
      ASSERT_TRUE(step.command && std::holds_alternative<SetSchedule>(*step.command)) << bytes;
      const auto& read = std::get<SetSchedule>(*step.command);
      EXPECT_EQ(schedule_of(read, "used"), schedule) << bytes;
      EXPECT_EQ(read.options->paused.has_value(), is_paused.has_value());
    }
  }
}

TEST(SetSchedule, IsWrittenAsTheDocumentsShowIt) {
  std::string bytes;
  append_command(bytes, set_schedule(full(ScheduleCron{"30 2 * * 1-5", "Europe/Berlin"}), true),
                 "body");
  EXPECT_EQ(bytes,
            "set-schedule nightly 1 2500ms 3250ms 4 cron:30_2_*_*_1-5 zone:Europe/Berlin missed:7 "
            "overlap:replace jitter:1500ms paused:yes tube:mail tries:3 backoff:1:2 dead:dead "
            "expire:90 idp:k:9 until:ttl con:c:2\r\nbody\r\n");
}

TEST(SetSchedule, TakesTheUsedTubeAndUtcWhereNoneIsNamed) {
  const Command command = parse("cron:@daily");
  const Schedule schedule = schedule_of(std::get<SetSchedule>(command), "used");
  EXPECT_EQ(schedule.tube, "used");
  EXPECT_EQ(schedule.when, ScheduleWhen(ScheduleCron{"@daily", "UTC"}));
  EXPECT_EQ(schedule.missed_max, 1u);
  EXPECT_EQ(schedule.overlap, ScheduleOverlap::Allow);
  EXPECT_FALSE(schedule.put.options);
}

// So its body does not run as commands.
TEST(SetSchedule, WithABadNameDropsItsBody) {
  for (const std::string& name :
       {std::string("a:b"), std::string("-a"), std::string("a\"b"), std::string(201, 'a'),
        std::string("\xc3\xa4"), std::string("a,b"), std::string()}) {
    const std::vector<std::string> read =
        describe_all({"set-schedule " + name + " 1 2 3 6 every:60\r\nuse q\n\r\nquit\r\n"}, 100);
    EXPECT_EQ(read, (std::vector<std::string>{"set-schedule bad", "quit"})) << name;
  }
}

// Its body would otherwise run as commands.
TEST(SetSchedule, IsUnknownWithoutTheExtension) {
  const std::vector<std::string> read = describe_all(
      {"set-schedule s 1 2 3 4 every:60\r\nquit\r\n"}, 100, SIZE_MAX, ExtensionSet::probe());
  EXPECT_EQ(read, (std::vector<std::string>{"unknown", "quit"}));
}

TEST(TimeText, IsReadAsItIsWritten) {
  EXPECT_EQ(utc_text(some_time), "2026-11-27T03:05:40.127Z");
  EXPECT_EQ(read_time("2026-11-27T03:05:40.127Z"), some_time);
  EXPECT_EQ(read_time("2026-11-27T08:35:40.127+05:30"), some_time);
  EXPECT_EQ(read_time("1970-01-01T00:00:00Z"), 0);
  EXPECT_EQ(utc_text_if_known(0), "");
  for (const char* const bad :
       {"", " ", "now", "2026-11-27", "2026-11-27T03:05Z", "2026-13-27T03:05:40Z",
        "2026-02-30T03:05:40Z", " 2026-11-27T03:05:40Z", "2026-11-27T03:05:40Z ",
        "infinite-past"}) {
    EXPECT_EQ(read_time(bad), std::nullopt) << bad;
  }
}

ScheduleSeen seen_schedule() {
  return {.schedule = full(ScheduleCron{"30 2 * * 1-5", "Europe/Berlin"}),
          .progress = {.planned = some_time,
                       .last_planned = some_time - nanos_per_second,
                       .last_fired = some_time,
                       .last_job = 9,
                       .fired = 5,
                       .skipped = 6,
                       .missed = 7,
                       .is_paused = true},
          .offset = nanos_per_second,
          .refusal = PutRefusal::Jobs,
          .last_job_state = JobState::Buried};
}

std::string text_of(const Reply& reply) {
  std::string text;
  append_reply(text, reply);
  return text;
}

TEST(ScheduleText, ShowsWhatIsSetAndHowFarItIs) {
  EXPECT_EQ(schedule_yaml(seen_schedule()),
            "---\nname: \"nightly\"\ntube: \"mail\"\ncron: \"30 2 * * 1-5\"\nzone: "
            "\"Europe/Berlin\"\npri: 1\ndelay: 2500ms\nttr: 3250ms\nbytes: 4\ntries: 3\nbackoff: "
            "\"1:2\"\ndead: \"dead\"\nexpire: 90\nidp: \"k:9\"\nuntil: ttl\ncon: \"c:2\"\nmissed: "
            "7\noverlap: replace\njitter: 1500ms\npaused: true\nstate: paused\nrefused: "
            "true\nrefused-because: \"jobs_max\"\nplanned: \"2026-11-27T03:05:40.127Z\"\nnext: "
            "\"2026-11-27T03:05:41.127Z\"\nlast-planned: "
            "\"2026-11-27T03:05:39.127Z\"\nlast-fired: \"2026-11-27T03:05:40.127Z\"\nlast-job: "
            "9\nlast-job-state: \"buried\"\nfired: 5\nskipped: 6\nmissed-times: 7\n");
}

TEST(ScheduleText, OfOneThatIsNewHasNoEmptyOptions) {
  const ScheduleSeen seen = {
      .schedule = {.name = "s",
                   .tube = "t",
                   .when = ScheduleEvery{60 * nanos_per_second, some_time},
                   .put = {.priority = 0, .delay_s = 0, .ttr_s = 60, .body_bytes = 0}},
      .progress = {.state = ScheduleState::Over}};
  EXPECT_EQ(schedule_yaml(seen),
            "---\nname: \"s\"\ntube: \"t\"\nevery: 60\nanchor: "
            "\"2026-11-27T03:05:40.127Z\"\npri: 0\ndelay: 0\nttr: 60\nbytes: 0\nmissed: "
            "one\noverlap: allow\njitter: 0\npaused: false\nstate: over\nrefused: false\n"
            "refused-because: \"\"\nplanned: \"\"\nnext: \"\"\nlast-planned: \"\"\nlast-fired: "
            "\"\"\nlast-job: "
            "0\nlast-job-state: \"\"\nfired: 0\nskipped: 0\nmissed-times: 0\n");
}

TEST(ScheduleText, OfAListIsALineForEach) {
  EXPECT_EQ(schedules_yaml({}), "---\ncursor: \"\"\nschedules: []\n");
  ScheduleList list = {.cursor = "nightly"};
  list.schedules.push_back(seen_schedule());
  EXPECT_EQ(schedules_yaml(list),
            "---\ncursor: \"nightly\"\nschedules:\n- {name: \"nightly\", tube: \"mail\", cron: "
            "\"30 2 * * 1-5\", zone: \"Europe/Berlin\", state: paused, refused: true, "
            "refused-because: \"jobs_max\", next: "
            "\"2026-11-27T03:05:41.127Z\", last-planned: \"2026-11-27T03:05:39.127Z\", last-fired: "
            "\"2026-11-27T03:05:40.127Z\", last-job: 9, last-job-state: \"buried\", fired: 5, "
            "skipped: 6, missed-times: 7}\n");
}

TEST(ScheduleText, OfABodyIsItsBytes) {
  EXPECT_EQ(text_of(std::make_unique<ScheduleBody>(ScheduleBody{Body("a\r\nb")})),
            "OK 4\r\na\r\nb\r\n");
}

}  // namespace
}  // namespace perennial::wire
