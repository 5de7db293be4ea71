// Clients that ask for much and do not read.

#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/overload/overloaded.h"

namespace perennial::overload {
namespace {

using Readers = Overloaded;

constexpr size_t body_bytes = 60'000;
constexpr uint64_t peeks = 80;         // 4.8 MB: more than one connection may leave unread.
constexpr int receive_bytes = 16'384;  // So that little of it waits in the clients' sockets.

TEST_F(Readers, ThatAreSlowHoldABoundedAmountAndMissNothing) {
  ASSERT_NO_FATAL_FAILURE(start("output_total_bytes_max: 64MiB\nbody_cache_bytes: 1MiB\n"));
  ASSERT_EQ(server_.connect().ask(put_of(body_bytes)).take(), "INSERTED 1\r\n");
  ASSERT_NO_FATAL_FAILURE(begin());
  Status status = crowd_.connect(server_.address(), sizes().connections, receive_bytes);
  ASSERT_TRUE(status.ok()) << status.message();
  std::string questions;
  for (uint64_t i = 0; i < peeks; ++i) questions += "peek 1\r\n";
  for (size_t i = 0; i < crowd_.size(); ++i) crowd_.say(i, questions, peeks);
  status = crowd_.press();
  ASSERT_TRUE(status.ok()) << status.message();
  await_steady_memory();
  const std::string wanted =
      fmt::format("FOUND 1 {}\r\n{}\r\n", body_bytes, std::string(body_bytes, 'x'));
  status = crowd_.finish([&wanted](size_t /*client*/, std::string_view reply) {
    return reply == wanted ? std::string() : fmt::format("{}...", reply.substr(0, 80));
  });
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(stats("cmd-peek"), sizes().connections * peeks + witness_.stop().rounds);
  crowd_.leave();
  await("current-connections", 2);  // The witness, and who asks.
  // Bodies of one job and the memtables of the witness's are left, and what malloc keeps.
  end(64 * mib);
  // The limit, and for each a little and one answer more; four times that for what strings keep in
  // reserve and malloc between them. Without the limit it would be 4 MiB for each, and more.
  const uint64_t allowed = 64 * mib + sizes().connections * ((64 << 10) + body_bytes);
  EXPECT_LT(peak_bytes_, 4 * allowed + 64 * mib);
}

}  // namespace
}  // namespace perennial::overload
