#include "store/format/format.h"

#include <algorithm>
#include <array>
#include <functional>
#include <ostream>
#include <span>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace perennial::store {
namespace {

std::string hex(std::string_view bytes) {
  std::string out;
  for (const char byte : bytes) out += fmt::format("{:02x}", static_cast<uint8_t>(byte));
  return out;
}

JobRow some_job() {
  return {.id = 0x0102030405060708,
          .state = JobState::Buried,
          .tube = 0x11121314,
          .priority = 0x21222324,
          .delay_s = 0x31323334,
          .ttr_s = 0x41424344,
          .created = 0x5152535455565758,
          .order = 0x6162636465666768,
          .reserves = 0x71727374,
          .timeouts = 0x75767778,
          .releases = 0x797a7b7c,
          .buries = 0x01020304,
          .kicks = 0x05060708,
          .body_bytes = 0x0a0b0c0d};
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

class Pinned : public testing::TestWithParam<PinCase> {};

TEST_P(Pinned, Bytes) {
  EXPECT_EQ(hex(GetParam().bytes), GetParam().want);
}

std::string text(std::string_view bytes) {
  return std::string(bytes);
}

INSTANTIATE_TEST_SUITE_P(
    Format, Pinned,
    testing::Values(
        PinCase{"JobKey", text(view(job_key(0x0102030405060708))), "0102030405060708"},
        PinCase{"CommitKey", text(view(meta_key(MetaTag::Commit))), "63"},
        PinCase{"FormatVersionKey", text(view(meta_key(MetaTag::FormatVersion))), "66"},
        PinCase{"NextIdKey", text(view(meta_key(MetaTag::NextId))), "6e"},
        PinCase{"MigrationKey", text(view(meta_key(MetaTag::Migration))), "6d"},
        PinCase{"PauseKey", text(view(tube_key(MetaTag::Pause, 0x01020304))), "7001020304"},
        PinCase{"TubeKey", text(view(tube_key(MetaTag::Tube, 0x01020304))), "7401020304"},
        PinCase{"Job", text(view(encode(some_job()))),
                "01000000141312112423222134333231444342410d0c0b0a5857565554535251"
                "686766656463626174737271787776757c7b7a79040302010807060500000000"},
        PinCase{"FormatVersion", text(view(encode_format_version(format_version))),
                "0100000005000000"},
        PinCase{"Commit",
                text(view(encode(CommitRow{.epoch = 2, .index = 5, .known_durable = 4, .now = 9}))),
                "01000000000000000200000000000000050000000000000004000000000000000900000000000000"},
        PinCase{"Migration", encode(MigrationRow{258, "ab"}), "01000000020100006162"},
        PinCase{"DurableMark", text(view(encode(DurableMark{2, 5, 12, 258, 1 << 16}, 3))),
                "0100000000000000030000000000000002000000000000000500000000000000"
                "0c0000000000000002010000000000000000010000000000cf632be70ca863c2"},
        PinCase{"ClusterId", text(encode_cluster_id("ab-1")), "0161622d31"},
        PinCase{"NextId", text(view(encode_next_id(258))), "01000000000000000201000000000000"},
        PinCase{"Tube", encode(TubeStored{.tube = 1, .name = "mail"}), "016d61696c"},
        PinCase{"Pause", text(view(encode(TubePaused{.tube = 1, .pause = 2, .until = 3}))),
                "010000000000000002000000000000000300000000000000"},
        PinCase{"BodyHash", text(view(body_hash(7, "hello"))), "1b9e824eda3e681f"},
        PinCase{"EmptyBodyHash", text(view(body_hash(7, ""))), "b87e9b3e87e03a91"}),
    [](const auto& one) { return one.param.name; });

constexpr std::array<std::string_view, 6> families_of_format_1 = {"default", "ready",  "reserved",
                                                                  "delayed", "buried", "bodies"};

TEST(Format, FamilyNames) {
  EXPECT_EQ(family_names, (std::array<std::string_view, 11>{
                              "default", "ready", "reserved", "delayed", "buried", "bodies", "keys",
                              "notes", "ended", "ended_order", "schedules"}));
  EXPECT_EQ(name_of(Family::Meta), "meta");
  EXPECT_EQ(name_of(Family::Keys), "keys");
  EXPECT_EQ(name_of(Family::Notes), "notes");
}

// 1.0.0 wrote format 2, and reads what this version writes without notes.
TEST(Format, ThoseThatAreServed) {
  EXPECT_EQ(format_base, 2U);
  EXPECT_FALSE(is_served(1));
  EXPECT_TRUE(is_served(2));
  EXPECT_TRUE(is_served(3));
  EXPECT_TRUE(is_served(4));
  EXPECT_TRUE(is_served(5));
  EXPECT_FALSE(is_served(6));
  EXPECT_EQ(format_with_notes, 3U);
  EXPECT_EQ(format_with_ended, 4U);
  EXPECT_EQ(format_with_schedules, 5U);
}

TEST(Format, FamiliesOfEachFormat) {
  ASSERT_EQ(format_families.size(), format_version);
  EXPECT_TRUE(std::ranges::equal(families_of(1, format_families), families_of_format_1));
  EXPECT_TRUE(
      std::ranges::equal(families_of(2, format_families), std::span(family_names).first(7)));
  EXPECT_TRUE(
      std::ranges::equal(families_of(3, format_families), std::span(family_names).first(8)));
  EXPECT_TRUE(
      std::ranges::equal(families_of(4, format_families), std::span(family_names).first(10)));
  EXPECT_TRUE(std::ranges::equal(families_of(5, format_families), family_names));
  // A later format that is not in the table has the families of the last entry.
  EXPECT_TRUE(std::ranges::equal(families_of(6, format_families), family_names));
  constexpr std::array<std::string_view, 1> fewer = {"default"};
  const std::array<FamilyNames, 2> two = {FamilyNames(family_names), FamilyNames(fewer)};
  EXPECT_EQ(families_of(1, two).size(), family_count);
  EXPECT_EQ(families_of(2, two).size(), 1U);
  EXPECT_EQ(families_of(3, two).size(), 1U);
}

TEST(Format, EncodedRecordsDecodeToThemselves) {
  const JobRow job = some_job();
  EXPECT_EQ(*decode_job(job.state, view(job_key(job.id)), view(encode(job))), job);
  const CommitRow commit = {.epoch = 1, .index = 3, .known_durable = 2, .now = 4};
  EXPECT_EQ(*decode_commit(view(encode(commit))), commit);
  EXPECT_EQ(*decode_next_id(view(encode_next_id(12))), 12U);
  EXPECT_EQ(*decode_cluster_id(encode_cluster_id("an id")), "an id");
  EXPECT_EQ(*decode_format_version(view(encode_format_version(12))), 12U);
  const MigrationRow migration = {.to = 2, .progress = "so far"};
  EXPECT_EQ(*decode_migration(encode(migration)), migration);
  for (const std::string& bad :
       {std::string("\1\0\0", 3), std::string(8, '\1'), std::string(8, '\0')}) {
    EXPECT_EQ(decode_migration(bad).status().code(), StatusCode::Corruption);
  }
  const auto tube = decode_tube(view(tube_key(MetaTag::Tube, 9)), encode(TubeStored{9, "a"}));
  EXPECT_EQ(tube->tube, 9U);
  EXPECT_EQ(tube->name, "a");
  const auto pause =
      decode_pause(view(tube_key(MetaTag::Pause, 9)), view(encode(TubePaused{9, 5, 6})));
  EXPECT_EQ(pause->tube, 9U);
  EXPECT_EQ(pause->pause, 5);
  EXPECT_EQ(pause->until, 6);
}

TEST(Format, KeysSortAsIdsDo) {
  EXPECT_LT(view(job_key(255)), view(job_key(256)));
  EXPECT_LT(view(job_key(0x7fffffffffffffff)), view(job_key(0x8000000000000000)));
}

TEST(Format, ABodyIsBoundToItsId) {
  const std::string value = text(view(body_hash(7, "hello"))) + "hello";
  EXPECT_EQ(*decode_body(7, value), "hello");
  EXPECT_EQ(decode_body(8, value).status().code(), StatusCode::Corruption);
  EXPECT_EQ(decode_body(7, value + "!").status().code(), StatusCode::Corruption);
  EXPECT_EQ(decode_body(7, value.substr(0, 7)).status().code(), StatusCode::Corruption);
}

// A value that was read and is invalid is refused, and the message names the family and the key.
struct RefusalCase {
  const char* name;
  std::function<Status()> read;
  const char* want;
};

void PrintTo(const RefusalCase& refusal, std::ostream* out) {
  *out << refusal.name;
}

class Refused : public testing::TestWithParam<RefusalCase> {};

TEST_P(Refused, NamesFamilyAndKey) {
  const Status status = GetParam().read();
  EXPECT_EQ(status.code(), StatusCode::Corruption);
  EXPECT_EQ(status.message(), GetParam().want);
}

// A job's row in a family, with some bytes replaced.
std::function<Status()> job(JobState state, size_t at, std::string bytes) {
  return [=] {
    std::string value = text(view(encode(JobRow{.id = 1, .ttr_s = 1})));
    return decode_job(state, view(job_key(1)), value.replace(at, bytes.size(), bytes)).status();
  };
}

std::function<Status()> job_as(std::string key, std::string value) {
  return [=] { return decode_job(JobState::Ready, key, value).status(); };
}

std::function<Status()> commit(size_t at, std::string bytes) {
  return [=] {
    std::string value = text(view(encode(CommitRow())));
    return decode_commit(value.replace(at, bytes.size(), bytes)).status();
  };
}

std::function<Status()> tube(std::string key, std::string value) {
  return [=] { return decode_tube(key, value).status(); };
}

std::function<Status()> pause(std::string value) {
  return [=] { return decode_pause(view(tube_key(MetaTag::Pause, 1)), value).status(); };
}

std::string tube_one() {
  return text(view(tube_key(MetaTag::Tube, 1)));
}

INSTANTIATE_TEST_SUITE_P(
    Format, Refused,
    testing::Values(
        RefusalCase{"JobOfAnotherFormat", job(JobState::Ready, 0, "\x03"),
                    "ready, key 0000000000000001: unknown row format"},
        RefusalCase{"JobOfTheFormatWithFieldsWithoutAny", job(JobState::Ready, 0, "\x02"),
                    "ready, key 0000000000000001: wrong length"},
        RefusalCase{"JobWithUnusedByte", job(JobState::Reserved, 3, "x"),
                    "reserved, key 0000000000000001: unused bytes are not zero"},
        RefusalCase{"JobWithUnusedEnd", job(JobState::Delayed, 63, "x"),
                    "delayed, key 0000000000000001: unused bytes are not zero"},
        RefusalCase{"JobWithoutTtr", job(JobState::Buried, 16, std::string(4, '\0')),
                    "buried, key 0000000000000001: ttr is 0"},
        RefusalCase{"JobCreatedBeforeTheEpoch", job(JobState::Ready, 31, "\x80"),
                    "ready, key 0000000000000001: created before the epoch"},
        RefusalCase{"ReservedJobWithOrder", job(JobState::Reserved, 32, "x"),
                    "reserved, key 0000000000000001: order of a reserved job"},
        RefusalCase{"ReadyJobOutOfTime", job(JobState::Ready, 39, "\x80"),
                    "ready, key 0000000000000001: ready since out of range"},
        RefusalCase{"DelayedJobOutOfTime", job(JobState::Delayed, 39, "\x80"),
                    "delayed, key 0000000000000001: deadline out of range"},
        RefusalCase{"JobTooShort", job_as(text(view(job_key(1))), std::string(63, '\1')),
                    "ready, key 0000000000000001: wrong length"},
        RefusalCase{"JobTooLong", job_as(text(view(job_key(1))), std::string(65, '\1')),
                    "ready, key 0000000000000001: wrong length"},
        RefusalCase{"JobEmpty", job_as(text(view(job_key(1))), ""),
                    "ready, key 0000000000000001: wrong length"},
        RefusalCase{"JobZero", job_as(text(view(job_key(0))), text(view(encode(some_job())))),
                    "ready, key 0000000000000000: job id is 0"},
        RefusalCase{"JobWithShortKey", job_as("abc", text(view(encode(some_job())))),
                    "ready, key 616263: key of the wrong length"},
        RefusalCase{"CommitOfAnotherFormat", commit(0, "\x02"), "meta, key 63: unknown row format"},
        RefusalCase{"CommitWithUnusedByte", commit(7, "x"),
                    "meta, key 63: unused bytes are not zero"},
        RefusalCase{"CommitKnowingTheFuture", commit(24, "\x01"),
                    "meta, key 63: known durable beyond the last batch"},
        RefusalCase{"CommitBeforeTheEpoch", commit(39, "\x80"),
                    "meta, key 63: time before the epoch"},
        RefusalCase{"NextIdZero",
                    [] { return decode_next_id("\x01" + std::string(15, '\0')).status(); },
                    "meta, key 6e: next id is 0"},
        RefusalCase{"ClusterIdEmpty", [] { return decode_cluster_id("\x01").status(); },
                    "meta, key 69: cluster without an id"},
        RefusalCase{"ClusterIdTooLong",
                    [] { return decode_cluster_id("\x01" + std::string(65, 'b')).status(); },
                    "meta, key 69: the cluster's id is too long"},
        RefusalCase{"ClusterIdOfControls", [] { return decode_cluster_id("\x01\n").status(); },
                    "meta, key 69: the cluster's id has control characters"},
        RefusalCase{"FormatVersionTooShort", [] { return decode_format_version("\x01").status(); },
                    "meta, key 66: wrong length"},
        RefusalCase{"TubeWithoutName", tube(tube_one(), "\x01"),
                    "meta, key 7400000001: tube without a name"},
        RefusalCase{"TubeWithLongName", tube(tube_one(), "\x01" + std::string(201, 'x')),
                    "meta, key 7400000001: tube name too long"},
        RefusalCase{"TubeEmpty", tube(tube_one(), ""), "meta, key 7400000001: wrong length"},
        RefusalCase{"TubeWithShortKey", tube("t1", "\x01x"),
                    "meta, key 7431: key of the wrong length"},
        RefusalCase{"PauseTooShort", pause("\x01"), "meta, key 7000000001: wrong length"},
        RefusalCase{"PauseNegative",
                    pause("\x01" + std::string(14, '\0') + "\x80" + std::string(8, '\0')),
                    "meta, key 7000000001: negative pause"}),
    [](const auto& one) { return one.param.name; });

TEST(FormatDeathTest, InvalidRecordsAreNotEncoded) {
  EXPECT_DEATH(encode(JobRow{.id = 1, .ttr_s = 0}), "check_failed");
  EXPECT_DEATH(encode(TubeStored{.tube = 1, .name = ""}), "check_failed");
  EXPECT_DEATH(encode(CommitRow{.index = 1, .known_durable = 2}), "check_failed");
  EXPECT_DEATH(encode(TubePaused{.tube = 1, .pause = -1, .until = 0}), "check_failed");
  EXPECT_DEATH(encode_next_id(0), "check_failed");
}

}  // namespace
}  // namespace perennial::store
