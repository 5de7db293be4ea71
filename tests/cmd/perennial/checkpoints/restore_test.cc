// Kills a real server, copies its data directory as a checkpoint, and starts another server on the
// restored directory.

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include "cmd/perennial/checkpoints/commands.h"
#include "engine/types/check.h"
#include "store/checkpoint/checkpoint.h"
#include "store/format/skipped_ids.h"
#include "store/offline/raw_store.h"
#include "tests/support/server_process.h"

namespace perennial::tool {
namespace {

namespace fs = std::filesystem;
using support::ClientSocket;
using support::ServerProcess;

constexpr Nanos now = 1'795'264'805'123'000'000;
constexpr JobId jobs = 6;

std::string ask(ClientSocket& client, const std::string& line) {
  const Result<std::string> reply = client.ask(line);
  return reply.ok() ? *reply : reply.status().message();
}

// Puts jobs in each state and deletes the fourth.
void fill(ServerProcess& server) {
  ClientSocket client = server.connect();
  for (JobId id = 1; id <= jobs; ++id) {
    const std::string body = fmt::format("body of {}", id);
    ask(client,
        fmt::format("put {} {} 600 {}\r\n{}\r\n", id, id == 2 ? 100'000 : 0, body.size(), body));
  }
  EXPECT_EQ(ask(client, "reserve-job 3\r\n").substr(0, 10), "RESERVED 3");
  EXPECT_EQ(ask(client, "bury 3 3\r\n"), "BURIED\r\n");
  EXPECT_EQ(ask(client, "delete 4\r\n"), "DELETED\r\n");
  EXPECT_EQ(ask(client, "reserve-job 5\r\n").substr(0, 10), "RESERVED 5");
  // Commits everything before it.
  EXPECT_EQ(ask(client, "pause-tube default 0\r\n"), "PAUSED\r\n");
}

// The statistics of each job without times.
std::string describe(ServerProcess& server) {
  ClientSocket client = server.connect();
  std::string out;
  for (JobId id = 1; id <= jobs; ++id) {
    out += ask(client, fmt::format("peek {}\r\n", id));
    std::string stats = ask(client, fmt::format("stats-job {}\r\n", id));
    for (const std::string key : {"OK ", "age: ", "time-left: ", "time-left-ms: "}) {
      const size_t at = stats.find(key);
      if (at != std::string::npos) stats.erase(at, stats.find('\n', at) - at);
    }
    out += stats;
  }
  return out;
}

std::string make_checkpoint(const std::string& data_dir) {
  auto store = store::RawStore::open({.data_dir = data_dir});
  CHECK(store.ok());
  const Result<std::string> path = (*store)->make_checkpoint(now, "0.1.0");
  CHECK(path.ok());
  return *path;
}

int run_tool(const std::string& arguments) {
  const fs::path server = support::program_path(support::Program::Perenniald);
  const std::string command =
      (server.parent_path() / "perennial").string() + " " + arguments + " > /dev/null 2> /dev/null";
  const int status = std::system(command.c_str());  // NOLINT: the arguments are ours.
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

class Restored : public testing::Test {
 protected:
  Restored() {
    CHECK(before_.start().ok());
    fill(before_);
    CHECK(before_.kill_now().ok());
    checkpoint_ = make_checkpoint(before_.data_dir());
    CHECK(before_.start().ok());
    wanted_ = describe(before_);
  }

  store::CheckpointManifest manifest() const {
    const auto read = store::read_checkpoint(checkpoint_);
    CHECK(read.ok());
    return *read;
  }
  static std::string put(ServerProcess& server) {
    ClientSocket client = server.connect();
    return ask(client, "put 0 0 60 1\r\nx\r\n");
  }

  ServerProcess before_;
  ServerProcess after_;
  std::string checkpoint_;
  std::string wanted_;
};

TEST_F(Restored, HasTheSameJobsAndLaterIds) {
  const Status done = restore({.from = checkpoint_, .to = after_.data_dir()});
  ASSERT_TRUE(done.ok()) << done.message();
  const Status started = after_.start();
  ASSERT_TRUE(started.ok()) << started.message();
  EXPECT_EQ(describe(after_), wanted_);
  EXPECT_EQ(manifest().job_count(), jobs - 1);
  const std::string next = put(after_);
  const JobId id = std::stoull(next.substr(std::string("INSERTED ").size()));
  EXPECT_GE(id, manifest().next_id + store::skipped_ids_min);
}

// A client that keeps an id in 32 bits goes on after a restore of a fresh checkpoint.
TEST_F(Restored, OfAFreshCheckpointKeepsIdsBelow31Bits) {
  const std::string from = before_.data_dir() + "/checkpoints";
  support::ClientSocket client = before_.connect();
  const std::string made = ask(client, "checkpoint\r\n");
  ASSERT_EQ(made.substr(0, 3), "OK ") << made;
  std::string newest;
  for (const auto& entry : fs::directory_iterator(from))
    newest = std::max(newest, entry.path().string());
  ASSERT_TRUE(restore({.from = newest, .to = after_.data_dir()}).ok());
  ASSERT_TRUE(after_.start().ok());
  const std::string next = put(after_);
  EXPECT_LT(std::stoull(next.substr(std::string("INSERTED ").size())), JobId{1} << 31) << next;
}

TEST_F(Restored, MovesTheNextIdOnAsItIsTold) {
  EXPECT_EQ(
      restore({.from = checkpoint_, .to = after_.data_dir(), .exact = true, .id_gap = 5}).code(),
      StatusCode::InvalidArgument);
  ASSERT_TRUE(restore({.from = checkpoint_, .to = after_.data_dir(), .id_gap = 1'000}).ok());
  ASSERT_TRUE(after_.start().ok());
  EXPECT_EQ(put(after_), fmt::format("INSERTED {}\r\n", manifest().next_id + 1'000));
}

TEST_F(Restored, HasTheSameNextIdWhereItIsExact) {
  const Status done = restore({.from = checkpoint_, .to = after_.data_dir(), .exact = true});
  ASSERT_TRUE(done.ok()) << done.message();
  ASSERT_TRUE(after_.start().ok());
  EXPECT_EQ(describe(after_), wanted_);
  EXPECT_EQ(put(after_), fmt::format("INSERTED {}\r\n", manifest().next_id));
}

TEST_F(Restored, IsRefusedWhereAByteWasChanged) {
  const std::string path = checkpoint_ + "/db/" + manifest().files.front().name;
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  const auto byte = static_cast<char>(file.get());
  file.seekp(0);
  file.put(static_cast<char>(byte ^ 1));
  file.close();
  EXPECT_EQ(run_tool(fmt::format("restore --from {} --to {}", checkpoint_, after_.data_dir())), 1);
  EXPECT_EQ(run_tool("checkpoint verify " + checkpoint_), 1);
  EXPECT_FALSE(fs::exists(after_.data_dir()));
  EXPECT_FALSE(fs::exists(after_.data_dir() + ".restoring"));
}

TEST_F(Restored, HasExitCodesForScripts) {
  EXPECT_EQ(run_tool("checkpoint verify --json " + checkpoint_), 0);
  EXPECT_EQ(run_tool("checkpoint list --data-dir " + before_.data_dir()), 0);
  EXPECT_EQ(run_tool("checkpoint list"), 2);
  EXPECT_EQ(
      run_tool(fmt::format("restore --json --from {} --to {}", checkpoint_, after_.data_dir())), 0);
  EXPECT_EQ(run_tool(fmt::format("restore --from {} --to {}", checkpoint_, after_.data_dir())), 2);
  EXPECT_EQ(run_tool("restore --from /nowhere --to /nowhere/else"), 1);
  EXPECT_EQ(run_tool("migrate --data-dir " + after_.data_dir()), 0);
  // A server uses the directory.
  EXPECT_EQ(run_tool("migrate --data-dir " + before_.data_dir()), 1);
}

// A partial checkpoint may be one that the server is making.
TEST_F(Restored, IsPrunedWithCareWhileAServerRuns) {
  const std::string dir = before_.data_dir() + "/checkpoints";
  const std::string partial = dir + "/2026-01-01T00-00-00.000Z.partial";
  fs::create_directories(partial + "/db");
  CheckpointPruneOptions options = {
      .place = {.data_dir = before_.data_dir(), .dir = ""}, .keep = 1, .consent = {.yes = true}};
  ASSERT_TRUE(checkpoint_prune(options).ok());
  EXPECT_TRUE(fs::exists(partial));
  ASSERT_TRUE(before_.terminate().ok());
  options.place = {.data_dir = "", .dir = dir};  // Their owner is unknown.
  ASSERT_TRUE(checkpoint_prune(options).ok());
  EXPECT_TRUE(fs::exists(partial));
  options.place = {.data_dir = before_.data_dir(), .dir = dir};
  ASSERT_TRUE(checkpoint_prune(options).ok());
  EXPECT_FALSE(fs::exists(partial));
  EXPECT_TRUE(store::verify_checkpoint(checkpoint_).ok());
}

}  // namespace
}  // namespace perennial::tool
