// A disk of 3 GiB that other files have filled, where compactions are large. Deleted jobs still
// free their space, and the server stops when asked to.

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <ostream>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/disk_full/small_disk.h"
#include "tests/support/server_process.h"

namespace perennial::disk_full {
namespace {

constexpr uint64_t mib = 1 << 20;
constexpr uint64_t left_bytes = 59 * mib;
constexpr size_t jobs = 900;
constexpr size_t body_bytes = 500'000;

struct DeletedCase {
  const char* name;
  size_t deleted;
  bool in_order;
  uint64_t given_back_bytes;  // A lower bound.
};

void PrintTo(const DeletedCase& deleted, std::ostream* out) {
  *out << deleted.name;
}

bool wait_until(const std::function<bool()>& reached) {
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!reached()) {
    if (std::chrono::steady_clock::now() > limit) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return true;
}

class LargeDisk : public testing::TestWithParam<DeletedCase> {
 protected:
  void SetUp() override {
    if (has_own_mounts()) disk_ = SmallDisk::in_a_file(3072 * mib);
    if (disk_ == nullptr)
      GTEST_SKIP() << "no right to mount a file: see FullDisk.* in store_damage_test";
    server_ = std::make_unique<support::ServerProcess>(support::ServerSetup{
        .flags = {"-b", data_dir(), "-z", "1MiB"}, .data_dir = false, .unix_socket = true});
    const Status started = server_->start();
    ASSERT_TRUE(started.ok()) << started.message();
  }

  std::string data_dir() const { return disk_->path() + "/data"; }
  bool has_ballast() const { return std::filesystem::exists(data_dir() + "/ballast"); }

  std::vector<uint64_t> put_all() {
    std::mt19937_64 random(1);
    std::string body(body_bytes, '\0');  // Incompressible.
    for (char& c : body) c = static_cast<char>(random());
    std::vector<uint64_t> ids;
    support::ClientSocket client = server_->connect();
    for (size_t i = 0; i < jobs; ++i) {
      const std::string reply =
          client.ask(fmt::format("put 0 0 60 {}\r\n{}\r\n", body_bytes, body)).take();
      if (reply.starts_with("INSERTED ")) ids.push_back(std::stoull(reply.substr(9)));
    }
    return ids;
  }
  // Fills the disk with other files, up to a small rest and the size of the ballast.
  void fill() {
    ASSERT_TRUE(wait_until([this] {
      disk_->fill_but(left_bytes);
      return !has_ballast() && disk_->free_bytes() <= left_bytes + mib;
    })) << server_->stderr_text();
  }

  std::unique_ptr<SmallDisk> disk_;
  std::unique_ptr<support::ServerProcess> server_;
};

TEST_P(LargeDisk, GivesBackWhatIsDeleted) {
  ASSERT_TRUE(wait_until([this] { return has_ballast(); }));
  std::vector<uint64_t> ids = put_all();
  ASSERT_EQ(ids.size(), jobs);
  ASSERT_NO_FATAL_FAILURE(fill());
  if (!GetParam().in_order) std::shuffle(ids.begin(), ids.end(), std::mt19937_64(2));
  support::ClientSocket client = server_->connect();
  for (size_t i = 0; i < GetParam().deleted; ++i) {
    ASSERT_EQ(client.ask(fmt::format("delete {}\r\n", ids[i])).take(), "DELETED\r\n");
  }
  EXPECT_TRUE(wait_until([this] {
    return disk_->free_bytes() + 2 * mib >= left_bytes + GetParam().given_back_bytes;
  })) << disk_->free_bytes()
      << "\n"
      << server_->stderr_text();
  EXPECT_EQ(server_->terminate()->code, 0) << server_->stderr_text();
  ASSERT_TRUE(server_->start().ok()) << server_->stderr_text();
  const std::string stats = server_->connect().ask("stats\r\n").take();
  EXPECT_NE(stats.find(fmt::format("\ncurrent-jobs-ready: {}\n", jobs - GetParam().deleted)),
            std::string::npos)
      << stats;
}

// Out of 429 MiB. As in any database, half of what remains may be garbage.
INSTANTIATE_TEST_SUITE_P(ThreeGiB, LargeDisk,
                         testing::Values(DeletedCase{"MostInAnyOrder", 800, false, 300 * mib},
                                         DeletedCase{"TheOldest", 100, true, 20 * mib},
                                         DeletedCase{"AFewInAnyOrder", 100, false, 0}),
                         [](const auto& deleted) { return std::string(deleted.param.name); });

}  // namespace
}  // namespace perennial::disk_full
