// perennial list, on a perenniald.

#include <set>
#include <string>

#include <fmt/format.h>

#include "tests/cmd/perennial/tool_and_server.h"

namespace perennial::tool {
namespace {

using support::ToolRun;
using testing::HasSubstr;
using testing::Not;

class List : public ToolAndServer {
 protected:
  void put_lines(int count, const std::string& tube) {
    std::string input;
    for (int line = 0; line < count; ++line) input += "x\n";
    EXPECT_EQ(run({"put", "--lines", "--tube", tube}, input).code, 0);
  }
};

TEST_F(List, HasALineForEachJobOfTheTube) {
  put("abc", {"--tube", "mail", "--pri", "7", "--delay", "1000", "--ttr", "30"});
  put("x", {"--tube", "other"});
  EXPECT_EQ(run({"list", "mail"}).out,
            "        ID STATE           PRI   AGE  LEFT   TTR       BYTES RESERVES ATTEMPTS\n"
            "         1 delayed           7     -   16m   30s           3        0        0\n");
  const ToolRun all = run({"list", "*"});
  EXPECT_THAT(all.out, HasSubstr(" ATTEMPTS TUBE\n"));
  EXPECT_THAT(all.out, HasSubstr("        0 other\n"));
}

TEST_F(List, ShowsOnlyTheStatesAndTheKeyThatAreAskedFor) {
  put("a", {"--delay", "100"});
  put("b");
  put("c", {"--idp", "k"});
  EXPECT_EQ(run({"bury", "2"}).code, 0);
  const auto ids = [this](std::vector<std::string> flags) {
    flags.insert(flags.begin(), {"list", "default", "--json"});
    const auto list = nlohmann::json::parse(run(flags).out);
    std::set<int> found;
    for (const auto& each : list["jobs"]) found.insert(each["id"].get<int>());
    return found;
  };
  EXPECT_EQ(ids({}), (std::set<int>{1, 2, 3}));
  EXPECT_EQ(ids({"--state", "buried"}), (std::set<int>{2}));
  EXPECT_EQ(ids({"--state", "delayed,ready"}), (std::set<int>{1, 3}));
  EXPECT_EQ(ids({"--idp", "k"}), (std::set<int>{3}));
  EXPECT_EQ(ids({"--idp", "j"}), (std::set<int>{}));
  EXPECT_EQ(ids({"--after", "2"}), (std::set<int>{3}));
}

TEST_F(List, SaysHowToGoOn) {
  put_lines(3, "mail");
  const ToolRun first = run({"list", "mail", "--limit", "2"});
  EXPECT_EQ(first.code, 0);
  EXPECT_EQ(first.err, "perennial list: there may be more: --after 2\n");
  const ToolRun rest = run({"list", "mail", "--after", "2"});
  EXPECT_EQ(rest.err, "");
  EXPECT_THAT(rest.out, HasSubstr("\n         3 ready "));
  EXPECT_THAT(rest.out, Not(HasSubstr("\n         2 ")));
  EXPECT_EQ(nlohmann::json::parse(run({"list", "mail", "--limit", "2", "--json"}).out)["cursor"],
            2);
}

TEST_F(List, ShowsTheNewestNotesWhenItIsWide) {
  put("a");
  put("b");
  const std::string text = "exit 7\n\x1b[31m" + std::string(200, 'x');
  EXPECT_EQ(run({"note", "1", "an older one"}).code, 0);
  EXPECT_EQ(run({"note", "1", "-"}, text).code, 0);
  const ToolRun table = run({"list", "default", "--wide"});
  EXPECT_THAT(table.out, HasSubstr(" LAST NOTE\n"));
  EXPECT_THAT(table.out, HasSubstr("        0 exit 7: \\x1b[31m" + std::string(103, 'x') + "~\n"));
  const auto jobs = nlohmann::json::parse(run({"list", "default", "--wide", "--json"}).out)["jobs"];
  EXPECT_EQ(jobs[0]["last_note"], text);
  EXPECT_EQ(jobs[1]["last_note"], "");
}

// The server names at most 1,000 jobs in one answer, and looks at 10,000.
TEST_F(List, GoesOnOverManyPages) {
  put_lines(12'000, "other");
  put_lines(2'500, "mail");
  const auto all = nlohmann::json::parse(run({"list", "mail", "--limit", "0", "--json"}).out);
  EXPECT_EQ(all["cursor"], 0);
  ASSERT_EQ(all["jobs"].size(), 2'500U);
  for (size_t i = 0; i < 2'500; ++i) EXPECT_EQ(all["jobs"][i]["id"], 12'001 + i);
}

TEST_F(List, ATubeWithoutJobsHasNoLines) {
  EXPECT_EQ(run({"list", "default", "--json"}).out, "{\"jobs\": [], \"cursor\": 0}\n");
  const ToolRun none = run({"list", "nowhere"});
  EXPECT_EQ(none.code, 1);
  EXPECT_EQ(none.out, "");
  EXPECT_THAT(none.err, HasSubstr("there is no tube 'nowhere'"));
}

}  // namespace
}  // namespace perennial::tool
