// Who waits for which checkpoint, and where in history it is cut. The harness finds out for each
// cut that it is taken between two commits and that what is counted is what the store holds.

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
  // The next one is made as if nothing had been.
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

TEST(Checkpoint, IsRefusedWithoutRoom) {
  CoreHarness harness;
  const ConnId conn = harness.open(true);
  harness.set_room(false);
  harness.send(conn, "checkpoint\r\n");
  EXPECT_THAT(harness.receive(conn), testing::AllOf(StartsWith("FAILED "), HasSubstr("room")));
  EXPECT_THAT(harness.cuts(), SizeIs(0));
}

TEST(Checkpoint, HoldsWhatCameBehindItOnItsConnectionAndNobodyElse) {
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

TEST(Checkpoint, IsSharedByThoseWhoAskBeforeItIsSettled) {
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

TEST(Checkpoint, WhoAsksWhileOneIsMadeGetsTheNextWithAllOthers) {
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

// The cut stays where it was settled, however much comes before it can be taken.
TEST(Checkpoint, IsCutBehindTheBatchesBeforeItAndBeforeThoseBehind) {
  CoreHarness harness({.batch_bytes_max = 100});
  const ConnId conn = harness.open();
  const ConnId asking = harness.open(true);
  harness.set_committing(false);
  constexpr int puts = 4;
  for (int i = 0; i < puts; ++i) harness.send(conn, put_one);
  harness.send(asking, "checkpoint\r\n");
  harness.core().settle_cut(harness.now());
  for (int i = 0; i < puts; ++i) harness.send(conn, put_one);
  EXPECT_FALSE(harness.core().take_cut());
  int batches = 0;
  std::optional<Cut> cut;
  while (!(cut = harness.core().take_cut())) {
    store::Batch batch = harness.core().take_batch(harness.now());
    harness.core().on_durable(batch.index(), batch.index(), harness.now());
    EXPECT_EQ(batch.index(), static_cast<BatchIndex>(++batches));
  }
  EXPECT_GT(batches, 1);
  EXPECT_EQ(cut->index, static_cast<BatchIndex>(batches));
  EXPECT_EQ(cut->jobs.ready, size_t{puts});
  EXPECT_TRUE(harness.core().has_batch());
  EXPECT_FALSE(harness.core().take_cut());
}

// What nobody was promised is in, too: the jobs are counted in the states that they are in now.
TEST(Checkpoint, HoldsWhatWasNotPromised) {
  CoreHarness harness;
  const ConnId conn = harness.open(true);
  harness.send(conn, std::string(put_one) + put_one + "put 0 9 60 1\r\nx\r\n");
  harness.send(conn, "reserve\r\ncheckpoint\r\n");
  ASSERT_THAT(harness.cuts(), SizeIs(1));
  EXPECT_EQ(harness.cuts()[0].jobs, (StateCounts{.ready = 1, .reserved = 1, .delayed = 1}));
}

TEST(Checkpoint, GoesOnWhenTheClientLeaves) {
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

TEST(Checkpoint, OfTheScheduleIsMadeOnceAndAnsweredToNobody) {
  CoreHarness harness;
  harness.core().want_checkpoint();
  harness.pump();
  EXPECT_THAT(harness.cuts(), SizeIs(1));
  harness.finish_checkpoint(made("n"));
  EXPECT_THAT(harness.cuts(), SizeIs(1));
}

TEST(Checkpoint, AllWhoWaitAreRefusedWhenTheServerStops) {
  CoreHarness harness;
  const ConnId a = harness.open(true);
  const ConnId b = harness.open(true);
  harness.send(a, "checkpoint\r\ncheckpoint\r\nlist-tube-used\r\n");
  harness.send(b, "checkpoint\r\n");
  harness.core().refuse_checkpoints("stopping");
  const std::string refusal = "FAILED 23\r\n---\nreason: \"stopping\"\n\r\n";
  EXPECT_EQ(harness.receive(a), refusal + refusal + "USING default\r\n");
  EXPECT_EQ(harness.receive(b), refusal);
  // The one under way may still end, for nobody.
  harness.finish_checkpoint(made("n"));
  EXPECT_EQ(harness.receive(a), "");
  EXPECT_THAT(harness.cuts(), SizeIs(1));
}

}  // namespace
}  // namespace perennial::core
