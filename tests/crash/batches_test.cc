// Kills a real server while batches of jobs are put and deleted. After each restart a batch is
// whole or absent (P1, P2), and a key that was acknowledged is held by the same job (P3).

#include <map>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "tests/support/server_process.h"

namespace perennial::crash {
namespace {

constexpr int kills = 8;
constexpr int batch_jobs = 5;
constexpr int batches_per_life = 400;

// What is known of a batch. Its number is the priority of its jobs, so that a listing shows it.
struct KnownBatch {
  std::vector<uint64_t> ids = {};  // Empty: the put was not acknowledged.
  bool delete_sent = false;
  bool delete_acknowledged = false;
};

class Batches : public testing::Test {
 protected:
  void SetUp() override {
    const Status started = server_.start();
    ASSERT_TRUE(started.ok()) << started.message();
  }

  // Sends puts of batches and deletes of earlier ones until the server is gone.
  void work(support::ClientSocket& client);
  void judge(support::ClientSocket& client);

  static std::string put_batch(uint64_t number) {
    std::string items;
    for (int i = 0; i < batch_jobs; ++i) {
      items += fmt::format("{}{} 0 60 1\r\nx", i > 0 ? "\r\n" : "", number);
    }
    return fmt::format("put-batch {} {} tube:b\r\n{}\r\n", batch_jobs, items.size(), items);
  }

  support::ServerProcess server_{{.program = support::Program::Perenniald}};
  std::map<uint64_t, KnownBatch> batches_;
  uint64_t last_number_ = 0;
};

void Batches::work(support::ClientSocket& client) {
  for (int i = 0; i < batches_per_life; ++i) {
    const uint64_t number = ++last_number_;
    KnownBatch& batch = batches_[number];
    Result<std::string> reply = client.ask(put_batch(number));
    if (!reply.ok()) return;
    ASSERT_EQ(*reply, fmt::format("INSERTED_BATCH {} 0\r\n", batch_jobs));
    std::vector<uint64_t> ids;
    for (int item = 0; item < batch_jobs; ++item) {
      reply = client.read_reply();
      if (!reply.ok()) return;
      ids.push_back(std::stoull(reply->substr(reply->find(' '))));
    }
    batch.ids = ids;
    if (number % 3 != 0) continue;
    batch.delete_sent = true;
    reply = client.ask(fmt::format("delete-batch {}\r\n", fmt::join(ids, " ")));
    if (!reply.ok()) return;
    ASSERT_EQ(*reply, fmt::format("DELETED_BATCH {} 0\r\n", batch_jobs));
    batch.delete_acknowledged = true;
  }
}

void Batches::judge(support::ClientSocket& client) {
  std::map<uint64_t, int> found;
  uint64_t cursor = 0;
  do {
    const Result<std::string> page =
        client.ask(fmt::format("list-jobs b after:{} count:1000\r\n", cursor));
    ASSERT_TRUE(page.ok());
    if (*page == "NOT_FOUND\r\n") break;
    constexpr std::string_view cursor_key = "cursor: ";
    constexpr std::string_view priority_key = " pri: ";
    cursor = std::stoull(page->substr(page->find(cursor_key) + cursor_key.size()));
    for (size_t at = page->find(priority_key); at != std::string::npos;
         at = page->find(priority_key, at + 1)) {
      ++found[std::stoull(page->substr(at + priority_key.size()))];
    }
  } while (cursor != 0);
  for (auto& [number, batch] : batches_) {
    const int count = found[number];
    ASSERT_TRUE(count == 0 || count == batch_jobs)
        << "batch " << number << " has " << count << " jobs";
    if (batch.delete_acknowledged) {
      ASSERT_EQ(count, 0) << "batch " << number;
    }
    const bool must_be_there = !batch.ids.empty() && !batch.delete_sent;
    if (must_be_there) {
      ASSERT_EQ(count, batch_jobs) << "batch " << number;
    }
    // What the crash left open is known from here on.
    batch.delete_sent = batch.delete_acknowledged = count == 0;
    if (count == 0 && batch.ids.empty()) batch.ids = {0};
  }
}

TEST_F(Batches, AreWholeOrAbsentAfterEachKill) {
  const uint64_t seed = std::random_device()();
  fmt::print("seed {} kills {}\n", seed, kills);
  std::mt19937_64 random(seed);
  for (int kill = 0; kill < kills; ++kill) {
    support::ClientSocket client = server_.connect();
    std::thread killer([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(1 + random() % 150));
      server_.signal(SIGKILL);
    });
    work(client);
    killer.join();
    ASSERT_FALSE(HasFatalFailure());
    ASSERT_TRUE(server_.wait(30'000).ok());
    const Status started = server_.start();
    ASSERT_TRUE(started.ok()) << started.message();
    support::ClientSocket judge_client = server_.connect();
    judge(judge_client);
    ASSERT_FALSE(HasFatalFailure());
  }
}

TEST_F(Batches, AKeyStaysWithItsJobAfterEachKill) {
  std::mt19937_64 random(std::random_device{}());
  std::map<std::string, std::string> holders;  // The acknowledged id by key.
  for (int kill = 0; kill < kills; ++kill) {
    support::ClientSocket client = server_.connect();
    std::thread killer([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(1 + random() % 100));
      server_.signal(SIGKILL);
    });
    for (int i = 0; i < 500; ++i) {
      const std::string key = fmt::format("k{}", i % 50 + kill * 20);
      const auto reply = client.ask(fmt::format("put 0 0 60 1 tube:u idp:{}\r\nx\r\n", key));
      if (!reply.ok()) break;
      const std::string id = reply->substr(9, reply->find_first_of(" \r", 9) - 9);
      const auto [known, is_new] = holders.emplace(key, id);
      ASSERT_EQ(known->second, id) << key;
    }
    killer.join();
    ASSERT_FALSE(HasFatalFailure());
    ASSERT_TRUE(server_.wait(30'000).ok());
    const Status started = server_.start();
    ASSERT_TRUE(started.ok()) << started.message();
    support::ClientSocket again = server_.connect();
    for (const auto& [key, id] : holders) {
      const auto reply = again.ask(fmt::format("put 0 0 60 1 tube:u idp:{}\r\nx\r\n", key));
      ASSERT_TRUE(reply.ok());
      ASSERT_EQ(*reply, fmt::format("INSERTED {} READY\r\n", id)) << key;
    }
  }
}

}  // namespace
}  // namespace perennial::crash
