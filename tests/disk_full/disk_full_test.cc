// A real server on a small real disk that fills while fifty clients work. The server refuses puts,
// serves everything else, accepts puts again when space is free, and loses nothing whenever it is
// killed (P1, P2, P4).
// disk_full_test [--seed N]
// The test needs the right to mount. Without it the rules are still tested by store_test over a
// file system that reports any amount of free space.

#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <thread>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/disk_full/clients.h"
#include "tests/disk_full/small_disk.h"
#include "tests/support/log_with.h"
#include "tests/support/reply_text.h"
#include "tests/support/seed.h"
#include "tests/support/server_process.h"

namespace perennial::disk_full {
namespace {

using support::Ended;
using testing::HasSubstr;

constexpr uint64_t mib = 1 << 20;
constexpr unsigned clients_count = 50;
constexpr Work filling = {.puts_in_100 = 80};
constexpr Work using_up = {};
constexpr Work moving = {.deletes = false};

bool wait_until(const std::function<bool()>& reached) {
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (!reached()) {
    if (std::chrono::steady_clock::now() > limit) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return true;
}

size_t count_of(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

class DiskFull : public testing::TestWithParam<uint64_t> {
 protected:
  void SetUp() override {
    if (!has_own_mounts()) {
      GTEST_SKIP() << "no right to mount a small disk: see Room.* in store_test instead";
    }
    disk_.emplace(GetParam() * mib);
    server_.emplace(
        support::ServerSetup{.flags = {"-b", data_dir()}, .data_dir = false, .unix_socket = true});
  }

  std::string data_dir() const { return disk_->path() + "/data"; }
  bool has_ballast() const { return std::filesystem::exists(data_dir() + "/ballast"); }

  std::string stats() {
    const Result<std::string> reply = server_->connect().ask("stats\r\n");
    return reply.ok() ? *reply : "";
  }
  uint64_t stat(const std::string& key) { return support::yaml_number(stats(), key, 0); }
  bool state_is(const std::string& state) {
    return stats().find("\nstore-state: " + state + "\n") != std::string::npos;
  }

  void start() {
    const Status started = server_->start();
    ASSERT_TRUE(started.ok()) << started.message();
  }
  // Every acknowledged job is found, and no deleted one.
  void start_and_check() {
    ASSERT_NO_FATAL_FAILURE(start());
    ASSERT_TRUE(clients_.connect(server_->address()).ok());
    const uint64_t total = stat("current-jobs-ready") + stat("current-jobs-reserved") +
                           stat("current-jobs-delayed") + stat("current-jobs-buried");
    const Status checked = clients_.check(total);
    ASSERT_TRUE(checked.ok()) << checked.message() << "\n" << server_->stderr_text();
  }
  void work_until(const Work& work, const std::function<bool()>& reached) {
    clients_.start(work);
    const bool is_reached = wait_until(reached);
    clients_.stop();
    ASSERT_TRUE(clients_.surprise().ok()) << clients_.surprise().message();
    ASSERT_TRUE(is_reached) << stats() << server_->stderr_text();
  }
  // Kills the server while the clients work.
  void kill_during(const Work& work, int after_ms) {
    clients_.start(work);
    std::this_thread::sleep_for(std::chrono::milliseconds(after_ms));
    ASSERT_TRUE(server_->kill_now().ok());
    clients_.stop();
    ASSERT_TRUE(clients_.surprise().ok()) << clients_.surprise().message();
  }
  // The server ends with the exit code for a full disk and one line that says so.
  void run_into_the_wall() {
    const size_t lines_before = count_of(server_->stderr_text(), "at=store.failed exit=75");
    clients_.start(moving);
    const bool has_ended = wait_until([this] {
      disk_->fill();
      return server_->wait(0).ok();
    });
    clients_.stop();
    ASSERT_TRUE(clients_.surprise().ok()) << clients_.surprise().message();
    ASSERT_TRUE(has_ended) << stats() << server_->stderr_text();
    EXPECT_EQ(server_->ended().code, 75) << server_->stderr_text();
    EXPECT_EQ(count_of(server_->stderr_text(), "at=store.failed exit=75"), lines_before + 1);
  }
  // Where even the ballast is gone, the server says so and does not start.
  void expect_refused() {
    const size_t errors_before = count_of(server_->stderr_text(), "level=error");
    const Result<Ended> ended = server_->start_and_wait();
    ASSERT_TRUE(ended.ok());
    EXPECT_EQ(ended->code, 75) << server_->stderr_text();
    EXPECT_THAT(server_->stderr_text(), HasSubstr("bytes are free, and a start needs"));
    EXPECT_EQ(count_of(server_->stderr_text(), "level=error"), errors_before + 1);
  }

  std::optional<SmallDisk> disk_;
  std::optional<support::ServerProcess> server_;
  Clients clients_{clients_count, support::seed()};
};

TEST_P(DiskFull, PutsAreRefusedAndNothingIsLost) {
  ASSERT_NO_FATAL_FAILURE(start());
  ASSERT_TRUE(clients_.connect(server_->address()).ok());
  EXPECT_TRUE(wait_until([this] { return has_ballast(); }));
  for (int round = 1; round <= 2; ++round) {
    SCOPED_TRACE(fmt::format("round {}", round));
    const uint64_t refused_before = clients_.refused_puts();
    ASSERT_NO_FATAL_FAILURE(work_until(filling, [this] { return state_is("low-space"); }));
    ASSERT_NO_FATAL_FAILURE(kill_during(filling, 300));
    EXPECT_GT(clients_.refused_puts(), refused_before);
    EXPECT_GT(disk_->free_bytes(), 0U);
    ASSERT_NO_FATAL_FAILURE(start_and_check());
    const uint64_t steps_before = clients_.steps_done();
    // The state may be "ok" from the start, if the start has freed enough.
    ASSERT_NO_FATAL_FAILURE(work_until(
        using_up, [&] { return clients_.steps_done() > steps_before && state_is("ok"); }));
  }
  ASSERT_NO_FATAL_FAILURE(kill_during(filling, 100));
  ASSERT_NO_FATAL_FAILURE(start_and_check());
  EXPECT_EQ(server_->terminate()->code, 0) << server_->stderr_text();
  fmt::print("{} MiB: {} commands, {} puts refused, {} jobs there at the end\n", GetParam(),
             clients_.steps_done(), clients_.refused_puts(), clients_.count(Outcome::Present));
}

TEST_P(DiskFull, AServerStartsAgainWithTheBallast) {
  ASSERT_NO_FATAL_FAILURE(start());
  ASSERT_TRUE(clients_.connect(server_->address()).ok());
  ASSERT_TRUE(wait_until([this] { return has_ballast(); }));
  ASSERT_NO_FATAL_FAILURE(work_until(filling, [this] { return state_is("low-space"); }));
  ASSERT_TRUE(has_ballast());
  ASSERT_TRUE(server_->kill_now().ok());

  disk_->fill();
  ASSERT_NO_FATAL_FAILURE(start_and_check());
  // The start may remove the unfinished output of a compaction, and then continue to run.
  const auto is_as_it_should = [this] {
    const uint64_t parts = disk_->free_bytes() * 16 / (GetParam() * mib);
    const bool has_given_up = parts <= 5 && state_is("no-ballast") && !has_ballast();
    return has_given_up || (parts >= 4 && state_is("ok"));
  };
  EXPECT_TRUE(wait_until(is_as_it_should)) << stats();
  const std::string released = "at=store.ballast released_bytes=";
  EXPECT_THAT(support::log_with(*server_, released), HasSubstr(released));
  ASSERT_NO_FATAL_FAILURE(kill_during(using_up, 500));
  ASSERT_NO_FATAL_FAILURE(start_and_check());

  disk_->clear();
  const auto is_well = [this] { return has_ballast() && state_is("ok"); };
  ASSERT_NO_FATAL_FAILURE(work_until(using_up, is_well));
  ASSERT_NO_FATAL_FAILURE(work_until(filling, [this] { return state_is("low-space"); }));
}

TEST_P(DiskFull, AWriteWithoutFreeSpaceEndsWith75) {
  ASSERT_NO_FATAL_FAILURE(start());
  ASSERT_TRUE(clients_.connect(server_->address()).ok());
  ASSERT_TRUE(wait_until([this] { return has_ballast(); }));
  ASSERT_NO_FATAL_FAILURE(kill_during(filling, 200));
  ASSERT_NO_FATAL_FAILURE(start_and_check());
  ASSERT_NO_FATAL_FAILURE(run_into_the_wall());
  disk_->fill();
  // The server may not have had a second to remove its ballast. If it had, other files have taken
  // that space, too.
  if (has_ballast()) {
    ASSERT_NO_FATAL_FAILURE(start_and_check());
    ASSERT_FALSE(has_ballast());
    ASSERT_NO_FATAL_FAILURE(run_into_the_wall());
  }
  disk_->fill();
  ASSERT_NO_FATAL_FAILURE(expect_refused());
  disk_->clear();
  ASSERT_NO_FATAL_FAILURE(start_and_check());
  ASSERT_NO_FATAL_FAILURE(work_until(using_up, [this] { return state_is("ok"); }));
}

INSTANTIATE_TEST_SUITE_P(MiB, DiskFull, testing::Values(512, 128, 64),
                         [](const auto& disk) { return fmt::format("{}", disk.param); });

TEST(DiskTooSmall, IsRefusedInOneLine) {
  if (!has_own_mounts()) GTEST_SKIP() << "no right to mount a small disk";
  const SmallDisk disk(mib);
  support::ServerProcess server(
      {.flags = {"-b", disk.path() + "/data"}, .data_dir = false, .unix_socket = true});
  const Result<Ended> ended = server.start_and_wait();
  ASSERT_TRUE(ended.ok());
  EXPECT_EQ(ended->code, 75) << server.stderr_text();
  EXPECT_THAT(server.stderr_text(), HasSubstr("bytes are free, and a start needs 2097152"));
  EXPECT_EQ(count_of(server.stderr_text(), "\n"), 1U) << server.stderr_text();
}

}  // namespace
}  // namespace perennial::disk_full

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  perennial::support::take_seed(argc, argv);
  perennial::disk_full::enter_own_mounts();
  return RUN_ALL_TESTS();
}
