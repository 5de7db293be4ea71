// A disk that can hold no more files, although it has bytes left: its inodes are used up.

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/disk_full/small_disk.h"
#include "tests/support/log_with.h"
#include "tests/support/server_process.h"

namespace perennial::disk_full {
namespace {

using testing::HasSubstr;

constexpr uint64_t mib = 1 << 20;
constexpr uint64_t files_max = 400;  // So puts are refused below 100, and a start below 32.

class Files : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_own_mounts()) GTEST_SKIP() << "no right to mount a small disk";
    disk_.emplace(256 * mib, files_max);
    server_.emplace(support::ServerSetup{
        .flags = {"-b", disk_->path() + "/data"}, .data_dir = false, .unix_socket = true});
  }
  std::string ask(const std::string& command) {
    const Result<std::string> reply = server_->connect().ask(command + "\r\n");
    return reply.ok() ? *reply : reply.status().message();
  }
  // Free files are looked at once a second.
  bool becomes(const std::string& command, const std::string& part) {
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (ask(command).find(part) == std::string::npos) {
      if (std::chrono::steady_clock::now() > limit) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    return true;
  }

  std::optional<SmallDisk> disk_;
  std::optional<support::ServerProcess> server_;
};

TEST_F(Files, PutsAreRefusedWhileAFewCanStillBeMade) {
  ASSERT_TRUE(server_->start().ok());
  ASSERT_EQ(ask("put 0 0 60 1\r\na"), "INSERTED 1\r\n");
  ASSERT_EQ(ask("put 0 0 60 1\r\nb"), "INSERTED 2\r\n");
  disk_->fill_files_but(90);
  ASSERT_TRUE(becomes("stats", "\nstore-state: low-space\n")) << server_->stderr_text();
  EXPECT_EQ(ask("put 0 0 60 1\r\nc"), "OUT_OF_MEMORY\r\n");
  EXPECT_EQ(ask("delete 1"), "DELETED\r\n");
  const std::string log = support::log_with(*server_, " low_water_files=100\n");
  EXPECT_THAT(log, HasSubstr("at=store.space state=low-space"));
  EXPECT_THAT(log, HasSubstr(" low_water_files=100\n"));
  disk_->clear_files();
  ASSERT_TRUE(becomes("stats", "\nstore-state: ok\n")) << server_->stderr_text();
  EXPECT_THAT(ask("put 0 0 60 1\r\nd"), HasSubstr("INSERTED "));
}

TEST_F(Files, AStartNeedsRoomForAFewAndLosesNothing) {
  ASSERT_TRUE(server_->start().ok());
  ASSERT_EQ(ask("put 0 0 60 1\r\na"), "INSERTED 1\r\n");
  ASSERT_TRUE(server_->kill_now().ok());
  disk_->fill_files_but(20);
  const Result<support::Ended> ended = server_->start_and_wait();
  ASSERT_TRUE(ended.ok());
  EXPECT_EQ(ended->code, 75) << server_->stderr_text();
  EXPECT_THAT(server_->stderr_text(), HasSubstr("more files (inodes), and a start needs 32"));
  disk_->clear_files();
  ASSERT_TRUE(server_->start().ok()) << server_->stderr_text();
  EXPECT_EQ(ask("peek 1"), "FOUND 1 1\r\na\r\n");
}

}  // namespace
}  // namespace perennial::disk_full
