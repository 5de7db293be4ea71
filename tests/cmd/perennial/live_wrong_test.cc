// The messages of the subcommands when no server or another program listens, or when they are
// called incorrectly.

#include <array>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cmd/common/socket.h"
#include "cmd/common/tool/server_connection.h"
#include "tests/cmd/perennial/canned_server.h"
#include "tests/cmd/perennial/tool_process.h"
#include "tests/support/temp_dir.h"

namespace perennial::tool {
namespace {

using support::CannedServer;
using support::ToolRun;
using testing::HasSubstr;

using Arguments = std::vector<std::string>;

Arguments with(Arguments arguments, const Arguments& more) {
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

const std::array subcommands = {
    Arguments{"stats"},
    Arguments{"tubes"},
    Arguments{"top", "--once"},
    Arguments{"put", "x"},
    Arguments{"peek", "1"},
    Arguments{"kick", "1"},
    Arguments{"bury", "1"},
    Arguments{"delete", "1"},
    Arguments{"pause", "t", "1"},
    Arguments{"drain"},
    Arguments{"undrain"},
    Arguments{"list", "t"},
    Arguments{"flush", "t"},
    Arguments{"move", "t", "u"},
    Arguments{"set", "job", "1", "--pri", "1"},
    Arguments{"set", "tube", "t", "--tries", "1"},
    Arguments{"export-beanstalkd", "--to", "127.0.0.1:1"},
};

// The name has two words if the first one is a group.
std::string name_of(const Arguments& subcommand) {
  const bool has_group = subcommand.front() == "set";
  return has_group ? subcommand[0] + " " + subcommand[1] : subcommand.front();
}

TEST(NoServer, AMissingServerIsReportedWithItsAddress) {
  const support::TempDir dir;
  const std::string address = "unix:" + dir.path() + "/none";
  for (const Arguments& subcommand : subcommands) {
    const ToolRun run = support::run_tool(with(subcommand, {"--server", address}));
    EXPECT_EQ(run.code, 1) << subcommand.front();
    EXPECT_EQ(run.out, "");
    EXPECT_EQ(run.err, fmt::format("perennial {}: {}: connect: No such file or directory\n",
                                   name_of(subcommand), address));
  }
}

TEST(SomethingElse, AProgramThatIsNoServerIsRecognised) {
  const CannedServer http("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
  for (const Arguments& subcommand : subcommands) {
    const ToolRun run = support::run_tool(with(subcommand, {"--server", http.address()}));
    EXPECT_EQ(run.code, 1) << subcommand.front();
    // The export connects to both servers before it sends a command.
    const bool is_export = subcommand.front() == "export-beanstalkd";
    EXPECT_THAT(run.err, HasSubstr(is_export ? "connect"
                                             : "what answers there is no perennial or beanstalkd"))
        << subcommand.front();
  }
}

TEST(SomethingElse, AServerThatDoesNotAnswerTimesOut) {
  const CannedServer silent("");
  Result<ServerConnection> server = ServerConnection::open(silent.address());
  ASSERT_TRUE(server.ok());
  ASSERT_TRUE(server->limit_silence(std::chrono::milliseconds(50)).ok());
  const Result<wire::ClientReply> reply = server->ask(Stats{});
  ASSERT_FALSE(reply.ok());
  EXPECT_EQ(
      reply.status().message(),
      silent.address() + ": the server does not answer; what it was asked for it may still do");
}

// As at a host that drops what it gets: the queue of the listener is full.
TEST(SomethingElse, AServerThatCannotBeReachedTimesOut) {
  const common::Socket listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof at;
  ASSERT_EQ(::bind(listener.fd(), reinterpret_cast<sockaddr*>(&at), size), 0);
  ASSERT_EQ(::listen(listener.fd(), 0), 0);
  ASSERT_EQ(::getsockname(listener.fd(), reinterpret_cast<sockaddr*>(&at), &size), 0);
  std::vector<common::Socket> waiting;
  for (int i = 0; i < 4; ++i) {
    waiting.emplace_back(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    (void)::connect(waiting.back().fd(), reinterpret_cast<sockaddr*>(&at), size);
  }
  const std::string address = fmt::format("127.0.0.1:{}", ntohs(at.sin_port));
  const ToolRun run = support::run_tool({"stats", "--server", address, "--timeout", "100ms"});
  EXPECT_EQ(run.code, 1);
  EXPECT_EQ(run.err, fmt::format("perennial stats: {}: connect: Connection timed out\n", address));
}

std::string stats_reply(const std::string& lines) {
  const std::string document = "---\n" + lines;
  return fmt::format("OK {}\r\n{}\r\n", document.size(), document);
}

std::string hostname() {
  std::array<char, 256> name{};
  ::gethostname(name.data(), name.size() - 1);
  return name.data();
}

// What it answers to `extensions`, so that a signal is the only way.
const std::string knows_no_drain = "UNKNOWN_COMMAND\r\n";

TEST(Drain, SignalsNoProcessThatIsNoServer) {
  // The pid of this test, which a signal would end.
  const CannedServer liar(
      stats_reply(fmt::format("pid: {}\ndraining: false\nhostname: {}\n", ::getpid(), hostname())) +
      knows_no_drain);
  const ToolRun run = support::run_tool({"drain", "--yes", "--server", liar.address()});
  EXPECT_EQ(run.code, 1);
  EXPECT_THAT(run.err, HasSubstr("it may run in a container"));
}

TEST(Drain, SignalsNothingForAServerElsewhere) {
  const CannedServer elsewhere(
      stats_reply(fmt::format("pid: {}\ndraining: false\nhostname: elsewhere\n", ::getpid())) +
      knows_no_drain);
  const ToolRun run = support::run_tool({"drain", "--yes", "--server", elsewhere.address()});
  EXPECT_EQ(run.code, 1);
  EXPECT_THAT(run.err, HasSubstr("is on another machine"));
}

struct UsageCase {
  const char* name;
  Arguments arguments;
  const char* message;
};
void PrintTo(const UsageCase& usage, std::ostream* out) {
  *out << usage.name;
}

class Usage : public testing::TestWithParam<UsageCase> {};

// There is no server at that address, so the error is found without connecting.
TEST_P(Usage, IsRefusedBeforeConnecting) {
  const ToolRun run =
      support::run_tool(with(GetParam().arguments, {"--server", "unix:/nonexistent/socket"}));
  EXPECT_EQ(run.code, 2) << run.err;
  EXPECT_THAT(run.err, HasSubstr(GetParam().message));
  EXPECT_EQ(run.out, "");
}

INSTANTIATE_TEST_SUITE_P(
    Tool, Usage,
    testing::Values(
        UsageCase{"TubeOfPut", {"put", "x", "--tube", "a b"}, "\"a b\" is no name of a tube"},
        UsageCase{"TubeOfPeek", {"peek", "--ready", "--tube", "-x"}, "is no name of a tube"},
        UsageCase{"TubeOfPause", {"pause", std::string(201, 'x'), "1"}, "is no name of a tube"},
        UsageCase{"TubeOfStats", {"stats", "--tube", "\xc3\xa4"}, "is no name of a tube"},
        UsageCase{"TubeOfKick", {"kick", "--tube", "*", "--count", "1"}, "is no name of a tube"},
        UsageCase{"TubeOfExport",
                  {"export-beanstalkd", "--to", "x:1", "--tube", "a,b"},
                  "is no name of a tube"},
        UsageCase{"IdZero", {"delete", "0"}, "\"0\" is no id of a job"},
        UsageCase{"IdWord", {"bury", "1", "x"}, "\"x\" is no id of a job"},
        UsageCase{"IdTooLarge", {"kick", "18446744073709551616"}, "is no id of a job"},
        UsageCase{"NoId", {"delete"}, "ID"},
        UsageCase{"KickNothing", {"kick"}, "give the ids of jobs, or --tube with"},
        UsageCase{"KickBoth", {"kick", "1", "--tube", "t", "--count", "1"}, "give the ids"},
        UsageCase{"KickTubeOnly", {"kick", "--tube", "t"}, "goes together"},
        UsageCase{
            "KickAllAndSome", {"kick", "--tube", "t", "--count", "1", "--all"}, "--count does"},
        UsageCase{"KickAllOfNone", {"kick", "--all"}, "goes together"},
        UsageCase{"KickReady", {"kick", "--tube", "t", "--state", "ready"}, "only buried and"},
        UsageCase{"KickMatch", {"kick", "--tube", "t", "--match", "size=1"}, "is no list of"},
        UsageCase{"KickNone", {"kick", "--tube", "t", "--count", "0"}, "--count is from 1"},
        UsageCase{"KickTooMany", {"kick", "--tube", "t", "--count", "4294967296"}, "--count is"},
        UsageCase{"PeekNothing", {"peek"}, "say which job"},
        UsageCase{"PeekTwo", {"peek", "1", "--ready"}, "say which job"},
        UsageCase{"PeekTwoForms", {"peek", "1", "--body", "--json"}, "exclude each other"},
        UsageCase{"PutTwoBodies", {"put", "a", "b"}, "more than one body"},
        UsageCase{"PutBodyAndFile", {"put", "a", "--file", "b"}, "exclude each other"},
        UsageCase{"PutTries", {"put", "a", "--tries", "0"}, "--tries: \"0\" is no number of tries"},
        UsageCase{"PutKeyEmpty", {"put", "a", "--idp", ""}, "--idp: \"\" is no key"},
        UsageCase{"PutKeyTime", {"put", "a", "--idp", "k:5ms"}, "--idp: \"k:5ms\" is no key"},
        UsageCase{"PutUntil", {"put", "a", "--until", "x"}, "--until: x not in"},
        UsageCase{"PutUntilAlone", {"put", "a", "--until", "ttl"}, "--until needs --idp"},
        UsageCase{"PutUntilTtl",
                  {"put", "a", "--idp", "k", "--until", "ttl"},
                  "needs a time: --idp KEY:DURATION"},
        UsageCase{"PutLinesKey", {"put", "a", "--lines", "--idp", "k"}, "exclude each other"},
        UsageCase{"PutCon", {"put", "a", "--con", "-k"}, "is no concurrency key"},
        UsageCase{"PutConNone", {"put", "a", "--con", "k:0"}, "is no concurrency key"},
        UsageCase{"PutConJobs", {"put", "a", "--con", "k:two"}, "is no concurrency key"},
        UsageCase{"PutBackoff", {"put", "a", "--backoff", "5:4"}, "is no back-off"},
        UsageCase{"PutDead", {"put", "a", "--dead", "-x"}, "--dead: \"-x\" is no name of a tube"},
        UsageCase{"PutExpire", {"put", "a", "--expire", "0"}, "is no duration above 0"},
        UsageCase{"PutExpireUnit", {"put", "a", "--expire", "1w"}, "is no duration above 0"},
        UsageCase{"PutDelay", {"put", "a", "--delay", "1,5"}, "--delay: \"1,5\" is no duration"},
        UsageCase{"PutDelayEmpty", {"put", "a", "--delay", ""}, "--delay: \"\" is no duration"},
        UsageCase{"PutTtr", {"put", "a", "--ttr", "9ms"}, "--ttr: \"9ms\" is no ttr"},
        UsageCase{"ListTube", {"list", "a b"}, "is no name of a tube"},
        UsageCase{"ListState", {"list", "t", "--state", "ready,"}, "is no list of states"},
        UsageCase{"ListKeyOfAll", {"list", "*", "--idp", "k"}, "is a key of one tube"},
        UsageCase{"ListAfter", {"list", "t", "--after", "x"}, "--after: 'x' is not a whole number"},
        UsageCase{"FlushTube", {"flush", "*"}, "is no name of a tube"},
        UsageCase{"FlushState", {"flush", "t", "--state", ""}, "is no list of states"},
        UsageCase{"MoveSame", {"move", "t", "t"}, "are the same tube"},
        UsageCase{"MoveReserved", {"move", "t", "u", "--state", "reserved"}, "cannot be moved"},
        UsageCase{"MoveNone", {"move", "t", "u", "--count", "0"}, "--count: '0' is not"},
        UsageCase{"SetNothing", {"set", "job", "1"}, "give at least one option"},
        UsageCase{"SetId", {"set", "job", "x", "--pri", "1"}, "is no id of a job"},
        UsageCase{"SetPri", {"set", "job", "1", "--pri", "-"}, "--pri: \"-\" is no priority"},
        UsageCase{"SetTubeNothing", {"set", "tube", "t"}, "give at least one option"},
        UsageCase{"SetRate", {"set", "tube", "t", "--rate", "5"}, "--rate: \"5\" is no rate"},
        UsageCase{"SetDrain", {"set", "tube", "t", "--drain", "on"}, "is no answer: yes or no"},
        UsageCase{"PriTooLarge", {"put", "a", "--pri", "4294967296"}, "--pri"},
        UsageCase{"PriNegative", {"put", "a", "--pri", "-1"}, "--pri"},
        UsageCase{"BuryPri", {"bury", "1", "--pri", "4294967296"}, "--pri is from 0"},
        UsageCase{"StatsBoth", {"stats", "--tube", "t", "--job", "1"}, "exclude each other"},
        UsageCase{"Interval",
                  {"top", "--interval", "0.01"},
                  "--interval: '0.01' is not a duration from 100ms to 1h"},
        UsageCase{"IntervalNoNumber", {"top", "--interval", "nan"}, "--interval: 'nan' is not"},
        UsageCase{"Pause", {"pause", "t", "x"}, "DURATION: 'x' is not a duration: 90s, 15m,"},
        UsageCase{"PausePart", {"pause", "t", "250ms"}, "'250ms' is not in whole seconds"},
        UsageCase{"TimeoutNone", {"stats", "--timeout", "0"}, "is not a duration from 1ms to 7d"},
        UsageCase{"CountNegative", {"kick", "--tube", "t", "--count=-1"}, "--count: '-1' is not"},
        UsageCase{"CountTooLong",
                  {"kick", "--tube", "t", "--count", "18446744073709551616"},
                  "--count: '18446744073709551616' is not a whole number from 0 to"},
        UsageCase{"ExportNowhere", {"export-beanstalkd"}, "--to is required"}),
    [](const auto& param) { return param.param.name; });

TEST(Usage, AnInvalidAddressIsRefused) {
  const ToolRun run = support::run_tool({"stats", "--server", "localhost:port:0"});
  EXPECT_NE(run.code, 0);
  EXPECT_EQ(support::run_tool({"stats", "--server", "localhost:99999"}).code, 2);
}

}  // namespace
}  // namespace perennial::tool
