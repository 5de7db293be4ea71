// What `perennial bench put` is built of: the arithmetic of its percentiles, and that it counts
// puts which a real server has really taken.

#include <charconv>
#include <string>

#include <gtest/gtest.h>

#include "cmd/perennial/bench/bench_put.h"
#include "cmd/perennial/bench/report.h"
#include "tests/support/server_process.h"

namespace perennial::bench {
namespace {

struct LatencyCase {
  const char* name;
  Nanos highest;  // 1, 2, ... up to here are added, once each.
  double share;
};

void PrintTo(const LatencyCase& latency, std::ostream* out) {
  *out << latency.name;
}

class LatenciesOfARow : public testing::TestWithParam<LatencyCase> {};

TEST_P(LatenciesOfARow, AreAtMostTwoPercentTooHigh) {
  Latencies latencies;
  for (Nanos value = 1; value <= GetParam().highest; ++value) latencies.add(value);
  const auto exact = GetParam().share * static_cast<double>(GetParam().highest);
  const auto given = static_cast<double>(latencies.at(GetParam().share));
  EXPECT_GE(given, exact);
  EXPECT_LE(given, exact * 1.02 + 1);
  EXPECT_EQ(latencies.max(), GetParam().highest);
}

INSTANTIATE_TEST_SUITE_P(
    Bench, LatenciesOfARow,
    testing::Values(LatencyCase{"One", 1, 0.5}, LatencyCase{"Few", 40, 0.5},
                    LatencyCase{"EdgeOfABucket", 64, 0.99}, LatencyCase{"PastIt", 65, 0.99},
                    LatencyCase{"Median", 300'000, 0.5}, LatencyCase{"Tail", 300'000, 0.999},
                    LatencyCase{"Highest", 300'000, 1.0}),
    [](const testing::TestParamInfo<LatencyCase>& param) { return param.param.name; });

TEST(Latencies, OfNothingAreZero) {
  EXPECT_EQ(Latencies().at(0.99), 0);
}

TEST(Latencies, AddUp) {
  Latencies slow;
  slow.add(1'000'000);
  Latencies both;
  both.add(10);
  both.add_all(slow);
  EXPECT_EQ(both.total(), 2U);
  EXPECT_EQ(both.at(0), 10);
  EXPECT_EQ(both.max(), 1'000'000);
}

TEST(Median, IsTheMiddleOrBetweenTheTwo) {
  EXPECT_EQ(median({5}), 5);
  EXPECT_EQ(median({9, 1, 5}), 5);
  EXPECT_EQ(median({9, 1, 5, 7}), 6);
}

common::Address address_of(const support::ServerProcess& server) {
  Result<common::Address> address = common::parse_address(server.address(), common::default_port);
  CHECK(address.ok());
  return *address;
}

uint64_t jobs_of(const support::ServerProcess& server) {
  support::ClientSocket client = server.connect();
  const Result<std::string> stats = client.ask("stats\r\n");
  CHECK(stats.ok());
  constexpr std::string_view key = "\ncurrent-jobs-ready: ";
  uint64_t jobs = 0;
  const char* digits = stats->data() + stats->find(key) + key.size();
  std::from_chars(digits, stats->data() + stats->size(), jobs);
  return jobs;
}

struct PutCase {
  const char* name;
  bool unix_socket;
  uint32_t connections;
  uint32_t in_flight;
  uint32_t body_bytes;
  uint32_t tubes;
  uint32_t idle;
};

void PrintTo(const PutCase& put, std::ostream* out) {
  *out << put.name;
}

class BenchPut : public testing::TestWithParam<PutCase> {};

TEST_P(BenchPut, CountsWhatTheServerTook) {
  const PutCase& put = GetParam();
  support::ServerProcess server({.unix_socket = put.unix_socket});
  const Status started = server.start();
  ASSERT_TRUE(started.ok()) << started.message();
  const PutOptions options{.connections = put.connections,
                           .in_flight = put.in_flight,
                           .body_bytes = put.body_bytes,
                           .seconds = 0.2,
                           .tubes = put.tubes,
                           .idle = put.idle};
  PutResult result;
  const Status s = measure_put(address_of(server), options, result);
  ASSERT_TRUE(s.ok()) << s.message();
  EXPECT_GT(result.latencies.total(), 0U);
  // The server has those of the warm-up, too, and what was in flight at the end.
  EXPECT_GE(jobs_of(server), result.latencies.total() + put.tubes);
}

INSTANTIATE_TEST_SUITE_P(
    Bench, BenchPut,
    testing::Values(PutCase{"Quoted", false, 50, 1, 128, 0, 0},
                    PutCase{"UnixSocket", true, 5, 1, 128, 0, 0},
                    PutCase{"EmptyBodies", false, 5, 3, 0, 0, 0},
                    PutCase{"MoreThanASocketHolds", false, 2, 200, 60'000, 0, 0},
                    PutCase{"ManyTubesAndIdle", false, 5, 1, 128, 250, 100}),
    [](const testing::TestParamInfo<PutCase>& param) { return param.param.name; });

TEST(BenchPutRefused, NamesTheReply) {
  support::ServerProcess server({.flags = {"-z", "100"}});
  ASSERT_TRUE(server.start().ok());
  PutResult result;
  const Status s = measure_put(address_of(server), PutOptions{.body_bytes = 101}, result);
  EXPECT_NE(s.message().find("JOB_TOO_BIG"), std::string::npos) << s.message();
}

}  // namespace
}  // namespace perennial::bench

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
