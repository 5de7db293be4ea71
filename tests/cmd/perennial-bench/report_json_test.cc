#include "cmd/perennial-bench/report/report_json.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/cmd/perennial-bench/sample_report.h"

namespace perennial::bench {
namespace {

using nlohmann::json;

json parsed(const Report& report) {
  return json::parse(format_json(report));
}

TEST(Json, DescribesTheRun) {
  Report report = sample_report();
  json root = parsed(report);
  EXPECT_EQ(root["measurements"].size(), 4U);
  root.erase("measurements");
  EXPECT_EQ(root, json::parse(R"({
    "machine": "A processor, 2 cores",
    "versions": ["ours: perenniald, version 0.1.0", "logged: beanstalkd -b, version 1.12"],
    "preload": null, "seed": 7, "seconds": 5, "rounds": 3, "timeline_interval_ms": 100})"));
  report.preload = "slow_sync.so, 1000 us";
  EXPECT_EQ(parsed(report)["preload"], "slow_sync.so, 1000 us");
}

TEST(Json, HasAllOfAMeasurement) {
  json logged = parsed(sample_report())["measurements"][1];
  EXPECT_EQ(logged["workload"], "put");
  EXPECT_EQ(logged["setting"], "50x1");
  EXPECT_EQ(logged["operation"], "put");
  EXPECT_EQ(logged["server"], "logged");
  EXPECT_EQ(logged["throughput"], json::parse(R"({"per_second": 1e5, "lowest": 9e4,
            "highest": 110000.00000000001, "rounds": [9e4, 110000.00000000001, 1e5]})"));
  EXPECT_EQ(logged["client_cpu"], 0.42);
  EXPECT_EQ(logged["timeline"], json::parse("[10000, 10000, 5000, 10000]"));
  EXPECT_EQ(logged["ratio"], json::parse(R"({"throughput": 0.5, "p50": 1.0, "p90": 1.0,
            "p99": 1.0, "p99.9": 1.0, "max": 1.0})"));
  EXPECT_EQ(logged["figures"], json::object());
}

TEST(Json, HasThePercentilesInMicroseconds) {
  const json latency = parsed(sample_report())["measurements"][0]["latency"];
  EXPECT_EQ(latency["count"], 1000);
  EXPECT_EQ(latency["unit"], "us");
  EXPECT_NEAR(latency["p50"], 500, 500 / 64.0);
  EXPECT_NEAR(latency["p99.9"], 999, 999 / 64.0);
  EXPECT_EQ(latency["max"], 1000.0);
  // Ten points for each of three nines, and the maximum.
  const json& curve = latency["percentiles"];
  ASSERT_EQ(curve.size(), 31U);
  EXPECT_EQ(curve[0][0], 0);
  EXPECT_EQ(curve[10][0], 90);
  EXPECT_EQ(curve[20][0], 99);
  EXPECT_EQ(curve[30], json::parse("[100, 1000]"));
  for (size_t i = 1; i < curve.size(); ++i) {
    EXPECT_GT(curve[i][0], curve[i - 1][0]);
    EXPECT_GE(curve[i][1], curve[i - 1][1]);
  }
}

TEST(Json, HasFiguresWithTheirUnitsAndRatios) {
  json logged = parsed(sample_report())["measurements"][3];
  EXPECT_EQ(logged["figures"], json::parse(R"({"start": {"value": 10.4, "unit": "s"}})"));
  EXPECT_NEAR(logged["ratio"]["figure:start"], 10.4 / 0.95, 1e-9);
}

TEST(Json, IsNullWhereNothingWasMeasured) {
  json ours = parsed(sample_report())["measurements"][2];
  EXPECT_EQ(ours["throughput"], nullptr);
  EXPECT_EQ(ours["latency"], nullptr);
  EXPECT_EQ(ours["ratio"]["throughput"], nullptr);
  EXPECT_EQ(ours["ratio"]["p99"], nullptr);
  EXPECT_EQ(ours["timeline"], json::array());
}

TEST(Json, OfNothingIsWhole) {
  const json root = parsed(Report{});
  EXPECT_EQ(root["measurements"], json::array());
  EXPECT_EQ(root["versions"], json::array());
}

TEST(Json, TakesAnyBytes) {
  Report report = sample_report();
  report.machine = "a \"quote\", a line\nfeed and \xff";
  report.measurements[0].server = "\xff";
  EXPECT_EQ(parsed(report)["machine"], "a \"quote\", a line\nfeed and \xef\xbf\xbd");
}

}  // namespace
}  // namespace perennial::bench
