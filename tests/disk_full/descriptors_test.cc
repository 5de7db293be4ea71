// Many more tables than descriptors, and as many clients as the server accepts. On a small disk
// tables are small.

#include <algorithm>
#include <filesystem>
#include <optional>
#include <random>
#include <string>
#include <system_error>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include "tests/cmd/perenniald/program/launch.h"
#include "tests/disk_full/small_disk.h"

namespace perennial::disk_full {
namespace {

constexpr uint64_t mib = 1 << 20;
constexpr size_t descriptors = 150;
constexpr size_t connections = 53;
constexpr size_t tables = 32;  // The limit of open tables, without those that are being read.
constexpr size_t jobs = 7'000;
constexpr size_t body_bytes = 40'000;

size_t tables_in(const std::string& path) {
  size_t count = 0;
  std::error_code gone;
  for (std::filesystem::directory_iterator at(path, gone), end; at != end && !gone;
       at.increment(gone)) {
    if (at->path().extension() == ".sst") ++count;
  }
  return count;
}

class FewDescriptors : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_own_mounts()) GTEST_SKIP() << "no right to mount a small disk: see OpenTables.*";
    disk_.emplace(512 * mib);
    start();
  }

  void start() {
    server_.emplace(dir_.path(),
                    support::Launch::Setup{.flags = {"-b", disk_->path() + "/data", "-l", "unix:s"},
                                           .shell = fmt::format("ulimit -n {}", descriptors)});
    fill_up();
  }
  // Opens clients that stay connected.
  void fill_up() {
    clients_.clear();
    while (clients_.size() < connections) {
      auto client = server_->connect("unix:" + dir_.path() + "/s");
      ASSERT_TRUE(client.ok()) << client.status().message();
      if (client->ask("use mail\r\n").ok()) clients_.push_back(client.take());
    }
  }
  std::string ask(size_t client, const std::string& bytes) {
    const auto reply = clients_[client % clients_.size()].ask(bytes);
    if (!reply.ok()) return reply.status().message();
    look();
    return *reply;
  }
  void look() {
    size_t open = 0;
    size_t open_tables = 0;
    std::error_code gone;
    const std::string path = fmt::format("/proc/{}/fd", server_->pid());
    for (const auto& entry : std::filesystem::directory_iterator(path)) {
      const std::string name = std::filesystem::read_symlink(entry.path(), gone);
      ++open;
      if (name.ends_with(".sst")) ++open_tables;
    }
    most_tables_ = std::max(most_tables_, tables_in(disk_->path() + "/data/db"));
    most_open_ = std::max(most_open_, open);
    most_open_tables_ = std::max(most_open_tables_, open_tables);
  }

  const support::TempDir dir_;
  std::optional<SmallDisk> disk_;
  std::optional<support::Launch> server_;
  std::vector<support::ClientSocket> clients_;
  size_t most_tables_ = 0;
  size_t most_open_ = 0;
  size_t most_open_tables_ = 0;
};

TEST_F(FewDescriptors, AreEnoughForManyTables) {
  std::mt19937_64 random(1);
  std::string body(body_bytes, '\0');  // Incompressible.
  for (char& c : body) c = static_cast<char>(random());
  const std::string put = fmt::format("put 0 0 60 {}\r\n{}\r\n", body_bytes, body);
  for (size_t i = 1; i <= jobs; ++i) {
    ASSERT_EQ(ask(i, put), fmt::format("INSERTED {}\r\n", i)) << server_->stderr_text();
    // Deletes are spread out, so that compactions rewrite tables and make small ones.
    if (i % 20 == 0) {
      ASSERT_EQ(ask(i, fmt::format("delete {}\r\n", i / 2)), "DELETED\r\n");
    }
  }
  for (size_t id = jobs / 2 + 1; id <= jobs; id += 7) {
    ASSERT_EQ(ask(id, fmt::format("peek {}\r\n", id)).size(),
              fmt::format("FOUND {} {}\r\n", id, body_bytes).size() + body_bytes + 2);
  }
  ASSERT_EQ(ask(1, "checkpoint\r\n").substr(0, 3), "OK ") << server_->stderr_text();
  for (size_t id = jobs / 2 + 1; id < jobs; id += 2) {
    ASSERT_EQ(ask(id, fmt::format("delete {}\r\n", id)), "DELETED\r\n") << server_->stderr_text();
  }
  server_->signal(SIGKILL);
  server_->wait();
  ASSERT_NO_FATAL_FAILURE(start());
  EXPECT_EQ(ask(1, fmt::format("peek {}\r\n", jobs - 1)), "NOT_FOUND\r\n");
  EXPECT_EQ(ask(1, fmt::format("delete {}\r\n", jobs)), "DELETED\r\n");
  server_->signal(SIGTERM);
  EXPECT_EQ(server_->wait().code, 0) << server_->stderr_text();
  EXPECT_GT(most_tables_, tables * 3 / 2);
  EXPECT_LE(most_open_tables_, tables + 12);
  EXPECT_LT(most_open_, descriptors);
  fmt::print("{} descriptors: {} in use at most, {} of them for {} tables\n", descriptors,
             most_open_, most_open_tables_, most_tables_);
}

}  // namespace
}  // namespace perennial::disk_full
