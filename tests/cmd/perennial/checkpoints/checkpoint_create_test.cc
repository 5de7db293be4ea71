// The tool's output about checkpoints of a running server.

#include "cmd/perennial/checkpoints/checkpoint_create.h"

#include <filesystem>
#include <fstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cmd/perennial/checkpoints/commands.h"
#include "store/checkpoint/checkpoint.h"
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

TEST(CheckpointCreate, ReportsWhyACheckpointFailed) {
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

}  // namespace
}  // namespace perennial::tool
