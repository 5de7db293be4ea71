// Checkpoints across starts, stops and kills of a real server, and their schedule.

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/cmd/perenniald/program/checkpoint_support.h"
#include "tests/cmd/perenniald/program/launch.h"
#include "tests/support/log_with.h"
#include "tests/support/server_process.h"

namespace perennial::support {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr const char* put_one = "put 0 0 60 5\r\nhello\r\n";

dev_t device_of(const std::string& path) {
  struct stat info {};
  return stat(path.c_str(), &info) == 0 ? info.st_dev : 0;
}

struct DirCase {
  std::string name;
  std::string dir;  // {} is the test's own directory.
  std::string problem;
};
class DirTest : public testing::TestWithParam<DirCase> {};

TEST_P(DirTest, ThatCannotBeUsedIsRefusedAtTheStart) {
  ServerProcess server({.flags = {"--config", "config"}});
  const std::string dir = fmt::format(fmt::runtime(GetParam().dir), server.dir());
  if (GetParam().problem.starts_with("is on") && device_of(dir) == device_of(server.dir())) {
    GTEST_SKIP() << dir << " is on the file system of the test";
  }
  std::ofstream(server.dir() + "/config") << "checkpoint_dir: " << dir << "\n";
  const Result<Ended> ended = server.start_and_wait();
  ASSERT_TRUE(ended.ok()) << server.stderr_text();
  EXPECT_EQ(ended->code, 5);
  EXPECT_THAT(server.stderr_text(),
              testing::AllOf(HasSubstr("at=checkpoint_dir"), HasSubstr(GetParam().problem)));
}

std::string case_name(const testing::TestParamInfo<DirCase>& info) {
  return info.param.name;
}
INSTANTIATE_TEST_SUITE_P(
    CheckpointDir, DirTest,
    testing::Values(DirCase{"OtherFileSystem", "/dev/shm", "is on another file system"},
                    DirCase{"AFile", "{}/config", "Not a directory"},
                    DirCase{"InNone", "{}/no/such", "cannot be made: No such file"}),
    case_name);

TEST(CheckpointDir, IsCreatedForTheServersUserOnly) {
  ServerProcess server({.flags = {"--config", "config"}});
  const std::string dir = server.dir() + "/kept apart";
  std::ofstream(server.dir() + "/config") << "checkpoint_dir: " << dir << "\n";
  ASSERT_TRUE(server.start().ok()) << server.stderr_text();
  struct stat info {};
  ASSERT_EQ(stat(dir.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0700u);
  ClientSocket client = server.connect();
  const CheckpointAnswer answer = ask_checkpoint(client);
  ASSERT_TRUE(answer.ok) << answer.text;
  EXPECT_EQ(answer.path, dir + "/" + answer.name);
  EXPECT_TRUE(store::verify_checkpoint(answer.path).ok());
}

TEST(CheckpointSchedule, MakesCheckpointsAndKeepsTheConfiguredNumber) {
  ServerProcess server({.flags = {"--config", "config"}});
  std::ofstream(server.dir() + "/config") << "checkpoint_every_s: 1\ncheckpoint_keep: 2\n";
  ASSERT_TRUE(server.start().ok()) << server.stderr_text();
  const std::string pruned = "why=checkpoint_keep";
  for (int tries = 0; server.stderr_text().find(pruned) == std::string::npos; ++tries) {
    ASSERT_LT(tries, 6'000) << server.stderr_text();
    usleep(10'000);
  }
  ClientSocket client = server.connect();
  EXPECT_NE(stats_value(client, "checkpoint-age"), "-1");
  ASSERT_EQ(server.terminate()->code, 0);
  std::vector<std::string> kept = names_in(server.data_dir() + "/checkpoints");
  EXPECT_THAT(kept, SizeIs(2));
  for (const std::string& name : kept) {
    EXPECT_TRUE(store::verify_checkpoint(server.data_dir() + "/checkpoints/" + name).ok()) << name;
  }
}

TEST(CheckpointAge, IsKnownAfterARestart) {
  ServerProcess server({.flags = {"--config", "config"}});
  std::ofstream(server.dir() + "/config") << "";
  ASSERT_TRUE(server.start().ok()) << server.stderr_text();
  {
    ClientSocket client = server.connect();
    EXPECT_EQ(stats_value(client, "checkpoint-age"), "-1");
    ASSERT_TRUE(ask_checkpoint(client).ok);
  }
  ASSERT_EQ(server.terminate()->code, 0);
  // The schedule counts from that checkpoint, so none is made now.
  std::ofstream(server.dir() + "/config") << "checkpoint_every_s: 86400\n";
  ASSERT_TRUE(server.start().ok()) << server.stderr_text();
  ClientSocket client = server.connect();
  const std::string age = stats_value(client, "checkpoint-age");
  EXPECT_THAT(age, testing::MatchesRegex("[0-9]+"));
  EXPECT_LT(std::stoi(age), 60);
  ASSERT_EQ(server.terminate()->code, 0);
  EXPECT_THAT(names_in(server.data_dir() + "/checkpoints"), SizeIs(1));
}

// The newest checkpoint is removed by hand or by an older tool. Operators set alarms on the age, so
// it must not count a checkpoint that is gone.
TEST(CheckpointAge, IsThatOfAnExistingCheckpoint) {
  ServerProcess server;
  ASSERT_TRUE(server.start().ok()) << server.stderr_text();
  ClientSocket client = server.connect();
  const CheckpointAnswer first = ask_checkpoint(client);
  const CheckpointAnswer second = ask_checkpoint(client);
  ASSERT_TRUE(first.ok && second.ok) << first.text << second.text;
  const auto wait_for_log = [&](const std::string& text) {
    for (int tries = 0; server.stderr_text().find(text) == std::string::npos; ++tries) {
      ASSERT_LT(tries, 6'000) << server.stderr_text();
      usleep(10'000);
    }
  };
  ASSERT_TRUE(store::remove_checkpoint(second.path).ok());
  ASSERT_NO_FATAL_FAILURE(wait_for_log("at=checkpoint.lost newest=" + first.path));
  EXPECT_NE(stats_value(client, "checkpoint-age"), "-1");
  ASSERT_TRUE(store::remove_checkpoint(first.path).ok());
  ASSERT_NO_FATAL_FAILURE(wait_for_log("at=checkpoint.lost newest=\"\""));
  EXPECT_EQ(stats_value(client, "checkpoint-age"), "-1");
}

// A kill at any moment leaves complete checkpoints, and partial ones that the next start removes.
TEST(CheckpointCrash, PartialCheckpointsAreRemovedByTheNextStart) {
  ServerProcess server;
  const std::string dir = server.data_dir() + "/checkpoints";
  int interrupted = 0;
  for (int round = 0; round < 8; ++round) {
    ASSERT_TRUE(server.start().ok()) << server.stderr_text();
    EXPECT_THAT(partial_in(dir), IsEmpty());
    ClientSocket client = server.connect();
    ASSERT_TRUE(client.ask(put_one).ok());
    ASSERT_TRUE(client.send("checkpoint\r\n").ok());
    wait_for_partial(dir);
    usleep(static_cast<unsigned>(round) * 3'000);  // So that the rounds end at different moments.
    ASSERT_TRUE(server.kill_now().ok());
    interrupted += partial_in(dir).empty() ? 0 : 1;
  }
  EXPECT_GT(interrupted, 0);
  ASSERT_TRUE(server.start().ok()) << server.stderr_text();
  EXPECT_THAT(log_with(server, " why=half-made"),
              testing::ContainsRegex("at=checkpoint.removed name=[-0-9T.Z]+ why=half-made"));
  for (const std::string& name : names_in(dir)) {
    EXPECT_TRUE(store::verify_checkpoint(dir + "/" + name).ok()) << name;
  }
  ClientSocket client = server.connect();
  EXPECT_EQ(stats_value(client, "current-jobs-ready"), "8");
  EXPECT_TRUE(ask_checkpoint(client).ok);
}

// Every sync is slow, so the stop comes while the checkpoint is being verified.
TEST(CheckpointStop, ACheckpointThatIsBeingMadeIsGivenUpAndItsClientToldSo) {
  const TempDir dir;
  const std::string slow = dir.path() + "/slow";
  const std::string checkpoints = dir.path() + "/data/checkpoints";
  Launch server(dir.path(), {.flags = {"-b", "data", "-l", "unix:s"},
                             .variables = {{"LD_PRELOAD", SLOW_SYNC},
                                           {"SLOW_SYNC_US", "150000"},
                                           {"SLOW_SYNC_IF", slow}}});
  Result<ClientSocket> client = server.connect("unix:" + dir.path() + "/s");
  ASSERT_TRUE(client.ok()) << client.status().message();
  ASSERT_EQ(client->ask(put_one).take(), "INSERTED 1\r\n");
  std::ofstream(slow) << "";
  ASSERT_TRUE(client->send("checkpoint\r\nlist-tube-used\r\n").ok());
  wait_for_partial(checkpoints);
  server.signal(SIGTERM);
  EXPECT_THAT(client->read_reply(checkpoint_timeout_ms).take(),
              testing::AllOf(testing::StartsWith("FAILED "), HasSubstr("the server is stopping")));
  EXPECT_EQ(client->read_reply().take(), "USING default\r\n");
  EXPECT_EQ(server.wait().code, 0) << server.stderr_text();
  EXPECT_THAT(names_in(checkpoints), IsEmpty()) << "given up, and nothing of it left";
}

}  // namespace
}  // namespace perennial::support
