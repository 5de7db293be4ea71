// Clients that request much and do not read.

#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/overload/overloaded.h"

namespace perennial::overload {
namespace {

using Readers = Overloaded;

constexpr size_t body_bytes = 60'000;
// 4.8 MB of bodies, which is more than one connection may leave unread, and more than the cache
// holds.
constexpr uint64_t peeks = 80;
// Small, so that little of an answer fits into the clients' sockets.
constexpr int receive_bytes = 16'384;

TEST_F(Readers, ThatAreSlowHoldABoundedAmountAndMissNothing) {
  ASSERT_NO_FATAL_FAILURE(start("output_total_bytes_max: 64MiB\nbody_cache_bytes: 1MiB\n"));
  support::ClientSocket producer = server_.connect();
  for (uint64_t id = 1; id <= peeks; ++id) {
    ASSERT_EQ(producer.ask(put_of(body_bytes)).take(), fmt::format("INSERTED {}\r\n", id));
  }
  producer.close();
  ASSERT_NO_FATAL_FAILURE(begin());
  Status status = crowd_.connect(server_.address(), sizes().connections, receive_bytes);
  ASSERT_TRUE(status.ok()) << status.message();
  std::string questions;
  for (uint64_t id = 1; id <= peeks; ++id) questions += fmt::format("peek {}\r\n", id);
  for (size_t i = 0; i < crowd_.size(); ++i) crowd_.say(i, questions, peeks);
  status = crowd_.press();
  ASSERT_TRUE(status.ok()) << status.message();
  await_steady_memory();
  const std::string body(body_bytes, 'x');
  std::vector<uint64_t> last(crowd_.size());
  status = crowd_.finish([&](size_t client, std::string_view reply) {
    const std::string head = fmt::format("FOUND {} {}\r\n", ++last[client], body_bytes);
    const bool right = reply.size() == head.size() + body.size() + 2 && reply.starts_with(head) &&
                       reply.substr(head.size(), body.size()) == body && reply.ends_with("\r\n");
    return right ? std::string() : fmt::format("{}...", reply.substr(0, 80));
  });
  EXPECT_TRUE(status.ok()) << status.message();
  const uint64_t rounds = probe_.stop().rounds;
  EXPECT_EQ(stats("cmd-peek"), sizes().connections * peeks + rounds);
  crowd_.leave();
  await("current-connections", 2);  // The probe and the client that asks.
  // Bodies of the jobs and of the probe stay in memtables, and malloc keeps some memory.
  end(64 * mib);
  // The limit, and for each connection a small buffer and one more answer. The factor 4 covers
  // reads in progress and what malloc keeps. Without the limit each connection would hold 4 MiB and
  // more.
  const uint64_t allowed = 64 * mib + sizes().connections * ((64 << 10) + body_bytes);
  EXPECT_LT(peak_bytes_, 4 * allowed + 64 * mib);
}

// The client has always requested more than it has read, so an answer is always waiting. Answers
// that it has read must be freed.
TEST_F(Readers, ThatLagALittleBehindForLongHoldNoMoreThanTheirAnswers) {
  constexpr size_t small_body_bytes = 2'000;
  constexpr size_t ahead = 10'000;  // Twenty megabytes, which is more than the sockets hold.
  constexpr size_t some = 100;
  constexpr size_t rounds = 1'500;  // 300 megabytes.
  ASSERT_NO_FATAL_FAILURE(start("output_bytes_max: 64MiB\n"));
  const Status status = crowd_.connect(server_.address(), 1, receive_bytes);
  ASSERT_TRUE(status.ok()) << status.message();
  support::ClientSocket& reader = crowd_.socket(0);
  ASSERT_EQ(reader.ask(put_of(small_body_bytes)).take(), "INSERTED 1\r\n");
  ASSERT_NO_FATAL_FAILURE(begin());
  const auto times = [](size_t count, const std::string& text) {
    std::string all;
    for (size_t i = 0; i < count; ++i) all += text;
    return all;
  };
  const std::string found =
      fmt::format("FOUND 1 {}\r\n{}\r\n", small_body_bytes, std::string(small_body_bytes, 'x'));
  ASSERT_TRUE(reader.send(times(ahead, "peek 1\r\n")).ok());
  for (size_t i = 0; i < rounds + ahead / some; ++i) {
    if (i < rounds) {
      ASSERT_TRUE(reader.send(times(some, "peek 1\r\n")).ok());
    }
    for (size_t answer = 0; answer < some; ++answer) {
      ASSERT_TRUE(reader.read_bytes(found.size()).take() == found);
    }
  }
  crowd_.leave();
  await("current-connections", 2);
  end(32 * mib);
  // Covers the unread answers, those that were just read, and what malloc keeps.
  EXPECT_LT(peak_bytes_, 128 * mib);
}

}  // namespace
}  // namespace perennial::overload
