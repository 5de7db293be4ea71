// Clients that ask for much and do not read.

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
// 4.8 MB of bodies: more than one connection may leave unread, and than the cache holds.
constexpr uint64_t peeks = 80;
constexpr int receive_bytes = 16'384;  // So that little of it waits in the clients' sockets.

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
  EXPECT_EQ(stats("cmd-peek"), sizes().connections * peeks + witness_.stop().rounds);
  crowd_.leave();
  await("current-connections", 2);  // The witness, and who asks.
  // Bodies in memtables, of the jobs and of the witness's, are left, and what malloc keeps.
  end(64 * mib);
  // The limit, and for each a little and one answer more; four times that for what is on its way
  // from the disk and what malloc keeps. Without the limit it would be 4 MiB for each, and more.
  const uint64_t allowed = 64 * mib + sizes().connections * ((64 << 10) + body_bytes);
  EXPECT_LT(peak_bytes_, 4 * allowed + 64 * mib);
}

}  // namespace
}  // namespace perennial::overload
