// Bodies of the largest size.

#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/overload/overloaded.h"

namespace perennial::overload {
namespace {

constexpr int patience_ms = 300'000;

class LargeBody : public Overloaded {
 protected:
  void SetUp() override {
    ASSERT_NO_FATAL_FAILURE(
        start(fmt::format("job_bytes_max: {}\nbody_cache_bytes: 1MiB\n", sizes().body_bytes)));
    client_ = server_.connect();
    ASSERT_NO_FATAL_FAILURE(begin());
    ASSERT_TRUE(client_.send(fmt::format("put 0 0 3600 {}\r\n", sizes().body_bytes)).ok());
  }
  // Sends this many bytes of the body, in which all megabytes differ.
  Status send(uint64_t bytes) {
    for (uint64_t at = 0; at < bytes; at += mib) {
      const std::string piece(std::min<uint64_t>(mib, bytes - at), letter(at));
      if (Status sent = client_.send(piece); !sent.ok()) return sent;
    }
    return {};
  }
  static char letter(uint64_t at) { return static_cast<char>('a' + at / mib % 26); }

  support::ClientSocket client_;
};

TEST_F(LargeBody, ThatNeverEndsIsFreedWithItsClient) {
  ASSERT_TRUE(send(sizes().body_bytes - 1).ok());
  await_steady_memory();
  client_.close();
  await("current-connections", 2);
  const uint64_t rounds = probe_.stop().rounds;
  EXPECT_EQ(stats("total-jobs"), rounds);
  end(64 * mib);
  EXPECT_GE(peak_bytes_, sizes().body_bytes / 2);  // Proves that the body was in memory.
}

TEST_F(LargeBody, ThatEndsIsAnOrdinaryJob) {
  ASSERT_TRUE(send(sizes().body_bytes).ok());
  const std::string inserted = client_.ask("\r\n", patience_ms).take();
  ASSERT_TRUE(inserted.starts_with("INSERTED ")) << inserted;
  ASSERT_TRUE(client_.send("reserve\r\n").ok());
  const std::string head = fmt::format(
      "RESERVED {} {}\r\n", inserted.substr(9, inserted.size() - 11), sizes().body_bytes);
  EXPECT_EQ(client_.read_bytes(head.size(), patience_ms).take(), head);
  for (uint64_t at = 0; at < sizes().body_bytes; at += mib) {
    const uint64_t bytes = std::min<uint64_t>(mib, sizes().body_bytes - at);
    ASSERT_TRUE(client_.read_bytes(bytes, patience_ms).take() == std::string(bytes, letter(at)));
  }
  EXPECT_EQ(client_.read_bytes(2).take(), "\r\n");
  EXPECT_EQ(client_.ask("delete " + inserted.substr(9), patience_ms).take(), "DELETED\r\n");
  client_.close();
  await("current-connections", 2);
  const uint64_t rounds = probe_.stop().rounds;
  EXPECT_EQ(stats("total-jobs"), 1 + rounds);
  // The body was in a memtable, which is flushed and freed with later ones, and in the reader of a
  // table.
  end(sizes().body_bytes + 128 * mib);
}

}  // namespace
}  // namespace perennial::overload
