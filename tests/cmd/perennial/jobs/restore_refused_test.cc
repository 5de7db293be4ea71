// A user who may manage a tube and not inspect it puts its jobs back, and cannot count them. The
// server is a script, so which rights a user needs is not seen here.

#include <string>
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

const std::string list = "---\n- ended\n";
const ScriptedServer::Turn asked = {"extensions",
                                    "OK " + std::to_string(list.size()) + "\r\n" + list + "\r\n"};
const ScriptedServer::Turn uncounted = {"list-jobs mail state:ended", "FORBIDDEN\r\n"};

ToolRun restore(const ScriptedServer& server, const std::vector<std::string>& flags) {
  std::vector<std::string> arguments = {"restore-tube", "mail", "--server", server.address()};
  arguments.insert(arguments.end(), flags.begin(), flags.end());
  return support::run_tool(std::move(arguments));
}

TEST(RestoreTube, IsDoneWithoutTheRightToCountWhatIsLeft) {
  ScriptedServer server(std::vector{asked, {"restore-tube mail", "RESTORED 2\r\n"}, uncounted});
  const ToolRun done = restore(server, {"--yes"});
  EXPECT_EQ(done.code, 0);
  EXPECT_EQ(done.out, "mail: restored 2 jobs\n");
  EXPECT_THAT(done.err, HasSubstr("what is left is not known: list-jobs: FORBIDDEN"));
}

TEST(RestoreTube, SaysInJsonThatWhatIsLeftIsNotKnown) {
  ScriptedServer server(std::vector{asked, {"restore-tube mail", "RESTORED 2\r\n"}, uncounted});
  const ToolRun done = restore(server, {"--yes", "--json"});
  EXPECT_EQ(done.code, 0);
  EXPECT_THAT(done.out, HasSubstr("\"left\": null"));
}

TEST(RestoreTube, AsksNothingWithoutTheRightToCount) {
  ScriptedServer server(std::vector{asked, uncounted});
  const ToolRun done = restore(server, {"--dry-run"});
  EXPECT_EQ(done.code, 1);
  EXPECT_THAT(done.err, HasSubstr("list-jobs: FORBIDDEN"));
  EXPECT_THAT(done.err, HasSubstr("--yes"));
}

}  // namespace
}  // namespace perennial::tool
