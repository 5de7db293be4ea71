// What a group may do with the data directory, as data_group_access says.

#include <filesystem>
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/cmd/perenniald/program/launch.h"
#include "tests/support/temp_dir.h"

namespace perennial::support {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

// Puts jobs and makes a checkpoint, so that there is one of each kind of file.
void use(Launch& server, const std::string& socket, int jobs) {
  Result<ClientSocket> client = server.connect(socket);
  ASSERT_TRUE(client.ok()) << client.status().message();
  ASSERT_TRUE(client->send("put 0 0 60 1\r\na\r\n").ok());
  EXPECT_THAT(client->read_reply().take(), HasSubstr("INSERTED "));
  // All that were put before are there.
  EXPECT_THAT(client->ask("stats\r\n").take(),
              HasSubstr(fmt::format("current-jobs-ready: {}\n", jobs)));
  ASSERT_TRUE(client->send("checkpoint\r\n").ok());
  EXPECT_THAT(client->read_reply().take(), HasSubstr("OK "));
}

// The files of a socket are their user's, so each user has a socket of its own.
Launch::Setup setup(const std::string& access, const std::string& socket,
                    const std::string& as = "") {
  return {.flags = {"--config", "perennial.yaml", "-b", "data", "-l", "unix:" + socket},
          .shell = fmt::format(
              "echo 'data_group_access: {}\nballast_bytes: 1MiB' >perennial.yaml\n{}", access, as)};
}

// The modes of all that is in the data directory, with how many have each.
void expect_modes(const std::string& data_dir, mode_t file, mode_t dir) {
  size_t seen = 0;
  const auto look = [&](const fs::path& path) {
    struct stat info = {};
    ASSERT_EQ(::lstat(path.c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777, S_ISDIR(info.st_mode) ? dir : file) << path;
    ++seen;
  };
  look(data_dir);
  for (const auto& entry : fs::recursive_directory_iterator(data_dir)) look(entry.path());
  EXPECT_GT(seen, 20u);
}

TEST(GroupAccess, IsThatOfTheSetting) {
  TempDir dir;
  struct Case {
    const char* access;
    mode_t file;
    mode_t dir;
  };
  int jobs = 0;
  // Each goes on with the files of the one before.
  for (const Case& each : {Case{"none", 0600, 0700}, Case{"read", 0640, 0750},
                           Case{"write", 0660, 0770}, Case{"read", 0640, 0750}}) {
    Launch server(dir.path(), setup(each.access, "socket"));
    use(server, "unix:" + dir.path() + "/socket", ++jobs);
    expect_modes(dir.path() + "/data", each.file, each.dir);
    server.signal(SIGTERM);
    EXPECT_EQ(server.wait().code, 0) << server.stderr_text();
  }
}

// The ballast is made when the server serves, and again when space was lacking.
TEST(GroupAccess, IsThatOfTheBallastToo) {
  TempDir dir;
  Launch server(dir.path(), setup("write", "socket"));
  ASSERT_NO_FATAL_FAILURE(use(server, "unix:" + dir.path() + "/socket", 1));
  while (server.stderr_text().find("at=store.ballast") == std::string::npos) ::usleep(10'000);
  expect_modes(dir.path() + "/data", 0660, 0770);
}

// As where each start has a uid of its own, with the group 0. It is killed, so that what it has
// made last is there, too.
TEST(GroupAccess, LetsAnotherUserOfTheGroupGoOn) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can be other users";
  TempDir dir;
  ASSERT_EQ(::chmod(dir.path().c_str(), 0770), 0);
  int jobs = 0;
  for (const int uid : {1'000'660'000, 1'000'770'000, 1'000'660'000}) {
    const std::string as =
        fmt::format("exec setpriv --reuid {} --regid 0 --clear-groups \"$0\" \"$@\"", uid);
    const std::string socket = fmt::format("socket{}", ++jobs);
    Launch server(dir.path(), setup("write", socket, as));
    ASSERT_NO_FATAL_FAILURE(use(server, "unix:" + dir.path() + "/" + socket, jobs));
    server.signal(SIGKILL);
    server.wait();
  }
}

TEST(GroupAccess, IsNamedWhereItIsMissing) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can be other users";
  TempDir dir;
  ASSERT_EQ(::chmod(dir.path().c_str(), 0770), 0);
  {
    Launch server(dir.path(), setup("none", "socket"));
    ASSERT_NO_FATAL_FAILURE(use(server, "unix:" + dir.path() + "/socket", 1));
  }
  Launch other(
      dir.path(),
      setup("write", "other", "exec setpriv --reuid 4711 --regid 0 --clear-groups \"$0\" \"$@\""));
  EXPECT_EQ(other.wait().code, 66);
  EXPECT_THAT(other.stderr_text(), HasSubstr("this is uid 4711 with gid 0"));
  EXPECT_THAT(other.stderr_text(), HasSubstr("data_group_access: write"));
}

}  // namespace
}  // namespace perennial::support
