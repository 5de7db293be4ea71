#include "cmd/perenniald/core/batches/checkpoint_requests.h"

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
  void freeze(BatchIndex index) { requests_.freeze(index, {}); }
  void expect_waits(ConnId conn, bool temporary) {
    EXPECT_FALSE(requests_.ask(conn, temporary).has_value());
  }

  CheckpointRequests requests_{2};
};

TEST_F(CheckpointRequestsTest, NoCheckpointIsWantedAtFirst) {
  EXPECT_FALSE(requests_.may_freeze());
  requests_.want();
  EXPECT_TRUE(requests_.may_freeze());
  freeze(7);
  EXPECT_FALSE(requests_.may_freeze());
  const CheckpointPoint point = requests_.take();
  EXPECT_EQ(point.index, 7U);
  EXPECT_FALSE(point.temporary);
  EXPECT_THAT(requests_.end_kept(), IsEmpty());
  EXPECT_FALSE(requests_.may_freeze());
}

TEST_F(CheckpointRequestsTest, LaterRequestsShareTheNextCheckpoint) {
  expect_waits(ann, false);
  expect_waits(bob, false);
  freeze(1);
  expect_waits(eve, false);
  EXPECT_FALSE(requests_.may_freeze());  // Only one is made at a time.
  requests_.take();
  EXPECT_FALSE(requests_.may_freeze());
  EXPECT_THAT(requests_.end_kept(), ElementsAre(ann, bob));
  ASSERT_TRUE(requests_.may_freeze());
  freeze(2);
  requests_.take();
  EXPECT_THAT(requests_.end_kept(), ElementsAre(eve));
}

TEST_F(CheckpointRequestsTest, ATemporaryOneIsCreatedWhileAKeptOneIsMade) {
  expect_waits(ann, false);
  expect_waits(bob, true);
  freeze(1);
  EXPECT_FALSE(requests_.take().temporary);
  ASSERT_TRUE(requests_.may_freeze());
  freeze(2);
  EXPECT_TRUE(requests_.take().temporary);
  EXPECT_EQ(requests_.end_temporary("/t"), bob);
  EXPECT_THAT(requests_.end_kept(), ElementsAre(ann));
}

TEST_F(CheckpointRequestsTest, ATemporaryOneIsGivenUpWithItsConnection) {
  expect_waits(ann, true);
  freeze(1);
  requests_.take();
  EXPECT_EQ(requests_.end_temporary("/a"), ann);
  EXPECT_THAT(requests_.take_given_up(), IsEmpty());
  requests_.on_close(ann);
  EXPECT_THAT(requests_.take_given_up(), ElementsAre("/a"));
  EXPECT_THAT(requests_.take_given_up(), IsEmpty());
}

TEST_F(CheckpointRequestsTest, AConnectionThatClosesDuringTheCreationGetsNone) {
  expect_waits(ann, true);
  freeze(1);
  requests_.take();
  requests_.on_close(ann);
  EXPECT_FALSE(requests_.end_temporary("/a").has_value());
  EXPECT_THAT(requests_.take_given_up(), ElementsAre("/a"));
}

TEST_F(CheckpointRequestsTest, AFailedTemporaryOneIsNotRemoved) {
  expect_waits(ann, true);
  freeze(1);
  requests_.take();
  EXPECT_EQ(requests_.end_temporary(""), ann);
  requests_.on_close(ann);
  EXPECT_THAT(requests_.take_given_up(), IsEmpty());
}

TEST_F(CheckpointRequestsTest, TemporaryOnesAreRefusedPastTheirLimit) {
  expect_waits(ann, true);
  expect_waits(bob, true);
  EXPECT_TRUE(requests_.ask(eve, true).has_value());
  expect_waits(ann, true);  // It replaces the one that this connection waited for.
  requests_.on_close(ann);
  expect_waits(eve, true);
}

TEST_F(CheckpointRequestsTest, EveryRequestIsRefusedAfterRefuse) {
  expect_waits(ann, false);
  freeze(1);
  requests_.take();
  expect_waits(bob, false);
  expect_waits(eve, true);
  EXPECT_THAT(requests_.refuse("it stops"), ElementsAre(eve, ann, bob));
  EXPECT_FALSE(requests_.may_freeze());
  EXPECT_EQ(requests_.ask(eve, true), "it stops");
  EXPECT_EQ(requests_.ask(eve, false), "it stops");
  EXPECT_THAT(requests_.end_kept(), IsEmpty());  // Its point was taken, so it ends.
}

TEST_F(CheckpointRequestsTest, APointThatWasNotTakenIsDroppedByRefuse) {
  requests_.want();
  freeze(1);
  EXPECT_THAT(requests_.refuse("it stops"), IsEmpty());
  EXPECT_FALSE(requests_.frozen().has_value());
}

TEST_F(CheckpointRequestsTest, GivenUpPathsAreSorted) {
  for (const ConnId conn : {bob, ann}) {
    expect_waits(conn, true);
    freeze(1);
    requests_.take();
    requests_.end_temporary("/" + std::to_string(conn));
  }
  requests_.give_up_all();
  EXPECT_THAT(requests_.take_given_up(), ElementsAre("/1", "/2"));
}

}  // namespace
}  // namespace perennial::core
