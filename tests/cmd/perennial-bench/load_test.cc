// Runs a load against a real server, which must have the jobs that the load reports, and against a
// program that is no server.

#include "cmd/perennial-bench/load/load.h"

#include <chrono>
#include <csignal>
#include <thread>

#include <gtest/gtest.h>

#include "cmd/perennial-bench/servers/clock.h"
#include "tests/cmd/perennial-bench/bench_servers.h"
#include "tests/cmd/perennial/canned_server.h"

namespace perennial::bench {
namespace {

struct PutCase {
  const char* name;
  bool unix_socket;
  LoadSpec spec;
};

void PrintTo(const PutCase& put, std::ostream* out) {
  *out << put.name;
}

class PutLoad : public testing::TestWithParam<PutCase> {};

TEST_P(PutLoad, CountsWhatTheServerTook) {
  support::ServerProcess server({.unix_socket = GetParam().unix_socket});
  const Status started = server.start();
  ASSERT_TRUE(started.ok()) << started.message();
  tool::StopSignals signals;
  Load load(GetParam().spec, 0, signals);
  const Status opened = load.open(address_of(server));
  ASSERT_TRUE(opened.ok()) << opened.message();
  const Status s = load.run_for(0, Operation::Put, 500);
  ASSERT_TRUE(s.ok()) << s.message();
  const Recorder::Entry& puts = load.recorder().of(Operation::Put);
  EXPECT_GE(puts.count, 500U);
  EXPECT_EQ(puts.latencies.total(), puts.count);
  // The server also counts puts that were in flight at the end.
  EXPECT_GE(stats_of(server).count("current-jobs-ready"), puts.count);
}

INSTANTIATE_TEST_SUITE_P(
    Bench, PutLoad,
    testing::Values(PutCase{"Quoted", false, {.producers = 50}},
                    PutCase{"UnixSocket", true, {.producers = 5}},
                    PutCase{
                        "EmptyBodies", false, {.producers = 5, .in_flight = 3, .body_bytes = 0}},
                    PutCase{"MoreThanASocketHolds",
                            false,
                            {.producers = 2, .in_flight = 200, .body_bytes = 60'000}}),
    [](const testing::TestParamInfo<PutCase>& param) { return param.param.name; });

struct TakeCase {
  const char* name;
  bool reserve_ahead;
  uint32_t body_bytes;
};

void PrintTo(const TakeCase& take, std::ostream* out) {
  *out << take.name;
}

class TakeLoad : public testing::TestWithParam<TakeCase> {};

TEST_P(TakeLoad, DeletesTheRequestedNumberOfJobs) {
  support::ServerProcess server;
  ASSERT_TRUE(server.start().ok());
  tool::StopSignals signals;
  const uint32_t body_bytes = GetParam().body_bytes;
  Load put({.producers = 3, .in_flight = 9, .body_bytes = body_bytes}, 0, signals);
  ASSERT_TRUE(put.open(address_of(server)).ok());
  ASSERT_TRUE(put.run_jobs(1000).ok());
  EXPECT_EQ(stats_of(server).count("current-jobs-ready"), 1000U);
  Load take({.workers = 7, .reserve_ahead = GetParam().reserve_ahead, .body_bytes = body_bytes}, 0,
            signals);
  take.use_tube(put.tube());
  ASSERT_TRUE(take.open(address_of(server)).ok());
  for (const uint64_t left : {400, 0}) {
    const Status s = take.run_jobs(left == 0 ? 400 : 600);
    ASSERT_TRUE(s.ok()) << s.message();
    EXPECT_EQ(stats_of(server).count("current-jobs-ready"), left);
    EXPECT_EQ(stats_of(server).count("current-jobs-reserved"), 0U);
  }
  EXPECT_EQ(take.recorder().of(Operation::ReserveDelete).count, 1000U);
  EXPECT_EQ(stats_of(server).count("total-jobs"), 1000U);
  // Only a body of at least this size can hold a stamp.
  const bool stamped = body_bytes >= sizeof(Nanos);
  EXPECT_EQ(take.recorder().of(Operation::Cycle).latencies.total(), stamped ? 1000U : 0U);
}

INSTANTIATE_TEST_SUITE_P(
    Bench, TakeLoad,
    testing::Values(TakeCase{"OneByOne", false, 128}, TakeCase{"Ahead", true, 128},
                    TakeCase{"BodiesOfNothing", true, 0}, TakeCase{"BodiesOfAStamp", false, 8},
                    TakeCase{"LargeBodies", true, 60'000}),
    [](const testing::TestParamInfo<TakeCase>& param) { return param.param.name; });

TEST(CycleLoad, KeepsTheLimitOfExistingJobs) {
  support::ServerProcess server;
  ASSERT_TRUE(server.start().ok());
  tool::StopSignals signals;
  Load load({.producers = 20, .in_flight = 10, .workers = 1, .ahead_max = 50}, 0, signals);
  ASSERT_TRUE(load.open(address_of(server)).ok());
  for (int i = 0; i < 5; ++i) {
    const Status s = load.run_for(0, Operation::Delete, 100);
    ASSERT_TRUE(s.ok()) << s.message();
    const tool::StatsReply stats = stats_of(server);
    EXPECT_LE(stats.count("current-jobs-ready") + stats.count("current-jobs-reserved"), 50U);
  }
  EXPECT_GE(stats_of(server).count("cmd-delete"), 500U);
}

TEST(PacedLoad, PutsNoMoreThanItsRate) {
  support::ServerProcess server;
  ASSERT_TRUE(server.start().ok());
  tool::StopSignals signals;
  Load load({.producers = 5, .rate = 1000}, 0, signals);
  ASSERT_TRUE(load.open(address_of(server)).ok());
  const Nanos begun = now_nanos();
  const Status s = load.run_for(0, Operation::Put, 100);
  ASSERT_TRUE(s.ok()) << s.message();
  const Nanos took = now_nanos() - begun;
  const auto puts = static_cast<Nanos>(load.recorder().of(Operation::Put).count);
  EXPECT_LE((puts - 1) * nanos_per_ms, took);
}

// While the server is stopped only two puts are in flight. The puts that were due meanwhile have
// waited, too.
TEST(PacedLoad, ChargesTheServerForAllWaitingPuts) {
  support::ServerProcess server;
  ASSERT_TRUE(server.start().ok());
  tool::StopSignals signals;
  Load load({.producers = 2, .rate = 1000}, 0, signals);
  ASSERT_TRUE(load.open(address_of(server)).ok());
  std::thread stopper([&server] {
    ::kill(server.pid(), SIGSTOP);
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    ::kill(server.pid(), SIGCONT);
  });
  const Status s = load.run_for(0, Operation::Put, 500);
  stopper.join();
  ASSERT_TRUE(s.ok()) << s.message();
  const Latencies& latencies = load.recorder().of(Operation::Put).latencies;
  EXPECT_GT(latencies.at(0.75), 50 * nanos_per_ms);
}

TEST(LoadRefused, NamesTheReplyOfARealServer) {
  support::ServerProcess server({.flags = {"-z", "100"}});
  ASSERT_TRUE(server.start().ok());
  tool::StopSignals signals;
  Load load({.producers = 1, .body_bytes = 101}, 0, signals);
  ASSERT_TRUE(load.open(address_of(server)).ok());
  const Status s = load.run_for(60 * nanos_per_second);
  EXPECT_EQ(s.message(), "the server answered a put with 'JOB_TOO_BIG'");
}

struct WrongCase {
  const char* name;
  LoadSpec spec;
  std::string answer;
  std::string want;
};

void PrintTo(const WrongCase& wrong, std::ostream* out) {
  *out << wrong.name;
}

class WrongServer : public testing::TestWithParam<WrongCase> {};

TEST_P(WrongServer, IsQuoted) {
  const support::CannedServer server(GetParam().answer);
  const Result<common::Address> address = common::parse_address(server.address(), 1);
  tool::StopSignals signals;
  Load load(GetParam().spec, 0, signals);
  ASSERT_TRUE(load.open(*address).ok());
  const Status s = load.run_for(60 * nanos_per_second);
  EXPECT_FALSE(s.ok());
  EXPECT_EQ(s.message(), GetParam().want);
}

const std::string setup = "USING a\r\nWATCHING 2\r\nWATCHING 1\r\n";
constexpr LoadSpec one_producer = {.producers = 1, .body_bytes = 4};
constexpr LoadSpec one_worker = {.workers = 1, .body_bytes = 4};

INSTANTIATE_TEST_SUITE_P(
    Bench, WrongServer,
    testing::Values(WrongCase{"NotOfTheKind", one_producer, "HTTP/1.1 400 Bad Request\r\n\r\n",
                              "the server answered a use or watch with 'HTTP/1.1 400 Bad Request'"},
                    WrongCase{"NoCarriageReturn", one_producer, "USING a\n",
                              "the server answered with 'USING a'"},
                    WrongCase{"RefusesPuts", one_producer, setup + "DRAINING\r\n",
                              "the server answered a put with 'DRAINING'"},
                    WrongCase{"SaysTooMuch", one_producer, setup + "INSERTED 1\r\nINSERTED 2\r\n",
                              "the server answered with 'INSERTED 2\r'"},
                    WrongCase{"AnotherSize", one_worker, setup + "RESERVED 1 3\r\nabc\r\n",
                              "'RESERVED 1 3' came with a body that was never put"},
                    WrongCase{"AnotherBody", one_worker, setup + "RESERVED 1 4\r\nabcd\r\n",
                              "'RESERVED 1 4' came with a body that was never put"},
                    WrongCase{"NoEndOfBody", one_worker, setup + "RESERVED 1 4\r\nabcdef\r\n",
                              "the server answered with 'RESERVED 1 4'"},
                    WrongCase{"NoSize", one_worker, setup + "RESERVED 1 x\r\n",
                              "the server answered with 'RESERVED 1 x'"},
                    WrongCase{"HugeBody", one_worker, setup + "RESERVED 1 99999999999999\r\n",
                              "the server answered with 'RESERVED 1 99999999999999'"},
                    WrongCase{"NoJobForAWorker", one_worker, setup + "DEADLINE_SOON\r\n",
                              "the server answered a reserve with 'DEADLINE_SOON'"}),
    [](const testing::TestParamInfo<WrongCase>& param) { return param.param.name; });

TEST(LoadRefused, NoticesThatTheServerHasEnded) {
  support::ServerProcess server;
  ASSERT_TRUE(server.start().ok());
  tool::StopSignals signals;
  Load load({.workers = 1}, 0, signals);
  ASSERT_TRUE(load.open(address_of(server)).ok());
  ASSERT_TRUE(server.kill_now().ok());
  EXPECT_FALSE(load.run_for(60 * nanos_per_second).ok());
}

}  // namespace
}  // namespace perennial::bench
