#pragma once

#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/cmd/perennial/tool_process.h"
#include "tests/support/server_process.h"

namespace perennial::tool {

// The tool as a person runs it, and a perenniald with a configuration.
class ToolAndServer : public testing::Test {
 protected:
  // `settings`: the lines of the configuration.
  explicit ToolAndServer(const std::string& settings = {}) {
    if (settings.empty()) return;
    const std::string path = server_.dir() + "/perennial.yaml";
    std::ofstream(path) << settings;
    server_.setup().flags = {"--config", path};
  }
  void SetUp() override {
    const Status started = server_.start();
    ASSERT_TRUE(started.ok()) << started.message();
  }

  support::ToolRun run(std::vector<std::string> arguments, const std::string& input = {}) {
    arguments.insert(arguments.end(), {"--server", server_.address()});
    return support::run_tool(std::move(arguments), input);
  }
  // Returns the id.
  std::string put(const std::string& body, std::vector<std::string> flags = {}) {
    flags.insert(flags.begin(), {"put", body});
    const support::ToolRun done = run(std::move(flags));
    EXPECT_EQ(done.code, 0) << done.err;
    return done.out.substr(0, done.out.find('\n'));
  }
  nlohmann::json stats(const std::string& flag, const std::string& value) {
    const support::ToolRun done = run({"stats", flag, value, "--json"});
    EXPECT_EQ(done.code, 0) << done.err;
    return done.code == 0 ? nlohmann::json::parse(done.out) : nlohmann::json();
  }
  nlohmann::json job(const std::string& id) { return stats("--job", id); }

  support::ServerProcess server_;
};

}  // namespace perennial::tool
