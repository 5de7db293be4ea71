// More clients than descriptors, all of which send commands.

#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include "tests/cmd/perenniald/program/launch.h"
#include "tests/overload/overloaded.h"
#include "tests/overload/process_memory.h"

namespace perennial::overload {
namespace {

// Enough for a hundred clients: the server uses 65, and its tables a quarter of the rest.
constexpr size_t descriptors = 198;
constexpr int rounds = 20;

TEST(Descriptors, MoreClientsThanDescriptorsAreAcceptedAsOthersLeave) {
  support::TempDir dir;
  const std::string address = "unix:" + dir.path() + "/s";
  support::Launch server(dir.path(), {.flags = {"-b", "data", "-l", "unix:s"},
                                      .shell = fmt::format("ulimit -n {}", descriptors)});
  Probe probe;
  const Result<support::ClientSocket> first = server.connect(address);
  ASSERT_TRUE(first.ok()) << first.status().message();
  ASSERT_TRUE(probe.start(address, false).ok());
  const uint64_t before = resident_bytes(server.pid());
  // The listen queue holds 1,024.
  const size_t clients = std::min<size_t>(sizes().connections, 1'000);
  Crowd crowd;
  Status status = crowd.connect(address, clients);
  ASSERT_TRUE(status.ok()) << status.message();
  for (size_t i = 0; i < clients; ++i) {
    for (int round = 0; round < rounds; ++round) crowd.say(i, put_of(10), 1);
  }
  uint64_t inserted = 0;
  std::vector<int> answers(clients);
  status = crowd.finish([&](size_t client, std::string_view reply) {
    if (!reply.starts_with("INSERTED ")) return std::string(reply);
    ++inserted;
    if (++answers[client] == rounds) crowd.leave(client);
    return std::string();
  });
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(inserted, clients * rounds);
  const Probe::Seen& seen = probe.stop();
  EXPECT_EQ(seen.wrong, "");
  support::ClientSocket last = support::ClientSocket::connect(address).take();
  const std::string stats = last.ask("stats\r\n").take();
  EXPECT_EQ(stat(stats, "current-jobs-ready"), inserted);
  EXPECT_EQ(stat(stats, "total-jobs"), inserted + seen.rounds);
  const uint64_t after = resident_bytes(server.pid());
  EXPECT_LT(after, before + 64 * mib);
  std::cout << fmt::format("Descriptors: largest loop-lag {:.1f} ms, longest wait {:.1f} ms\n",
                           static_cast<double>(seen.largest_lag_us) / 1000,
                           static_cast<double>(seen.longest_wait_us) / 1000);
  server.signal(SIGTERM);
  EXPECT_EQ(server.wait().code, 0) << server.stderr_text();
}

}  // namespace
}  // namespace perennial::overload
