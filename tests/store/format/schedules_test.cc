#include <functional>
#include <ostream>
#include <random>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <xxhash.h>

#include "store/format/bytes.h"
#include "store/format/fields.h"
#include "store/format/format.h"
#include "tests/store/random_fields.h"
#include "tests/support/seed.h"

// The rows of schedules: the bytes, each kind of damage, and each limit.
namespace perennial::store {
namespace {

std::string hex(std::string_view bytes) {
  std::string out;
  for (const char byte : bytes) out += fmt::format("{:02x}", static_cast<uint8_t>(byte));
  return out;
}

Schedule schedule_of(ScheduleWhen when = ScheduleAt{258}) {
  return {.name = "nightly", .tube = "mail", .when = std::move(when), .put = {}, .missed_max = 0};
}

std::string fields_of(const Schedule& schedule) {
  std::string out;
  add_fields(schedule, out);
  return out;
}
// The fields behind those that every schedule has.
std::string further(const std::function<void(Schedule&)>& change) {
  Schedule schedule = schedule_of();
  change(schedule);
  std::string out = fields_of(schedule);
  const std::string common = fields_of(schedule_of());
  EXPECT_TRUE(out.ends_with(common) || out.starts_with(common));
  return out.starts_with(common) ? out.substr(common.size())
                                 : out.substr(0, out.size() - common.size());
}
std::string option(const std::function<void(PutOptions&)>& change) {
  return further([&](Schedule& schedule) { change(schedule.put.options.make()); });
}

ScheduleProgress some_progress() {
  return {.planned = 0x0102030405060708,
          .last_planned = 0x1112131415161718,
          .last_fired = 0x2122232425262728,
          .last_job = 0x3132333435363738,
          .fired = 0x4142434445464748,
          .skipped = 0x5152535455565758,
          .missed = 0x6162636465666768,
          .state = ScheduleState::Active,
          .is_paused = true};
}

std::string row_of(const ScheduleProgress& progress) {
  return std::string(view(encode(progress)));
}

// Every existing data directory depends on these bytes. A change that makes this test fail needs a
// new format version.
struct PinCase {
  const char* name;
  std::string bytes;
  const char* want;
};

void PrintTo(const PinCase& pin, std::ostream* out) {
  *out << pin.name;
}

class PinnedSchedule : public testing::TestWithParam<PinCase> {};

TEST_P(PinnedSchedule, Bytes) {
  EXPECT_EQ(hex(GetParam().bytes), GetParam().want);
}

INSTANTIATE_TEST_SUITE_P(
    Format, PinnedSchedule,
    testing::Values(
        PinCase{"DefinitionKey", schedule_key(ScheduleTag::Definition, "nightly"),
                "646e696768746c79"},
        PinCase{"ProgressKey", schedule_key(ScheduleTag::Progress, "nightly"), "706e696768746c79"},
        PinCase{"Progress", row_of(some_progress()),
                "0101010000000000080706050403020118171615141312112827262524232221"
                "3837363534333231484746454443424158575655545352516867666564636261"},
        PinCase{"ProgressThatIsOver", row_of({.state = ScheduleState::Over}),
                "0102000000000000000000000000000000000000000000000000000000000000"
                "0000000000000000000000000000000000000000000000000000000000000000"},
        PinCase{"ProgressWithoutItsZone", row_of({.state = ScheduleState::NoZone}).substr(0, 8),
                "0103000000000000"},
        PinCase{"At", fields_of(schedule_of()), "1504006d61696c1908000201000000000000"},
        PinCase{"Every", fields_of(schedule_of(ScheduleEvery{258, 3})),
                "1504006d61696c16100002010000000000000300000000000000"},
        PinCase{"Cron", fields_of(schedule_of(ScheduleCron{"@daily", "UTC"})),
                "1504006d61696c170600406461696c79180300555443"},
        PinCase{"Priority", further([](Schedule& one) { one.put.priority = 258; }),
                "1a040002010000"},
        PinCase{"Delay", further([](Schedule& one) { one.put.delay_s = 258; }), "1b040002010000"},
        PinCase{"Ttr", further([](Schedule& one) { one.put.ttr_s = 258; }), "1c040002010000"},
        PinCase{"MissedMax", further([](Schedule& one) { one.missed_max = 258; }),
                "1d040002010000"},
        PinCase{"OverlapSkip", further([](Schedule& one) { one.overlap = ScheduleOverlap::Skip; }),
                "1e010001"},
        PinCase{"OverlapReplace",
                further([](Schedule& one) { one.overlap = ScheduleOverlap::Replace; }), "1e010002"},
        PinCase{"Jitter", further([](Schedule& one) { one.jitter = 258; }),
                "1f08000201000000000000"},
        PinCase{"Tries", option([](PutOptions& put) { put.tries = TriesOption{258}; }),
                "02040002010000"},
        PinCase{"Backoff", option([](PutOptions& put) {
                  put.backoff = Backoff{.first = 2 * nanos_per_ms, .cap = nanos_per_second};
                }),
                "03100080841e000000000000ca9a3b00000000"},
        PinCase{"Dead", option([](PutOptions& put) { put.dead = "abc"; }), "040300616263"},
        PinCase{"Expires", option([](PutOptions& put) { put.expire.nanos = 258; }),
                "0608000201000000000000"},
        PinCase{"Key", option([](PutOptions& put) {
                  put.key = KeyOption{"abc", 258};
                }),
                "0708000201000000616263"},
        PinCase{"KeyUntil", option([](PutOptions& put) {
                  put.key = KeyOption{"abc", 258};
                  put.until = KeyUntil::Deleted;
                }),
                "0708000201000001616263"},
        PinCase{"Concurrency", option([](PutOptions& put) {
                  put.concurrency = ConcurrencyKey{"a", 3};
                }),
                "0805000300000061"},
        PinCase{"Rests", option([](PutOptions& put) { put.ttr_rest_ns = nanos_per_ms; }),
                "0a08000000000040420f00"},
        PinCase{"OptionsWithoutAValue", option([](PutOptions& /*put*/) {}), ""},
        PinCase{"Definition",
                [] {
                  Schedule schedule = schedule_of();
                  schedule.put.body_bytes = 2;
                  return encode(schedule, "hi");
                }(),
                "01000000120000001504006d61696c1908000201000000000000686948407c33bd97c4e3"}),
    [](const auto& one) { return one.param.name; });

TEST(ScheduleRows, DecodeToThemselves) {
  std::mt19937_64 random(support::seed());
  for (int i = 0; i < 2000; ++i) {
    const std::string name(1 + random() % schedule_name_bytes_max, 'n');
    const std::string body(random() % 3 == 0 ? 0 : random() % 1000, 'b');
    Schedule schedule = random_schedule(random, name);
    schedule.put.body_bytes = static_cast<uint32_t>(body.size());
    const std::string row = encode(schedule, body);
    const Result<StoredSchedule> back =
        decode_schedule(schedule_key(ScheduleTag::Definition, name), row);
    ASSERT_TRUE(back.ok()) << back.status().message();
    ASSERT_EQ(back->schedule, schedule);
    ASSERT_EQ(back->body, body);
    ASSERT_EQ(encode(back->schedule, back->body), row);
    const ScheduleProgress progress = random_progress(random);
    const Result<ScheduleProgress> now =
        decode_schedule_progress(schedule_key(ScheduleTag::Progress, name), row_of(progress));
    ASSERT_TRUE(now.ok()) << now.status().message();
    ASSERT_EQ(*now, progress);
  }
}

// The schedule with the longest values of all fits.
TEST(ScheduleRows, HaveTheLongestValues) {
  const std::string longest(tube_name_bytes_max, 'n');
  const std::string key(key_bytes_max, 'k');
  Schedule schedule = {.name = longest,
                       .tube = longest,
                       .when = ScheduleCron{std::string(500, '*'), std::string(64, 'Z')},
                       .put = {UINT32_MAX, UINT32_MAX, UINT32_MAX, 0},
                       .missed_max = schedule_missed_limit,
                       .overlap = ScheduleOverlap::Replace,
                       .jitter = field_duration_max};
  PutOptions& options = schedule.put.options.make();
  options.tries = TriesOption{tries_max};
  options.backoff = Backoff{.first = field_duration_max, .cap = field_duration_max};
  options.dead = longest;
  options.expire.nanos = field_duration_max;
  options.key = KeyOption{key, UINT32_MAX};
  options.until = KeyUntil::Ttl;
  options.concurrency = ConcurrencyKey{key, UINT32_MAX};
  options.delay_rest_ns = options.ttr_rest_ns = 999 * nanos_per_ms;
  EXPECT_EQ(problem(schedule), "");
  const auto back =
      decode_schedule(schedule_key(ScheduleTag::Definition, longest), encode(schedule, ""));
  ASSERT_TRUE(back.ok()) << back.status().message();
  EXPECT_EQ(back->schedule, schedule);
}

struct ProblemCase {
  const char* name;
  std::function<void(Schedule&)> change;
  const char* want;
};

void PrintTo(const ProblemCase& one, std::ostream* out) {
  *out << one.name;
}

class InvalidSchedule : public testing::TestWithParam<ProblemCase> {};

TEST_P(InvalidSchedule, IsNamed) {
  Schedule schedule = schedule_of(ScheduleEvery{1, 0});
  ASSERT_EQ(problem(schedule), "");
  GetParam().change(schedule);
  EXPECT_EQ(problem(schedule), GetParam().want);
}

using S = Schedule;

INSTANTIATE_TEST_SUITE_P(
    Format, InvalidSchedule,
    testing::Values(
        ProblemCase{"NoName", [](S& one) { one.name.clear(); }, "schedule without a name"},
        ProblemCase{"LongName", [](S& one) { one.name.assign(201, 'n'); },
                    "schedule name too long"},
        ProblemCase{"NoTube", [](S& one) { one.tube.clear(); }, "tube without a name"},
        ProblemCase{"LongTube", [](S& one) { one.tube.assign(201, 'n'); }, "tube name too long"},
        ProblemCase{"NoPeriod",
                    [](S& one) {
                      one.when = ScheduleEvery{0, 1};
                    },
                    "period out of range"},
        ProblemCase{"LongPeriod",
                    [](S& one) {
                      one.when = ScheduleEvery{field_duration_max + 1, 1};
                    },
                    "period out of range"},
        ProblemCase{"NoAnchor",
                    [](S& one) {
                      one.when = ScheduleEvery{1, {}};
                    },
                    "a period without an anchor"},
        ProblemCase{"EarlyAnchor",
                    [](S& one) {
                      one.when = ScheduleEvery{1, -1};
                    },
                    "anchor before the epoch"},
        ProblemCase{"NoExpression",
                    [](S& one) {
                      one.when = ScheduleCron{"", "UTC"};
                    },
                    "no cron expression"},
        ProblemCase{"NoZone",
                    [](S& one) {
                      one.when = ScheduleCron{"@daily", ""};
                    },
                    "a cron expression without a zone"},
        ProblemCase{"LongExpression",
                    [](S& one) {
                      one.when = ScheduleCron{std::string(2048, '*'), "UTC"};
                    },
                    "the fields are too long"},
        ProblemCase{"EarlyTime", [](S& one) { one.when = ScheduleAt{-1}; },
                    "a schedule for a time before the epoch"},
        ProblemCase{"MissedMax", [](S& one) { one.missed_max = schedule_missed_limit + 1; },
                    "a number of missed times out of range"},
        ProblemCase{"NegativeJitter", [](S& one) { one.jitter = -1; }, "jitter out of range"},
        ProblemCase{"LongJitter", [](S& one) { one.jitter = field_duration_max + 1; },
                    "jitter out of range"},
        ProblemCase{"TubeOfTheOptions", [](S& one) { one.put.options.make().tube = "t"; },
                    "a tube in the options of a schedule"},
        ProblemCase{"NoTries", [](S& one) { one.put.options.make().tries = TriesOption{0}; },
                    "tries out of range"},
        ProblemCase{"TooManyTries",
                    [](S& one) { one.put.options.make().tries = TriesOption{tries_max + 1}; },
                    "tries out of range"},
        ProblemCase{"LongDead", [](S& one) { one.put.options.make().dead.assign(201, 'd'); },
                    "name of the dead tube too long"},
        ProblemCase{"NegativeExpire", [](S& one) { one.put.options.make().expire.nanos = -1; },
                    "expire out of range"},
        ProblemCase{"UntilWithoutAKey",
                    [](S& one) { one.put.options.make().until = KeyUntil::Reserved; },
                    "an end of a key without the key"},
        ProblemCase{"KeyForNoTime",
                    [](S& one) {
                      one.put.options.make().key = KeyOption{"k"};
                      one.put.options->until = KeyUntil::Ttl;
                    },
                    "a key for no time"},
        ProblemCase{"EmptyKey", [](S& one) { one.put.options.make().key = KeyOption{""}; },
                    "the job's key is empty or too long"},
        ProblemCase{"ConcurrencyForNoJob",
                    [](S& one) {
                      one.put.options.make().concurrency = ConcurrencyKey{"k", 0};
                    },
                    "a concurrency key for no job"},
        ProblemCase{"Backoff",
                    [](S& one) { one.put.options.make().backoff = Backoff{.first = 2, .cap = 1}; },
                    "back-off out of range"},
        ProblemCase{"Rest", [](S& one) { one.put.options.make().ttr_rest_ns = 1; },
                    "a rest that is no whole number of milliseconds"}),
    [](const auto& one) { return one.param.name; });

struct ProgressCase {
  const char* name;
  std::function<void(ScheduleProgress&)> change;
  const char* want;
};

void PrintTo(const ProgressCase& one, std::ostream* out) {
  *out << one.name;
}

class InvalidProgress : public testing::TestWithParam<ProgressCase> {};

TEST_P(InvalidProgress, IsNamed) {
  ScheduleProgress progress = some_progress();
  ASSERT_EQ(problem(progress), "");
  GetParam().change(progress);
  EXPECT_EQ(problem(progress), GetParam().want);
}

using P = ScheduleProgress;

INSTANTIATE_TEST_SUITE_P(
    Format, InvalidProgress,
    testing::Values(
        ProgressCase{"ActiveWithoutATime", [](P& one) { one.planned.reset(); },
                     "an active schedule without a next time"},
        ProgressCase{"OverWithATime", [](P& one) { one.state = ScheduleState::Over; },
                     "a next time of a schedule that has none"},
        ProgressCase{"NoZoneWithATime", [](P& one) { one.state = ScheduleState::NoZone; },
                     "a next time of a schedule that has none"},
        ProgressCase{"EarlyTime", [](P& one) { one.planned = -1; }, "a next time before the epoch"},
        ProgressCase{"EarlyLastTime", [](P& one) { one.last_planned = -1; },
                     "the last planned time is before the epoch"},
        ProgressCase{"EarlyLastPut", [](P& one) { one.last_fired = -1; },
                     "the last job was put before the epoch"}),
    [](const auto& one) { return one.param.name; });

// Rows that are wrong are refused, and the message names the family and the key.
struct RowCase {
  const char* name;
  std::function<Status()> read;
  const char* want;
};

void PrintTo(const RowCase& one, std::ostream* out) {
  *out << one.name;
}

class RefusedScheduleRow : public testing::TestWithParam<RowCase> {};

TEST_P(RefusedScheduleRow, NamesFamilyAndKey) {
  const Status status = GetParam().read();
  EXPECT_EQ(status.code(), StatusCode::Corruption);
  EXPECT_EQ(status.message(), GetParam().want);
}

// The row of a schedule, with some bytes replaced and the hash made right.
std::function<Status()> definition(size_t at, std::string bytes) {
  return [=] {
    std::string row = encode(schedule_of(), "");
    row.resize(row.size() - 8);
    row.replace(at, bytes.size(), bytes);
    const std::string key = schedule_key(ScheduleTag::Definition, "nightly");
    Bytes<8> hash;
    put(hash.data(),
        XXH3_64bits_withSeed(row.data(), row.size(), XXH3_64bits(key.data(), key.size())));
    return decode_schedule(key, row + std::string(view(hash))).status();
  };
}
std::function<Status()> definition_as(std::string key, std::string row) {
  return [=] { return decode_schedule(key, row).status(); };
}
std::function<Status()> progress(size_t at, std::string bytes) {
  return [=] {
    std::string row = row_of(some_progress());
    row.replace(at, bytes.size(), bytes);
    return decode_schedule_progress("pn", row).status();
  };
}
std::function<Status()> progress_as(std::string key, std::string row) {
  return [=] { return decode_schedule_progress(key, row).status(); };
}

INSTANTIATE_TEST_SUITE_P(
    Format, RefusedScheduleRow,
    testing::Values(
        RowCase{"NoKey", definition_as("", ""), "schedules, key : unknown key"},
        RowCase{"AnotherTag", definition_as("pn", encode(schedule_of(), "")),
                "schedules, key 706e: unknown key"},
        RowCase{"NoName", definition_as("d", encode(schedule_of(), "")),
                "schedules, key 64: schedule without a name"},
        RowCase{"Short", definition_as("dn", std::string(15, '\1')),
                "schedules, key 646e: wrong length"},
        RowCase{"AnotherName", definition_as("dn", encode(schedule_of(), "")),
                "schedules, key 646e: the hash does not fit the schedule"},
        RowCase{"UnknownFormat", definition(0, "\2"),
                "schedules, key 646e696768746c79: unknown row format"},
        RowCase{"Unused", definition(3, "\1"),
                "schedules, key 646e696768746c79: unused bytes are not zero"},
        RowCase{"FieldsTooLong", definition(4, "\x13"),
                "schedules, key 646e696768746c79: the fields go beyond the end"},
        RowCase{"FieldsCutOff", definition(4, "\x11"),
                "schedules, key 646e696768746c79: a field is cut off"},
        RowCase{"NoFields", definition(4, std::string(1, '\0')),
                "schedules, key 646e696768746c79: a field without a value"},
        RowCase{"WithoutATime", definition(4, "\7"),
                "schedules, key 646e696768746c79: a field without a value"},
        RowCase{"UnknownField", definition(8, "\x20"),
                "schedules, key 646e696768746c79: field 32 is unknown"},
        RowCase{"AFieldOfJobs", definition(8, "\1"),
                "schedules, key 646e696768746c79: field 1 is unknown"},
        RowCase{"OutOfOrder", definition(15, "\x14"),
                "schedules, key 646e696768746c79: field 20 is out of order"},
        RowCase{"EarlyTime", definition(25, "\xff"),
                "schedules, key 646e696768746c79: a schedule for a time before the epoch"},
        RowCase{"ProgressOfAnotherTag", progress_as("dn", row_of(some_progress())),
                "schedules, key 646e: unknown key"},
        RowCase{"ProgressOfAnotherLength", progress_as("pn", row_of(some_progress()) + "x"),
                "schedules, key 706e: wrong length"},
        RowCase{"ProgressOfAnotherFormat", progress(0, "\2"),
                "schedules, key 706e: unknown row format"},
        RowCase{"ProgressInNoState", progress(1, std::string(1, '\0')),
                "schedules, key 706e: a schedule in an unknown state"},
        RowCase{"ProgressInAnUnknownState", progress(1, "\4"),
                "schedules, key 706e: a schedule in an unknown state"},
        RowCase{"PausedTwice", progress(2, "\2"),
                "schedules, key 706e: it is neither paused nor not"},
        RowCase{"UnusedInAProgress", progress(7, "\1"),
                "schedules, key 706e: unused bytes are not zero"},
        RowCase{"OverWithATime", progress(1, "\2"),
                "schedules, key 706e: unused bytes are not zero"},
        RowCase{"PlannedBeforeTheEpoch", progress(15, "\xff"),
                "schedules, key 706e: a next time before the epoch"}),
    [](const auto& one) { return one.param.name; });

// The hash finds each byte that has changed, those of the body, too.
TEST(ScheduleRows, EveryFlippedByteOfADefinitionIsRefused) {
  Schedule schedule = schedule_of();
  schedule.put.body_bytes = 5;
  const std::string row = encode(schedule, "hello");
  const std::string key = schedule_key(ScheduleTag::Definition, "nightly");
  for (size_t at = 0; at < row.size(); ++at) {
    for (const int flip : {1, 0x80, 0xff}) {
      std::string flipped = row;
      flipped[at] = static_cast<char>(flipped[at] ^ flip);
      EXPECT_EQ(decode_schedule(key, flipped).status().code(), StatusCode::Corruption) << at;
    }
    EXPECT_FALSE(decode_schedule(key, row.substr(0, at)).ok()) << at;
  }
}

TEST(ScheduleRowsDeathTest, OnlyValidOnesAreWritten) {
  EXPECT_DEATH(encode(schedule_of(ScheduleEvery{1, {}}), ""), "check_failed");
  EXPECT_DEATH(encode(schedule_of(), "a body of another length"), "check_failed");
  EXPECT_DEATH(encode(ScheduleProgress{}), "check_failed");
}

}  // namespace
}  // namespace perennial::store
