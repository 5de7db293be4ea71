#include "cmd/perenniald/core/command_times.h"

#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "tests/support/core_harness.h"

namespace perennial::core {
namespace {

constexpr Nanos ms = nanos_per_ms;

class CommandTimesTest : public testing::Test {
 protected:
  const LatencyHistogram& of(CommandKind kind) {
    return harness_.core().command_times()[static_cast<size_t>(kind)];
  }
  uint64_t count(CommandKind kind) { return of(kind).count(); }
  double ms_of(CommandKind kind) { return of(kind).view().sum / 1e6; }
  // All commands, of whatever kind.
  uint64_t all() {
    uint64_t sum = 0;
    for (const LatencyHistogram& each : harness_.core().command_times()) sum += each.count();
    return sum;
  }
  void send(std::string_view bytes) { send(conn_, bytes); }
  void send(ConnId conn, std::string_view bytes) {
    harness_.send(conn, bytes);
    harness_.pump();
  }

  support::CoreHarness harness_;
  ConnId conn_ = harness_.open();
};

TEST_F(CommandTimesTest, APutTakesUntilItsBatchIsCommitted) {
  harness_.set_committing(false);
  send("put 0 0 60 1\r\na\r\nput 0 0 60 1\r\nb\r\n");
  EXPECT_EQ(all(), 0u);
  harness_.skip(30 * ms);
  harness_.commit();
  harness_.pump();
  EXPECT_EQ(count(CommandKind::Put), 2u);
  EXPECT_EQ(ms_of(CommandKind::Put), 60);
}

TEST_F(CommandTimesTest, CommandsOfSeveralTurnsShareABatch) {
  harness_.set_committing(false);
  send("put 0 0 60 1\r\na\r\n");
  harness_.skip(10 * ms);
  send(harness_.open(), "put 0 0 60 1\r\nb\r\npeek 9\r\n");  // Both wait for the batch.
  harness_.skip(5 * ms);
  harness_.commit();
  harness_.pump();
  EXPECT_EQ(count(CommandKind::Put), 2u);
  EXPECT_EQ(ms_of(CommandKind::Put), 15 + 5);
  EXPECT_EQ(count(CommandKind::Other), 1u);
  EXPECT_EQ(ms_of(CommandKind::Other), 5);
}

TEST_F(CommandTimesTest, AReserveThatWaitsBeginsWhenTheJobIsThere) {
  send("reserve\r\n");
  EXPECT_EQ(all(), 0u);
  harness_.advance(5'000 * ms);
  harness_.set_committing(false);
  send(harness_.open(), "put 0 0 60 1\r\na\r\n");
  harness_.skip(20 * ms);
  harness_.commit();
  harness_.pump();
  EXPECT_EQ(harness_.receive(conn_), "RESERVED 1 1\r\na\r\n");
  EXPECT_EQ(count(CommandKind::Reserve), 1u);
  EXPECT_EQ(ms_of(CommandKind::Reserve), 20);
}

TEST_F(CommandTimesTest, AReserveThatFindsNoJobTakesNoTime) {
  send("reserve-with-timeout 3\r\n");
  harness_.advance(3'000 * ms);
  EXPECT_EQ(harness_.receive(conn_), "TIMED_OUT\r\n");
  EXPECT_EQ(count(CommandKind::Reserve), 1u);
  EXPECT_EQ(ms_of(CommandKind::Reserve), 0);
}

TEST_F(CommandTimesTest, APutThatIsHeldTakesThatTime) {
  harness_.set_behind(true);
  send("put 0 0 60 1\r\na\r\n");
  harness_.skip(40 * ms);
  harness_.set_behind(false);
  harness_.pump();
  EXPECT_EQ(harness_.receive(conn_), "INSERTED 1\r\n");
  EXPECT_EQ(ms_of(CommandKind::Put), 40);
}

struct KindCase {
  std::string name;
  std::string line;
  CommandKind kind;
};
class KindTest : public CommandTimesTest, public testing::WithParamInterface<KindCase> {};

TEST_P(KindTest, IsCountedOnce) {
  for (int i = 0; i < 3; ++i) send("put 0 0 60 1\r\na\r\n");
  send("reserve\r\n");
  const uint64_t before = count(GetParam().kind);
  const uint64_t all_before = all();
  send(GetParam().line);
  EXPECT_EQ(count(GetParam().kind), before + 1);
  EXPECT_EQ(all(), all_before + 1);
}

INSTANTIATE_TEST_SUITE_P(
    Commands, KindTest,
    testing::Values(KindCase{"Put", "put 0 0 60 1\r\na\r\n", CommandKind::Put},
                    KindCase{"PutTooBig",
                             "put 0 0 60 70000\r\n" + std::string(70'000, 'a') + "\r\n",
                             CommandKind::Put},
                    KindCase{"Reserve", "reserve\r\n", CommandKind::Reserve},
                    KindCase{"ReserveJob", "reserve-job 2\r\n", CommandKind::Reserve},
                    KindCase{"ReserveBatch", "reserve-batch 2 0\r\n", CommandKind::Reserve},
                    KindCase{"Delete", "delete 1\r\n", CommandKind::Delete},
                    KindCase{"DeleteOfNothing", "delete 9\r\n", CommandKind::Delete},
                    KindCase{"DeleteBatch", "delete-batch 1 2\r\n", CommandKind::Delete},
                    KindCase{"Release", "release 1 0 0\r\n", CommandKind::Release},
                    KindCase{"Bury", "bury 1 0\r\n", CommandKind::Bury},
                    KindCase{"Kick", "kick 1\r\n", CommandKind::Other},
                    KindCase{"ListTubes", "list-tubes\r\n", CommandKind::Other},
                    KindCase{"Unknown", "what\r\n", CommandKind::Other}),
    [](const auto& param) { return param.param.name; });

TEST_F(CommandTimesTest, AListingInPartsIsCountedOnce) {
  support::CoreHarness harness({.engine = {.names_per_part_max = 2}});
  const ConnId conn = harness.open();
  for (const char name : {'a', 'b', 'c', 'd', 'e'}) {
    harness.send(conn, std::string("watch ") + name + "\r\n");
  }
  harness.pump();
  const auto& other = [&]() -> const LatencyHistogram& {
    return harness.core().command_times()[static_cast<size_t>(CommandKind::Other)];
  };
  const uint64_t before = other().count();
  harness.send(conn, "list-tubes\r\n");
  harness.pump();
  harness.advance(0);
  EXPECT_EQ(other().count(), before + 1);
}

// The body is read from disk, and its time counts.
TEST_F(CommandTimesTest, ABodyFromDiskIsCountedOnceWhenItHasCome) {
  support::CoreHarness harness({.body_cache_bytes = 0});
  const ConnId conn = harness.open();
  harness.send(conn, "put 0 0 60 1\r\na\r\nput 0 0 60 1\r\nb\r\n");
  harness.pump();
  harness.send(conn, "reserve\r\n");
  harness.pump();
  harness.send(conn, "peek 2\r\n");
  harness.pump();
  EXPECT_EQ(harness.receive(conn),
            "INSERTED 1\r\nINSERTED 2\r\nRESERVED 1 1\r\na\r\nFOUND 2 1\r\nb\r\n");
  const auto& times = harness.core().command_times();
  EXPECT_EQ(times[static_cast<size_t>(CommandKind::Reserve)].count(), 1u);
  EXPECT_EQ(times[static_cast<size_t>(CommandKind::Other)].count(), 1u);
}

}  // namespace
}  // namespace perennial::core
