// Two servers that keep their checkpoints in one directory.

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "store/disk/identity.h"
#include "tests/cmd/perenniald/program/checkpoint_support.h"
#include "tests/support/server_process.h"

namespace perennial::support {
namespace {

namespace fs = std::filesystem;

void configure(const ServerProcess& server, const std::string& dir, const std::string& more = "") {
  std::ofstream(server.dir() + "/config") << "checkpoint_dir: " << dir << "\n" << more;
}

// How often this server's log has this event.
int count_in_log(const ServerProcess& server, const std::string& text) {
  int count = 0;
  const std::string log = server.stderr_text();
  for (size_t at = log.find(text); at != std::string::npos; at = log.find(text, at + 1)) ++count;
  return count;
}

void wait_for_log(const ServerProcess& server, const std::string& text, int times) {
  for (int tries = 0; count_in_log(server, text) < times; ++tries) {
    ASSERT_LT(tries, 6'000) << server.stderr_text();
    usleep(10'000);
  }
}

class SharedDir : public testing::Test {
 protected:
  std::string dir() const { return shared_.path() + "/shared"; }
  static std::string read_identity(const ServerProcess& server) {
    const Result<std::string> identity = store::read_identity(server.data_dir());
    EXPECT_TRUE(identity.ok() && !identity->empty());
    return identity.ok() ? *identity : "";
  }
  // Creates a partial checkpoint, as a killed server leaves it.
  std::string make_partial_of(const std::string& database) const {
    const std::string path = dir() + "/2026-01-01T00-00-00.000Z." + database + ".partial";
    fs::create_directories(path + "/db");
    return path;
  }

  TempDir shared_;
  ServerProcess mine_{{.flags = {"--config", "config"}}};
  ServerProcess others_{{.flags = {"--config", "config"}}};
};

TEST_F(SharedDir, EachScheduleRemovesItsOwnCheckpointsOnly) {
  configure(others_, dir());
  ASSERT_TRUE(others_.start().ok()) << others_.stderr_text();
  ClientSocket client = others_.connect();
  const std::vector<CheckpointAnswer> kept = {ask_checkpoint(client), ask_checkpoint(client)};
  configure(mine_, dir(), "checkpoint_every_s: 1\ncheckpoint_keep: 1\n");
  ASSERT_TRUE(mine_.start().ok()) << mine_.stderr_text();
  ASSERT_NO_FATAL_FAILURE(wait_for_log(mine_, "why=checkpoint_keep", 2));
  for (const CheckpointAnswer& answer : kept) {
    ASSERT_TRUE(answer.ok) << answer.text;
    EXPECT_TRUE(store::verify_checkpoint(answer.path).ok()) << answer.name;
    EXPECT_EQ(count_in_log(mine_, "at=checkpoint.removed name=" + answer.name), 0);
  }
}

TEST_F(SharedDir, TheAgeIsThatOfItsOwnNewestCheckpoint) {
  configure(others_, dir());
  ASSERT_TRUE(others_.start().ok()) << others_.stderr_text();
  ClientSocket other = others_.connect();
  ASSERT_TRUE(ask_checkpoint(other).ok);
  configure(mine_, dir());
  ASSERT_TRUE(mine_.start().ok()) << mine_.stderr_text();
  ClientSocket client = mine_.connect();
  EXPECT_EQ(stats_value(client, "checkpoint-age"), "-1");
}

TEST_F(SharedDir, AStartKeepsThePartialCheckpointsOfOtherServers) {
  ASSERT_TRUE(fs::create_directory(dir()));
  configure(mine_, dir());
  ASSERT_TRUE(mine_.start().ok()) << mine_.stderr_text();
  ASSERT_EQ(mine_.terminate()->code, 0);
  const std::string own = make_partial_of(read_identity(mine_));
  const std::string other = make_partial_of("15ecf2bf-405a-43b0-968d-aa423b74e38e");
  ASSERT_TRUE(mine_.start().ok()) << mine_.stderr_text();
  EXPECT_TRUE(fs::exists(other));
  EXPECT_FALSE(fs::exists(own));
}

// A version that recorded no owner has made it.
TEST_F(SharedDir, APartialCheckpointWithoutAnOwnerStays) {
  const std::string partial = dir() + "/2026-01-01T00-00-00.000Z.partial";
  fs::create_directories(partial + "/db");
  configure(mine_, dir());
  ASSERT_TRUE(mine_.start().ok()) << mine_.stderr_text();
  EXPECT_TRUE(fs::exists(partial));
}

TEST(OwnDir, APartialCheckpointWithoutAnOwnerIsRemoved) {
  ServerProcess server;
  const std::string partial = server.data_dir() + "/checkpoints/2026-01-01T00-00-00.000Z.partial";
  ASSERT_TRUE(server.start().ok()) << server.stderr_text();
  ASSERT_EQ(server.terminate()->code, 0);
  fs::create_directories(partial + "/db");
  ASSERT_TRUE(server.start().ok()) << server.stderr_text();
  EXPECT_FALSE(fs::exists(partial));
}

}  // namespace
}  // namespace perennial::support
