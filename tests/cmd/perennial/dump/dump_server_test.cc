// The dump of a running server, and the removal of the temporary checkpoint.

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd/perennial/checkpoints/checkpoint_create.h"
#include "cmd/perennial/dump/commands.h"
#include "store/checkpoint/checkpoint.h"
#include "tests/cmd/perennial/canned_server.h"
#include "tests/cmd/perennial/tool_process.h"
#include "tests/support/server_process.h"

namespace perennial::tool {
namespace {

namespace fs = std::filesystem;
using support::ServerProcess;
using testing::HasSubstr;

void put(ServerProcess& server, const std::string& body) {
  support::ClientSocket client = server.connect();
  const std::string size = std::to_string(body.size());
  ASSERT_TRUE(client.ask("put 0 0 60 " + size + "\r\n" + body + "\r\n").ok());
}

std::vector<std::string> lines_of(const std::string& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

// The sorted names of all entries of a directory.
std::vector<std::string> names_in(const std::string& dir) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(dir)) names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

// The server removes the checkpoint when it notices that the connection has closed.
void wait_until_empty(const std::string& dir) {
  for (int tries = 0; !fs::is_empty(dir); ++tries) {
    ASSERT_LT(tries, 6'000) << testing::PrintToString(names_in(dir));
    usleep(10'000);
  }
}

Status dump_to_nowhere(const ServerProcess& server) {
  const int out = open("/dev/null", O_WRONLY | O_CLOEXEC);
  Status dumped = dump({.server = server.address()}, out);
  close(out);
  return dumped;
}

TEST(DumpServer, IsTheDumpOfItsCheckpointAndLeavesNone) {
  ServerProcess server;
  ASSERT_TRUE(server.start().ok()) << server.stderr_text();
  for (const char* body : {"first", "second", "\xff\xfe"}) put(server, body);
  const std::string of_server = server.dir() + "/server.jsonl";
  const std::string of_directory = server.dir() + "/directory.jsonl";
  const int out = open(of_server.c_str(), O_WRONLY | O_CREAT, 0600);
  const Status dumped = dump({.server = server.address()}, out);
  close(out);
  ASSERT_TRUE(dumped.ok()) << dumped.message();
  wait_until_empty(server.data_dir() + "/checkpoints");
  put(server, "fourth");  // The server keeps running.
  support::ClientSocket client = server.connect();
  ASSERT_EQ(client.ask("delete 4\r\n").take(), "DELETED\r\n");
  client.close();
  ASSERT_EQ(server.terminate()->code, 0);
  const int again = open(of_directory.c_str(), O_WRONLY | O_CREAT, 0600);
  ASSERT_TRUE(dump({.data_dir = server.data_dir()}, again).ok());
  close(again);
  // Commit and next id in the first line have advanced, and so the hash in the last line differs.
  const std::vector<std::string> a = lines_of(of_server);
  const std::vector<std::string> b = lines_of(of_directory);
  ASSERT_EQ(a.size(), 5u);
  ASSERT_EQ(b.size(), 5u);
  EXPECT_TRUE(std::equal(a.begin() + 1, a.end() - 1, b.begin() + 1));
}

TEST(DumpServer, TakesADirectoryOrAServer) {
  EXPECT_EQ(dump({}).code(), StatusCode::InvalidArgument);
  EXPECT_EQ(dump({.data_dir = "d", .server = "127.0.0.1:1"}).code(), StatusCode::InvalidArgument);
}

TEST(DumpServer, LeavesNoCheckpoint) {
  ServerProcess server;
  ASSERT_TRUE(server.start().ok()) << server.stderr_text();
  ASSERT_TRUE(dump_to_nowhere(server).ok());
  support::ClientSocket client = server.connect();
  EXPECT_THAT(client.ask("stats\r\n").take(), HasSubstr("checkpoint-age: -1\n"));
}

// A permanent checkpoint is kept while another client dumps.
TEST(DumpServer, LeavesPermanentCheckpointsAlone) {
  ServerProcess server;
  ASSERT_TRUE(server.start().ok()) << server.stderr_text();
  put(server, "a");
  std::atomic<bool> stop = false;
  std::vector<std::thread> dumpers;
  for (int i = 0; i < 2; ++i) {
    dumpers.emplace_back([&] {
      while (!stop) EXPECT_TRUE(dump_to_nowhere(server).ok());
    });
  }
  std::vector<std::string> paths;
  for (int i = 0; i < 30; ++i) {
    const Result<CheckpointMade> made = request_checkpoint(server.address());
    EXPECT_TRUE(made.ok()) << made.status().message();
    if (made.ok()) paths.push_back(made->path);
  }
  stop = true;
  for (std::thread& dumper : dumpers) dumper.join();
  for (const std::string& path : paths) {
    EXPECT_TRUE(store::verify_checkpoint(path).ok()) << path << " is gone";
  }
}

TEST(DumpServer, DelaysNoScheduledCheckpoint) {
  ServerProcess server({.flags = {"--config", "config"}});
  std::ofstream(server.dir() + "/config") << "checkpoint_every_s: 1\ncheckpoint_keep: 0\n";
  ASSERT_TRUE(server.start().ok()) << server.stderr_text();
  const auto made = [&] {
    const auto listed = store::list_checkpoints(server.data_dir() + "/checkpoints");
    return listed.ok() ? listed->size() : 0;
  };
  // Dumps more often than checkpoints are due. The first one is due at the start.
  for (int tries = 0; made() < 3; ++tries) {
    ASSERT_LT(tries, 200) << "dumps, and no scheduled checkpoint";
    ASSERT_TRUE(dump_to_nowhere(server).ok());
    usleep(100'000);
  }
}

// An older version knows `checkpoint` but accepts no argument after it.
TEST(DumpServer, OfAnOlderVersionSaysWhatToDoInstead) {
  const support::CannedServer server("BAD_FORMAT\r\n");
  EXPECT_THAT(dump({.server = server.address()}).message(),
              testing::AllOf(HasSubstr("of an older version"), HasSubstr("checkpoint create")));
}

// Nobody reads the pipe for its output, so the dump is still running when it is killed.
TEST(DumpServer, KilledInTheMiddleLeavesNothing) {
  ServerProcess server;
  ASSERT_TRUE(server.start().ok()) << server.stderr_text();
  for (int i = 0; i < 4; ++i) put(server, std::string(60'000, 'x'));
  const std::string dir = server.data_dir() + "/checkpoints";
  for (const int number : {SIGINT, SIGTERM, SIGKILL}) {
    int ends[2] = {-1, -1};
    ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
    const std::string tool = support::tool_path();
    const pid_t pid = fork();
    if (pid == 0) {
      dup2(ends[1], STDOUT_FILENO);
      execl(tool.c_str(), tool.c_str(), "dump", "--server", server.address().c_str(), nullptr);
      _exit(127);
    }
    char byte = 0;
    ASSERT_EQ(read(ends[0], &byte, 1), 1) << "it has begun to write";
    EXPECT_FALSE(fs::is_empty(dir));
    kill(pid, number);
    int status = 0;
    ASSERT_EQ(waitpid(pid, &status, 0), pid);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == number);
    close(ends[0]);
    close(ends[1]);
    wait_until_empty(dir);
  }
}

}  // namespace
}  // namespace perennial::tool
