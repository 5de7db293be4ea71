// A body is refused if it would leave a directory that cannot start. A body that is accepted can be
// replayed, whenever the server is killed (P1).

#include <memory>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/disk_full/small_disk.h"
#include "tests/support/server_process.h"

namespace perennial::disk_full {
namespace {

constexpr uint64_t mib = 1 << 20;

std::string put(size_t bytes) {
  return fmt::format("put 0 0 60 {}\r\n{}\r\n", bytes, std::string(bytes, 'x'));
}

// The disk has 300 MiB, of which puts leave 75 MiB free and the ballast takes 37 MiB.
TEST(LargeBody, IsTakenOnlyWhereItCanBeWrittenThreeTimes) {
  if (!has_own_mounts()) GTEST_SKIP() << "no right to mount a small disk: see DiskRoom.*";
  const SmallDisk disk(300 * mib);
  support::ServerProcess server({.flags = {"-b", disk.path() + "/data", "-z", "1GiB"},
                                 .data_dir = false,
                                 .unix_socket = true});
  ASSERT_TRUE(server.start().ok()) << server.stderr_text();
  support::ClientSocket client = server.connect();
  EXPECT_EQ(client.ask(put(240 * mib), 60'000).take(), "OUT_OF_MEMORY\r\n");
  EXPECT_EQ(client.ask(put(80 * mib), 60'000).take(), "OUT_OF_MEMORY\r\n");
  ASSERT_EQ(client.ask(put(50 * mib), 60'000).take(), "INSERTED 3\r\n");
  ASSERT_TRUE(server.kill_now().ok());

  ASSERT_TRUE(server.start().ok()) << server.stderr_text();
  client = server.connect();
  EXPECT_EQ(client.ask("peek 3\r\n", 60'000).take().size(),
            fmt::format("FOUND 3 {}\r\n", 50 * mib).size() + 50 * mib + 2);
  EXPECT_EQ(client.ask("delete 3\r\n").take(), "DELETED\r\n");
  EXPECT_EQ(server.terminate()->code, 0) << server.stderr_text();
}

}  // namespace
}  // namespace perennial::disk_full
