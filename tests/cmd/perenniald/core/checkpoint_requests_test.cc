#include "cmd/perenniald/core/checkpoint_requests.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace perennial::core {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr ConnId ann = 1;
constexpr ConnId bob = 2;
constexpr ConnId eve = 3;

class CheckpointRequestsTest : public testing::Test {
 protected:
  void settle(BatchIndex index) { requests_.settle(index, {}); }
  void expect_waits(ConnId conn, bool temporary) {
    EXPECT_FALSE(requests_.ask(conn, temporary).has_value());
  }

  CheckpointRequests requests_{2};
};

TEST_F(CheckpointRequestsTest, NobodyWantsOneAtFirst) {
  EXPECT_FALSE(requests_.may_settle());
  requests_.want();
  EXPECT_TRUE(requests_.may_settle());
  settle(7);
  EXPECT_FALSE(requests_.may_settle());
  const Cut cut = requests_.take();
  EXPECT_EQ(cut.index, 7U);
  EXPECT_FALSE(cut.temporary);
  EXPECT_THAT(requests_.end_kept(), IsEmpty());
  EXPECT_FALSE(requests_.may_settle());
}

TEST_F(CheckpointRequestsTest, WhoAsksLaterSharesTheNext) {
  expect_waits(ann, false);
  expect_waits(bob, false);
  settle(1);
  expect_waits(eve, false);
  EXPECT_FALSE(requests_.may_settle());  // One at a time.
  requests_.take();
  EXPECT_FALSE(requests_.may_settle());
  EXPECT_THAT(requests_.end_kept(), ElementsAre(ann, bob));
  ASSERT_TRUE(requests_.may_settle());
  settle(2);
  requests_.take();
  EXPECT_THAT(requests_.end_kept(), ElementsAre(eve));
}

TEST_F(CheckpointRequestsTest, ATemporaryOneIsCutWhileAnotherIsMade) {
  expect_waits(ann, false);
  expect_waits(bob, true);
  settle(1);
  EXPECT_FALSE(requests_.take().temporary);
  ASSERT_TRUE(requests_.may_settle());
  settle(2);
  EXPECT_TRUE(requests_.take().temporary);
  EXPECT_EQ(requests_.end_temporary("/t"), bob);
  EXPECT_THAT(requests_.end_kept(), ElementsAre(ann));
}

TEST_F(CheckpointRequestsTest, ATemporaryOneGoesWithItsConnection) {
  expect_waits(ann, true);
  settle(1);
  requests_.take();
  EXPECT_EQ(requests_.end_temporary("/a"), ann);
  EXPECT_THAT(requests_.take_given_up(), IsEmpty());
  requests_.on_close(ann);
  EXPECT_THAT(requests_.take_given_up(), ElementsAre("/a"));
  EXPECT_THAT(requests_.take_given_up(), IsEmpty());
}

TEST_F(CheckpointRequestsTest, WhoLeavesWhileItIsCutGetsNone) {
  expect_waits(ann, true);
  settle(1);
  requests_.take();
  requests_.on_close(ann);
  EXPECT_FALSE(requests_.end_temporary("/a").has_value());
  EXPECT_THAT(requests_.take_given_up(), ElementsAre("/a"));
}

TEST_F(CheckpointRequestsTest, OneThatFailedIsNobodysToRemove) {
  expect_waits(ann, true);
  settle(1);
  requests_.take();
  EXPECT_EQ(requests_.end_temporary(""), ann);
  requests_.on_close(ann);
  EXPECT_THAT(requests_.take_given_up(), IsEmpty());
}

TEST_F(CheckpointRequestsTest, AsManyTemporaryOnesAsThereMayBe) {
  expect_waits(ann, true);
  expect_waits(bob, true);
  EXPECT_TRUE(requests_.ask(eve, true).has_value());
  expect_waits(ann, true);  // Instead of the one it waited for.
  requests_.on_close(ann);
  expect_waits(eve, true);
}

TEST_F(CheckpointRequestsTest, AllAreRefusedInTheEnd) {
  expect_waits(ann, false);
  settle(1);
  requests_.take();
  expect_waits(bob, false);
  expect_waits(eve, true);
  EXPECT_THAT(requests_.refuse("it stops"), ElementsAre(eve, ann, bob));
  EXPECT_FALSE(requests_.may_settle());
  EXPECT_EQ(requests_.ask(eve, true), "it stops");
  EXPECT_EQ(requests_.ask(eve, false), "it stops");
  EXPECT_THAT(requests_.end_kept(), IsEmpty());  // It was taken, and ends.
}

TEST_F(CheckpointRequestsTest, OneThatWasNotTakenIsNotMade) {
  requests_.want();
  settle(1);
  EXPECT_THAT(requests_.refuse("it stops"), IsEmpty());
  EXPECT_FALSE(requests_.settled().has_value());
}

TEST_F(CheckpointRequestsTest, AllAreGivenUpInOrder) {
  for (const ConnId conn : {bob, ann}) {
    expect_waits(conn, true);
    settle(1);
    requests_.take();
    requests_.end_temporary("/" + std::to_string(conn));
  }
  requests_.give_up_all();
  EXPECT_THAT(requests_.take_given_up(), ElementsAre("/1", "/2"));
}

}  // namespace
}  // namespace perennial::core
