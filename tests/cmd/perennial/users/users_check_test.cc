// perennial users check: what a configuration lets whom do. It needs no server.

#include <fstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/cmd/perennial/tool_process.h"
#include "tests/support/temp_dir.h"

namespace perennial::tool {
namespace {

using nlohmann::json;
using support::run_tool;
using support::ToolRun;
using testing::HasSubstr;

class UsersCheck : public testing::Test {
 protected:
  ToolRun check(const std::string& settings, const std::string& flag = {}) {
    const std::string path = dir_.path() + "/perennial.yaml";
    std::ofstream(path) << settings;
    std::vector<std::string> arguments = {"users", "check", "--config", path};
    if (!flag.empty()) arguments.push_back(flag);
    return run_tool(arguments);
  }

  support::TempDir dir_;
};

TEST_F(UsersCheck, WithoutListenersEverybodyGetsInEverywhere) {
  EXPECT_EQ(check("port: 11999\n").out,
            "listeners:\n  [::]:11999 (plain): everybody, and may do everything\nusers: none\n");
  EXPECT_EQ(json::parse(check("port: 11999\n", "--json").out),
            (json{{"listeners",
                   {{{"address", "[::]:11999"},
                     {"kind", "plain"},
                     {"ways_in", "everybody, and may do everything"}}}},
                  {"users", nullptr},
                  {"remarks", json::array()}}));
}

TEST_F(UsersCheck, SaysOfEachUserWhatItMay) {
  const std::string settings =
      "listen: [\"127.0.0.1:11999\"]\nusers:\n- name: mailer\n  uids: [1000]\n  grants:\n"
      "  - tubes: [mail]\n    verbs: [produce]\n";
  const json found = json::parse(check(settings, "--json").out);
  ASSERT_EQ(found["users"].size(), 1U) << found;
  const json& mailer = found["users"][0];
  EXPECT_EQ(mailer["name"], "mailer");
  EXPECT_EQ(mailer["shows"], json::array({"uid 1000"}));
  EXPECT_EQ(mailer["may"], json::array({"produce on mail"}));
  // A process shows who it is on a unix socket alone.
  EXPECT_EQ(mailer["gets_in_at"], json::array());
  EXPECT_THAT(found["remarks"].dump(), HasSubstr("mailer gets in nowhere"));
}

TEST_F(UsersCheck, AWrongConfigurationIsAFailure) {
  const ToolRun done = check("prot: 1\n", "--json");
  EXPECT_NE(done.code, 0);
  EXPECT_EQ(done.out, "");
  EXPECT_THAT(done.err, HasSubstr("prot"));
}

}  // namespace
}  // namespace perennial::tool
