// A damaged block of bodies under a real server: P11.

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/support/server_process.h"

namespace perennial::support {
namespace {

namespace fs = std::filesystem;

using testing::HasSubstr;

constexpr int jobs = 3000;

// The bodies cannot be compressed, so that the largest table is that of bodies.
std::string body_of(int number) {
  uint64_t state = static_cast<uint64_t>(number) * 0x9e3779b97f4a7c15 + 1;
  std::string body;
  while (body.size() < 200) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    body += static_cast<char>(state >> 32);
  }
  return body;
}

void put_all(ClientSocket& client) {
  std::string sent;
  for (int i = 1; i <= jobs; ++i) sent += fmt::format("put 0 0 60 200\r\n{}\r\n", body_of(i));
  ASSERT_TRUE(client.send(sent).ok());
  for (int i = 1; i <= jobs; ++i) {
    ASSERT_EQ(client.read_reply().take(), fmt::format("INSERTED {}\r\n", i));
  }
}

void flip_a_bit_of_bodies(const std::string& data_dir) {
  fs::path largest;
  for (const auto& entry : fs::directory_iterator(data_dir + "/db")) {
    if (entry.path().extension() != ".sst") continue;
    if (largest.empty() || fs::file_size(entry) > fs::file_size(largest)) largest = entry.path();
  }
  std::fstream file(largest, std::ios::in | std::ios::out | std::ios::binary);
  const auto place = static_cast<std::streamoff>(fs::file_size(largest) / 2);
  file.seekg(place);
  const char byte = static_cast<char>(file.get() ^ 4);
  file.seekp(place);
  file.put(byte);
}

std::string stat_of(ClientSocket& client, const std::string& key) {
  const std::string stats = client.ask("stats\r\n").take();
  const size_t begin = stats.find("\n" + key + ": ");
  if (begin == std::string::npos) return "";
  const size_t value = begin + key.size() + 3;
  return stats.substr(value, stats.find('\n', value) - value);
}

// Waits for a value of `stats`.
void wait_for(ClientSocket& client, const std::string& key, const std::string& value) {
  for (int i = 0; i < 300 && stat_of(client, key) != value; ++i) usleep(100'000);
  EXPECT_EQ(stat_of(client, key), value) << key;
}

class BodyDamageTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(server_.start().ok()) << server_.stderr_text();
    {
      ClientSocket client = server_.connect();
      put_all(client);
    }
    ASSERT_EQ(server_.terminate()->code, 0) << server_.stderr_text();
    flip_a_bit_of_bodies(server_.data_dir());
    ASSERT_TRUE(server_.start().ok()) << server_.stderr_text();
  }

  // The jobs that the log calls lost, once they are so many, or after 10 s: a thread of the server
  // writes it.
  std::set<int> lost(size_t count) const {
    std::set<int> out = lost();
    for (int tries = 0; tries < 1'000 && out.size() < count; ++tries) {
      usleep(10'000);
      out = lost();
    }
    return out;
  }

  std::set<int> lost() const {
    std::set<int> out;
    const std::string text = server_.stderr_text();
    for (const std::string event : {"at=body.lost job=", "at=body.damaged job="}) {
      for (size_t at = text.find(event); at != std::string::npos; at = text.find(event, at + 1)) {
        out.insert(std::stoi(text.substr(at + event.size())));
      }
    }
    return out;
  }

  ServerProcess server_;
};

// Nearly all jobs are deleted unread, and the server is idle: a compaction meets the block.
TEST_F(BodyDamageTest, ACompactionGoesOnAndTheJobsOfTheBlockAreBuried) {
  ClientSocket client = server_.connect();
  std::string sent;
  std::vector<int> left;
  for (int i = 1; i <= jobs; ++i) {
    if (i % 10 == 0) left.push_back(i);
    if (i % 10 != 0) sent += fmt::format("delete {}\r\n", i);
  }
  ASSERT_TRUE(client.send(sent).ok());
  for (size_t i = left.size(); i < jobs; ++i) {
    ASSERT_EQ(client.read_reply().take(), "DELETED\r\n");
  }
  // What reads it first, the compaction or this client, is not decided here.
  std::set<int> unreadable;
  for (const int id : left) {
    const std::string found = client.ask(fmt::format("peek {}\r\n", id)).take();
    if (found == "INTERNAL_ERROR\r\n") {
      unreadable.insert(id);
    } else {
      EXPECT_EQ(found, fmt::format("FOUND {} 200\r\n{}\r\n", id, body_of(id)));
    }
  }
  EXPECT_FALSE(unreadable.empty());
  EXPECT_LE(unreadable.size(), 10U) << "of some 75 bodies in a block every tenth is left";
  wait_for(client, "store-state", "degraded");
  wait_for(client, "current-jobs-buried", std::to_string(unreadable.size()));
  EXPECT_EQ(lost(unreadable.size()), unreadable);
  // Over restarts, too.
  for (const bool is_killed : {true, false}) {
    ASSERT_TRUE(is_killed ? server_.kill_now().ok() : server_.terminate()->code == 0);
    ASSERT_TRUE(server_.start().ok()) << server_.stderr_text();
    client = server_.connect();
    wait_for(client, "store-state", "degraded");
    EXPECT_EQ(stat_of(client, "current-jobs-buried"), std::to_string(unreadable.size()));
  }
  for (const int id : unreadable) {
    EXPECT_EQ(client.ask(fmt::format("delete {}\r\n", id)).take(), "DELETED\r\n");
  }
  wait_for(client, "store-state", "ok");
  EXPECT_EQ(server_.terminate()->code, 0) << server_.stderr_text();
  EXPECT_THAT(server_.stderr_text(), HasSubstr("at=store.damage_contained"));
}

// Nobody reads or deletes anything but one body of the block: all others of it are found by the
// server itself.
TEST_F(BodyDamageTest, OneReadFindsAllJobsOfTheBlock) {
  ClientSocket client = server_.connect();
  int first = 0;
  for (int id = 1; id <= jobs && first == 0; ++id) {
    const std::string found = client.ask(fmt::format("peek {}\r\n", id)).take();
    if (found == "INTERNAL_ERROR\r\n") first = id;
  }
  ASSERT_NE(first, 0);
  wait_for(client, "store-state", "degraded");
  std::set<int> unreadable;
  for (int id = 1; id <= jobs; ++id) {
    if (client.ask(fmt::format("peek {}\r\n", id)).take() == "INTERNAL_ERROR\r\n") {
      unreadable.insert(id);
    }
  }
  wait_for(client, "current-jobs-buried", std::to_string(unreadable.size()));
  EXPECT_EQ(lost(unreadable.size()), unreadable);
  EXPECT_EQ(*unreadable.begin(), first);
  EXPECT_THAT(unreadable.size(), testing::AllOf(testing::Ge(2U), testing::Le(100U)));
  EXPECT_EQ(client.ask("reserve\r\n").take().substr(0, 8), "RESERVED");
  EXPECT_EQ(server_.terminate()->code, 0) << server_.stderr_text();
}

// Nobody reads a body: a checkpoint meets the block, and is not made. Later ones are.
TEST_F(BodyDamageTest, ACheckpointFindsTheBlock) {
  ClientSocket client = server_.connect();
  const std::string failed = client.ask("checkpoint\r\n", 30'000).take();
  EXPECT_EQ(failed.substr(0, 7), "FAILED ") << failed;
  wait_for(client, "store-state", "degraded");
  std::string made;
  for (int i = 0; i < 20 && !made.starts_with("OK "); ++i) {
    usleep(500'000);  // The table is written anew about a second later.
    made = client.ask("checkpoint\r\n", 30'000).take();
  }
  EXPECT_EQ(made.substr(0, 3), "OK ") << made << server_.stderr_text();
  const std::string damaged = stat_of(client, "jobs-damaged");
  EXPECT_EQ(damaged, std::to_string(lost(std::stoul(damaged)).size()));
  EXPECT_EQ(server_.terminate()->code, 0) << server_.stderr_text();
}

}  // namespace
}  // namespace perennial::support
