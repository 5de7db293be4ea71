// Temporary checkpoints: each belongs to one connection, and exists as long as that is open.

#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/core_harness.h"

namespace perennial::core {
namespace {

using support::CoreHarness;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;

constexpr const char* put_one = "put 0 0 60 1\r\nx\r\n";
constexpr const char* ask = "checkpoint temporary\r\n";

Reply made(const std::string& path) {
  return std::make_unique<CheckpointMade>(CheckpointMade{.name = "n", .path = path});
}

Reply failed(std::string reason) {
  return std::make_unique<CheckpointFailed>(CheckpointFailed{std::move(reason)});
}

TEST(TemporaryCheckpoint, ExistsUntilItsConnectionCloses) {
  CoreHarness harness;
  const ConnId conn = harness.open(true);
  harness.send(conn, std::string(put_one) + ask);
  ASSERT_THAT(harness.cuts(), SizeIs(1));
  EXPECT_TRUE(harness.cuts()[0].temporary);
  EXPECT_EQ(harness.cuts()[0].jobs.ready, 1u);
  harness.finish_temporary(made("/t"));
  EXPECT_THAT(harness.receive(conn), HasSubstr("path: \"/t\"\n"));
  EXPECT_THAT(harness.core().checkpoints().take_given_up(), IsEmpty());
  harness.close(conn);
  EXPECT_THAT(harness.core().checkpoints().take_given_up(), ElementsAre("/t"));
  EXPECT_THAT(harness.core().checkpoints().take_given_up(), IsEmpty());
}

TEST(TemporaryCheckpoint, IsSharedWithNoOtherConnection) {
  CoreHarness harness;
  const ConnId a = harness.open(true);
  const ConnId b = harness.open(true);
  const ConnId kept = harness.open(true);
  harness.set_committing(false);
  harness.send(a, ask);
  harness.send(b, ask);
  harness.send(kept, "checkpoint\r\n");
  harness.set_committing(true);
  harness.pump();
  // The kept one is created first. The temporary ones follow while it is being verified.
  ASSERT_THAT(harness.cuts(), SizeIs(2));
  EXPECT_FALSE(harness.cuts()[0].temporary);
  harness.finish_temporary(made("/a"));
  ASSERT_THAT(harness.cuts(), SizeIs(3));
  harness.finish_temporary(made("/b"));
  EXPECT_THAT(harness.receive(a), HasSubstr("\"/a\""));
  EXPECT_THAT(harness.receive(b), HasSubstr("\"/b\""));
  EXPECT_EQ(harness.receive(kept), "");
  harness.finish_checkpoint(made("/kept"));
  EXPECT_THAT(harness.receive(kept), HasSubstr("\"/kept\""));
  EXPECT_THAT(harness.cuts(), SizeIs(3));
  harness.close(kept);
  EXPECT_THAT(harness.core().checkpoints().take_given_up(), IsEmpty());
  harness.close(b);
  EXPECT_THAT(harness.core().checkpoints().take_given_up(), ElementsAre("/b"));
}

TEST(TemporaryCheckpoint, DoesNotCountAsAScheduledOne) {
  CoreHarness harness;
  const ConnId conn = harness.open(true);
  harness.send(conn, ask);
  harness.core().checkpoints().want();
  harness.finish_temporary(made("/t"));
  ASSERT_THAT(harness.cuts(), SizeIs(2));
  EXPECT_FALSE(harness.cuts()[1].temporary);
}

TEST(TemporaryCheckpoint, IsReplacedByTheNextOfTheSameConnection) {
  CoreHarness harness;
  const ConnId conn = harness.open(true);
  harness.send(conn, std::string(ask) + ask);
  harness.finish_temporary(made("/first"));
  EXPECT_THAT(harness.core().checkpoints().take_given_up(), ElementsAre("/first"));
  harness.finish_temporary(made("/second"));
  harness.close(conn);
  EXPECT_THAT(harness.core().checkpoints().take_given_up(), ElementsAre("/second"));
}

TEST(TemporaryCheckpoint, OfAClosedConnectionIsGivenUp) {
  CoreHarness harness;
  const ConnId conn = harness.open(true);
  harness.send(conn, ask);
  harness.close(conn);
  harness.finish_temporary(made("/t"));
  EXPECT_THAT(harness.core().checkpoints().take_given_up(), ElementsAre("/t"));
}

TEST(TemporaryCheckpoint, IsNotMadeForAConnectionThatClosedBefore) {
  CoreHarness harness;
  const ConnId conn = harness.open(true);
  harness.set_committing(false);
  harness.send(conn, ask);
  harness.close(conn);
  harness.set_committing(true);
  harness.pump();
  EXPECT_THAT(harness.cuts(), IsEmpty());
}

// The end of input closes the connection when everything is answered.
TEST(TemporaryCheckpoint, EndsWithAHalfClose) {
  CoreHarness harness;
  const ConnId conn = harness.open(true);
  harness.send(conn, ask);
  harness.end(conn);
  harness.finish_temporary(made("/t"));
  EXPECT_THAT(harness.receive(conn), StartsWith("OK "));
  EXPECT_TRUE(harness.closed_by_server(conn));
  EXPECT_THAT(harness.core().checkpoints().take_given_up(), ElementsAre("/t"));
}

TEST(TemporaryCheckpoint, FailsWithTheReason) {
  CoreHarness harness;
  const ConnId conn = harness.open(true);
  harness.send(conn, ask);
  harness.finish_temporary(failed("no"));
  EXPECT_EQ(harness.receive(conn), "FAILED 17\r\n---\nreason: \"no\"\n\r\n");
  harness.close(conn);
  EXPECT_THAT(harness.core().checkpoints().take_given_up(), IsEmpty());
}

TEST(TemporaryCheckpoint, IsRefusedWhenTheDiskIsFull) {
  CoreHarness harness;
  const ConnId conn = harness.open(true);
  harness.set_accepts_puts(false);
  harness.send(conn, ask);
  EXPECT_THAT(harness.receive(conn), testing::AllOf(StartsWith("FAILED "), HasSubstr("room")));
}

TEST(TemporaryCheckpoint, IsRefusedPastTheLimit) {
  CoreHarness harness({.temporary_checkpoints_max = 3});
  std::vector<ConnId> conns;
  for (int i = 0; i < 4; ++i) conns.push_back(harness.open(true));
  harness.send(conns[0], ask);
  harness.finish_temporary(made("/0"));  // One exists,
  EXPECT_THAT(harness.receive(conns[0]), StartsWith("OK "));
  harness.send(conns[1], ask);  // one is being created,
  harness.send(conns[2], ask);  // and one waits.
  harness.send(conns[3], ask);
  EXPECT_EQ(harness.receive(conns[2]), "");
  EXPECT_THAT(harness.receive(conns[3]),
              testing::AllOf(StartsWith("FAILED "), HasSubstr("as many temporary checkpoints")));
  // A connection that has one may replace it.
  harness.send(conns[0], ask);
  EXPECT_EQ(harness.receive(conns[0]), "");
  EXPECT_THAT(harness.core().checkpoints().take_given_up(), ElementsAre("/0"));
  harness.close(conns[2]);
  harness.send(conns[3], ask);
  EXPECT_EQ(harness.receive(conns[3]), "");
}

TEST(TemporaryCheckpoint, EveryWaitingClientIsRefusedWhenTheServerStops) {
  CoreHarness harness;
  const ConnId creating = harness.open(true);
  const ConnId waiting = harness.open(true);
  harness.send(creating, ask);
  harness.send(waiting, ask);
  harness.core().checkpoints().refuse("stopping");
  const std::string refusal = "FAILED 23\r\n---\nreason: \"stopping\"\n\r\n";
  EXPECT_EQ(harness.receive(creating), refusal);
  EXPECT_EQ(harness.receive(waiting), refusal);
  harness.finish_temporary(made("/t"));
  EXPECT_EQ(harness.receive(creating), "");
  EXPECT_THAT(harness.core().checkpoints().take_given_up(), ElementsAre("/t"));
  EXPECT_THAT(harness.cuts(), SizeIs(1));
}

TEST(TemporaryCheckpoint, AllAreGivenUpAtTheEnd) {
  CoreHarness harness;
  const ConnId a = harness.open(true);
  const ConnId b = harness.open(true);
  harness.send(a, ask);
  harness.finish_temporary(made("/a"));
  harness.send(b, ask);
  harness.finish_temporary(made("/b"));
  harness.core().checkpoints().give_up_temporaries();
  EXPECT_THAT(harness.core().checkpoints().take_given_up(), ElementsAre("/a", "/b"));
  harness.close(a);
  EXPECT_THAT(harness.core().checkpoints().take_given_up(), IsEmpty());
}

// Its point is fixed, and the committer has not created it yet.
TEST(TemporaryCheckpoint, IsNotCreatedAfterTheServerWasAskedToStop) {
  CoreHarness harness;
  const ConnId conn = harness.open(true);
  harness.set_committing(false);
  harness.send(conn, std::string(put_one) + ask);
  harness.core().checkpoints().freeze_point(harness.now());
  harness.core().checkpoints().refuse("stopping");
  harness.commit();
  EXPECT_THAT(harness.cuts(), IsEmpty());
  EXPECT_THAT(harness.receive(conn), HasSubstr("FAILED "));
}

}  // namespace
}  // namespace perennial::core
