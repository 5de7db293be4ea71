// Temporary checkpoints of a real server: each exists for its own connection only.

#include <filesystem>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "store/reader.h"
#include "tests/cmd/perenniald/program/checkpoint_support.h"
#include "tests/support/server_process.h"

namespace perennial::support {
namespace {

namespace fs = std::filesystem;
using testing::IsEmpty;

CheckpointAnswer ask_temporary(ClientSocket& client) {
  return parse_checkpoint_answer(client.ask("checkpoint temporary\r\n", checkpoint_timeout_ms));
}

void wait_until_gone(const std::string& path) {
  for (int tries = 0; fs::exists(path); ++tries) {
    ASSERT_LT(tries, 6'000) << path << " is still there";
    usleep(10'000);
  }
}

class TemporaryCheckpoint : public testing::Test {
 protected:
  TemporaryCheckpoint() { start(); }
  void start() { EXPECT_TRUE(server_.start().ok()) << server_.stderr_text(); }
  std::string dir() const { return server_.data_dir() + "/checkpoints"; }

  ServerProcess server_;
};

TEST_F(TemporaryCheckpoint, HoldsAllJobsAndCountsAsNoScheduledOne) {
  ClientSocket client = server_.connect();
  ASSERT_EQ(client.ask("put 0 0 60 5\r\nhello\r\n").take(), "INSERTED 1\r\n");
  const CheckpointAnswer answer = ask_temporary(client);
  ASSERT_TRUE(answer.ok) << answer.text;
  EXPECT_EQ(answer.jobs, 1u);
  EXPECT_EQ(fs::path(answer.path).parent_path(), dir());
  const auto reader = store::Reader::open({.path = answer.path});
  ASSERT_TRUE(reader.ok()) << reader.status().message();
  EXPECT_EQ(*(*reader)->bodies().read(1), "hello");
  EXPECT_THAT(*store::list_checkpoints(dir()), IsEmpty());
  EXPECT_THAT(*store::prune_checkpoints(dir(), {.database = "", .has_unmarked = true}, 0),
              IsEmpty());
  EXPECT_EQ(stats_value(client, "checkpoint-age"), "-1");
  client.close();
  wait_until_gone(answer.path);
}

TEST_F(TemporaryCheckpoint, EachConnectionHasItsOwn) {
  ClientSocket a = server_.connect();
  ClientSocket b = server_.connect();
  const CheckpointAnswer of_a = ask_temporary(a);
  const CheckpointAnswer of_b = ask_temporary(b);
  ASSERT_TRUE(of_a.ok && of_b.ok) << of_a.text << of_b.text;
  EXPECT_NE(of_a.path, of_b.path);
  a.close();
  wait_until_gone(of_a.path);
  EXPECT_TRUE(fs::exists(of_b.path));
  const CheckpointAnswer next = ask_temporary(b);
  ASSERT_TRUE(next.ok) << next.text;
  wait_until_gone(of_b.path);
  EXPECT_TRUE(fs::exists(next.path));
}

TEST_F(TemporaryCheckpoint, IsMadeWhileAKeptOneIsVerified) {
  ClientSocket keeping = server_.connect();
  ClientSocket client = server_.connect();
  for (int round = 0; round < 5; ++round) {
    ASSERT_TRUE(keeping.send("checkpoint\r\n").ok());
    for (int i = 0; i < 3; ++i) {
      const CheckpointAnswer answer = ask_temporary(client);
      EXPECT_TRUE(answer.ok) << answer.text;
    }
    const auto kept = parse_checkpoint_answer(keeping.read_reply(checkpoint_timeout_ms));
    EXPECT_TRUE(kept.ok) << kept.text;
    EXPECT_TRUE(store::verify_checkpoint(kept.path).ok());
  }
  EXPECT_EQ(store::list_checkpoints(dir())->size(), 5U);
}

TEST_F(TemporaryCheckpoint, TheNextStartRemovesOneThatAKillLeft) {
  ClientSocket client = server_.connect();
  const CheckpointAnswer answer = ask_temporary(client);
  ASSERT_TRUE(answer.ok) << answer.text;
  ASSERT_TRUE(server_.kill_now().ok());
  EXPECT_TRUE(fs::exists(answer.path));
  start();
  EXPECT_THAT(names_in(dir()), IsEmpty());
}

TEST_F(TemporaryCheckpoint, EndsWithTheServer) {
  ClientSocket client = server_.connect();
  ASSERT_TRUE(ask_temporary(client).ok);
  ASSERT_EQ(server_.terminate()->code, 0);
  EXPECT_THAT(names_in(dir()), IsEmpty());
}

TEST_F(TemporaryCheckpoint, AFailureIsReportedAndTheServerGoesOn) {
  ClientSocket client = server_.connect();
  fs::remove(dir());
  fs::create_symlink("/dev/null", dir());
  EXPECT_THAT(ask_temporary(client).text, testing::StartsWith("FAILED "));
  fs::remove(dir());
  EXPECT_TRUE(ask_temporary(client).ok);
}

}  // namespace
}  // namespace perennial::support
