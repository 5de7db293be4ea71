#include "store/rocks/observer.h"

#include <cerrno>
#include <cstring>
#include <vector>

#include <gtest/gtest.h>
#include <rocksdb/listener.h>

#include "store/space/compaction_guard.h"

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

// RocksDB 7.8 calls a MANIFEST that a compaction could not sync an error of the compaction, too. If
// that were passed over, tables would be deleted that the MANIFEST names.
TEST(Listener, OnlyACompactionThatTheGuardHasStoppedIsNoFailure) {
  const auto fails = [](const rocksdb::Status& reported) {
    const Events events;
    Failure failure(events);
    rocksdb::Status error = reported;
    make_listener(failure)->OnBackgroundError(rocksdb::BackgroundErrorReason::kCompaction, &error);
    EXPECT_EQ(failure.failed(), !error.ok());
    return failure.failed();
  };
  EXPECT_FALSE(fails(rocksdb::Status::NoSpace(too_little_room)));
  EXPECT_TRUE(fails(rocksdb::Status::NoSpace("while syncing MANIFEST-000030")));
  EXPECT_TRUE(fails(rocksdb::Status::IOError("write", std::strerror(EDQUOT))));
  EXPECT_TRUE(fails(rocksdb::Status::Corruption("block 7 is damaged")));
}

}  // namespace
}  // namespace perennial::store
