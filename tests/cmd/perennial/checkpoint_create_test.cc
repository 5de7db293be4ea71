// What the tool makes of a running server's checkpoints.

#include "cmd/perennial/live/checkpoint_create.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "cmd/perennial/offline/dump.h"
#include "store/checkpoint.h"
#include "tests/support/server_process.h"

namespace perennial::tool {
namespace {

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

TEST(CheckpointCreate, PrintsThePathOfAVerifiedOne) {
  ServerProcess server;
  ASSERT_TRUE(server.start().ok()) << server.stderr_text();
  put(server, "a");
  testing::internal::CaptureStdout();
  const Status created = checkpoint_create({.server = server.address()});
  std::string path = testing::internal::GetCapturedStdout();
  ASSERT_TRUE(created.ok()) << created.message();
  ASSERT_TRUE(path.ends_with('\n'));
  path.pop_back();
  const Result<store::CheckpointManifest> manifest = store::verify_checkpoint(path);
  ASSERT_TRUE(manifest.ok()) << manifest.status().message();
  EXPECT_EQ(manifest->jobs.ready, 1u);
}

TEST(CheckpointCreate, PrintsJson) {
  ServerProcess server;
  ASSERT_TRUE(server.start().ok()) << server.stderr_text();
  testing::internal::CaptureStdout();
  const Status created = checkpoint_create({.server = server.address(), .json = true});
  const std::string json = testing::internal::GetCapturedStdout();
  ASSERT_TRUE(created.ok()) << created.message();
  EXPECT_THAT(json, HasSubstr("\"path\": \"" + server.data_dir() + "/checkpoints/"));
  for (const char* key : {"name", "commit", "jobs", "bytes", "took_ms"}) {
    EXPECT_THAT(json, HasSubstr("\"" + std::string(key) + "\": ")) << key;
  }
}

TEST(CheckpointCreate, SaysWhyThereIsNone) {
  ServerProcess server;
  ASSERT_TRUE(server.start().ok()) << server.stderr_text();
  const std::string dir = server.data_dir() + "/checkpoints";
  std::filesystem::remove(dir);
  std::ofstream(dir) << "";
  const Status failed = checkpoint_create({.server = server.address()});
  EXPECT_EQ(failed.code(), StatusCode::Io);
  EXPECT_THAT(failed.message(), HasSubstr("no checkpoint was made: " + dir));
}

TEST(CheckpointCreate, OfABeanstalkdIsRefused) {
  ServerProcess server({.program = support::Program::Beanstalkd});
  ASSERT_TRUE(server.start().ok()) << server.stderr_text();
  EXPECT_THAT(checkpoint_create({.server = server.address()}).message(),
              HasSubstr("does not take `checkpoint` from this address, or is not perennial"));
}

TEST(CheckpointCreate, NeedsAServer) {
  const support::TempDir dir;
  EXPECT_EQ(checkpoint_create({.server = "a/b"}).code(), StatusCode::InvalidArgument);
  EXPECT_THAT(checkpoint_create({.server = "unix:" + dir.path() + "/s"}).message(),
              HasSubstr("connect"));
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
  EXPECT_TRUE(std::filesystem::is_empty(server.data_dir() + "/checkpoints"));
  put(server, "fourth");  // It goes on.
  support::ClientSocket client = server.connect();
  ASSERT_EQ(client.ask("delete 4\r\n").take(), "DELETED\r\n");
  client.close();
  ASSERT_EQ(server.terminate()->code, 0);
  const int again = open(of_directory.c_str(), O_WRONLY | O_CREAT, 0600);
  ASSERT_TRUE(dump({.data_dir = server.data_dir()}, again).ok());
  close(again);
  // Commit and next id, in the first line, have moved on, and with them the hash in the last.
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

}  // namespace
}  // namespace perennial::tool
