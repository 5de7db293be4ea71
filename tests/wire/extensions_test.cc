#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "tests/wire/describe.h"
#include "wire/arguments.h"
#include "wire/line.h"
#include "wire/parser.h"

// What lines are with extensions and without them: words of ours, options, and long lines.
namespace perennial::wire {
namespace {

using Commands = std::vector<std::string>;

constexpr uint32_t job_bytes_max = 10;

Commands commands_of(std::string_view bytes, ExtensionSet allowed) {
  return describe_all({bytes}, job_bytes_max, SIZE_MAX, allowed);
}

struct SwitchCase {
  std::string name;
  std::string bytes;
  Commands with;     // With all extensions.
  Commands without;  // As beanstalkd reads it.
};

const std::string long_tail(300, 'x');

const std::vector<SwitchCase> switch_cases = {
    {"Probe", "extensions\r\n", {"extensions"}, {"unknown"}},
    {"ProbeArgument", "extensions x\r\n", {"bad"}, {"unknown"}},
    {"PeekReserved", "peek-reserved\r\n", {"peek-reserved"}, {"unknown"}},
    {"PeekReservedArgument", "peek-reserved 1\r\n", {"bad"}, {"unknown"}},
    {"PeekReservedOption", "peek-reserved a:b\r\n", {"bad"}, {"unknown"}},
    {"TimeoutJunk",
     "reserve-with-timeout 0 junk\r\n",
     {"reserve timeout=0"},
     {"reserve timeout=0"}},
    {"TimeoutOption", "reserve-with-timeout 0 a:b\r\n", {"bad"}, {"reserve timeout=0"}},
    {"TimeoutColonInWord", "reserve-with-timeout 7x:y\r\n", {"bad"}, {"reserve timeout=7"}},
    {"TimeoutColonAlone", "reserve-with-timeout 7:\r\n", {"bad"}, {"reserve timeout=7"}},
    {"KickJunk", "kick 10junk\r\n", {"kick 10"}, {"kick 10"}},
    {"KickColon", "kick 10 a:b\r\n", {"kick 10"}, {"kick 10"}},
    {"QuitColon", "quit a:b\r\n", {"quit"}, {"quit"}},
    {"DeleteOption", "delete 1 a:b\r\n", {"bad"}, {"bad"}},
    {"ReserveOption", "reserve a:b\r\n", {"bad"}, {"bad"}},
    {"UseColon", "use a:b\r\n", {"bad"}, {"bad"}},
    {"UnknownColon", "hello a:b\r\n", {"unknown"}, {"unknown"}},
    {"PutOption",
     "put 0 0 1 5 a:b\r\nstats\r\nquit\r\n",
     {"put-trailing-junk", "quit"},
     {"put-trailing-junk", "stats", "quit"}},
    {"PutColonAtOnce",
     "put 0 0 1 5:\r\nstats\r\nquit\r\n",
     {"put-trailing-junk", "quit"},
     {"put-trailing-junk", "stats", "quit"}},
    {"PutOptionBehindJunk",
     "put 0 0 1 5 x a:b\r\nstats\r\nquit\r\n",
     {"put-trailing-junk", "quit"},
     {"put-trailing-junk", "stats", "quit"}},
    {"PutJunk",
     "put 0 0 1 5 x\r\nstats\r\nquit\r\n",
     {"put-trailing-junk", "stats", "quit"},
     {"put-trailing-junk", "stats", "quit"}},
    {"PutBadNumberAndOption",
     "put 0 0 z 5 a:b\r\nstats\r\nquit\r\n",
     {"bad", "stats", "quit"},
     {"bad", "stats", "quit"}},
    {"PutTooBigAndOption",
     "put 0 0 1 11 a:b\r\n01234567890\r\nquit\r\n",
     {"put-too-big", "quit"},
     {"put-too-big", "quit"}},
    {"PutOptionAndNoCrlf",
     "put 0 0 1 5 a:b\r\nstatsxxquit\r\n",
     {"put-trailing-junk", "quit"},
     {"put-trailing-junk", "bad"}},
    {"PutOptionOfALongLine",
     "put 0 0 1 5 a:" + long_tail + "\r\nstats\r\nquit\r\n",
     {"put-trailing-junk", "quit"},
     {"bad", "stats", "quit"}},
    // A command of beanstalkd's without options has no long line, whatever it ignores.
    {"QuitLong", "quit :" + long_tail + "\r\nstats\r\n", {"bad", "stats"}, {"bad", "stats"}},
    {"KickLong", "kick 1 :" + long_tail + "\r\nstats\r\n", {"bad", "stats"}, {"bad", "stats"}},
    {"TimeoutLong",
     "reserve-with-timeout 0 :" + long_tail + "\r\nstats\r\n",
     {"bad", "stats"},
     {"bad", "stats"}},
    {"CheckpointLong",
     "checkpoint :" + long_tail + "\r\nstats\r\n",
     {"bad", "stats"},
     {"bad", "stats"}},
    {"UnknownLong", ":" + long_tail + "\r\nstats\r\n", {"bad", "stats"}, {"bad", "stats"}},
    {"ProbeLong", "extensions" + long_tail + "\r\nstats\r\n", {"bad", "stats"}, {"bad", "stats"}},
    {"HostLong", "host: " + long_tail + "\r\n", {"http"}, {"http"}},
    {"NulLong",
     "put 0 0 1 5 a:" + std::string(1, '\0') + long_tail + "\r\nstats\r\n",
     {"bad", "stats"},
     {"bad", "stats"}},
};

// The bytes of a put-batch, whose size is computed, and a quit behind it.
std::string batch(std::string_view count, std::string_view items, std::string_view options = {}) {
  return "put-batch " + std::string(count) + " " + std::to_string(items.size()) +
         std::string(options) + "\r\n" + std::string(items) + "\r\nquit\r\n";
}

struct BatchCase {
  std::string name;
  std::string bytes;
  std::string command;
};
constexpr std::string_view two = "0 0 60 1\r\na\r\n0 0 60 1\r\nb";
const std::vector<BatchCase> batch_cases = {
    {"Two", batch("2", two), "put-batch 2 bodies=a,b"},
    {"Tube", batch("2", two, " tube:t"), "put-batch 2 tube:t bodies=a,b"},
    {"One", batch("1", "0 0 60 2\r\nab"), "put-batch 1 bodies=ab"},
    {"EmptyBodies", batch("2", "0 0 60 0\r\n\r\n0 0 60 0\r\n"), "put-batch 2 bodies="},
    {"BodyOfLines", batch("1", "0 0 60 8\r\nstats\r\n\n"), "put-batch 1 bodies=stats\r\n\n"},
    {"Longest", batch("1", "0 0 60 10\r\n0123456789"), "put-batch 1 bodies=0123456789"},
    {"ItemTooBig", batch("1", "0 0 60 11\r\n0123456789a"), "put-batch too big"},
    {"ItemOptions", batch("1", "0 0 60 1 idp:k tries:2\r\na"), "put-batch 1 bodies=a"},
    {"ItemBadOption", batch("1", "0 0 60 1 x:y\r\na"), "put-batch bad"},
    {"ItemJunk", batch("1", "0 0 60 1 x\r\na"), "put-batch bad"},
    {"ItemSign", batch("1", "0 -1 60 1\r\na"), "put-batch bad"},
    {"ItemWithWord", batch("1", "put 0 0 60 1\r\na"), "put-batch bad"},
    {"ItemPastTheEnd", batch("2", "0 0 60 1\r\na\r\n0 0 60 9\r\nb"), "put-batch bad"},
    {"TooFewItems", batch("3", two), "put-batch bad"},
    {"TooManyItems", batch("1", two), "put-batch bad"},
    {"NoLine", batch("1", "0 0 60 1"), "put-batch bad"},
    {"Nothing", batch("1", ""), "put-batch bad"},
    {"NoCrlfBetween", batch("2", "0 0 60 1\r\naxx0 0 60 1\r\nb"), "put-batch no crlf"},
    {"JunkBehind", batch("1", "0 0 60 1\r\naxx"), "put-batch no crlf"},
    {"CountZero", batch("0", two), "put-batch bad"},
    {"CountTooHigh", batch("1001", two), "put-batch bad"},
    {"UnknownOption", batch("2", two, " x:y"), "put-batch bad"},
    {"Junk", batch("2", two, " x"), "put-batch bad"},
};

class BatchTest : public testing::TestWithParam<BatchCase> {};

// Whatever is wrong, the next command is read in step.
TEST_P(BatchTest, CutAnywhere) {
  const std::string_view bytes = GetParam().bytes;
  const Commands want = {GetParam().command, "quit"};
  EXPECT_EQ(commands_of(bytes, ExtensionSet::all()), want);
  for (size_t cut = 1; cut < bytes.size(); ++cut) {
    const std::vector<std::string_view> pieces = {bytes.substr(0, cut), bytes.substr(cut)};
    ASSERT_EQ(describe_all(pieces, job_bytes_max, SIZE_MAX, ExtensionSet::all()), want)
        << "cut at " << cut;
  }
}

std::string batch_name(const testing::TestParamInfo<BatchCase>& info) {
  return info.param.name;
}
INSTANTIATE_TEST_SUITE_P(Extensions, BatchTest, testing::ValuesIn(batch_cases), batch_name);

TEST(PutBatchLine, WithoutTwoNumbersNobodyKnowsWhereTheItemsEnd) {
  EXPECT_EQ(commands_of("put-batch x 5\r\nquit\r\n", ExtensionSet::all()),
            (Commands{"bad", "quit"}));
  EXPECT_EQ(commands_of("put-batch 1\r\nquit\r\n", ExtensionSet::all()), (Commands{"bad", "quit"}));
}

TEST(PutBatchLine, IsDroppedWholePastItsLimitAndReadAtIt) {
  const auto of_size = [](size_t bytes) {
    constexpr std::string_view head = "0 0 60 10485";
    return batch("1", std::string(head) + "\r\n" + std::string(bytes - head.size() - 2, 'x'));
  };
  // At the limit the batch is read, and its item is judged.
  EXPECT_EQ(commands_of(of_size(put_batch_bytes_max), ExtensionSet::all()),
            (Commands{"put-batch too big", "quit"}));
  EXPECT_EQ(commands_of(of_size(put_batch_bytes_max + 1), ExtensionSet::all()),
            (Commands{"put-batch too big", "quit"}));
}

TEST(PutBatchLine, WithoutMemoryTheItemsAreDropped) {
  EXPECT_EQ(describe_all({batch("2", two)}, job_bytes_max, two.size() - 1, ExtensionSet::all()),
            (Commands{"put-body-dropped", "quit"}));
}

class SwitchTest : public testing::TestWithParam<SwitchCase> {};

TEST_P(SwitchTest, WithAndWithoutExtensions) {
  EXPECT_EQ(commands_of(GetParam().bytes, ExtensionSet::all()), GetParam().with);
  EXPECT_EQ(commands_of(GetParam().bytes, ExtensionSet()), GetParam().without);
}

TEST_P(SwitchTest, CutAnywhere) {
  const std::string_view bytes = GetParam().bytes;
  for (size_t cut = 1; cut < bytes.size(); ++cut) {
    const std::vector<std::string_view> pieces = {bytes.substr(0, cut), bytes.substr(cut)};
    ASSERT_EQ(describe_all(pieces, job_bytes_max, SIZE_MAX, ExtensionSet::all()), GetParam().with)
        << "cut at " << cut;
    ASSERT_EQ(describe_all(pieces, job_bytes_max, SIZE_MAX, ExtensionSet()), GetParam().without)
        << "cut at " << cut;
  }
}

std::string switch_name(const testing::TestParamInfo<SwitchCase>& info) {
  return info.param.name;
}
INSTANTIATE_TEST_SUITE_P(Extensions, SwitchTest, testing::ValuesIn(switch_cases), switch_name);

TEST(Extensions, OneThatIsNotNamedIsUnknownWhileTheProbeAnswers) {
  EXPECT_EQ(commands_of("extensions\r\npeek-reserved\r\n", ExtensionSet::probe()),
            (Commands{"extensions", "unknown"}));
}

// ---- Options, read by a table of this test's own.

struct Sample {
  uint32_t count = 0;
  std::string tube;
};
constexpr std::tuple sample_options{option("count", &Sample::count), option("tube", &Sample::tube)};

// The values that were read, or "bad".
std::string sample_of(std::string_view text) {
  Sample sample;
  if (!take_options(text, sample, ExtensionSet::all(), sample_options)) return "bad";
  return std::to_string(sample.count) + "," + sample.tube;
}

TEST(Options, AreReadInAnyOrder) {
  EXPECT_EQ(sample_of(""), "0,");
  EXPECT_EQ(sample_of(" count:7"), "7,");
  EXPECT_EQ(sample_of(" tube:t"), "0,t");
  EXPECT_EQ(sample_of(" count:7 tube:t"), "7,t");
  EXPECT_EQ(sample_of(" tube:t count:7"), "7,t");
  EXPECT_EQ(sample_of(" count:4294967295"), "4294967295,");
}

TEST(Options, AreRefusedWhenTheyAreNotOfTheTable) {
  for (const char* text : {" ",
                           " x",
                           " x:1",
                           " count",
                           " count:",
                           " count:x",
                           " count:1x",
                           " count:-1",
                           " count:1:2",
                           " count:4294967296",
                           " count:1 count:1",
                           " count:1 tube:t count:1",
                           "count:1",
                           "  count:1",
                           " count:1 ",
                           " count:1  tube:t",
                           " Count:1",
                           " coun:1",
                           " counts:1",
                           " :1",
                           " tube:-t",
                           " tube:",
                           " tube:a:b",
                           " count: 1",
                           "\tcount:1",
                           " count:1\ttube:t"}) {
    EXPECT_EQ(sample_of(text), "bad") << "'" << text << "'";
  }
}

// ---- Long lines.

// What a reader makes of these pieces: the length of each line without its CRLF, or "too long".
std::vector<std::string> lines_of(const std::vector<std::string_view>& pieces,
                                  ExtensionSet allowed) {
  LineReader reader(allowed);
  std::vector<std::string> lines;
  for (std::string_view rest : pieces) {
    while (!rest.empty()) {
      const LineReader::Got got = reader.take(rest);
      if (got == LineReader::Got::Line) lines.push_back(std::to_string(reader.line().size()));
      if (got == LineReader::Got::TooLong) lines.emplace_back("too long");
    }
  }
  return lines;
}

// A line of so many bytes with its CRLF that begins with `head`.
std::string line_of(const std::string& head, size_t bytes) {
  return head + std::string(bytes - 2 - head.size(), 'x') + "\r\n";
}

struct LongCase {
  std::string name;
  std::string line;
  std::string with;
  std::string without = "too long";
};

const std::vector<LongCase> long_cases = {
    {"ClassicAtLimit", line_of("", 224), "222", "222"},
    {"ClassicPastLimit", line_of("", 225), "too long"},
    {"ColonAtClassicLimit", line_of(":", 224), "222", "222"},
    {"ColonPastClassicLimit", line_of(":", 225), "223"},
    {"ColonIsTheLastByteThatCounts", line_of(std::string(223, 'x') + ":", 300), "298"},
    {"ColonIsOneByteLate", line_of(std::string(224, 'x') + ":", 300), "too long"},
    {"WordOfOurs", line_of("extensions", 225), "223"},
    {"WordOfOursLater", line_of(" extensions", 225), "too long"},
    {"WordOfBeanstalkd", line_of("peek-ready", 225), "too long"},
    {"WordOfCheckpoint", line_of("checkpoint", 225), "too long"},
    {"ColonAtLongLimit", line_of(":", line_long_bytes_max), "32766"},
    {"ColonPastLongLimit", line_of(":", line_long_bytes_max + 1), "too long"},
    {"ColonFarPastLongLimit", line_of(":", 3 * line_long_bytes_max), "too long"},
    {"WordAtLongLimit", line_of("peek-reserved ", line_long_bytes_max), "32766"},
    {"WordPastLongLimit", line_of("peek-reserved ", line_long_bytes_max + 1), "too long"},
    {"BareCrsAndLfs", ":" + std::string(500, '\r') + "x\n\n\r\n", "504", "too long"},
};

class LongLineTest : public testing::TestWithParam<LongCase> {};

// The next line stays whole, wherever the bytes are cut.
TEST_P(LongLineTest, CutAnywhereThatMatters) {
  const std::string bytes = GetParam().line + "stats\r\n";
  const std::string_view view = bytes;
  const auto check = [&](const std::vector<std::string_view>& pieces, size_t cut) {
    ASSERT_EQ(lines_of(pieces, ExtensionSet::all()),
              (std::vector<std::string>{GetParam().with, "5"}))
        << "cut at " << cut;
    ASSERT_EQ(lines_of(pieces, ExtensionSet()), (std::vector<std::string>{GetParam().without, "5"}))
        << "cut at " << cut;
  };
  check({view}, 0);
  for (size_t cut = 1; cut < view.size(); ++cut) {
    const bool matters = cut < 310 || cut + 20 > view.size() ||
                         (cut + 10 > line_long_bytes_max && cut < line_long_bytes_max + 10);
    if (!matters) continue;
    check({view.substr(0, cut), view.substr(cut)}, cut);
    // With one byte alone between the two.
    if (cut + 1 < view.size()) {
      check({view.substr(0, cut), view.substr(cut, 1), view.substr(cut + 1)}, cut);
    }
  }
}

TEST_P(LongLineTest, ByteByByte) {
  const std::string bytes = GetParam().line + "stats\r\n";
  std::vector<std::string_view> pieces;
  for (size_t i = 0; i < bytes.size(); ++i) pieces.push_back(std::string_view(bytes).substr(i, 1));
  EXPECT_EQ(lines_of(pieces, ExtensionSet::all()),
            (std::vector<std::string>{GetParam().with, "5"}));
}

std::string long_name(const testing::TestParamInfo<LongCase>& info) {
  return info.param.name;
}
INSTANTIATE_TEST_SUITE_P(LongLines, LongLineTest, testing::ValuesIn(long_cases), long_name);

TEST(LongLines, AWordCountsOnlyWhereItsExtensionIsAllowed) {
  const std::string line = line_of("peek-reserved ", 300);
  EXPECT_EQ(lines_of({line}, ExtensionSet::all()), std::vector<std::string>{"298"});
  EXPECT_EQ(lines_of({line}, ExtensionSet::probe()), std::vector<std::string>{"too long"});
}

TEST(LongLines, TheMemoryOfOneIsNotKept) {
  LineReader reader(ExtensionSet::all());
  for (const size_t bytes : {line_long_bytes_max, line_long_bytes_max + 1}) {
    const std::string line = line_of(":", bytes);
    std::string_view first = std::string_view(line).substr(0, 20'000);
    EXPECT_EQ(reader.take(first), LineReader::Got::Nothing);
    EXPECT_GE(reader.held_bytes(), 20'000u);
    std::string_view second = std::string_view(line).substr(20'000);
    EXPECT_NE(reader.take(second), LineReader::Got::Nothing);
    EXPECT_LE(reader.held_bytes(), 2 * line_long_bytes_max);
    std::string_view next = "st";
    EXPECT_EQ(reader.take(next), LineReader::Got::Nothing);
    EXPECT_LE(reader.held_bytes(), 2 * line_bytes_max);
    std::string_view end = "\r\n";
    EXPECT_EQ(reader.take(end), LineReader::Got::Line);
  }
}

}  // namespace
}  // namespace perennial::wire
