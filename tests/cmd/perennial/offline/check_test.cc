#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cmd/perennial/offline/commands.h"
#include "tests/cmd/perennial/capture.h"
#include "tests/cmd/perennial/dump/edge_cases.h"
#include "tests/store/raw_db.h"
#include "tests/support/seed.h"
#include "tests/support/temp_dir.h"

namespace perennial::tool {
namespace {

using nlohmann::json;

Captured run_check(const std::string& dir, const CheckOptions& options) {
  return capture(dir, [&](int fd) { return check(options, fd); });
}

TEST(CheckCommand, FindsNoFaultInAnUndamagedDirectory) {
  const support::TempDir dir("/dev/shm");
  const std::string data = dir.path() + "/data";
  make_edge_cases(data, support::seed());
  for (const bool deep : {false, true}) {
    const Captured out = run_check(dir.path(), {.data_dir = data, .deep = deep});
    EXPECT_TRUE(out.status.ok()) << out.status.message() << out.text;
    EXPECT_TRUE(out.text.ends_with("faults              0\n")) << out.text;
  }
  const json report =
      json::parse(run_check(dir.path(), {.data_dir = data, .json = true}).text, nullptr, false);
  EXPECT_EQ(report["ok"], true);
  EXPECT_EQ(report["tubes"], 6);
  EXPECT_EQ(report["faults"], json::array());
}

TEST(CheckCommand, ShowsUpToTheLimitAndCountsAllFaults) {
  const support::TempDir dir("/dev/shm");
  const std::string data = dir.path() + "/data";
  make_edge_cases(data, support::seed());
  {
    store::RawDb db(data);
    for (char name = 'A'; name < 'F'; ++name) {
      db.put(store::Family::Meta, std::string_view(&name, 1), "?");
    }
  }
  const Captured out = run_check(dir.path(), {.data_dir = data, .limit = 3});
  EXPECT_EQ(out.status.code(), StatusCode::Corruption);
  EXPECT_TRUE(out.status.message().starts_with("5 faults")) << out.status.message();
  EXPECT_TRUE(
      out.text.starts_with("meta 41: unknown key\nmeta 42: unknown key\n"
                           "meta 43: unknown key\nand 2 faults more"))
      << out.text;
  const json report = json::parse(
      run_check(dir.path(), {.data_dir = data, .limit = 2, .json = true}).text, nullptr, false);
  EXPECT_EQ(report["ok"], false);
  EXPECT_EQ(report["fault_count"], 5);
  ASSERT_EQ(report["faults"].size(), 2u);
  EXPECT_EQ(report["faults"][1],
            json({{"family", "meta"}, {"key", "42"}, {"what", "unknown key"}}));
}

TEST(CheckCommand, FailsOnAMissingDirectory) {
  const support::TempDir dir("/dev/shm");
  const Captured out = run_check(dir.path(), {.data_dir = dir.path() + "/none"});
  EXPECT_EQ(out.status.code(), StatusCode::NotFound);
  EXPECT_EQ(out.text, "");
}

}  // namespace
}  // namespace perennial::tool
