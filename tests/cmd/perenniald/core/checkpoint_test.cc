// Which connections wait for which checkpoint, and where its checkpoint point is. For each
// checkpoint the harness checks that its point lies between two commits, and that its counts match
// the store.

#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/core_harness.h"

namespace perennial::core {
namespace {

using support::CoreHarness;
using testing::HasSubstr;
using testing::SizeIs;
using testing::StartsWith;

constexpr const char* put_one = "put 0 0 60 1\r\nx\r\n";

Reply made(std::string name) {
  return std::make_unique<CheckpointMade>(CheckpointMade{.name = std::move(name), .path = "/c"});
}

Reply failed(std::string reason) {
  return std::make_unique<CheckpointFailed>(CheckpointFailed{std::move(reason)});
}

TEST(Checkpoint, IsAnsweredWhenItIsMade) {
  CoreHarness harness;
  const ConnId conn = harness.open(true);
  harness.send(conn, std::string(put_one) + "checkpoint\r\n");
  EXPECT_EQ(harness.receive(conn), "INSERTED 1\r\n");
  ASSERT_THAT(harness.cuts(), SizeIs(1));
  EXPECT_EQ(harness.cuts()[0].jobs, (StateCounts{.ready = 1}));
  harness.finish_checkpoint(made("first"));
  EXPECT_THAT(harness.receive(conn), testing::AllOf(StartsWith("OK "), HasSubstr("\"first\"")));
}

TEST(Checkpoint, FailsWithTheReason) {
  CoreHarness harness;
  const ConnId conn = harness.open(true);
  harness.send(conn, "checkpoint\r\n");
  harness.finish_checkpoint(failed("no"));
  EXPECT_EQ(harness.receive(conn), "FAILED 17\r\n---\nreason: \"no\"\n\r\n");
  // The next checkpoint is made as usual.
  harness.send(conn, "checkpoint\r\n");
  harness.finish_checkpoint(made("second"));
  EXPECT_THAT(harness.receive(conn), StartsWith("OK "));
}

struct RefusalCase {
  std::string name;
  bool may_checkpoint;
  std::string line;
  std::string want;
};
class RefusalTest : public testing::TestWithParam<RefusalCase> {};

TEST_P(RefusalTest, IsAnsweredAtOnceAndMakesNone) {
  CoreHarness harness;
  const ConnId conn = harness.open(GetParam().may_checkpoint);
  harness.send(conn, GetParam().line + "\r\n");
  EXPECT_EQ(harness.receive(conn), GetParam().want + "\r\n");
  EXPECT_THAT(harness.cuts(), SizeIs(0));
}

std::string case_name(const testing::TestParamInfo<RefusalCase>& info) {
  return info.param.name;
}
INSTANTIATE_TEST_SUITE_P(
    Checkpoint, RefusalTest,
    testing::Values(RefusalCase{"JunkFromTrusted", true, "checkpoint /tmp", "BAD_FORMAT"},
                    RefusalCase{"LongerFromTrusted", true, "checkpoints", "BAD_FORMAT"},
                    RefusalCase{"FromElsewhere", false, "checkpoint", "UNKNOWN_COMMAND"},
                    RefusalCase{"JunkFromElsewhere", false, "checkpoint x", "UNKNOWN_COMMAND"},
                    RefusalCase{"LongerFromElsewhere", false, "checkpoints", "UNKNOWN_COMMAND"},
                    RefusalCase{"TemporaryFromElsewhere", false, "checkpoint temporary",
                                "UNKNOWN_COMMAND"}),
    case_name);

TEST(Checkpoint, IsRefusedWhenTheDiskIsFull) {
  CoreHarness harness;
  const ConnId conn = harness.open(true);
  harness.set_accepts_puts(false);
  harness.send(conn, "checkpoint\r\n");
  EXPECT_THAT(harness.receive(conn), testing::AllOf(StartsWith("FAILED "), HasSubstr("room")));
  EXPECT_THAT(harness.cuts(), SizeIs(0));
}

TEST(Checkpoint, DelaysLaterCommandsOfItsOwnConnectionOnly) {
  CoreHarness harness;
  const ConnId conn = harness.open(true);
  const ConnId other = harness.open();
  harness.send(conn, std::string("checkpoint\r\n") + put_one + "list-tube-used\r\n");
  EXPECT_EQ(harness.receive(conn), "");
  harness.send(other, put_one);
  EXPECT_EQ(harness.receive(other), "INSERTED 1\r\n");
  harness.finish_checkpoint(made("n"));
  const std::string answers = harness.receive(conn);
  EXPECT_THAT(answers, StartsWith("OK "));
  EXPECT_THAT(answers, testing::EndsWith("\r\nINSERTED 2\r\nUSING default\r\n"));
}

TEST(Checkpoint, IsSharedByAllWhoAskBeforeItsPointIsFixed) {
  CoreHarness harness;
  const ConnId a = harness.open(true);
  const ConnId b = harness.open(true);
  harness.set_committing(false);
  harness.send(a, "checkpoint\r\n");
  harness.send(b, std::string(put_one) + "checkpoint\r\n");
  harness.commit();
  ASSERT_THAT(harness.cuts(), SizeIs(1));
  EXPECT_EQ(harness.cuts()[0].jobs.ready, 1u);
  harness.finish_checkpoint(made("shared"));
  EXPECT_THAT(harness.receive(a), HasSubstr("shared"));
  EXPECT_THAT(harness.receive(b), HasSubstr("shared"));
  EXPECT_THAT(harness.cuts(), SizeIs(1));
}

TEST(Checkpoint, RequestsDuringACheckpointShareTheNextOne) {
  CoreHarness harness;
  const ConnId a = harness.open(true);
  const ConnId b = harness.open(true);
  const ConnId c = harness.open(true);
  harness.send(a, "checkpoint\r\n");
  harness.send(b, std::string(put_one) + "checkpoint\r\n");
  harness.send(c, "checkpoint\r\n");
  ASSERT_THAT(harness.cuts(), SizeIs(1));
  EXPECT_EQ(harness.cuts()[0].jobs.ready, 0u);
  harness.finish_checkpoint(made("first"));
  EXPECT_THAT(harness.receive(a), HasSubstr("first"));
  EXPECT_EQ(harness.receive(b), "INSERTED 1\r\n");
  EXPECT_EQ(harness.receive(c), "");
  ASSERT_THAT(harness.cuts(), SizeIs(2));
  EXPECT_EQ(harness.cuts()[1].jobs.ready, 1u);
  harness.finish_checkpoint(made("second"));
  EXPECT_THAT(harness.receive(b), HasSubstr("second"));
  EXPECT_THAT(harness.receive(c), HasSubstr("second"));
  EXPECT_THAT(harness.cuts(), SizeIs(2));
}

// The checkpoint point stays where it was fixed, no matter how many batches wait before it.
TEST(Checkpoint, ItsPointLiesBetweenEarlierAndLaterBatches) {
  CoreHarness harness({.batch_bytes_max = 100});
  const ConnId conn = harness.open();
  const ConnId asking = harness.open(true);
  harness.set_committing(false);
  constexpr int puts = 4;
  for (int i = 0; i < puts; ++i) harness.send(conn, put_one);
  harness.send(asking, "checkpoint\r\n");
  harness.core().checkpoints().freeze_point(harness.now());
  for (int i = 0; i < puts; ++i) harness.send(conn, put_one);
  EXPECT_FALSE(harness.core().checkpoints().take_point());
  int batches = 0;
  std::optional<CheckpointPoint> point;
  while (!(point = harness.core().checkpoints().take_point())) {
    store::Batch batch = harness.core().take_batch(harness.now());
    harness.core().on_committed(batch.index(), batch.index(), harness.now());
    EXPECT_EQ(batch.index(), static_cast<BatchIndex>(++batches));
  }
  EXPECT_GT(batches, 1);
  EXPECT_EQ(point->index, static_cast<BatchIndex>(batches));
  EXPECT_EQ(point->jobs.ready, size_t{puts});
  EXPECT_TRUE(harness.core().has_batch());
  EXPECT_FALSE(harness.core().checkpoints().take_point());
}

// Recoverable transitions are included: the jobs are counted in their present states.
TEST(Checkpoint, HoldsRecoverableTransitions) {
  CoreHarness harness;
  const ConnId conn = harness.open(true);
  harness.send(conn, std::string(put_one) + put_one + "put 0 9 60 1\r\nx\r\n");
  harness.send(conn, "reserve\r\ncheckpoint\r\n");
  ASSERT_THAT(harness.cuts(), SizeIs(1));
  EXPECT_EQ(harness.cuts()[0].jobs, (StateCounts{.ready = 1, .reserved = 1, .delayed = 1}));
}

TEST(Checkpoint, IsFinishedAfterItsClientHasLeft) {
  CoreHarness harness;
  const ConnId gone = harness.open(true);
  const ConnId conn = harness.open(true);
  harness.send(gone, "checkpoint\r\n");
  harness.close(gone);
  harness.send(conn, "checkpoint\r\n");
  harness.finish_checkpoint(made("first"));
  EXPECT_EQ(harness.receive(conn), "");
  harness.finish_checkpoint(made("second"));
  EXPECT_THAT(harness.receive(conn), HasSubstr("second"));
}

TEST(Checkpoint, IsAnsweredAfterAHalfClose) {
  CoreHarness harness;
  const ConnId conn = harness.open(true);
  harness.send(conn, "checkpoint\r\n");
  harness.end(conn);
  EXPECT_FALSE(harness.closed_by_server(conn));
  harness.finish_checkpoint(made("n"));
  EXPECT_THAT(harness.receive(conn), StartsWith("OK "));
  EXPECT_TRUE(harness.closed_by_server(conn));
}

TEST(Checkpoint, AScheduledOneIsMadeOnceAndAnsweredToNoClient) {
  CoreHarness harness;
  harness.core().checkpoints().want();
  harness.pump();
  EXPECT_THAT(harness.cuts(), SizeIs(1));
  harness.finish_checkpoint(made("n"));
  EXPECT_THAT(harness.cuts(), SizeIs(1));
}

TEST(Checkpoint, EveryWaitingClientIsRefusedWhenTheServerStops) {
  CoreHarness harness;
  const ConnId a = harness.open(true);
  const ConnId b = harness.open(true);
  harness.send(a, "checkpoint\r\ncheckpoint\r\nlist-tube-used\r\n");
  harness.send(b, "checkpoint\r\n");
  harness.core().checkpoints().refuse("stopping");
  const std::string refusal = "FAILED 23\r\n---\nreason: \"stopping\"\n\r\n";
  EXPECT_EQ(harness.receive(a), refusal + refusal + "USING default\r\n");
  EXPECT_EQ(harness.receive(b), refusal);
  // The one that is being made may still end, without an answer.
  harness.finish_checkpoint(made("n"));
  EXPECT_EQ(harness.receive(a), "");
  EXPECT_THAT(harness.cuts(), SizeIs(1));
}

}  // namespace
}  // namespace perennial::core
