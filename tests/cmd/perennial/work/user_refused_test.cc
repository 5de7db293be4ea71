// A worker that the server refuses ends, and says why: nothing changes while it waits. The server
// is a script, so which rights a user needs is not seen here.

#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cmd/perennial/scripted_server.h"
#include "tests/cmd/perennial/tool_process.h"

namespace perennial::tool {
namespace {

using support::ScriptedServer;
using support::ToolRun;
using testing::HasSubstr;

ToolRun work(const ScriptedServer& server) {
  return support::run_tool(
      {"work", "--tube", "mail", "--server", server.address(), "--retry", "10s", "--", "true"});
}

TEST(UserRefused, AtTheServerEndsTheWorker) {
  ScriptedServer server(std::vector{ScriptedServer::Turn{"watch mail", "UNAUTHORIZED\r\n"}});
  const ToolRun done = work(server);
  EXPECT_EQ(done.code, 2);
  EXPECT_THAT(done.err, HasSubstr("watch: UNAUTHORIZED: the server has users"));
}

TEST(UserRefused, AtATubeEndsTheWorker) {
  ScriptedServer server(std::vector{ScriptedServer::Turn{"watch mail", "FORBIDDEN\r\n"}});
  const ToolRun done = work(server);
  EXPECT_EQ(done.code, 2);
  EXPECT_THAT(done.err, HasSubstr("watch: FORBIDDEN: the user has no right to this"));
}

TEST(UserRefused, AtAReserveEndsTheWorker) {
  ScriptedServer server({{"watch mail", "WATCHING 2\r\n"},
                         {"ignore default", "WATCHING 1\r\n"},
                         {"extensions", "UNKNOWN_COMMAND\r\n"},
                         {"reserve-with-timeout 30", "FORBIDDEN\r\n"}});
  const ToolRun done = work(server);
  EXPECT_EQ(done.code, 2);
  EXPECT_THAT(done.err, HasSubstr("reserve: FORBIDDEN"));
}

}  // namespace
}  // namespace perennial::tool
