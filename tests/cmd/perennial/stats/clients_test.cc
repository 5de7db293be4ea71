// perennial clients, on a perenniald.

#include <string>

#include <gmock/gmock.h>

#include "tests/cmd/perennial/tool_and_server.h"

namespace perennial::tool {
namespace {

using support::ClientSocket;
using support::ToolRun;
using testing::ContainsRegex;

class Clients : public ToolAndServer {
 protected:
  nlohmann::json connections() {
    const ToolRun done = run({"clients", "--json"});
    EXPECT_EQ(done.code, 0) << done.err;
    return nlohmann::json::parse(done.out)["connections"];
  }
};

TEST_F(Clients, AreNamedWithWhatTheyDo) {
  ClientSocket producer = server_.connect();
  ASSERT_EQ(*producer.ask("put 0 0 60 1\r\nx\r\n"), "INSERTED 1\r\n");
  ClientSocket worker = server_.connect();
  ASSERT_EQ(*worker.ask("watch mail\r\n"), "WATCHING 2\r\n");
  ASSERT_EQ(*worker.ask("reserve\r\n"), "RESERVED 1 1\r\nx\r\n");
  const nlohmann::json all = connections();
  ASSERT_EQ(all.size(), 3U) << all;  // The tool, too.
  EXPECT_EQ(all[0]["producer"], true);
  EXPECT_EQ(all[0]["worker"], false);
  EXPECT_EQ(all[0]["commands"], 1);
  EXPECT_EQ(all[0]["user"], nullptr);
  EXPECT_EQ(all[1]["watched"], (nlohmann::json{"default", "mail"}));
  EXPECT_EQ(all[1]["watched_count"], 2);
  EXPECT_EQ(all[1]["held"], 1);
  EXPECT_EQ(all[1]["worker"], true);
  EXPECT_EQ(all[1]["used"], "default");
  EXPECT_TRUE(all[1]["id"].is_string());
  const std::string table = run({"clients"}).out;
  EXPECT_THAT(table, ContainsRegex("ID +AGE +IDLE +COMMANDS +RESERVED +DOES"));
  EXPECT_THAT(table, ContainsRegex("2 +1 +works +127.0.0.1:[0-9]+ +- +default +default mail"));
}

// A page has a hundred of them.
TEST_F(Clients, AreAllNamed) {
  std::vector<ClientSocket> many;
  for (int i = 0; i < 250; ++i) many.push_back(server_.connect());
  for (ClientSocket& client : many)
    ASSERT_EQ(*client.ask("list-tube-used\r\n"), "USING default\r\n");
  EXPECT_EQ(connections().size(), many.size() + 1);
}

}  // namespace
}  // namespace perennial::tool
