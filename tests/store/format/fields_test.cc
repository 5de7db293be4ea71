#include "store/format/fields.h"

#include <functional>
#include <limits>
#include <ostream>
#include <random>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "engine/types/note.h"
#include "store/format/format.h"
#include "tests/store/random_fields.h"
#include "tests/support/seed.h"

// Jobs with fields, keys and settings: the bytes, each kind of damage, and each limit.
namespace perennial::store {
namespace {

std::string hex(std::string_view bytes) {
  std::string out;
  for (const char byte : bytes) out += fmt::format("{:02x}", static_cast<uint8_t>(byte));
  return out;
}

JobRow job_with(const JobFields& fields) {
  return {.id = 1, .ttr_s = 1, .fields = fields};
}

// The bytes of the fields of a job.
std::string bytes_of(const JobFields& fields) {
  return std::string(view(encode(job_with(fields)))).substr(64);
}
std::string bytes_of_settings(const TubeSettings& settings) {
  return encode(SettingsStored{.tube = "t", .settings = settings}).substr(1);
}

JobFields key_fields(const JobKey& key) {
  return {.key = key};
}

constexpr Backoff backoff = {.first = 2 * nanos_per_ms, .cap = nanos_per_second};
const KeyStored stored_key = {.tube = "mail",
                              .key = "abc",
                              .job = 0x0102030405060708,
                              .until = KeyUntil::Reserved,
                              .expires_at = 0x1112131415161718};

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

class PinnedFields : public testing::TestWithParam<PinCase> {};

TEST_P(PinnedFields, Bytes) {
  EXPECT_EQ(hex(GetParam().bytes), GetParam().want);
}

INSTANTIATE_TEST_SUITE_P(
    Format, PinnedFields,
    testing::Values(
        PinCase{"Attempts", bytes_of({.attempts = 0x01020304}), "01040004030201"},
        PinCase{"Tries", bytes_of({.tries = 258}), "02040002010000"},
        PinCase{"Backoff", bytes_of({.backoff = backoff}),
                "03100080841e000000000000ca9a3b00000000"},
        PinCase{"Dead", bytes_of({.dead = "abc"}), "040300616263"},
        PinCase{"From", bytes_of({.from = "abc"}), "050300616263"},
        PinCase{"Expires", bytes_of({.expires_at = 258}), "0608000201000000000000"},
        PinCase{"KeyUntilDeleted", bytes_of(key_fields({.key = "abc"})), "0708000000000001616263"},
        PinCase{"KeyUntilReserved",
                bytes_of(key_fields({.key = "a", .seconds = 258, .until = KeyUntil::Reserved})),
                "070600020100000261"},
        PinCase{"KeyUntilTtlThatIsGivenUp",
                bytes_of(key_fields(
                    {.key = "a", .seconds = 1, .until = KeyUntil::Ttl, .given_up = true})),
                "07060001000000036109010001"},
        PinCase{"Concurrency", bytes_of({.concurrency = ConcurrencyKey{.key = "a", .jobs_max = 3}}),
                "0805000300000061"},
        PinCase{"Rests", bytes_of({.delay_rest_ns = nanos_per_ms, .ttr_rest_ns = 2 * nanos_per_ms}),
                "0a080040420f0080841e00"},
        PinCase{"OneRest", bytes_of({.ttr_rest_ns = nanos_per_ms}), "0a08000000000040420f00"},
        PinCase{"Restored", bytes_of({.restored = 258}), "0f08000201000000000000"},
        PinCase{"PutBy", bytes_of({.put_by = "ann"}), "120300616e6e"},
        PinCase{"Schedule",
                bytes_of({.schedule = ScheduleOrigin{.name = "nightly", .planned = 258}}),
                "140f0002010000000000006e696768746c79"},
        PinCase{"FirstReserved", bytes_of({.first_reserved = 258}), "1308000201000000000000"},
        PinCase{"SettingsKeep", bytes_of_settings({.keep = 258}), "1008000201000000000000"},
        PinCase{"SettingsKeepMax", bytes_of_settings({.keep_max = 258}), "11040002010000"},
        PinCase{"Row", std::string(view(encode(job_with({.attempts = 1})))),
                "0200000000000000000000000000000001000000000000000000000000000000"
                "0000000000000000000000000000000000000000000000000000000000000000"
                "01040001000000"},
        PinCase{"InTheOrderOfTags",
                bytes_of({.attempts = 1, .tries = 2, .dead = "d", .from = "f", .expires_at = 3}),
                "01040001000000"
                "02040002000000"
                "04010064"
                "05010066"
                "0608000300000000000000"},
        PinCase{"SettingsKey", settings_key("mail"), "736d61696c"},
        PinCase{"Settings",
                encode(SettingsStored{.tube = "t", .settings = {.tries = 258, .drain = true}}),
                "01"
                "02040002010000"
                "0d010001"},
        PinCase{"SettingsExpire", bytes_of_settings({.expire = 258}), "0608000201000000000000"},
        PinCase{"SettingsBackoffAndDead", bytes_of_settings({.backoff = backoff, .dead = "abc"}),
                "03100080841e000000000000ca9a3b00000000"
                "040300616263"},
        PinCase{"SettingsReserved", bytes_of_settings({.reserved = 258}), "0b040002010000"},
        PinCase{"SettingsReservedZero", bytes_of_settings({.reserved = 0}), "0b040000000000"},
        PinCase{"SettingsRate", bytes_of_settings({.rate = Rate{.jobs = 258, .period = 3}}),
                "0c0c00020100000300000000000000"},
        PinCase{"SettingsDrainNot", bytes_of_settings({.drain = false}), "0d010000"},
        PinCase{"KeyRowKey", key_row_key("mail", "abc"), "046d61696c616263"},
        PinCase{"KeyRow", std::string(view(encode(stored_key))),
                "010200000000000008070605040302011817161514131211"}),
    [](const auto& one) { return one.param.name; });

TEST(Fields, EncodedFieldsDecodeToThemselves) {
  std::mt19937_64 random(support::seed());
  for (int i = 0; i < 2000; ++i) {
    JobRow row = job_with(random_fields(random));
    if (i % 2 == 0) row.fields->key = random_key(random, "key");
    if (i % 4 == 0) row.fields->key->given_up = true;
    const JobRowBytes bytes = encode(row);
    EXPECT_EQ(view(bytes).size(), 64 + fields_bytes(*row.fields));
    const Result<JobRow> back = decode_job(row.state, view(job_key(row.id)), view(bytes));
    ASSERT_TRUE(back.ok()) << back.status().message();
    ASSERT_EQ(*back, row);
    const SettingsStored stored = {.tube = "t", .settings = random_settings(random)};
    if (stored.settings == TubeSettings{}) continue;
    const Result<SettingsStored> again = decode_settings(settings_key("t"), encode(stored));
    ASSERT_TRUE(again.ok()) << again.status().message();
    ASSERT_EQ(*again, stored);
  }
  EXPECT_EQ(*decode_key(key_row_key("mail", "abc"), view(encode(stored_key))), stored_key);
}

// The longest key of the longest tube, and the shortest ones.
TEST(Fields, KeysOfEachLengthDecodeToThemselves) {
  for (const size_t tube_bytes : {1, 200}) {
    for (const size_t key_bytes : {1, 200}) {
      KeyStored key = stored_key;
      key.tube = std::string(tube_bytes, 't');
      key.key = std::string(key_bytes, 'k');
      EXPECT_EQ(*decode_key(key_row_key(key.tube, key.key), view(encode(key))), key);
    }
  }
}

// Two keys with the same letters in another tube have other rows.
TEST(Fields, ARowOfKeysIsOfOneTubeAndOneKey) {
  EXPECT_NE(key_row_key("ab", "c"), key_row_key("a", "bc"));
}

TEST(Fields, ARowWithoutFieldsHasTheBytesOfFormat1) {
  const std::string bytes(view(encode(JobRow{.id = 1, .ttr_s = 1})));
  EXPECT_EQ(bytes.size(), 64U);
  EXPECT_EQ(bytes[0], 1);
}

// A value that was read and is invalid is refused, and the message names the family and the key.
struct RefusalCase {
  const char* name;
  std::function<Status()> read;
  std::string want;
};

void PrintTo(const RefusalCase& refusal, std::ostream* out) {
  *out << refusal.name;
}

class RefusedFields : public testing::TestWithParam<RefusalCase> {};

TEST_P(RefusedFields, NamesFamilyAndKey) {
  const Status status = GetParam().read();
  EXPECT_EQ(status.code(), StatusCode::Corruption);
  EXPECT_EQ(status.message(), GetParam().want);
}

// A row whose fields are these bytes.
RefusalCase in_job(const char* name, const std::string& fields, const std::string& why) {
  return {name,
          [=] {
            std::string value(view(encode(JobRow{.id = 1, .ttr_s = 1})));
            value[0] = 2;
            return decode_job(JobState::Ready, view(job_key(1)), value + fields).status();
          },
          "ready, key 0000000000000001: " + why};
}

RefusalCase in_settings(const char* name, const std::string& fields, const std::string& why) {
  return {name, [=] { return decode_settings("st", "\x01" + fields).status(); },
          "meta, key 7374: " + why};
}

// A row of keys, with some bytes replaced.
RefusalCase in_key(const char* name, size_t at, const std::string& bytes, const char* why) {
  return {
      name,
      [=] {
        std::string value(view(encode(stored_key)));
        return decode_key(key_row_key("t", "k"), value.replace(at, bytes.size(), bytes)).status();
      },
      fmt::format("keys, key 01746b: {}", why)};
}

RefusalCase in_key_of(const char* name, const std::string& key, const char* why) {
  return {name, [=] { return decode_key(key, view(encode(stored_key))).status(); },
          fmt::format("keys, key {}: {}", hex(key), why)};
}

std::string field(uint8_t tag, const std::string& value) {
  std::string out(1, static_cast<char>(tag));
  out += static_cast<char>(value.size() & 0xff);
  out += static_cast<char>(value.size() >> 8);
  return out + value;
}

template <typename Number>
std::string number(Number number) {
  return {reinterpret_cast<const char*>(&number), sizeof number};
}

const std::string one = number(uint32_t{1});
constexpr Nanos too_long = Nanos{UINT32_MAX} * nanos_per_second + nanos_per_ms;

INSTANTIATE_TEST_SUITE_P(
    Format, RefusedFields,
    testing::Values(
        in_job("UnknownTag", field(32, one), "field 32 is unknown"),
        in_job("ScheduleTooShort", field(20, one), "field 20 is invalid"),
        in_job("ScheduleWithoutAName", field(20, number(Nanos{1})), "schedule without a name"),
        in_job("SchedulePlannedNegative", field(20, number(Nanos{-1}) + "s"),
               "planned before the epoch"),
        in_job("TubeOfAJob", field(21, one), "field 21 is unknown"),
        in_job("RestoredTooShort", field(15, one), "field 15 is invalid"),
        in_job("RestoredZero", field(15, number(JobId{0})), "a field without a value"),
        in_job("KeepOfAJob", field(16, number(Nanos{1})), "field 16 is unknown"),
        in_job("KeepMaxOfAJob", field(17, one), "field 17 is unknown"),
        in_job("NoNotes", field(14, number(0U)), "a field without a value"),
        in_job("NotesTooShort", field(14, "\1"), "field 14 is invalid"),
        in_job("TagZero", field(0, one), "field 0 is out of order"),
        in_job("TagOfSettings", field(11, one), "field 11 is unknown"),
        in_job("RateOfAJob", field(12, one), "field 12 is unknown"),
        in_job("DrainOfAJob", field(13, "\1"), "field 13 is unknown"),
        in_job("WrongOrder", field(2, one) + field(1, one), "field 1 is out of order"),
        in_job("Twice", field(1, one) + field(1, one), "field 1 is out of order"),
        in_job("HeadCutOff", field(1, one) + "\2\4", "a field is cut off"),
        in_job("ValueCutOff", field(1, one).substr(0, 6), "a field is cut off"),
        in_job("OneByteMore", field(1, one) + std::string(1, '\0'), "a field is cut off"),
        in_job("AttemptsTooShort", field(1, "abc"), "field 1 is invalid"),
        in_job("AttemptsTooLong", field(1, "abcde"), "field 1 is invalid"),
        in_job("AttemptsZero", field(1, number(0)), "a field without a value"),
        in_job("TriesZero", field(2, number(0)), "a field without a value"),
        in_job("TriesTooMany", field(2, number(tries_max + 1)), "tries out of range"),
        in_job("BackoffOfTheWrongLength", field(3, one), "field 3 is invalid"),
        in_job("BackoffZero", field(3, number(Nanos{0}) + number(nanos_per_ms)),
               "back-off out of range"),
        in_job("BackoffAboveItsCap", field(3, number(2 * nanos_per_ms) + number(nanos_per_ms)),
               "back-off out of range"),
        in_job("BackoffTooLong", field(3, number(nanos_per_ms) + number(too_long)),
               "back-off out of range"),
        in_job("BackoffOfNanoseconds", field(3, number(Nanos{1}) + number(nanos_per_ms)),
               "a back-off that is no whole number of milliseconds"),
        in_job("BackoffCapOfNanoseconds", field(3, number(nanos_per_ms) + number(nanos_per_ms + 1)),
               "a back-off that is no whole number of milliseconds"),
        in_job("DeadEmpty", field(4, ""), "a field without a value"),
        in_job("DeadTooLong", field(4, std::string(201, 'd')), "name of the dead tube too long"),
        in_job("FromEmpty", field(5, ""), "a field without a value"),
        in_job("FromTooLong", field(5, std::string(201, 'd')),
               "name of the tube of origin too long"),
        in_job("ExpiresOfTheWrongLength", field(6, one), "field 6 is invalid"),
        in_job("ExpiresZero", field(6, number(Nanos{0})), "a field without a value"),
        in_job("ExpiresBeforeTheEpoch", field(6, number(Nanos{-1})), "expires before the epoch"),
        in_job("KeyWithoutItsTime", field(7, one), "field 7 is invalid"),
        in_job("KeyForAnUnknownTime", field(7, one + "\4k"), "field 7 is invalid"),
        in_job("KeyForTheTimeZero", field(7, one + std::string("\0k", 2)), "field 7 is invalid"),
        in_job("KeyEmpty", field(7, one + "\1"), "the job's key is empty or too long"),
        in_job("KeyTooLong", field(7, one + "\1" + std::string(201, 'k')),
               "the job's key is empty or too long"),
        in_job("KeyForNoTime", field(7, number(0) + "\3k"), "a key for no time"),
        in_job("ConcurrencyWithoutItsLimit", field(8, "abc"), "field 8 is invalid"),
        in_job("ConcurrencyEmpty", field(8, one), "the concurrency key is empty or too long"),
        in_job("ConcurrencyTooLong", field(8, one + std::string(201, 'k')),
               "the concurrency key is empty or too long"),
        in_job("ConcurrencyForNoJob", field(8, number(0) + "k"), "a concurrency key for no job"),
        in_job("FlagsWithoutAKey", field(9, "\1"), "field 9 is invalid"),
        in_job("FlagsZero", field(7, one + "\1k") + field(9, std::string(1, '\0')),
               "field 9 is invalid"),
        in_job("FlagUnknown", field(7, one + "\1k") + field(9, "\3"), "field 9 is invalid"),
        in_job("FlagsTooLong", field(7, one + "\1k") + field(9, "\1\1"), "field 9 is invalid"),
        in_job("RestsOfTheWrongLength", field(10, one), "field 10 is invalid"),
        in_job("RestsZero", field(10, number(uint64_t{0})), "a field without a value"),
        in_job("RestOfASecond", field(10, number(uint32_t{nanos_per_second}) + number(0)),
               "a rest of a second or more"),
        in_job("RestOfNanoseconds", field(10, number(0) + one),
               "a rest that is no whole number of milliseconds"),
        // The limit is that of all fields. No single field is as long, so the bytes at the limit
        // are refused for what they hold, and those beyond it for their length.
        in_job("AtTheLimit", field(4, std::string(fields_bytes_max - 3, 'd')),
               "name of the dead tube too long"),
        in_job("BeyondTheLimit", field(4, std::string(fields_bytes_max - 2, 'd')),
               "the fields have more than 2048 bytes"),
        in_settings("NoSettings", "", "settings without a value"),
        in_settings("SettingsOfAJob", field(1, one), "field 1 is unknown"),
        in_settings("SettingsFrom", field(5, "f"), "field 5 is unknown"),
        in_settings("SettingsKeys", field(7, one + "\1k"), "field 7 is unknown"),
        in_settings("SettingsConcurrency", field(8, one + "k"), "field 8 is unknown"),
        in_settings("SettingsFlags", field(9, "\1"), "field 9 is unknown"),
        in_settings("SettingsRests", field(10, number(nanos_per_ms)), "field 10 is unknown"),
        in_settings("SettingsNotes", field(14, one), "field 14 is unknown"),
        in_settings("SettingsRestored", field(15, number(JobId{1})), "field 15 is unknown"),
        in_settings("SettingsWithAnUnknownTag", field(20, one), "field 20 is unknown"),
        in_settings("SettingsKeepZero", field(16, number(Nanos{0})), "keep out of range"),
        in_settings("SettingsKeepNegative", field(16, number(Nanos{-1})), "keep out of range"),
        in_settings("SettingsKeepTooLong", field(16, number(too_long)), "keep out of range"),
        in_settings("SettingsKeepMaxZero", field(17, number(0)), "keep-max out of range"),
        in_settings("SettingsInTheWrongOrder", field(11, one) + field(2, one),
                    "field 2 is out of order"),
        in_settings("SettingsTriesZero", field(2, number(0)), "tries out of range"),
        in_settings("SettingsTriesTooMany", field(2, number(tries_max + 1)), "tries out of range"),
        in_settings("SettingsBackoffZero", field(3, std::string(16, '\0')),
                    "back-off out of range"),
        in_settings("SettingsDeadEmpty", field(4, ""), "dead tube without a name"),
        in_settings("SettingsDeadTooLong", field(4, std::string(201, 'd')),
                    "name of the dead tube too long"),
        in_settings("SettingsExpireZero", field(6, number(Nanos{0})), "expire out of range"),
        in_settings("SettingsExpireNegative", field(6, number(Nanos{-1})), "expire out of range"),
        in_settings("SettingsExpireTooLong", field(6, number(too_long)), "expire out of range"),
        in_settings("SettingsRateOfNoJobs", field(12, number(0) + number(Nanos{1})),
                    "rate out of range"),
        in_settings("SettingsRateForNoTime", field(12, one + number(Nanos{0})),
                    "rate out of range"),
        in_settings("SettingsRateForTooLong", field(12, one + number(too_long)),
                    "rate out of range"),
        in_settings("SettingsRateOfTheWrongLength", field(12, one), "field 12 is invalid"),
        in_settings("SettingsDrainTwo", field(13, "\2"), "field 13 is invalid"),
        in_settings("SettingsBeyondTheLimit", field(4, std::string(fields_bytes_max - 2, 'd')),
                    "the fields have more than 2048 bytes"),
        RefusalCase{"SettingsOfAnotherFormat",
                    [] { return decode_settings("st", "\x02" + field(2, one)).status(); },
                    "meta, key 7374: unknown row format"},
        RefusalCase{"SettingsEmpty", [] { return decode_settings("st", "").status(); },
                    "meta, key 7374: wrong length"},
        RefusalCase{"SettingsOfNoTube",
                    [] { return decode_settings("s", "\x01" + field(2, one)).status(); },
                    "meta, key 73: tube without a name"},
        RefusalCase{"SettingsOfALongTube",
                    [] {
                      return decode_settings("s" + std::string(201, 't'), "\x01" + field(2, one))
                          .status();
                    },
                    "meta, key 73" + hex(std::string(201, 't')) + ": tube name too long"},
        in_key("KeyOfAnotherFormat", 0, "\2", "unknown row format"),
        in_key("KeyForAnUnknownTimeAtAll", 1, "\4", "it is held for an unknown time"),
        in_key("KeyWithAnUnusedByte", 7, "\1", "unused bytes are not zero"),
        in_key("KeyOfJobZero", 8, std::string(8, '\0'), "job id is 0"),
        in_key("KeyThatExpiresBeforeTheEpoch", 23, "\x80", "expires before the epoch"),
        in_key("KeyForATimeWithoutItsEnd", 1, "\3" + std::string(6, '\0') + number(JobId{1}) +
                                                  std::string(8, '\0'),
               "a key for a time without its end"),
        in_key("KeyRowTooLong", 23, "xx", "wrong length"),
        in_key_of("KeyWithoutALength", "", "key of the wrong length"),
        in_key_of("KeyOfACutTube", "\x05mail", "key of the wrong length"),
        in_key_of("KeyOfNoTube", std::string("\0abc", 4), "tube without a name"),
        in_key_of("KeyOfALongTube", "\xc9" + std::string(202, 't'), "tube name too long"),
        in_key_of("KeyWithoutAKey", "\x04mail", "the key is empty or too long"),
        in_key_of("KeyThatIsTooLong", "\x04mail" + std::string(201, 'k'),
                  "the key is empty or too long")),
    [](const auto& one_case) { return one_case.param.name; });

// The largest value of each field, which is valid.
TEST(Fields, EachLimitIsValid) {
  JobFields fields = {
      .attempts = UINT32_MAX,
      .tries = tries_max,
      .backoff = Backoff{.first = field_duration_max, .cap = field_duration_max},
      .dead = std::string(tube_name_bytes_max, 'd'),
      .from = std::string(tube_name_bytes_max, 'f'),
      .expires_at = std::numeric_limits<Nanos>::max(),
      .key = JobKey{.key = std::string(key_bytes_max, 'k'),
                    .seconds = UINT32_MAX,
                    .until = KeyUntil::Ttl,
                    .given_up = true},
      .concurrency = ConcurrencyKey{.key = std::string(key_bytes_max, 'c'), .jobs_max = UINT32_MAX},
      .delay_rest_ns = 999 * nanos_per_ms,
      .ttr_rest_ns = 999 * nanos_per_ms,
      .notes = UINT32_MAX,
      .restored = std::numeric_limits<JobId>::max(),
      .put_by = std::string(note_user_bytes_max, 'u'),
      .first_reserved = std::numeric_limits<Nanos>::max()};
  EXPECT_EQ(problem(fields), "");
  EXPECT_LE(fields_bytes(fields), fields_bytes_max);
  TubeSettings settings = {.tries = tries_max,
                           .backoff = Backoff{.first = nanos_per_ms, .cap = field_duration_max},
                           .dead = std::string(tube_name_bytes_max, 'd'),
                           .expire = field_duration_max,
                           .reserved = UINT32_MAX,
                           .rate = Rate{.jobs = UINT32_MAX, .period = field_duration_max},
                           .drain = true};
  EXPECT_EQ(problem(settings), "");
  EXPECT_LE(fields_bytes(settings), fields_bytes_max);
  // What no field may have alone, all together may not have either.
  fields.dead = std::string(fields_bytes_max, 'd');
  EXPECT_EQ(problem(fields), "the fields are too long");
  settings.dead = fields.dead;
  EXPECT_EQ(problem(settings), "the settings are too long");
}

// A ttr below a second has a rest, and nothing in the fixed part of the row.
TEST(Fields, ATtrMayBeBelowASecond) {
  JobRow row = job_with({.ttr_rest_ns = 10 * nanos_per_ms});
  row.ttr_s = 0;
  EXPECT_EQ(problem(row), "");
  EXPECT_EQ(*decode_job(row.state, view(job_key(1)), view(encode(row))), row);
  row.fields = JobFields{.delay_rest_ns = 10 * nanos_per_ms};
  EXPECT_EQ(problem(row), "ttr is 0");
}

TEST(FieldsDeathTest, InvalidRecordsAreNotEncoded) {
  EXPECT_DEATH(encode(job_with({})), "check_failed");
  EXPECT_DEATH(encode(job_with({.tries = tries_max + 1})), "check_failed");
  EXPECT_DEATH(encode(SettingsStored{.tube = "t", .settings = {}}), "check_failed");
  EXPECT_DEATH(encode(SettingsStored{.tube = "", .settings = {.tries = 1}}), "check_failed");
  KeyStored key = stored_key;
  key.key = "";
  EXPECT_DEATH(encode(key), "check_failed");
  key = stored_key;
  key.job = 0;
  EXPECT_DEATH(encode(key), "check_failed");
  EXPECT_DEATH(key_row_key("", "k"), "check_failed");
}

}  // namespace
}  // namespace perennial::store
