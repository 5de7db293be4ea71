#include "store/observer.h"

#include <vector>

#include <gtest/gtest.h>

namespace perennial::store {
namespace {

struct Told {
  std::vector<Status> fatal;
  Events events = {.fatal = [this](const Status& status) { fatal.push_back(status); }};
};

TEST(Failure, BeforeItIsArmedIsKept) {
  Told told;
  Failure failure(told.events);
  EXPECT_FALSE(failure.failed());
  failure.fail({StatusCode::Corruption, "block 7 is damaged"});
  EXPECT_TRUE(failure.failed());
  EXPECT_TRUE(told.fatal.empty());
  EXPECT_EQ(failure.arm().message(), "block 7 is damaged");
}

TEST(Failure, OfAnArmedStoreIsReportedOnce) {
  Told told;
  Failure failure(told.events);
  EXPECT_TRUE(failure.arm().ok());
  failure.fail({StatusCode::Io, "the first"});
  failure.fail({StatusCode::NoSpace, "the second"});
  ASSERT_EQ(told.fatal.size(), 1U);
  EXPECT_EQ(told.fatal[0].message(), "the first");
}

// A background failure while the store opens is met by the next write: open() must say what it was.
TEST(Failure, IsNamedByWhateverIsRefusedAfterIt) {
  const Events events;
  Failure failure(events);
  failure.fail({StatusCode::Corruption, "block 7 is damaged"});
  failure.fail({StatusCode::Io, "the second"});
  const Status refusal = failure.refusal();
  EXPECT_EQ(refusal.code(), StatusCode::Corruption);
  EXPECT_EQ(refusal.message(), "the store has failed before: block 7 is damaged");
}

}  // namespace
}  // namespace perennial::store
