// Nobody waits for whoever reads the log, and clients cannot fill it.

#include <algorithm>
#include <ctime>
#include <sstream>
#include <string>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/cmd/perenniald/program/launch.h"
#include "tests/support/client_socket.h"
#include "tests/support/temp_dir.h"

namespace perennial::support {
namespace {

ClientSocket connect(const std::string& path, Launch& server) {
  return server.connect("unix:" + path).take();
}

size_t count_of(const std::string& text, std::string_view part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

// The pipe holds 64 KiB. Each connection has two lines with -V.
TEST(LogReader, ThatHangsStopsNobody) {
  const TempDir dir;
  const std::string fifo = dir.path() + "/log";
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  const int reader = open(fifo.c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_GE(reader, 0);
  Launch server(dir.path(),
                {.flags = {"-b", "data", "-l", "unix:s", "-V"}, .shell = "exec 2>log;"});
  const std::string path = dir.path() + "/s";
  ClientSocket waiting = connect(path, server);
  for (int i = 0; i < 2'000; ++i) {
    ClientSocket other = connect(path, server);
    ASSERT_TRUE(other.send("GET / HTTP/1.1\r\n\r\n").ok());
    ASSERT_TRUE(other.read_to_end().ok()) << i;
  }
  EXPECT_EQ(waiting.ask("put 0 0 60 1\r\na\r\n").take(), "INSERTED 1\r\n");
  const time_t begun = time(nullptr);
  server.signal(SIGTERM);
  const Ended ended = server.wait();
  EXPECT_EQ(ended.code, 0);
  EXPECT_LT(time(nullptr) - begun, 20);  // Mostly one second, for the last lines.
  close(reader);
}

TEST(LogReader, GetsFewLinesOfOneClient) {
  const TempDir dir;
  const time_t begun = time(nullptr);
  Launch server(dir.path(), {.flags = {"-b", "data", "-l", "unix:s"}});
  const std::string path = dir.path() + "/s";
  for (int i = 0; i < 1'000; ++i) {
    ClientSocket other = connect(path, server);
    ASSERT_TRUE(other.send("GET / HTTP/1.1\r\n\r\n").ok());
    ASSERT_TRUE(other.read_to_end().ok()) << i;
  }
  sleep(1);
  ClientSocket last = connect(path, server);
  ASSERT_TRUE(last.send("GET / HTTP/1.1\r\n\r\n").ok());
  ASSERT_TRUE(last.read_to_end().ok());
  server.signal(SIGTERM);
  EXPECT_EQ(server.wait().code, 0);
  const auto seconds = static_cast<size_t>(time(nullptr) - begun);
  const std::string log = server.stderr_text();
  EXPECT_LE(count_of(log, "at=conn.refused"), 10 * (seconds + 2));
  EXPECT_EQ(log.find("left_out=0\n", log.rfind("at=conn.refused")), std::string::npos);
}

// The lines of a start and a stop, each of which has this form (a regular expression of POSIX).
void expect_lines(const Launch::Setup& setup, const std::string& form) {
  const TempDir dir;
  Launch server(dir.path(), setup);
  connect(dir.path() + "/s", server);
  server.signal(SIGTERM);
  EXPECT_EQ(server.wait().code, 0);
  std::istringstream lines(server.stderr_text());
  size_t count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    EXPECT_THAT(line, testing::MatchesRegex(form));
  }
  EXPECT_GT(count, 3u);
}

constexpr const char* time_form =
    "20[0-9]{2}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\\.[0-9]{3}Z";

TEST(LogReader, GetsTheTimeOfEachLine) {
  expect_lines({.flags = {"-b", "data", "-l", "unix:s"}},
               std::string("time=") + time_form + " level=info at=[a-z_.]+( .*)?");
}

TEST(LogReader, GetsNoTimeIfItIsTheJournalWhichKnowsIt) {
  const std::string launch = "export JOURNAL_STREAM=$(stat -Lc %d:%i /dev/stderr);";
  expect_lines({.flags = {"-b", "data", "-l", "unix:s"}, .shell = launch},
               "level=info at=[a-z_.]+( .*)?");
  // That of another program, which has started this one.
  expect_lines({.flags = {"-b", "data", "-l", "unix:s"}, .shell = "export JOURNAL_STREAM=1:2;"},
               "time=.*");
}

TEST(LogReader, GetsJson) {
  expect_lines({.flags = {"-b", "data", "-l", "unix:s", "--config", "c"},
                .shell = "echo 'log_format: json' >c;"},
               std::string("\\{\"time\":\"") + time_form +
                   R"(","level":"info","at":"[a-z_.]+"(,"[a-z_]+":"([^"\\]|\\.)*")*})");
}

}  // namespace
}  // namespace perennial::support
