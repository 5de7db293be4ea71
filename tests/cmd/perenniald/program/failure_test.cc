// A disk that fails while the server runs: unsaved work gets no success answer, the exit code is
// its own, and a restart has everything that was answered.

#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include "tests/cmd/perenniald/program/launch.h"
#include "tests/support/server_process.h"

namespace perennial::support {
namespace {

using testing::HasSubstr;

TEST(Failure, AFailedWriteEndsWith74AndLosesNothingAnswered) {
  TempDir dir;
  const std::string address = "unix:" + dir.path() + "/s";
  const std::vector<std::string> flags = {"-b", "data", "-l", "unix:s"};
  const std::string body(10'000, 'x');
  const std::string put = fmt::format("put 0 0 60 {}\r\n{}\r\n", body.size(), body);
  int answered = 0;
  {
    // No file may grow past 2 MiB. A write past that fails and does not kill the process.
    Launch server(dir.path(), {.flags = flags, .shell = "trap '' XFSZ; ulimit -f 4096"});
    ClientSocket client = server.connect(address).take();
    for (;; ++answered) {
      ASSERT_LT(answered, 1'000);
      const Result<std::string> reply = client.ask(put);
      if (!reply.ok()) break;
      ASSERT_EQ(*reply, fmt::format("INSERTED {}\r\n", answered + 1));
    }
    EXPECT_EQ(server.wait().code, 74) << server.stderr_text();
    EXPECT_THAT(server.stderr_text(), HasSubstr("level=error at=store.failed exit=74 error="));
  }
  EXPECT_GT(answered, 100);
  Launch server(dir.path(), {.flags = flags});
  ClientSocket client = server.connect(address).take();
  const std::string found = fmt::format("FOUND {} {}\r\n{}\r\n", answered, body.size(), body);
  EXPECT_TRUE(client.ask(fmt::format("peek {}\r\n", answered)).take() == found);
  server.signal(SIGTERM);
  EXPECT_EQ(server.wait().code, 0);
  EXPECT_THAT(server.stderr_text(),
              testing::AnyOf(HasSubstr(fmt::format("ready={} ", answered)),
                             HasSubstr(fmt::format("ready={} ", answered + 1))));
}

}  // namespace
}  // namespace perennial::support
