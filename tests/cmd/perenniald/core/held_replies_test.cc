#include "cmd/perenniald/core/held_replies.h"

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace perennial::core {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr ConnId ann = 1;
constexpr ConnId bob = 2;

class HeldRepliesTest : public testing::Test {
 protected:
  struct Connection {
    ConnId id;
    HeldReplies::Held replies = {};
  };

  // A transition of this job is promised, in a batch of its own, which is taken.
  void promise(JobId job) {
    batches_.begin_input(0, now);
    const JobRow row = {.id = job, .tube = 1};
    batches_.add(JobMoved{.id = job, .before = {}, .after = row, .promised = true}, {});
    held_.on_promise(job);
    taken_.push_back(batches_.take(now));
  }
  Connection& conn(ConnId id) { return conns_.try_emplace(id, Connection{id}).first->second; }
  void answer(ConnId id, const Reply& reply, std::string_view text) {
    HeldReplies::Held& held = conn(id).replies;
    const auto* const job = std::get_if<JobReply>(&reply);
    const BatchIndex after = job != nullptr ? held_.after(*job, held) : held_.after_all(held);
    held.outbox.push(after, text);
    held_.hold(id, held, after);
  }
  static Reply reserved(JobId job) {
    return JobReply{.word = Word::Reserved, .id = job, .body_bytes = 0};
  }
  // Returns the connections whose replies may have left.
  std::vector<ConnId> release(BatchIndex committed) {
    batches_.on_committed(committed, committed);
    std::vector<ConnId> visited;
    held_.release(
        0, now,
        [this](ConnId id) {
          const auto found = conns_.find(id);
          return found == conns_.end() ? nullptr : &found->second;
        },
        [&](const Connection& of) { visited.push_back(of.id); });
    return visited;
  }
  std::string_view ready(ConnId id) { return conn(id).replies.outbox.ready(); }

  static constexpr Nanos now = 1;
  BatchQueue batches_{{}};
  HeldReplies held_{batches_};
  std::map<ConnId, Connection> conns_;
  std::vector<store::Batch> taken_;
};

TEST_F(HeldRepliesTest, AReplyLeavesAtOnceIfNothingIsPromised) {
  answer(ann, Word::NotFound, "a");
  EXPECT_EQ(ready(ann), "a");
  EXPECT_THAT(release(0), IsEmpty());
}

TEST_F(HeldRepliesTest, AReplyWaitsForTheNewestPromisedTransitionOfAnyClient) {
  promise(5);
  promise(6);
  answer(ann, Word::NotFound, "a");
  EXPECT_EQ(ready(ann), "");
  EXPECT_THAT(release(1), IsEmpty());
  EXPECT_EQ(ready(ann), "");
  EXPECT_THAT(release(2), ElementsAre(ann));
  EXPECT_EQ(ready(ann), "a");
}

TEST_F(HeldRepliesTest, ReservedWaitsForItsOwnJobOnly) {
  promise(5);
  promise(6);
  answer(ann, reserved(7), "a");
  answer(bob, reserved(5), "b");
  EXPECT_EQ(ready(ann), "a");
  EXPECT_EQ(ready(bob), "");
  EXPECT_THAT(release(1), ElementsAre(bob));
  EXPECT_EQ(ready(bob), "b");
}

TEST_F(HeldRepliesTest, RepliesOfAConnectionStayInOrder) {
  promise(5);
  answer(ann, Word::NotFound, "a");
  answer(ann, reserved(7), "b");  // Alone it could leave.
  EXPECT_EQ(ready(ann), "");
  EXPECT_THAT(release(1), ElementsAre(ann));
  EXPECT_EQ(ready(ann), "ab");
}

TEST_F(HeldRepliesTest, AnOlderBatchIsReleasedFirstThoughItsReplyCameLater) {
  promise(5);
  promise(6);
  answer(ann, Word::NotFound, "a");
  answer(bob, reserved(5), "b");
  EXPECT_THAT(release(2), ElementsAre(bob, ann));
}

TEST_F(HeldRepliesTest, AClosedConnectionIsSkipped) {
  promise(5);
  answer(ann, Word::NotFound, "a");
  conns_.clear();
  EXPECT_THAT(release(1), IsEmpty());
}

}  // namespace
}  // namespace perennial::core
