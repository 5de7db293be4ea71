// The real programs: exit codes, pipes, permissions, and a server on a loaded directory.

#include <cstdlib>
#include <filesystem>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/cmd/perennial/capture.h"
#include "tests/support/server_process.h"

namespace perennial::tool {
namespace {

namespace fs = std::filesystem;
using support::ClientSocket;
using support::ServerProcess;

std::string tool() {
  return fs::read_symlink("/proc/self/exe").replace_filename("perennial").string();
}

// The exit code of a shell command.
int shell(const std::string& line) {
  const int status = std::system(fmt::format("bash -c 'set -o pipefail; {}'", line).c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

void fill(ServerProcess& server) {
  ClientSocket client = server.connect();
  const auto ask = [&](const std::string& line) { ASSERT_TRUE(client.ask(line).ok()) << line; };
  for (int i = 0; i < 20; ++i) ask(fmt::format("put {} {} 100 3\r\nabc\r\n", i, i % 3 * 1000));
  ask("put 7 0 60 2\r\n\xff\x80\r\n");
  ask("use mail\r\n");
  ask("put 7 0 60 0\r\n\r\n");
  ask("reserve-job 22\r\n");
  ask("bury 22 9\r\n");
  ask("reserve-job 1\r\n");
  ask("pause-tube mail 1000\r\n");
}

// The statistics without values that depend on the clock.
std::string describe(ClientSocket& client, uint64_t id) {
  const std::string stats = *client.ask(fmt::format("stats-job {}\r\n", id));
  std::string out = *client.ask(fmt::format("peek {}\r\n", id));
  size_t begin = 0;
  for (size_t end = stats.find('\n'); end != std::string::npos; end = stats.find('\n', begin)) {
    const std::string line = stats.substr(begin, end - begin);
    begin = end + 1;
    const bool is_timed =
        line.starts_with("age:") || line.starts_with("time-left") || line.starts_with("OK ");
    if (!is_timed) out += line + "\n";
  }
  return out;
}

TEST(Offline, AServerOnALoadedDumpAnswersAsTheOneBefore) {
  ServerProcess server;
  ASSERT_TRUE(server.start().ok());
  fill(server);
  const std::string data = server.data_dir();
  EXPECT_EQ(
      shell(fmt::format("{} dump --data-dir {} 2>&1 | grep -q \"a server uses\"", tool(), data)),
      1);
  ASSERT_TRUE(server.kill_now().ok());

  const std::string copy = server.dir() + "/copy";
  ASSERT_EQ(
      shell(fmt::format("{0} dump --data-dir {1} | {0} load --data-dir {2}", tool(), data, copy)),
      0);
  EXPECT_EQ(shell(fmt::format("cmp <({0} dump --data-dir {1}) <({0} dump --data-dir {2})", tool(),
                              data, copy)),
            0);
  EXPECT_EQ(shell(fmt::format("{} check --deep --data-dir {}", tool(), copy)), 0);

  ASSERT_TRUE(server.start().ok());
  std::string before;
  {
    ClientSocket client = server.connect();
    for (uint64_t id = 1; id <= 22; ++id) before += describe(client, id);
  }
  ASSERT_TRUE(server.kill_now().ok());
  fs::remove_all(data);
  fs::rename(copy, data);
  const Status started = server.start();
  ASSERT_TRUE(started.ok()) << started.message();
  ClientSocket client = server.connect();
  std::string after;
  for (uint64_t id = 1; id <= 22; ++id) after += describe(client, id);
  EXPECT_EQ(after, before);
  EXPECT_NE(after.find("state: buried"), std::string::npos);
  const std::string next = *client.ask("put 0 0 1 0\r\n\r\n");
  EXPECT_TRUE(next.starts_with("INSERTED 1000")) << next;
}

// A server and the tools refuse the directory and name the command, which makes a checkpoint. The
// way back is a restore of that checkpoint as it is.
TEST(Offline, ADirectoryOfAnOlderFormatIsServedAfterItsMigration) {
  for (const std::string name : {"clean", "killed"}) {
    // These directories are years old, and a delay in them would end.
    ServerProcess server({.flags = {"--accept-clock"}});
    const std::string data = server.data_dir();
    const std::string output = server.dir() + "/output";
    // Runs the tool. Returns its exit code, and all that it has printed.
    const auto run = [&](const std::string& arguments) {
      const int code = shell(fmt::format("{} {} >{} 2>&1", tool(), arguments, output));
      return std::pair(code, read_file(output));
    };
    fs::copy(std::string(GOLDEN_DIR) + "/format_1/" + name, data, fs::copy_options::recursive);
    const std::string why =
        "its format is 1, and this program reads and writes 2 to 5: run perennial migrate "
        "--data-dir " +
        data;
    const auto ended = server.start_and_wait();
    ASSERT_TRUE(ended.ok());
    EXPECT_EQ(ended->code, 65);
    EXPECT_NE(server.stderr_text().find(why), std::string::npos) << server.stderr_text();
    for (const std::string command : {"dump", "check"}) {
      const auto [code, said] = run(command + " --data-dir " + data);
      EXPECT_EQ(code, 1);
      EXPECT_NE(said.find(why), std::string::npos) << said;
    }
    const auto [would, planned] = run("migrate --dry-run --data-dir " + data);
    EXPECT_EQ(would, 0);
    EXPECT_NE(planned.find("would run 0002_add_keys\nwould go from format 1 to format 2\n"),
              std::string::npos)
        << planned;

    const auto [code, said] = run("migrate --data-dir " + data);
    ASSERT_EQ(code, 0) << said;
    EXPECT_NE(said.find("from format 1 to format 2\n"), std::string::npos) << said;
    EXPECT_EQ(run("check --deep --data-dir " + data).first, 0);
    const std::string from = fs::directory_iterator(data + "/checkpoints")->path();
    const std::string back = server.dir() + "/back";
    const auto [refused, advice] = run(fmt::format("restore --from {} --to {}", from, back));
    EXPECT_EQ(refused, 1);
    EXPECT_NE(advice.find("restore it with --exact"), std::string::npos) << advice;
    EXPECT_EQ(run(fmt::format("restore --exact --from {} --to {}", from, back)).first, 0);
    EXPECT_EQ(run("migrate --data-dir " + back).first, 0);
    const auto dumped = run("dump --data-dir " + data);
    EXPECT_EQ(dumped.first, 0);
    EXPECT_EQ(run("dump --data-dir " + back), dumped);
    ASSERT_TRUE(server.start().ok()) << server.stderr_text();
    ClientSocket client = server.connect();
    EXPECT_EQ(*client.ask("peek 1\r\n"), "FOUND 1 5\r\nhello\r\n");
  }
}

TEST(Offline, ExitCodesTellWhatHappened) {
  ServerProcess server;
  ASSERT_TRUE(server.start().ok());
  fill(server);
  ASSERT_TRUE(server.terminate().ok());
  const std::string data = server.data_dir();
  struct Case {
    std::string line;
    int want;
  };
  const Case cases[] = {{"TOOL dump --data-dir DATA >/dev/null", 0},
                        {"TOOL dump --data-dir DATA >/dev/full", 1},
                        {"TOOL dump --data-dir DATA --id 999 2>/dev/null", 1},
                        {"TOOL dump --data-dir DATA/none 2>/dev/null", 1},
                        {"TOOL dump 2>/dev/null", 2},
                        {"TOOL dump --data-dir DATA --state lost 2>/dev/null", 2},
                        {"TOOL dump --data-dir DATA --json 2>/dev/null", 2},
                        {"TOOL dump --data-dir DATA --id x 2>/dev/null", 2},
                        {"TOOL load --data-dir DATA --from DATA/../d 2>/dev/null", 1},
                        {"TOOL dump --data-dir DATA | TOOL load --data-dir DATA 2>/dev/null", 2},
                        {"TOOL load --data-dir DATA/../new </dev/null 2>/dev/null", 1},
                        {"TOOL check --data-dir DATA >/dev/null", 0},
                        {"TOOL check --data-dir DATA >/dev/full", 1},
                        {"TOOL check --data-dir /dev/null 2>/dev/null", 1},
                        // The reader of the pipe goes away: the tool prints a message and is not
                        // killed by a signal.
                        {"mkfifo DATA/../pipe; (: <DATA/../pipe) & exec 3>DATA/../pipe; wait; "
                         "TOOL dump --data-dir DATA >&3 2>/dev/null",
                         1}};
  for (const Case& one : cases) {
    std::string line = one.line;
    for (size_t at = line.find("TOOL"); at != std::string::npos; at = line.find("TOOL")) {
      line.replace(at, 4, tool());
    }
    for (size_t at = line.find("DATA"); at != std::string::npos; at = line.find("DATA")) {
      line.replace(at, 4, data);
    }
    EXPECT_EQ(shell(line), one.want) << line;
  }
}

TEST(Offline, WithoutPermissionItSaysSo) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can become somebody else";
  ServerProcess server;
  ASSERT_TRUE(server.start().ok());
  ASSERT_TRUE(server.terminate().ok());
  fs::permissions(server.dir(), fs::perms(0755));
  fs::copy(tool(), server.dir() + "/tool");
  const std::string nobody =
      fmt::format("setpriv --reuid=65534 --clear-groups {}/tool", server.dir());
  const std::string data = server.data_dir();
  const std::string lines[] = {fmt::format("{} dump --data-dir {}", nobody, data),
                               fmt::format("{} check --data-dir {}", nobody, data),
                               fmt::format("{} dump --data-dir {} | {} load --data-dir {}/new",
                                           tool(), data, nobody, server.dir())};
  for (const std::string& line : lines) {
    EXPECT_EQ(shell(fmt::format("{} >/dev/null 2>{}/said", line, server.dir())), 1) << line;
    const std::string said = read_file(server.dir() + "/said");
    EXPECT_NE(said.find("Permission denied"), std::string::npos) << line << "\n" << said;
  }
}

}  // namespace
}  // namespace perennial::tool
