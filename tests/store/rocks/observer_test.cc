#include "store/rocks/observer.h"

#include <cerrno>
#include <cstring>
#include <vector>

#include <gtest/gtest.h>
#include <rocksdb/listener.h>

#include "store/space/compaction_guard.h"

namespace perennial::store {
namespace {

struct Observed {
  std::vector<Status> fatal;
  Events events = {.fatal = [this](const Status& status) { fatal.push_back(status); }};
};

TEST(StoreFailure, AFailureBeforeArmingIsKept) {
  Observed observed;
  StoreFailure failure(observed.events);
  EXPECT_FALSE(failure.failed());
  failure.fail({StatusCode::Corruption, "block 7 is damaged"});
  EXPECT_TRUE(failure.failed());
  EXPECT_TRUE(observed.fatal.empty());
  EXPECT_EQ(failure.arm().message(), "block 7 is damaged");
}

TEST(StoreFailure, AnArmedStoreReportsItsFailureOnce) {
  Observed observed;
  StoreFailure failure(observed.events);
  EXPECT_TRUE(failure.arm().ok());
  failure.fail({StatusCode::Io, "the first"});
  failure.fail({StatusCode::NoSpace, "the second"});
  ASSERT_EQ(observed.fatal.size(), 1U);
  EXPECT_EQ(observed.fatal[0].message(), "the first");
}

// After a background failure during an open the next write is refused. open() must name the
// failure.
TEST(StoreFailure, LaterRefusalsNameTheFirstFailure) {
  const Events events;
  StoreFailure failure(events);
  failure.fail({StatusCode::Corruption, "block 7 is damaged"});
  failure.fail({StatusCode::Io, "the second"});
  const Status refusal = failure.refusal();
  EXPECT_EQ(refusal.code(), StatusCode::Corruption);
  EXPECT_EQ(refusal.message(), "the store has failed before: block 7 is damaged");
}

// RocksDB 7.8 also reports a MANIFEST that could not be synced as an error of the compaction. If
// that were no failure, RocksDB would delete tables that the MANIFEST names.
TEST(Listener, OnlyACompactionThatTheGuardHasStoppedIsNoFailure) {
  const auto fails = [](const rocksdb::Status& reported) {
    const Events events;
    StoreFailure failure(events);
    rocksdb::Status error = reported;
    make_listener(failure)->OnBackgroundError(rocksdb::BackgroundErrorReason::kCompaction, &error);
    EXPECT_EQ(failure.failed(), !error.ok());
    return failure.failed();
  };
  EXPECT_FALSE(fails(rocksdb::Status::NoSpace(too_little_space)));
  EXPECT_TRUE(fails(rocksdb::Status::NoSpace("while syncing MANIFEST-000030")));
  EXPECT_TRUE(fails(rocksdb::Status::IOError("write", std::strerror(EDQUOT))));
  EXPECT_TRUE(fails(rocksdb::Status::Corruption("block 7 is damaged")));
}

}  // namespace
}  // namespace perennial::store
