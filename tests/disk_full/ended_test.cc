// Ended jobs that tubes keep, on a small real disk that others fill. protocol.md, "Jobs that have
// ended", and limits.md promise, and this shows: below twice low_water_bytes they go before
// anything else, the oldest of each tube first, and none is kept, while puts are still accepted;
// below low_water_bytes they go, too, while puts are refused. What was not to go is there, also
// after a kill, and with space again jobs are kept again. What ends fills no disk.
//
// It is blind to a disk without free files, to damage, and to clusters.

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "engine/types/basic.h"
#include "tests/disk_full/small_disk.h"
#include "tests/support/reply_text.h"
#include "tests/support/server_process.h"

namespace perennial::disk_full {
namespace {

constexpr uint64_t mib = 1 << 20;
constexpr uint64_t disk_bytes = 512 * mib;
constexpr uint64_t low_water = disk_bytes / 4;
constexpr int jobs_in_batch = 500;
constexpr int batches_in_tube = 24;  // More than the server removes at once.
constexpr int live_jobs = 200;

bool wait_until(const std::function<bool()>& reached) {
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!reached()) {
    if (std::chrono::steady_clock::now() > limit) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return true;
}

// Bytes that no compression makes smaller.
std::string noise(uint64_t seed, size_t bytes) {
  std::string out;
  for (uint64_t word = seed * 2 + 1; out.size() < bytes;) {
    word = word * 6'364'136'223'846'793'005 + 1'442'695'040'888'963'407;
    for (int shift = 24; shift < 64; shift += 8) out.push_back(static_cast<char>(word >> shift));
  }
  out.resize(bytes);
  return out;
}

class EndedJobs : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_own_mounts()) GTEST_SKIP() << "no right to mount a small disk";
    disk_.emplace(disk_bytes);
    server_.emplace(support::ServerSetup{
        .flags = {"-b", disk_->path() + "/data"}, .data_dir = false, .unix_socket = true});
    start();
  }
  void start() {
    const Status started = server_->start();
    ASSERT_TRUE(started.ok()) << started.message();
    client_ = server_->connect();
  }
  std::string ask(const std::string& command) {
    const Result<std::string> reply = client_.ask(command + "\r\n", 60'000);
    return reply.ok() ? *reply : reply.status().message();
  }
  bool state_is(const std::string& state) {
    return ask("stats").find("\nstore-state: " + state + "\n") != std::string::npos;
  }
  // Puts jobs into the tube that stay there, or end.
  void put_batches(const std::string& tube, int batches) {
    for (int batch = 0; batch < batches; ++batch) {
      std::string items;
      for (int item = 0; item < jobs_in_batch; ++item)
        items += fmt::format("{}0 0 600 3\r\nabc", item > 0 ? "\r\n" : "");
      const std::string line =
          fmt::format("put-batch {} {} tube:{}\r\n{}", jobs_in_batch, items.size(), tube, items);
      ASSERT_EQ(ask(line), fmt::format("INSERTED_BATCH {} 0\r\n", jobs_in_batch));
      for (int item = 0; item < jobs_in_batch; ++item) {
        const Result<std::string> reply = client_.read_reply();
        ASSERT_TRUE(reply.ok());
        tubes_[tube].push_back(support::first_number(*reply));
      }
    }
  }
  void put_live_jobs() {
    for (uint64_t number = 0; number < live_jobs; ++number) {
      const std::string body = noise(number, 2'000);
      const std::string reply =
          ask(fmt::format("put 0 0 600 {} tube:live\r\n{}", body.size(), body));
      ASSERT_TRUE(reply.starts_with("INSERTED ")) << reply;
      live_[support::first_number(reply)] = body;
    }
  }
  void expect_live_jobs() {
    for (const auto& [id, body] : live_) {
      ASSERT_EQ(ask(fmt::format("peek {}", id)),
                fmt::format("FOUND {} {}\r\n{}\r\n", id, body.size(), body));
    }
    EXPECT_EQ(support::yaml_number(ask("stats"), "current-jobs-ready"), live_.size());
  }
  bool is_shown(JobId id) { return ask(fmt::format("peek-ended {}", id)).starts_with("FOUND "); }
  // Whether some of them are shown. They go meanwhile, so the newest are asked for first: behind
  // one that is gone no older one is shown.
  bool expect_oldest_went_first(const std::string& tube) {
    const std::vector<JobId>& ids = tubes_[tube];
    const size_t step = ids.size() / 20;
    bool shown = false;
    bool gone = false;
    for (size_t i = 1; i <= 20; ++i) {
      const JobId id = ids[ids.size() - i * step];
      const bool is_there = is_shown(id);
      EXPECT_FALSE(is_there && gone) << tube << ": " << id << " is there, and a newer one is not";
      shown = shown || is_there;
      gone = gone || !is_there;
    }
    return shown;
  }
  // Puts a job and deletes it.
  JobId end_one() {
    const std::string reply = ask("put 0 0 60 4 tube:first\r\nlast");
    EXPECT_TRUE(reply.starts_with("INSERTED ")) << reply;
    const JobId id = support::first_number(reply);
    EXPECT_EQ(ask(fmt::format("delete {}", id)), "DELETED\r\n");
    return id;
  }
  void begin() {
    ASSERT_NO_FATAL_FAILURE(put_live_jobs());
    for (const char* tube : {"first", "second"}) {
      ASSERT_EQ(ask(fmt::format("set-tube {} keep:86400", tube)), "SET\r\n");
      ASSERT_NO_FATAL_FAILURE(put_batches(tube, batches_in_tube));
      ASSERT_EQ(ask(fmt::format("flush-tube {}", tube)),
                fmt::format("FLUSHED {}\r\n", batches_in_tube * jobs_in_batch));
      ASSERT_TRUE(is_shown(tubes_[tube].front()));
    }
  }
  // Space again: what ends is kept, and can be put back, also after a kill.
  void expect_recovery() {
    disk_->clear();
    ASSERT_TRUE(wait_until([this] { return state_is("ok") && is_shown(end_one()); }));
    const JobId kept = end_one();
    ASSERT_TRUE(is_shown(kept));
    ASSERT_TRUE(server_->kill_now().ok());
    ASSERT_NO_FATAL_FAILURE(start());
    ASSERT_NO_FATAL_FAILURE(expect_live_jobs());
    ASSERT_TRUE(is_shown(kept));
    EXPECT_TRUE(ask(fmt::format("restore-job {}", kept)).starts_with("INSERTED "));
  }

  std::optional<SmallDisk> disk_;
  std::optional<support::ServerProcess> server_;
  support::ClientSocket client_;
  std::map<JobId, std::string> live_;
  std::map<std::string, std::vector<JobId>> tubes_;  // Those that end, by tube, the oldest first.
};

TEST_F(EndedJobs, GoWhileTheDiskIsShortAndPutsAreAccepted) {
  ASSERT_NO_FATAL_FAILURE(begin());
  disk_->fill_but(low_water + low_water / 2);
  bool first_is_there = true;
  bool second_is_there = true;
  EXPECT_TRUE(wait_until([&] {
    first_is_there = expect_oldest_went_first("first");
    second_is_there = expect_oldest_went_first("second");
    return !first_is_there && !second_is_there;
  }));
  EXPECT_TRUE(state_is("ok")) << ask("stats");
  EXPECT_TRUE(wait_until([this] {
    return server_->stderr_text().find(" level=warning at=ended.removed_early jobs=") !=
           std::string::npos;
  })) << server_->stderr_text();
  // None is kept, and everything else works.
  const JobId last = end_one();
  EXPECT_FALSE(is_shown(last));
  EXPECT_EQ(ask(fmt::format("restore-job {}", last)), "NOT_FOUND\r\n");
  EXPECT_EQ(ask("restore-tube first"), "RESTORED 0\r\n");
  EXPECT_TRUE(state_is("ok")) << ask("stats");
  ASSERT_NO_FATAL_FAILURE(expect_live_jobs());
  ASSERT_NO_FATAL_FAILURE(expect_recovery());
}

TEST_F(EndedJobs, GoWhileTheDiskIsFullAndPutsAreRefused) {
  ASSERT_NO_FATAL_FAILURE(begin());
  const JobId deleted = live_.begin()->first;
  disk_->fill_but(low_water * 3 / 4);
  ASSERT_TRUE(wait_until([this] { return state_is("low-space"); })) << ask("stats");
  EXPECT_EQ(ask("put 0 0 60 1\r\nx"), "OUT_OF_MEMORY\r\n");
  EXPECT_EQ(ask(fmt::format("delete {}", deleted)), "DELETED\r\n");
  live_.erase(deleted);
  EXPECT_TRUE(wait_until([this] {
    const bool first_is_there = expect_oldest_went_first("first");
    return !expect_oldest_went_first("second") && !first_is_there;
  }));
  ASSERT_NO_FATAL_FAILURE(expect_live_jobs());
  ASSERT_NO_FATAL_FAILURE(expect_recovery());
}

// What is put back takes space, so that the disk becomes short while it comes back. What was still
// to come went then, and the restore said that all was well.
TEST_F(EndedJobs, ArePutBackWhereThatMakesTheDiskShort) {
  ASSERT_NO_FATAL_FAILURE(put_live_jobs());
  ASSERT_EQ(ask("set-tube back keep:86400"), "SET\r\n");
  constexpr uint64_t jobs = 2'000;
  constexpr size_t body_bytes = 30'000;
  for (uint64_t number = 0; number < jobs; ++number) {
    const std::string body = noise(2'000'000 + number, body_bytes);
    const std::string reply = ask(fmt::format("put 0 0 600 {} tube:back\r\n{}", body_bytes, body));
    ASSERT_TRUE(reply.starts_with("INSERTED ")) << reply;
  }
  ASSERT_EQ(ask("flush-tube back"), fmt::format("FLUSHED {}\r\n", jobs));
  disk_->fill_but(2 * low_water + 8 * mib);
  EXPECT_EQ(ask("restore-tube back"), fmt::format("RESTORED {}\r\n", jobs));
  EXPECT_LT(disk_->free_bytes(), 2 * low_water) << "it was to become short";
  disk_->clear();
  ASSERT_TRUE(server_->kill_now().ok());
  ASSERT_NO_FATAL_FAILURE(start());
  ASSERT_EQ(ask("watch back"), "WATCHING 2\r\n");
  for (uint64_t number = 0; number < jobs; ++number) {
    const std::string reply = ask("reserve-with-timeout 0");
    ASSERT_TRUE(reply.starts_with("RESERVED ")) << reply.substr(0, 40);
    ASSERT_NE(reply.find(noise(2'000'000 + number, body_bytes)), std::string::npos) << number;
    ASSERT_EQ(ask(fmt::format("delete {}", support::first_number(reply))), "DELETED\r\n");
  }
}

// A put is refused for a moment at most: half as much again ends as the disk holds.
TEST_F(EndedJobs, FillNoDisk) {
  ASSERT_NO_FATAL_FAILURE(put_live_jobs());
  ASSERT_EQ(ask("set-tube first keep:86400"), "SET\r\n");
  constexpr size_t body_bytes = 60'000;
  uint64_t refused = 0;
  uint64_t ended = 0;
  while (2 * ended * body_bytes < 3 * disk_bytes) {
    const std::string body = noise(1'000'000 + ended, body_bytes);
    std::string reply;
    ASSERT_TRUE(wait_until([&] {
      reply = ask(fmt::format("put 0 0 60 {} tube:first\r\n{}", body_bytes, body));
      refused += reply == "OUT_OF_MEMORY\r\n" ? 1 : 0;
      return reply != "OUT_OF_MEMORY\r\n";
    })) << ask("stats");
    ASSERT_TRUE(reply.starts_with("INSERTED ")) << reply;
    ASSERT_EQ(ask(fmt::format("delete {}", support::first_number(reply))), "DELETED\r\n");
    ++ended;
  }
  fmt::print("{} jobs of {} bytes have ended, {} puts were refused at first\n", ended, body_bytes,
             refused);
  ASSERT_NO_FATAL_FAILURE(expect_live_jobs());
  ASSERT_TRUE(server_->kill_now().ok());
  ASSERT_NO_FATAL_FAILURE(start());
  ASSERT_NO_FATAL_FAILURE(expect_live_jobs());
  ASSERT_TRUE(wait_until([this] { return state_is("ok"); })) << ask("stats");
}

}  // namespace
}  // namespace perennial::disk_full
