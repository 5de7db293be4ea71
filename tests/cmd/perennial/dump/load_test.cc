
#include <filesystem>
#include <fstream>
#include <functional>
#include <ostream>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "cmd/perennial/dump/commands.h"
#include "store/disk/hash.h"
#include "tests/cmd/perennial/capture.h"
#include "tests/support/seed.h"
#include "tests/support/temp_dir.h"

namespace perennial::tool {
namespace {

namespace fs = std::filesystem;
using Lines = std::vector<std::string>;

Lines good_lines() {
  return {R"({"format":"perennial-dump","version":2,"jobs":{"ready":2,"reserved":0,"delayed":1,)"
          R"("buried":1},"tubes":["a","b"],"pauses":[{"tube":"b","duration":5,"end":6}],)"
          R"("settings":[],"next_id":10,"commit":{"epoch":1,"index":9,"known_durable":8,"now":7}})",
          R"({"id":1,"tube":"a","state":"ready","pri":3,"delay":4,"ttr":60,"created":11,)"
          R"("reserves":0,"timeouts":0,"releases":0,"buries":0,"kicks":0,"bytes":3,"body":"one"})",
          R"({"id":2,"tube":"a","state":"buried","pri":3,"delay":4,"ttr":60,"created":11,)"
          R"("bury_order":1,"reserves":0,"timeouts":0,"releases":0,"buries":0,"kicks":0,"bytes":3,)"
          R"("body":"two"})",
          R"({"id":3,"tube":"b","state":"delayed","pri":3,"delay":4,"ttr":60,"created":11,)"
          R"("deadline":99,"reserves":0,"timeouts":0,"releases":0,"buries":0,"kicks":0,"bytes":2,)"
          R"("body_base64":"//8="})",
          R"({"id":9,"tube":"b","state":"ready","pri":3,"delay":4,"ttr":60,"created":11,)"
          R"("reserves":0,"timeouts":0,"releases":0,"buries":0,"kicks":0,"bytes":0,"body":""})",
          R"({"jobs":4,"keys":0,"body_bytes":8,"xxh3_128":"HASH"})"};
}

// The same as a program before version 2 has written it.
Lines old_lines() {
  Lines lines = good_lines();
  const auto replace = [](std::string& line, std::string_view from, std::string_view to) {
    line.replace(line.find(from), from.size(), to);
  };
  replace(lines[0], "\"version\":2", "\"version\":1");
  replace(lines[0], "\"settings\":[],", "");
  replace(lines[5], "\"keys\":0,", "");
  return lines;
}

// With settings, a job with fields, a job with a key, and the keys.
Lines lines_with_fields() {
  return {R"({"format":"perennial-dump","version":2,"jobs":{"ready":2,"reserved":0,"delayed":0,)"
          R"("buried":0},"tubes":["a"],"pauses":[],"settings":[{"tube":"a","tries":3,)"
          R"("backoff":1000000,"backoff_cap":2000000,"dead":"d","expire":5,"reserved":6,"rate":7,)"
          R"("rate_period":8,"drain":true},{"tube":"c","drain":false}],)"
          R"("next_id":10,"commit":{"epoch":1,"index":9,"known_durable":8,"now":7}})",
          R"({"id":1,"tube":"a","state":"ready","pri":3,"delay":4,"ttr":60,"created":11,)"
          R"("reserves":0,"timeouts":0,"releases":0,"buries":0,"kicks":0,"attempts":1,"tries":2,)"
          R"("backoff":1000000,"backoff_cap":2000000,"dead":"d","from":"f","expires":3,)"
          R"("con":"c","con_max":4,"delay_rest":1000000,"ttr_rest":2000000,"bytes":0,"body":""})",
          R"({"id":2,"tube":"a","state":"ready","pri":3,"delay":4,"ttr":60,"created":11,)"
          R"("reserves":0,"timeouts":0,"releases":0,"buries":0,"kicks":0,"idp":"k",)"
          R"("idp_until":"deleted","idp_ttl":5,"bytes":0,"body":""})",
          R"({"idp":"k","tube":"a","job":2,"until":"deleted"})",
          R"({"idp":"l","tube":"a","job":3,"until":"ttl","expires":9})",
          R"({"idp":"a","tube":"gone","job":3,"until":"reserved","expires":9})",
          R"({"jobs":2,"keys":3,"body_bytes":0,"xxh3_128":"HASH"})"};
}

void replace(std::string& line, std::string_view from, std::string_view to) {
  const size_t at = line.find(from);
  ASSERT_NE(at, std::string::npos) << from;
  line.replace(at, from.size(), to);
}

// Three schedules, and a job that one has put.
Lines lines_with_schedules() {
  return {R"({"format":"perennial-dump","version":4,"jobs":{"ready":1,"reserved":0,"delayed":0,)"
          R"("buried":0},"tubes":["a"],"pauses":[],"settings":[],)"
          R"("next_id":10,"commit":{"epoch":1,"index":9,"known_durable":8,"now":7}})",
          R"({"schedule":"cron","tube":"a","cron":"30 2 * * *","zone":"UTC","pri":1,"delay":2,)"
          R"("ttr":3,"tries":2,"backoff":1000000,"backoff_cap":2000000,"dead":"d","expire":5,)"
          R"("idp":"k","idp_ttl":6,"idp_until":"reserved","con":"c","con_max":4,)"
          R"("delay_rest":1000000,"ttr_rest":2000000,"missed_max":1000,"overlap":"replace",)"
          R"("jitter":7,"state":"active","planned":8,"paused":true,"last_planned":1,)"
          R"("last_fired":2,"last_job":9,"fired":3,"skipped":4,"missed":5,"bytes":2,)"
          R"("body":"hi"})",
          R"({"schedule":"every","tube":"a","every":60,"anchor":0,"pri":0,"delay":0,"ttr":0,)"
          R"("missed_max":1,"overlap":"allow","jitter":0,"state":"no_zone","paused":false,)"
          R"("last_planned":0,"last_fired":0,"last_job":0,"fired":0,"skipped":0,"missed":0,)"
          R"("bytes":1,"body_base64":"/w=="})",
          R"({"schedule":"once","tube":"b","at":5,"pri":0,"delay":0,"ttr":0,"missed_max":0,)"
          R"("overlap":"skip","jitter":0,"state":"over","paused":false,"last_planned":5,)"
          R"("last_fired":5,"last_job":1,"fired":1,"skipped":0,"missed":0,"bytes":0,"body":""})",
          R"({"id":1,"tube":"a","state":"ready","pri":3,"delay":4,"ttr":60,"created":11,)"
          R"("reserves":0,"timeouts":0,"releases":0,"buries":0,"kicks":0,"by_schedule":"once",)"
          R"("planned":5,"bytes":0,"body":""})",
          R"({"jobs":1,"keys":0,"notes":0,"schedules":3,"body_bytes":0,"xxh3_128":"HASH"})"};
}

// Joins the lines and replaces HASH by the correct hash.
std::string seal(const Lines& lines) {
  std::string out;
  for (std::string line : lines) {
    const size_t at = line.find("HASH");
    if (at != std::string::npos) {
      store::Hasher hasher;
      hasher.add(out);
      line.replace(at, 4, hasher.hex());
    }
    out += line + "\n";
  }
  return out;
}

class Load : public testing::Test {
 protected:
  Captured run(const std::string& dump, const std::string& schedules = "paused") {
    std::ofstream(dir_.path() + "/dump", std::ios::binary) << dump;
    return capture(dir_.path(), [&](int fd) {
      return load({.data_dir = target(), .from = dir_.path() + "/dump", .schedules = schedules},
                  fd);
    });
  }
  // Loads a dump that must be refused. Nothing may exist afterwards.
  std::string refuse(const std::string& dump) {
    const Captured out = run(dump);
    EXPECT_FALSE(out.status.ok());
    EXPECT_EQ(out.text, "");
    EXPECT_FALSE(fs::exists(target()));
    EXPECT_FALSE(fs::exists(target() + ".loading"));
    return out.status.message();
  }
  std::string target() const { return dir_.path() + "/data"; }

  support::TempDir dir_{"/dev/shm"};
};

TEST_F(Load, TakesADumpAsItIsWritten) {
  const Captured out = run(seal(good_lines()));
  ASSERT_TRUE(out.status.ok()) << out.status.message();
  EXPECT_NE(out.text.find("jobs                4\n"), std::string::npos);
  const Captured again =
      capture(dir_.path(), [&](int fd) { return dump({.data_dir = target()}, fd); });
  EXPECT_EQ(again.text, seal(good_lines()));
}

TEST_F(Load, TakesFieldsKeysAndSettingsAsTheyAreWritten) {
  const Captured out = run(seal(lines_with_fields()));
  ASSERT_TRUE(out.status.ok()) << out.status.message();
  EXPECT_NE(out.text.find("settings of tubes   2\nkeys                3\n"), std::string::npos)
      << out.text;
  const Captured again =
      capture(dir_.path(), [&](int fd) { return dump({.data_dir = target()}, fd); });
  EXPECT_EQ(again.text, seal(lines_with_fields()));
}

TEST_F(Load, TakesSchedulesAsTheyAreWritten) {
  const Captured out = run(seal(lines_with_schedules()), "active");
  ASSERT_TRUE(out.status.ok()) << out.status.message();
  EXPECT_NE(out.text.find("schedules           3\n"), std::string::npos) << out.text;
  EXPECT_EQ(out.text.find("paused"), std::string::npos) << out.text;
  const Captured again =
      capture(dir_.path(), [&](int fd) { return dump({.data_dir = target()}, fd); });
  EXPECT_EQ(again.text, seal(lines_with_schedules()));
}

TEST_F(Load, PausesSchedules) {
  Lines lines = lines_with_schedules();
  const Captured out = run(seal(lines));
  ASSERT_TRUE(out.status.ok()) << out.status.message();
  EXPECT_NE(out.text.find("\n2 schedules are paused, "), std::string::npos) << out.text;
  for (const size_t line : {2, 3}) replace(lines[line], "\"paused\":false", "\"paused\":true");
  const Captured again =
      capture(dir_.path(), [&](int fd) { return dump({.data_dir = target()}, fd); });
  EXPECT_EQ(again.text, seal(lines));
}

// What is refused of schedules, with one line changed.
TEST_F(Load, RefusesSchedulesThatAreNotWhatIsWritten) {
  struct Change {
    size_t line;
    const char* from;
    const char* to;
    const char* want;
  };
  for (const Change& change : std::vector<Change>{
           {0, "\"version\":4", "\"version\":3", "line 2: the field schedule is unknown"},
           {1, "\"zone\":\"UTC\",", "", "line 2: a schedule: it says not once for when it is"},
           {1, "\"cron\":", "\"at\":5,\"cron\":", "it says not once for when it is"},
           {1, "\"tube\":\"a\"", "\"tube\":\"-\"", "its tube is no name of a tube"},
           {1, "\"missed_max\":1000", "\"missed_max\":1001", "missed times out of range"},
           {1, "\"overlap\":\"replace\"", "\"overlap\":\"x\"", "has no such overlap"},
           {1, "\"planned\":8,", "", "an active schedule without a next time"},
           {1, "\"last_job\":9", "\"last_job\":10", "not below next_id"},
           {1, "\"bytes\":2", "\"bytes\":3", "its body has 2 bytes, and bytes says 3"},
           {1, "\"fired\":3,", "", "a schedule has no fired"},
           {1, "\"fired\":3,", "\"fired\":3,\"x\":1,", "a schedule has an unknown field x"},
           {2, "\"schedule\":\"every\"", "\"schedule\":\"cron\"", "schedules are not sorted"},
           {2, "\"state\":\"no_zone\"", "\"state\":\"x\"", "in no such state"},
           {4, "\"planned\":5,", "", "by_schedule is there without planned"},
           {5, "\"schedules\":3", "\"schedules\":2", "counts 2 schedules, and there are 3"},
       }) {
    Lines lines = lines_with_schedules();
    replace(lines[change.line], change.from, change.to);
    const std::string refused = refuse(seal(lines));
    EXPECT_NE(refused.find(change.want), std::string::npos) << change.to << ": " << refused;
  }
  Lines lines = lines_with_schedules();
  std::swap(lines[3], lines[4]);
  EXPECT_NE(refuse(seal(lines)).find("a schedule comes after the jobs"), std::string::npos);
}

TEST_F(Load, TakesADumpOfAnOlderVersion) {
  const Captured out = run(seal(old_lines()));
  ASSERT_TRUE(out.status.ok()) << out.status.message();
  const Captured again =
      capture(dir_.path(), [&](int fd) { return dump({.data_dir = target()}, fd); });
  EXPECT_EQ(again.text, seal(good_lines()));
}

// The key goes with its job. A cooldown stays.
TEST_F(Load, LeavesOutTheKeyOfAJobThatItLeavesOut) {
  Lines lines = lines_with_fields();
  lines[2].replace(lines[2].find("\"body\":\"\""), 9, "\"body_missing\":true");
  std::ofstream(dir_.path() + "/dump", std::ios::binary) << seal(lines);
  const Captured out = capture(dir_.path(), [&](int fd) {
    return load({.data_dir = target(), .from = dir_.path() + "/dump", .skip_damaged = true}, fd);
  });
  ASSERT_TRUE(out.status.ok()) << out.status.message();
  EXPECT_NE(out.text.find("keys                2\n"), std::string::npos) << out.text;
  const Captured again =
      capture(dir_.path(), [&](int fd) { return dump({.data_dir = target()}, fd); });
  EXPECT_EQ(again.text.find(lines[3]), std::string::npos);
  EXPECT_NE(again.text.find(lines[4]), std::string::npos);
}

TEST_F(Load, TakesALastLineWithoutItsEnd) {
  std::string text = seal(good_lines());
  text.pop_back();
  EXPECT_TRUE(run(text).status.ok());
}

TEST_F(Load, RefusesADumpThatIsCutOffAfterAnyLine) {
  Lines lines = good_lines();
  while (lines.size() > 1) {
    lines.pop_back();
    const std::string message = refuse(seal(lines));
    EXPECT_TRUE(message.starts_with(fmt::format("line {}: the dump is cut off", lines.size())))
        << message;
  }
}

TEST_F(Load, RefusesADumpThatIsCutOffAnywhere) {
  const std::string text = seal(good_lines());
  std::mt19937_64 random(support::seed());
  for (int i = 0; i < 40; ++i) refuse(text.substr(0, random() % (text.size() - 2)));
}

TEST_F(Load, RefusesADumpWithAnyByteChanged) {
  const std::string text = seal(good_lines());
  std::mt19937_64 random(support::seed());
  for (int i = 0; i < 60; ++i) {
    std::string changed = text;
    const size_t at = random() % (text.size() - 1);
    changed[at] = static_cast<char>(changed[at] ^ (1 << (random() % 8)));
    SCOPED_TRACE(fmt::format("seed {}, byte {}", support::seed(), at));
    refuse(changed);
  }
}

struct LineCase {
  const char* name;
  std::function<void(Lines&)> change;
  const char* message;  // The beginning of the message.
};

void PrintTo(const LineCase& line, std::ostream* out) {
  *out << line.name;
}

class LoadLines : public Load, public testing::WithParamInterface<LineCase> {};

// The hash is correct, as after a deliberate edit of a dump.
TEST_P(LoadLines, AreRefused) {
  Lines lines = good_lines();
  GetParam().change(lines);
  const std::string message = refuse(seal(lines));
  EXPECT_TRUE(message.starts_with(GetParam().message)) << message;
}

LineCase in_line(const char* name, size_t number, const char* from, const char* to,
                 const char* message) {
  return {name, [=](Lines& lines) { replace(lines[number - 1], from, to); }, message};
}

INSTANTIATE_TEST_SUITE_P(
    Tool, LoadLines,
    testing::Values(
        LineCase{"Swapped", [](Lines& lines) { std::swap(lines[1], lines[2]); },
                 "line 3: job 1 comes after job 2"},
        LineCase{"Twice", [](Lines& lines) { lines.insert(lines.begin() + 2, lines[1]); },
                 "line 3: job 1 is there twice"},
        LineCase{"Missing", [](Lines& lines) { lines.erase(lines.begin() + 2); },
                 "line 5: the last line counts 4 jobs, and there are 3"},
        LineCase{"AfterTheEnd", [](Lines& lines) { lines.push_back(lines[1]); },
                 "line 7: something comes after the last line"},
        LineCase{"TwoDumps",
                 [](Lines& lines) {
                   const Lines again = lines;
                   lines.insert(lines.end(), again.begin(), again.end());
                 },
                 "line 7: something comes after the last line"},
        LineCase{"EmptyLine", [](Lines& lines) { lines.insert(lines.begin() + 1, ""); },
                 "line 2: it is not whole, or not JSON"},
        LineCase{"HeaderTwice", [](Lines& lines) { lines.insert(lines.begin(), lines[0]); },
                 "line 2: the field format is unknown"},
        in_line("OtherVersion", 1, "\"version\":2", "\"version\":5",
                "line 1: the dump is of version 5, and this program reads 1 to 4"),
        in_line("VersionZero", 1, "\"version\":2", "\"version\":0",
                "line 1: the dump is of version 0"),
        in_line("VersionIsText", 1, "\"version\":2", "\"version\":\"2\"",
                "line 1: the dump is of version \"2\""),
        in_line("NoVersion", 1, "\"version\":2,", "", "line 1: the dump is of version null"),
        in_line("NoSettings", 1, "\"settings\":[],", "", "line 1: the first line has no settings"),
        in_line("KeysDiffer", 6, "\"keys\":0", "\"keys\":1",
                "line 6: the last line counts 1 keys, and there are 0"),
        in_line("NoCountOfKeys", 6, "\"keys\":0,", "", "line 6: the last line has no keys"),
        in_line("OtherFormat", 1, "perennial-dump", "other", "line 1: it is not the first line"),
        in_line("UnknownFieldAbove", 1, "\"tubes\"", "\"x\":1,\"tubes\"",
                "line 1: the first line has an unknown field x"),
        in_line("NoCommit", 1, "\"commit\":{\"epoch\":1,\"index\":9,\"known_durable\":8,\"now\":7}",
                "\"selection\":{}", "line 1: the first line has no commit"),
        in_line("CommitThatMakesNoSense", 1, "\"known_durable\":8", "\"known_durable\":10",
                "line 1: commit: known durable beyond"),
        in_line("TubesNotSorted", 1, "[\"a\",\"b\"]", "[\"b\",\"a\"]", "line 1: tubes are not"),
        in_line("TubeTwice", 1, "[\"a\",\"b\"]", "[\"a\",\"b\",\"b\"]", "line 1: tubes are not"),
        in_line("NoTubeName", 1, "[\"a\"", "[\"-\"", "line 1: tubes holds what is no name"),
        in_line("PauseOfNoTube", 1, "{\"tube\":\"b\"", "{\"tube\":\"c\"", "line 1: a pause is of"),
        in_line("PauseThatIsNegative", 1, "\"end\":6", "\"end\":-6", "line 1: end of a pause"),
        in_line("NextIdIsNearTheEnd", 1, "\"next_id\":10", "\"next_id\":18446744073709551615",
                "line 1: next_id is above 2^63"),
        in_line("NextIdIsZero", 1, "\"next_id\":10", "\"next_id\":0", "line 1: next_id is 0"),
        in_line("WithoutBodies", 1, "\"next_id\"", "\"selection\":{\"no_body\":true},\"next_id\"",
                "line 1: the dump has no bodies"),
        in_line("CountsDiffer", 1, "\"ready\":2", "\"ready\":3",
                "line 6: line 1 counts 3 ready jobs, and there are 2"),
        in_line("IdAboveTheNext", 5, "\"id\":9", "\"id\":10", "line 5: job 10 is not below"),
        in_line("IdIsZero", 2, "\"id\":1", "\"id\":0", "line 2: job id is 0"),
        in_line("IdIsText", 2, "\"id\":1", "\"id\":\"1\"", "line 2: id is a text"),
        in_line("IdIsAFraction", 2, "\"id\":1", "\"id\":1.0", "line 2: id is not a whole number"),
        in_line("IdIsTooLarge", 2, "\"id\":1", "\"id\":18446744073709551616",
                "line 2: id is not a whole number in its range"),
        in_line("PriIsTooLarge", 2, "\"pri\":3", "\"pri\":4294967296", "line 2: pri is out of"),
        in_line("PriIsNegative", 2, "\"pri\":3", "\"pri\":-3", "line 2: pri is negative"),
        in_line("PriIsNull", 2, "\"pri\":3", "\"pri\":null", "line 2: pri is null"),
        in_line("PriIsAList", 2, "\"pri\":3", "\"pri\":[3]", "line 2: pri is a list"),
        in_line("PriIsAnObject", 2, "\"pri\":3", "\"pri\":{}", "line 2: pri is an object"),
        in_line("PriTwice", 2, "\"pri\":3", "\"pri\":3,\"pri\":3", "line 2: pri is there twice"),
        in_line("NoPri", 2, "\"pri\":3,", "", "line 2: pri is missing"),
        in_line("UnknownField", 2, "\"pri\":3", "\"pri\":3,\"x\":1", "line 2: the field x is unk"),
        in_line("TtrIsZero", 2, "\"ttr\":60", "\"ttr\":0", "line 2: ttr is 0"),
        in_line("CreatedIsTooLarge", 2, "\"created\":11", "\"created\":9223372036854775808",
                "line 2: created is out of its range"),
        in_line("TubeIsNotNamed", 2, "\"tube\":\"a\"", "\"tube\":\"c\"",
                "line 2: the tube of job 1 is not among those of line 1"),
        in_line("TubeIsANumber", 2, "\"tube\":\"a\"", "\"tube\":1", "line 2: tube is a number"),
        in_line("NoState", 2, "\"ready\"", "\"lost\"", "line 2: lost is no state"),
        in_line("DelayedWithoutDeadline", 4, "\"deadline\":99,", "", "line 4: a deadline belongs"),
        in_line("BuriedWithoutOrder", 3, "\"bury_order\":1,", "", "line 3: a bury_order belongs"),
        in_line("ReadyWithOrder", 2, "\"kicks\":0", "\"kicks\":0,\"bury_order\":1",
                "line 2: a bury_order belongs"),
        in_line("NoBody", 2, ",\"body\":\"one\"", "", "line 2: it has no body, or two"),
        in_line("TwoBodies", 2, ",\"body\":\"one\"", ",\"body\":\"one\",\"body_base64\":\"\"",
                "line 2: it has no body, or two"),
        in_line("BodyOfAnotherSize", 2, "\"one\"", "\"four\"", "line 2: its body has 4 bytes"),
        in_line("NoBase64", 4, "//8=", "//8!", "line 4: body_base64 is not base64"),
        in_line("DamagedIsFalse", 2, "\"body\":", "\"body_damaged\":false,\"body\":",
                "line 2: body_damaged is not what it must be"),
        in_line("MissingButThere", 2,
                "\"body\":", "\"body_missing\":true,\"body\":", "line 2: a missing body is there"),
        in_line("Damaged", 2, "\"body\":", "\"body_damaged\":true,\"body\":",
                "line 2: the body of job 1 was damaged"),
        in_line("NotUtf8", 2, "one", "o\xffn", "line 2: it is not whole, or not JSON"),
        in_line("BytesDiffer", 6, "\"body_bytes\":8", "\"body_bytes\":9",
                "line 6: the last line counts 9 bytes of bodies, and there are 8"),
        in_line("NoHash", 6, ",\"xxh3_128\":\"HASH\"", "", "line 6: the last line has no xxh3"),
        in_line("HashIsANumber", 6, "\"HASH\"", "7", "line 6: xxh3_128 of the last line")),
    [](const auto& one) { return one.param.name; });

class LoadFields : public Load, public testing::WithParamInterface<LineCase> {};

TEST_P(LoadFields, AreRefused) {
  Lines lines = lines_with_fields();
  GetParam().change(lines);
  const std::string message = refuse(seal(lines));
  EXPECT_TRUE(message.starts_with(GetParam().message)) << message;
}

INSTANTIATE_TEST_SUITE_P(
    Tool, LoadFields,
    testing::Values(
        in_line("SettingsUnknown", 1, "\"tries\":3", "\"x\":3",
                "line 1: settings has an unknown field x"),
        in_line("SettingsOfNoTube", 1, "\"tube\":\"c\",", "", "line 1: settings has no tube"),
        in_line("SettingsOfAnInvalidTube", 1, "\"tube\":\"c\"", "\"tube\":\"-\"",
                "line 1: settings name what is no name of a tube"),
        in_line("SettingsWithAnInvalidDeadTube", 1, "\"dead\":\"d\"", "\"dead\":\"-\"",
                "line 1: settings name what is no name of a tube"),
        in_line("SettingsTwice", 1, "\"tube\":\"c\"", "\"tube\":\"a\"",
                "line 1: settings are not sorted, or a tube has them twice"),
        in_line("SettingsWithoutAValue", 1, ",\"drain\":false", "",
                "line 1: settings: settings without a value"),
        in_line("SettingsOutOfRange", 1, "\"tries\":3", "\"tries\":0",
                "line 1: settings: tries out of range"),
        in_line("SettingsBackoffWithoutCap", 1, ",\"backoff_cap\":2000000", "",
                "line 1: settings has no backoff_cap"),
        in_line("SettingsRateWithoutPeriod", 1, ",\"rate_period\":8", "",
                "line 1: settings has no rate_period"),
        in_line("SettingsDrainIsANumber", 1, "\"drain\":true", "\"drain\":1",
                "line 1: drain of settings is not true or false"),
        in_line("TriesTooMany", 2, "\"tries\":2", "\"tries\":1000001",
                "line 2: tries out of range"),
        in_line("AttemptsZero", 2, "\"attempts\":1", "\"attempts\":0", "line 2: attempts is 0"),
        in_line("AttemptsText", 2, "\"attempts\":1", "\"attempts\":\"1\"",
                "line 2: attempts is a text"),
        in_line("BackoffWithoutCap", 2, "\"backoff_cap\":2000000,", "",
                "line 2: backoff is there without backoff_cap"),
        in_line("CapWithoutBackoff", 2, "\"backoff\":1000000,", "",
                "line 2: backoff_cap is there without backoff"),
        in_line("BackoffAboveItsCap", 2, "\"backoff\":1000000", "\"backoff\":3000000",
                "line 2: back-off out of range"),
        in_line("DeadIsNoName", 2, "\"dead\":\"d\"", "\"dead\":\"-\"",
                "line 2: dead is no name of a tube"),
        in_line("DeadIsEmpty", 2, "\"dead\":\"d\"", "\"dead\":\"\"",
                "line 2: dead is no name of a tube"),
        in_line("FromIsNoName", 2, "\"from\":\"f\"", "\"from\":\"a b\"",
                "line 2: from is no name of a tube"),
        in_line("ConWithoutMax", 2, ",\"con_max\":4", "", "line 2: con is there without con_max"),
        in_line("MaxWithoutCon", 2, "\"con\":\"c\",", "", "line 2: con_max is there without con"),
        in_line("ConMaxZero", 2, "\"con_max\":4", "\"con_max\":0",
                "line 2: a concurrency key for no job"),
        in_line("RestOfASecond", 2, "\"ttr_rest\":2000000", "\"ttr_rest\":1000000000",
                "line 2: a rest of a second or more"),
        in_line("KeyWithoutItsTime", 3, "\"idp_until\":\"deleted\",", "",
                "line 3: idp is there without idp_until"),
        in_line("TimeWithoutItsKey", 3, "\"idp\":\"k\",", "",
                "line 3: idp_until is there without idp"),
        in_line("KeyIsNoKey", 3, "\"idp\":\"k\"", "\"idp\":\"-k\"",
                "line 3: idp is not one that a job can have"),
        in_line("KeyForAnUnknownTime", 3, "\"deleted\"", "\"always\"",
                "line 3: a key is not held until always"),
        in_line("GivenUpIsFalse", 3, "\"idp_ttl\":5", "\"idp_given_up\":false",
                "line 3: idp_given_up is not what it must be"),
        in_line("GivenUpButHeld", 3, "\"idp_ttl\":5", "\"idp_given_up\":true",
                "line 7: 0 jobs hold a key, and 1 keys are held"),
        LineCase{"NoKeyOfAHolder",
                 [](Lines& lines) {
                   lines.erase(lines.begin() + 3);
                   replace(lines.back(), "\"keys\":3", "\"keys\":2");
                 },
                 "line 6: 1 jobs hold a key, and 0 keys are held"},
        LineCase{"KeysNotSorted", [](Lines& lines) { std::swap(lines[3], lines[4]); },
                 "line 5: keys are not sorted, or one is there twice"},
        LineCase{"KeyTwice", [](Lines& lines) { lines.insert(lines.begin() + 3, lines[3]); },
                 "line 5: keys are not sorted, or one is there twice"},
        LineCase{"JobAfterAKey", [](Lines& lines) { std::swap(lines[2], lines[3]); },
                 "line 4: a job comes after the keys"},
        in_line("KeyLineUnknownField", 4, "\"job\":2", "\"id\":2",
                "line 4: the key has an unknown field id"),
        in_line("KeyLineWithoutATube", 4, ",\"tube\":\"a\"", "", "line 4: the key has no tube"),
        in_line("KeyLineOfNoTube", 4, "\"tube\":\"a\"", "\"tube\":\"-\"",
                "line 4: the key's tube is no name of a tube"),
        in_line("KeyLineOfNoKey", 4, "\"idp\":\"k\"", "\"idp\":\"\"",
                "line 4: the key is empty or too long"),
        in_line("KeyLineOfAnInvalidKey", 4, "\"idp\":\"k\"", "\"idp\":\"k k\"",
                "line 4: the key is not one that a job can have"),
        in_line("KeyLineOfJobZero", 4, "\"job\":2", "\"job\":0", "line 4: job id is 0"),
        in_line("KeyLineOfALaterJob", 4, "\"job\":2", "\"job\":10",
                "line 4: job 10 of the key is not below next_id, which is 10"),
        in_line("KeyLineForAnUnknownTime", 4, "\"deleted\"", "\"always\"",
                "line 4: a key is not held until always"),
        in_line("KeyLineForATimeWithoutItsEnd", 5, ",\"expires\":9", "",
                "line 5: a key for a time without its end"),
        in_line("KeyLineExpiresZero", 5, "\"expires\":9", "\"expires\":0",
                "line 5: expires of the key is 0"),
        in_line("KeyLineCutOff", 4, "\"deleted\"}", "", "line 4: it is not whole, or not JSON"),
        LineCase{"FieldsInAnOldDump",
                 [](Lines& lines) {
                   const std::string job = lines[1];
                   lines = old_lines();
                   lines[1] = job;
                 },
                 "line 2: the field attempts is unknown"},
        LineCase{"KeysInAnOldDump",
                 [](Lines& lines) {
                   const std::string key = lines[3];
                   lines = old_lines();
                   lines.insert(lines.begin() + 5, key);
                 },
                 "line 6: the field idp is unknown"},
        LineCase{"SettingsInAnOldDump",
                 [](Lines& lines) {
                   lines = old_lines();
                   replace(lines[0], "\"next_id\"", "\"settings\":[],\"next_id\"");
                 },
                 "line 1: the first line has an unknown field settings"},
        LineCase{"CountOfKeysInAnOldDump",
                 [](Lines& lines) {
                   lines = old_lines();
                   replace(lines[5], "\"jobs\":4", "\"jobs\":4,\"keys\":0");
                 },
                 "line 6: the last line has an unknown field keys"}),
    [](const auto& one) { return one.param.name; });

struct FileCase {
  const char* name;
  std::string content;
  const char* message;
};

TEST_F(Load, NamesTheFileThatIsNoDump) {
  const FileCase cases[] = {
      {"empty", "", "it is empty"},
      {"gzip", "\x1f\x8b\x08 and so on", "it is compressed with gzip"},
      {"zstd", "\x28\xb5\x2f\xfd and so on", "it is compressed with zstd"},
      {"yaml", "---\nformat: \"perennial-dump\"\n", "it is YAML"},
      {"table", "id  tube\n", "it is a table"},
      {"zeros", std::string(100, '\0'), "it is no dump"},
      {"other JSON", "{\"jobs\":4}\n", "line 1: it is not the first line of a dump"},
      {"JSON that is cut off", "{\"format\":\"perennial-d", "line 1: it is not the first line"},
      {"deep JSON", "{\"a\":" + std::string(100'000, '['), "line 1: it is not the first line"}};
  for (const FileCase& one : cases) {
    const std::string message = refuse(one.content);
    EXPECT_TRUE(message.starts_with(one.message)) << one.name << ": " << message;
  }
}

TEST_F(Load, RefusesADirectoryThatIsNotEmpty) {
  fs::create_directory(target());
  std::ofstream(target() + "/file") << "mine";
  const Captured out = run(seal(good_lines()));
  EXPECT_EQ(out.status.code(), StatusCode::InvalidArgument);
  EXPECT_EQ(read_file(target() + "/file"), "mine");
}

TEST_F(Load, ReportsAMissingFile) {
  EXPECT_EQ(load({.data_dir = target(), .from = dir_.path() + "/none"}).code(),
            StatusCode::NotFound);
  EXPECT_EQ(load({.data_dir = target(), .from = dir_.path()}).code(), StatusCode::Io);
  EXPECT_FALSE(fs::exists(target()));
}

}  // namespace
}  // namespace perennial::tool
