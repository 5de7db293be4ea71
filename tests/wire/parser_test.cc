#include "wire/parser.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/wire/describe.h"

// Streams of lines and bodies: framing, sizes, and which bytes are dropped.
namespace perennial::wire {
namespace {

using Commands = std::vector<std::string>;

constexpr uint32_t job_bytes_max = 10;

struct StreamCase {
  std::string name;
  std::string bytes;
  Commands want;
  size_t body_bytes_left = SIZE_MAX;
};

// Returns a line with an unknown command. `bytes` includes its CRLF.
std::string line_of(size_t bytes) {
  return std::string(bytes - 2, 'x') + "\r\n";
}

const std::vector<StreamCase> streams = {
    {"Put", "put 1 2 3 5\r\nhello\r\n", {"put pri=1 delay=2 ttr=3 body=hello"}},
    {"PutLargestNumbers",
     "put 4294967295 4294967295 4294967295 1\r\nx\r\n",
     {"put pri=4294967295 delay=4294967295 ttr=4294967295 body=x"}},
    {"PutSpacesAndZeros",
     "put   01   02   03   002\r\nhi\r\n",
     {"put pri=1 delay=2 ttr=3 body=hi"}},
    {"PutEmptyBody", "put 0 0 0 0\r\n\r\n", {"put pri=0 delay=0 ttr=0 body="}},
    {"PutBodyAtLimit",
     "put 0 0 1 10\r\n0123456789\r\n",
     {"put pri=0 delay=0 ttr=1 body=0123456789"}},
    {"PutBodyPastLimit", "put 0 0 1 11\r\n01234567890\r\nstats\r\n", {"put-too-big", "stats"}},
    {"PutTooBigWithJunk",
     "put 0 0 1 11 junk\r\n01234567890\r\nstats\r\n",
     {"put-too-big", "stats"}},
    {"PutTooBigWithoutCrlf", "put 0 0 1 11\r\n01234567890xxstats\r\n", {"put-too-big", "stats"}},
    {"PutJunkLeavesBody",
     "put 0 0 1 5 x\r\nstats\r\nquit\r\n",
     {"put-trailing-junk", "stats", "quit"}},
    {"PutBadNumberLeavesBody", "put 0 0 z 5\r\nstats\r\nquit\r\n", {"bad", "stats", "quit"}},
    {"PutBodyFitsTheMemoryLeft",
     "put 0 0 1 5\r\nhello\r\nstats\r\n",
     {"put pri=0 delay=0 ttr=1 body=hello", "stats"},
     5},
    {"PutBodyOnePastTheMemoryLeft",
     "put 0 0 1 5\r\nhello\r\nstats\r\n",
     {"put-body-dropped", "stats"},
     4},
    {"Note", "note 7 5\r\nhello\r\nstats\r\n", {"note 7 text=hello", "stats"}},
    {"NoteOfLines", "note 7 7\r\nstats\r\n\r\nquit\r\n", {"note 7 text=stats\r\n", "quit"}},
    {"NoteLongest",
     "note 7 4096\r\n" + std::string(4096, 'x') + "\r\nstats\r\n",
     {"note 7 text=" + std::string(4096, 'x'), "stats"}},
    {"NoteTooLong",
     "note 7 4097\r\n" + std::string(4097, 'x') + "\r\nstats\r\n",
     {"note too big", "stats"}},
    {"NoteEmpty", "note 7 0\r\n\r\nstats\r\n", {"note bad", "stats"}},
    {"NoteJunkLeavesText", "note 7 5 x\r\nstats\r\nquit\r\n", {"note bad", "stats", "quit"}},
    {"NoteWithOption", "note 7 5 a:b\r\nquit\n\r\nstats\r\n", {"note bad", "stats"}},
    {"NoteWithoutSize", "note 7\r\nstats\r\n", {"bad", "stats"}},
    {"NoteWithoutId", "note x 5\r\nstats\r\n", {"bad", "stats"}},
    {"NoteNoCrlf", "note 7 5\r\nhelloxxstats\r\n", {"note no crlf", "stats"}},
    {"Schedule",
     "set-schedule s 1 2 3 5 every:9\r\nhello\r\nstats\r\n",
     {"set-schedule s 1 2 3 5 every:9 body=hello", "stats"}},
    {"ScheduleBodyPastLimit",
     "set-schedule s 0 0 1 11 every:9\r\n01234567890\r\nstats\r\n",
     {"set-schedule too big", "stats"}},
    {"ScheduleTooBigWithJunk",
     "set-schedule s 0 0 1 11 junk\r\n01234567890\r\nstats\r\n",
     {"set-schedule too big", "stats"}},
    {"ScheduleWithJunk",
     "set-schedule s 0 0 1 4 every:9 x\r\nquit\r\nstats\r\n",
     {"set-schedule bad", "stats"}},
    {"ScheduleWithoutTimes",
     "set-schedule s 0 0 1 4\r\nquit\r\nstats\r\n",
     {"set-schedule bad", "stats"}},
    {"ScheduleBadNumberLeavesBody",
     "set-schedule s 0 z 1 5 every:9\r\nstats\r\nquit\r\n",
     {"bad", "stats", "quit"}},
    {"ScheduleBadNameDropsBody",
     "set-schedule -s 0 0 1 5 every:9\r\nstats\r\nquit\r\n",
     {"set-schedule bad", "quit"}},
    {"ScheduleNoCrlf",
     "set-schedule s 0 0 1 5 every:9\r\nhelloxxstats\r\n",
     {"set-schedule no crlf", "stats"}},
    {"ScheduleAndNoMemoryLeft",
     "set-schedule s 0 0 1 5 every:9\r\nhello\r\nstats\r\n",
     {"put-body-dropped", "stats"},
     4},
    {"NoteAndNoMemoryLeft", "note 7 5\r\nhello\r\nstats\r\n", {"note 7 text=", "stats"}, 4},
    {"PutBodyDroppedAndNoCrlf", "put 0 0 1 5\r\nhelloxxstats\r\n", {"put-no-crlf", "stats"}, 4},
    {"PutTooBigAndNoMemoryLeft",
     "put 0 0 1 11\r\n01234567890\r\nstats\r\n",
     {"put-too-big", "stats"},
     4},
    {"PutJunkAndNoMemoryLeft", "put 0 0 1 5 x\r\nstats\r\n", {"put-trailing-junk", "stats"}, 0},
    {"PutEmptyNeedsNoMemory",
     "put 0 0 1 0\r\n\r\nstats\r\n",
     {"put pri=0 delay=0 ttr=1 body=", "stats"},
     0},
    {"PutAfterDroppedBody",
     "put 0 0 1 5\r\nhello\r\nput 0 0 1 2\r\nab\r\n",
     {"put-body-dropped", "put pri=0 delay=0 ttr=1 body=ab"},
     2},
    {"PutBodyHoldsCrlf",
     "put 0 0 1 6\r\na\r\nb\r\n\r\n",
     {"put pri=0 delay=0 ttr=1 body=a\r\nb\r\n"}},
    {"PutNoCrlf", "put 0 0 1 2\r\nabcdstats\r\n", {"put-no-crlf", "stats"}},
    {"PutNoLf", "put 0 0 1 2\r\nab\rxstats\r\n", {"put-no-crlf", "stats"}},
    {"PutNoCr", "put 0 0 1 2\r\nabx\nstats\r\n", {"put-no-crlf", "stats"}},
    {"PutLfCr", "put 0 0 1 2\r\nab\n\rstats\r\n", {"put-no-crlf", "stats"}},
    {"PutAfterNoCrlf",
     "put 0 0 1 2\r\nabcdput 0 0 1 2\r\nef\r\n",
     {"put-no-crlf", "put pri=0 delay=0 ttr=1 body=ef"}},
    {"Pipeline", "use a\r\nwatch b\r\nstats\r\n", {"use a", "watch b", "stats"}},
    {"LineAtLimit", line_of(224), {"unknown"}},
    {"LineOnePastLimit", line_of(225) + "stats\r\n", {"bad", "stats"}},
    {"LineTwoPastLimit", line_of(226) + "stats\r\n", {"bad", "stats"}},
    {"LineTwiceLimit", line_of(448) + "stats\r\n", {"bad", "stats"}},
    {"LineTwiceLimitAndOne", line_of(449) + "stats\r\n", {"bad", "stats"}},
    {"LineVeryLong", line_of(100'000) + "stats\r\n", {"bad", "stats"}},
    {"LineLongWithNul", std::string(300, '\0') + "\r\nstats\r\n", {"bad", "stats"}},
    {"LineLongWithBareCrAndLf", std::string(300, '\r') + "\n\nstats\r\n", {"bad", "unknown"}},
    {"LineLongOfPut", "put " + std::string(300, ' ') + "0 0 1 5\r\nstats\r\n", {"bad", "stats"}},
    {"BareCrDoesNotStall", "pe\rek 1\r\nstats\r\n", {"unknown", "stats"}},
    {"TwoCr", "stats\r\r\nstats\r\n", {"bad", "stats"}},
    {"BareLfEndsNothing", "stats\nstats\r\nstats\r\n", {"bad", "stats"}},
    {"EmptyLines", "\r\n\r\n", {"unknown", "unknown"}},
    {"HttpPost", "POST / HTTP/1.1\r\nput 0 0 1 1\r\nx\r\n", {"http"}},
    {"HttpPostOverLong", "POST /" + std::string(300, 'x') + " HTTP/1.1\r\nstats\r\n", {"http"}},
    {"HttpGet", "GET / HTTP/1.1\r\n", {"http"}},
    {"HttpHead", "HEAD / HTTP/1.1\r\n", {"http"}},
    {"HttpPut", "PUT / HTTP/1.1\r\n", {"http"}},
    {"HttpDelete", "DELETE 1\r\n", {"http"}},
    {"HttpConnect", "CONNECT a:1 HTTP/1.1\r\n", {"http"}},
    {"HttpOptions", "OPTIONS * HTTP/1.1\r\n", {"http"}},
    {"HttpTrace", "TRACE / HTTP/1.1\r\n", {"http"}},
    {"HttpPatch", "PATCH / HTTP/1.1\r\n", {"http"}},
    {"MethodWithoutSpace", "POSTS / HTTP/1.1\r\nstats\r\n", {"unknown", "stats"}},
    {"MethodInSmallLetters", "delete 1\r\nstats\r\n", {"delete 1", "stats"}},
    {"MethodLater", "stats\r\nPOST / HTTP/1.1\r\nstats\r\n", {"stats", "unknown", "stats"}},
    {"HostHeader", "stats\r\nHost: a\r\nput 0 0 1 1\r\nx\r\n", {"stats", "http"}},
    {"HostHeaderInAnyCase", "hOsT:\r\nstats\r\n", {"http"}},
    {"HostHeaderOverLong", "host:" + std::string(300, 'x') + "\r\nstats\r\n", {"http"}},
    {"HostWithoutColon", "host\r\nstats\r\n", {"unknown", "stats"}},
    {"HostInABody", "put 0 0 1 7\r\nHost: a\r\n", {"put pri=0 delay=0 ttr=1 body=Host: a"}},
    {"Tls", "\x16\x03\x01put 0 0 1 1\r\nx\r\n", {"tls"}},
    {"Proxy", "PROXY TCP4 1.2.3.4 1.2.3.5 1 2\r\nstats\r\n", {"proxy"}},
    {"ProxyOfVersion2",
     std::string("\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c", 16),
     {"unknown", "unknown", "proxy"}},
    {"ProxyWithoutSpace", "PROXYS\r\nstats\r\n", {"unknown", "stats"}},
    {"TlsByteLater", "x\x16\r\nstats\r\n", {"unknown", "stats"}},
    {"IncompleteMethod", "PO", {}},
    {"IncompleteLine", "stat", {}},
    {"IncompleteCrlf", "stats\r", {}},
    {"IncompleteBody", "put 0 0 1 5\r\nhel", {}},
    {"IncompleteBodyCrlf", "put 0 0 1 5\r\nhello\r", {}},
};

// A number, and what follows it, at the end of a line with a body behind it.
struct OddSize {
  std::string name;
  std::string tail;
};

const std::vector<OddSize> odd_sizes = {
    {"Good", "5"},
    {"Zeros", "  0005"},
    {"None", ""},
    {"Word", "x"},
    {"Signed", "+5"},
    {"Negative", "-5"},
    {"Fraction", "5.0"},
    {"Hexadecimal", "0x5"},
    {"Junk", "5x"},
    {"JunkBehindASpace", "5 x"},
    {"Space", "5 "},
    {"UnknownOption", "5 a:b"},
    {"Colon", "5:"},
    {"JunkOfNone", "0 x"},
    {"TooBig", "5000"},
    {"TooBigWithJunk", "5000x"},
    {"TooBigWithOption", "5000 a:b"},
    {"Gigabytes", "4000000000"},
    {"GigabytesWithJunk", "4000000000x"},
    {"Of32Bits", "4294967295"},
    {"PastThat", "4294967296"},
    {"PastThatWithJunk", "4294967296x"},
    {"Of64BitsLessCrlf", "18446744073709551613"},
    {"OneMore", "18446744073709551614"},
    {"Of64Bits", "18446744073709551615"},
    {"PastThem", "18446744073709551616"},
    {"OfHundredDigits", std::string(100, '9')},
};

// Returns what the bytes give: the commands, without the word of the first.
Commands outcome(const std::string& bytes) {
  Commands commands = describe_all({bytes}, 4096);
  if (commands.empty()) return commands;
  const std::string first = commands.front();
  if (first.starts_with("put pri=") || first.starts_with("note 1 ")) commands.front() = "good";
  if (first.ends_with("too-big") || first == "note too big") commands.front() = "too big";
  if (first == "put-trailing-junk" || first == "note bad") commands.front() = "bad";
  if (first.ends_with("no-crlf") || first == "note no crlf") commands.front() = "no crlf";
  return commands;
}

class OddSizeTest : public testing::TestWithParam<OddSize> {};

// A body that is read as commands, one that is dropped, and one that is waited for.
TEST_P(OddSizeTest, OfANoteIsWhatThatOfAPutIs) {
  const std::string& tail = GetParam().tail;
  for (const std::string& body : {std::string("hello\r\nstats\r\n"), std::string("stats\r\nq"),
                                  std::string(5000, 'x') + "\r\nstats\r\n"}) {
    EXPECT_EQ(outcome("note 1 " + tail + "\r\n" + body),
              outcome("put 0 0 60 " + tail + "\r\n" + body));
  }
}

INSTANTIATE_TEST_SUITE_P(Parser, OddSizeTest, testing::ValuesIn(odd_sizes),
                         [](const auto& tested) { return tested.param.name; });

class StreamTest : public testing::TestWithParam<StreamCase> {};

TEST_P(StreamTest, GivesItsCommandsInOnePiece) {
  EXPECT_EQ(describe_all({GetParam().bytes}, job_bytes_max, GetParam().body_bytes_left),
            GetParam().want);
}

TEST_P(StreamTest, GivesTheSameCommandsByteByByte) {
  std::vector<std::string_view> bytes;
  for (size_t i = 0; i < GetParam().bytes.size(); ++i) {
    bytes.push_back(std::string_view(GetParam().bytes).substr(i, 1));
  }
  EXPECT_EQ(describe_all(bytes, job_bytes_max, GetParam().body_bytes_left), GetParam().want);
}

TEST_P(StreamTest, GivesTheSameCommandsInTwoPieces) {
  const std::string_view bytes = GetParam().bytes;
  for (size_t split = 1; split < std::min<size_t>(bytes.size(), 600); ++split) {
    const std::vector<std::string_view> pieces = {bytes.substr(0, split), bytes.substr(split)};
    ASSERT_EQ(describe_all(pieces, job_bytes_max, GetParam().body_bytes_left), GetParam().want)
        << "split at " << split;
  }
}

std::string case_name(const testing::TestParamInfo<StreamCase>& info) {
  return info.param.name;
}
INSTANTIATE_TEST_SUITE_P(Parser, StreamTest, testing::ValuesIn(streams), case_name);

Step feed(Parser& parser, std::string_view bytes) {
  return parser.feed({bytes.data(), bytes.size()});
}

TEST(Parser, StopsAfterTheFirstCommand) {
  Parser parser(job_bytes_max);
  const Step step = feed(parser, "stats\r\nquit\r\n");
  EXPECT_EQ(step.consumed, 7u);
  ASSERT_TRUE(step.command);
  EXPECT_EQ(describe(*step.command), "stats");
}

// A client that announces a body of a gigabyte and sends nothing costs no memory.
TEST(Parser, AllocatesNoMemoryForABodyThatHasNotArrived) {
  Parser parser(1u << 30);
  const size_t before = parser.held_bytes();
  EXPECT_FALSE(feed(parser, "put 0 0 1 1073741824\r\n").command);
  EXPECT_EQ(parser.held_bytes(), before);
  EXPECT_FALSE(feed(parser, "x").command);
  EXPECT_LE(parser.held_bytes(), before + 64 * 1024);
}

TEST(Parser, HoldsNoBytesOfABodyThatIsTooBig) {
  Parser parser(job_bytes_max);
  const size_t before = parser.held_bytes();
  EXPECT_FALSE(feed(parser, "put 0 0 1 4294967295\r\n").command);
  const std::string chunk(1 << 20, 'x');
  const uint64_t total = uint64_t{4294967295} + 2;
  for (uint64_t sent = chunk.size(); sent < total; sent += chunk.size()) {
    ASSERT_FALSE(feed(parser, chunk).command);
  }
  EXPECT_EQ(parser.held_bytes(), before);
  const Step last = feed(parser, chunk);
  ASSERT_TRUE(last.command);
  EXPECT_EQ(describe(*last.command), "put-too-big");
  EXPECT_EQ(last.consumed, total % chunk.size());
}

// Nobody sends so much. What counts is that no byte of it is taken for a command.
TEST(Parser, DropsABatchOfTheLargestSize) {
  Parser parser(job_bytes_max);
  for (const std::string size : {"18446744073709551614", "18446744073709551615"}) {
    EXPECT_FALSE(feed(parser, "put-batch 1 " + size + "\r\nstats\r\nstats\r\n").command);
  }
}

// The memory that was left when the body was announced is used by others now.
TEST(Parser, DropsABodyThatNoLongerFits) {
  Parser parser(1u << 20);
  const size_t before = parser.held_bytes();
  EXPECT_FALSE(feed(parser, "put 0 0 1 100000\r\n" + std::string(99'999, 'b')).command);
  EXPECT_GE(parser.held_bytes(), before + 99'999);
  EXPECT_FALSE(parser.feed(std::string_view("b"), 99'999).command);
  EXPECT_EQ(parser.held_bytes(), before);
  // The rest of the body is dropped even if there is memory again.
  const Step step = feed(parser, "\r\n");
  ASSERT_TRUE(step.command);
  EXPECT_TRUE(std::holds_alternative<Put>(*step.command));
  EXPECT_TRUE(step.body_dropped);
  EXPECT_EQ(step.body.size(), 0u);
  // The next body is kept.
  const Step next = feed(parser, "put 0 0 1 1\r\nx\r\n");
  ASSERT_TRUE(next.command);
  EXPECT_FALSE(next.body_dropped);
}

TEST(Parser, HoldsAtMostTwoLinesOfALongLine) {
  Parser parser(job_bytes_max);
  EXPECT_FALSE(feed(parser, std::string(1 << 20, 'x')).command);
  EXPECT_FALSE(feed(parser, std::string(1 << 20, 'y')).command);
  EXPECT_LE(parser.held_bytes(), 2 * line_bytes_max);
}

TEST(Parser, HandsTheBodyOverWithItsCommand) {
  Parser parser(1u << 20);
  const size_t before = parser.held_bytes();
  const std::string bytes = "put 0 0 1 100000\r\n" + std::string(100'000, 'b') + "\r\n";
  const Step step = feed(parser, bytes);
  ASSERT_TRUE(step.command);
  EXPECT_EQ(step.body.size(), 100'000u);
  EXPECT_EQ(parser.held_bytes(), before);
}

TEST(Parser, FreesABodyWithoutCrlf) {
  Parser parser(1u << 20);
  const size_t before = parser.held_bytes();
  const std::string bytes = "put 0 0 1 100000\r\n" + std::string(100'002, 'b');
  const Step step = feed(parser, bytes);
  ASSERT_TRUE(step.command);
  EXPECT_EQ(step.body.size(), 0u);
  EXPECT_EQ(parser.held_bytes(), before);
}

}  // namespace
}  // namespace perennial::wire
