#include "cmd/perennial/offline/load.h"

#include <filesystem>
#include <fstream>
#include <functional>
#include <ostream>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "cmd/perennial/offline/dump.h"
#include "store/disk/hash.h"
#include "tests/cmd/perennial/capture.h"
#include "tests/support/seed.h"
#include "tests/support/temp_dir.h"

namespace perennial::tool {
namespace {

namespace fs = std::filesystem;
using Lines = std::vector<std::string>;

Lines good_lines() {
  return {R"({"format":"perennial-dump","version":1,"jobs":{"ready":2,"reserved":0,"delayed":1,)"
          R"("buried":1},"tubes":["a","b"],"pauses":[{"tube":"b","duration":5,"end":6}],)"
          R"("next_id":10,"commit":{"epoch":1,"index":9,"known_durable":8,"now":7}})",
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
          R"({"jobs":4,"body_bytes":8,"xxh3_128":"HASH"})"};
}

// As a text; HASH becomes the right one.
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
  Captured run(const std::string& dump) {
    std::ofstream(dir_.path() + "/dump", std::ios::binary) << dump;
    return capture(dir_.path(), [&](int fd) {
      return load({.data_dir = target(), .from = dir_.path() + "/dump"}, fd);
    });
  }
  // Refused, and nothing is there afterwards.
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
  const char* message;  // Its beginning.
};

void PrintTo(const LineCase& line, std::ostream* out) {
  *out << line.name;
}

void replace(std::string& line, std::string_view from, std::string_view to) {
  const size_t at = line.find(from);
  ASSERT_NE(at, std::string::npos) << from;
  line.replace(at, from.size(), to);
}

class LoadLines : public Load, public testing::WithParamInterface<LineCase> {};

// With the right hash: as somebody would change a dump by hand.
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
        in_line("OtherVersion", 1, "\"version\":1", "\"version\":2",
                "line 1: the dump is of version 2, and this program reads 1"),
        in_line("NoVersion", 1, "\"version\":1,", "", "line 1: the dump is of version null"),
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

struct FileCase {
  const char* name;
  std::string content;
  const char* message;
};

TEST_F(Load, NamesWhatIsNoDump) {
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

TEST_F(Load, SaysThatThereIsNoFile) {
  EXPECT_EQ(load({.data_dir = target(), .from = dir_.path() + "/none"}).code(),
            StatusCode::NotFound);
  EXPECT_EQ(load({.data_dir = target(), .from = dir_.path()}).code(), StatusCode::Io);
  EXPECT_FALSE(fs::exists(target()));
}

}  // namespace
}  // namespace perennial::tool
