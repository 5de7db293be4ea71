#include <filesystem>
#include <functional>
#include <limits>
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rocksdb/env.h>

#include "engine/types/check.h"
#include "store/format/skipped_ids.h"
#include "store/reader.h"
#include "store/store.h"
#include "tests/store/dir_state.h"
#include "tests/store/log_ends.h"
#include "tests/store/store_model.h"
#include "tests/store/temp_dir.h"
#include "tests/support/fault_fs.h"
#include "tests/support/seed.h"

// P9: the newest log file has lost its end, or everything, and looks whole. A disk that reports a
// sync without doing it leaves such a file. P3: a start that accepts the loss gives out no id
// again.
namespace perennial::store {
namespace {

constexpr BatchIndex batches = 30;
constexpr BatchIndex durable_batches = 20;  // In the modes that do not sync each batch.

// Returns the log up to the end of this batch's record. The first record opens the epoch.
std::string ending_with(const std::string& path, BatchIndex batch) {
  return content_of(path).substr(0, record_ends(path)[batch]);
}

struct LossCase {
  const char* name;
  Durability durability;
  // Returns the bytes of the newest log file after the loss.
  std::function<std::string(const std::string& path)> damage;
  bool is_refused;
  BatchIndex left = 0;  // The last batch that the store has once it opens.
};

void PrintTo(const LossCase& loss, std::ostream* out) {
  *out << loss.name;
}

// A store that was killed, with all its batches in one log file.
class LogLoss : public testing::TestWithParam<LossCase> {
 protected:
  void write_batches() const {
    const Durability durability = GetParam().durability;
    const auto store = Store::open({.data_dir = dir_.data_dir(), .durability = durability});
    CHECK(store.ok());
    for (StoreModel model = begin_; model.index() < batches;) {
      Batch batch;
      model.next(batch, 20);
      CHECK((*store)->write(batch, durability == Durability::Commit).ok());
      const bool is_synced = durability != Durability::Commit && model.index() == durable_batches;
      if (is_synced) CHECK((*store)->sync().ok());
    }
  }
  Result<std::unique_ptr<Store>> open(Recover recover) const {
    return Store::open(
        {.data_dir = dir_.data_dir(), .durability = GetParam().durability, .recover = recover});
  }
  StoreModel model_at(BatchIndex index) const {
    StoreModel model = begin_;
    Batch batch;
    while (model.index() < index) model.next(batch, 20);
    return model;
  }

  const TempDir dir_;
  const StoreModel begin_{support::seed()};
};

TEST_P(LogLoss, ALossOfDurableBatchesIsNeverSilent) {
  write_batches();
  const std::string log = newest_log(dir_.data_dir());
  write_file(log, GetParam().damage(log));
  auto store = open(Recover::Strict);
  ASSERT_EQ(store.ok(), !GetParam().is_refused) << store.status().message();
  if (!store.ok()) {
    const std::string_view message = store.status().message();
    EXPECT_EQ(store.status().code(), StatusCode::Corruption) << message;
    const BatchIndex durable =
        GetParam().durability == Durability::Commit ? batches : durable_batches;
    for (const std::string& part : {std::filesystem::path(log).filename().string(),
                                    "those up to " + std::to_string(GetParam().left),
                                    "to " + std::to_string(durable) + " could be lost",
                                    std::string("restore a checkpoint")}) {
      EXPECT_NE(message.find(part), std::string::npos) << part << ": " << message;
    }
    store = open(Recover::PointInTime);
    ASSERT_TRUE(store.ok()) << store.status().message();
    EXPECT_GE((*store)->opening().next_id, skipped_ids);
  }
  EXPECT_EQ((*store)->opening().last_index, GetParam().left);
  EXPECT_EQ(difference(**store, model_at(GetParam().left).image()), "");
  const JobId next_id = (*store)->opening().next_id;
  store = Status(StatusCode::NotFound, "closed");
  // A loss that was accepted is not reported again, and the skip of ids stays.
  store = open(Recover::Strict);
  ASSERT_TRUE(store.ok()) << store.status().message();
  EXPECT_EQ((*store)->opening().next_id, next_id);
}

std::string emptied(const std::string& /*path*/) {
  return "";
}
std::string zeroed(const std::string& path) {
  return std::string(content_of(path).size(), '\0');
}
auto cut_after(BatchIndex batch) {
  return [batch](const std::string& path) { return ending_with(path, batch); };
}
auto zeros_after(BatchIndex batch) {
  return [batch](const std::string& path) {
    const std::string kept = ending_with(path, batch);
    return kept + std::string(content_of(path).size() - kept.size(), '\0');
  };
}

constexpr Durability commit = Durability::Commit;
constexpr Durability interval = Durability::Interval;
constexpr Durability never = Durability::Never;

INSTANTIATE_TEST_SUITE_P(
    Store, LogLoss,
    testing::Values(LossCase{"CommitEmptied", commit, emptied, true},
                    LossCase{"CommitZeroed", commit, zeroed, true},
                    LossCase{"CommitCut", commit, cut_after(13), true, 13},
                    LossCase{"CommitZerosAtTheEnd", commit, zeros_after(13), true, 13},
                    LossCase{"CommitWithoutTheLast", commit, cut_after(29), true, 29},
                    LossCase{"CommitWhole", commit, cut_after(30), false, 30},
                    LossCase{"IntervalEmptied", interval, emptied, true},
                    LossCase{"IntervalCut", interval, cut_after(19), true, 19},
                    LossCase{"IntervalCutBehindTheSync", interval, cut_after(20), false, 20},
                    LossCase{"IntervalWithoutTheLast", interval, zeros_after(29), false, 29},
                    LossCase{"NeverZeroed", never, zeroed, true},
                    LossCase{"NeverCut", never, zeros_after(19), true, 19},
                    LossCase{"NeverCutBehindTheSync", never, cut_after(25), false, 25}),
    [](const auto& one) { return one.param.name; });

enum class Stop { Killed, KilledWhenIdle, Clean };

struct SlotDamageCase {
  const char* name;
  Stop stop;
  size_t bytes;  // How many of the slot are wrong.
  bool hides_newer = false;
};

void PrintTo(const SlotDamageCase& damage, std::ostream* out) {
  *out << damage.name;
}

// The newest log file has lost its end, which the older slot of the durable mark does not know of,
// and one of the two slots is damaged.
class SlotDamage : public testing::TestWithParam<SlotDamageCase> {
 protected:
  void write_batches() const {
    const auto store = Store::open({.data_dir = dir_.data_dir()});
    CHECK(store.ok());
    StoreModel model(support::seed());
    while (model.index() < batches) {
      Batch batch;
      model.next(batch, 20);
      CHECK((*store)->write(batch, true).ok());
      if (model.index() == durable_batches) CHECK((*store)->sync_durable_mark().ok());
    }
    if (GetParam().stop == Stop::Clean) CHECK((*store)->close(model.next_id()).ok());
    if (GetParam().stop != Stop::KilledWhenIdle) return;
    CHECK((*store)->sync_durable_mark().ok());
    CHECK((*store)->sync_durable_mark().ok());
  }
  void damage_slot(size_t slot) const {
    const std::string path = dir_.data_dir() + "/durable";
    std::string content = content_of(path);
    for (size_t i = 0; i < GetParam().bytes; ++i) {
      char& byte = content[slot * content.size() / 2 + 20 + i];
      byte = static_cast<char>(byte ^ 1);
    }
    write_file(path, content);
  }

  const TempDir dir_;
};

TEST_P(SlotDamage, DoesNotHideALoss) {
  write_batches();
  const std::string log = newest_log(dir_.data_dir());
  const std::string mark = content_of(dir_.data_dir() + "/durable");
  // A clean stop leaves one record.
  write_file(log, GetParam().stop == Stop::Clean ? "" : ending_with(log, durable_batches + 1));
  for (const size_t slot : {0, 1}) {
    write_file(dir_.data_dir() + "/durable", mark);
    damage_slot(slot);
    const bool is_hidden = slot == 1 && GetParam().hides_newer;
    std::vector<std::string> events;
    const auto store = Store::open({.data_dir = dir_.data_dir(),
                                    .events = {.info = [&](std::string_view at, std::string_view) {
                                      events.emplace_back(at);
                                    }}});
    ASSERT_EQ(store.ok(), is_hidden) << slot;
    if (store.ok()) {
      EXPECT_THAT(events, testing::Contains("store.mark_damaged"));
      continue;
    }
    EXPECT_EQ(store.status().code(), StatusCode::Corruption);
    EXPECT_THAT(store.status().message(), testing::HasSubstr("could be lost"));
  }
}

INSTANTIATE_TEST_SUITE_P(Store, SlotDamage,
                         testing::Values(SlotDamageCase{"OneByteKilled", Stop::Killed, 1},
                                         SlotDamageCase{"OneByteIdle", Stop::KilledWhenIdle, 1},
                                         SlotDamageCase{"OneByteClean", Stop::Clean, 1},
                                         // What durable_mark.h says remains unseen.
                                         SlotDamageCase{"WholeKilled", Stop::Killed, 40, true},
                                         SlotDamageCase{"WholeIdle", Stop::KilledWhenIdle, 40},
                                         SlotDamageCase{"WholeClean", Stop::Clean, 40}),
                         [](const auto& one) { return one.param.name; });

// A whole log starts with either slot, and the start says that one is damaged and makes it anew.
TEST(LogLossAndMark, AStartSaysThatASlotIsDamagedAndMakesItAnew) {
  for (const size_t at : {20, 4096 + 20}) {
    const TempDir dir;
    const std::string path = dir.data_dir() + "/durable";
    ASSERT_TRUE(Store::open({.data_dir = dir.data_dir()}).ok());
    std::string content = content_of(path);
    content.replace(at, 20, 20, 'x');
    write_file(path, content);
    std::vector<std::string> said;
    Events events = {.info = [&](std::string_view event, std::string_view fields) {
      if (event == "store.mark_damaged") said.emplace_back(fields);
    }};
    EXPECT_TRUE(Reader::open({.path = dir.data_dir(), .events = events}).ok());
    EXPECT_THAT(said, testing::SizeIs(1));
    ASSERT_TRUE(Store::open({.data_dir = dir.data_dir(), .events = events}).ok());
    EXPECT_THAT(said, testing::SizeIs(2));
    ASSERT_TRUE(Store::open({.data_dir = dir.data_dir(), .events = events}).ok());
    EXPECT_THAT(said, testing::SizeIs(2));
  }
}

TEST(SkippedIds, StayBelowWhatJavaScriptCounts) {
  EXPECT_EQ(*skip_ids(1), skipped_ids + 1);
  JobId next_id = 1;
  int skips = 0;
  for (Result<JobId> next = skip_ids(next_id); next.ok(); next = skip_ids(next_id), ++skips) {
    next_id = *next;
  }
  EXPECT_EQ(skips, 8191);
  EXPECT_LT(next_id, id_limit);
  EXPECT_EQ(*skip_ids(id_limit - 1, 0), id_limit - 1);
  EXPECT_EQ(skip_ids(id_limit - 1, 1).status().code(), StatusCode::InvalidArgument);
  // Jobs with higher ids come from a beanstalkd.
  EXPECT_EQ(*skip_ids(id_limit), id_limit + skipped_ids);
  EXPECT_FALSE(skip_ids(~JobId{0}).ok());
}

TEST(SkippedIds, AreAsManyAsTheTimeAllows) {
  constexpr Nanos hour = 3'600 * nanos_per_second;
  struct Case {
    Nanos age;
    uint64_t want;
  };
  for (const Case& each :
       {Case{0, skipped_ids_min}, Case{40 * nanos_per_second, skipped_ids_min},
        Case{hour, 3'601 * ids_per_second_max}, Case{24 * hour, 86'401 * ids_per_second_max},
        Case{1'000 * hour, skipped_ids}, Case{-1, skipped_ids},
        Case{std::numeric_limits<Nanos>::max(), skipped_ids}})
    EXPECT_EQ(skipped_ids_after(each.age), each.want) << each.age;
  // With a checkpoint each hour, ids of a small queue fit into 32 bits after a restore.
  EXPECT_LT(*skip_ids(1'000'000, skipped_ids_after(hour)), id_limit_32_bits);
}

// Without the durable mark nothing would show that the log has lost its end.
TEST(LogLossWithoutMark, AMarkThatIsMissingIsRefused) {
  const TempDir dir;
  {
    const auto store = Store::open({.data_dir = dir.data_dir()});
    ASSERT_TRUE(store.ok());
    Batch batch;
    StoreModel model(1);
    model.next(batch, 20);
    ASSERT_TRUE((*store)->write(batch, true).ok());
  }
  std::filesystem::remove(dir.data_dir() + "/durable");
  write_file(newest_log(dir.data_dir()), "");
  const auto store = Store::open({.data_dir = dir.data_dir()});
  ASSERT_FALSE(store.ok());
  EXPECT_EQ(store.status().code(), StatusCode::Corruption);
  EXPECT_NE(store.status().message().find("/durable is missing"), std::string::npos)
      << store.status().message();
  EXPECT_TRUE(Store::open({.data_dir = dir.data_dir(), .recover = Recover::PointInTime}).ok());
  EXPECT_TRUE(Store::open({.data_dir = dir.data_dir()}).ok());
}

// As after a restore. power_cut_test has the crashes of a first start.
TEST(LogLossWithoutMark, ADatabaseThatWasNeverStartedNeedsNone) {
  const TempDir dir;
  const std::string mark = dir.data_dir() + "/durable";
  const auto has_newest_log = [&] {
    return !newest_file(dir.data_dir(), "newest-log-", "").empty();
  };
  ASSERT_TRUE(Store::open({.data_dir = dir.data_dir()}).ok());
  std::filesystem::remove(mark);
  std::filesystem::remove(newest_file(dir.data_dir(), "newest-log-", ""));
  ASSERT_FALSE(has_newest_log());
  ASSERT_TRUE(Store::open({.data_dir = dir.data_dir()}).ok());
  EXPECT_TRUE(std::filesystem::exists(mark));
  EXPECT_TRUE(has_newest_log());
}

TEST(LogLossWithoutMark, AMarkThatCannotBeReadIsRefused) {
  const TempDir dir;
  ASSERT_TRUE(Store::open({.data_dir = dir.data_dir()}).ok());
  write_file(dir.data_dir() + "/durable", "rubbish");
  const auto store = Store::open({.data_dir = dir.data_dir()});
  ASSERT_FALSE(store.ok());
  EXPECT_EQ(store.status().code(), StatusCode::Corruption);
  EXPECT_NE(store.status().message().find("/durable is damaged"), std::string::npos)
      << store.status().message();
  EXPECT_TRUE(Store::open({.data_dir = dir.data_dir(), .recover = Recover::PointInTime}).ok());
  EXPECT_TRUE(Store::open({.data_dir = dir.data_dir()}).ok());
}

// The skip is durable before the truncation. In the other order a crash could leave a log that
// looks whole, and whose next id was given out before.
TEST(LogLossAndPower, NoPowerCutMakesAnIdBeGivenOutAgain) {
  bool is_done = false;
  for (uint64_t n = 0; !is_done; ++n) {
    ASSERT_LT(n, 200U) << "it never ends";
    const TempDir dir;
    const StoreModel begin(support::seed());
    JobId given_out = 0;
    {
      const auto store = Store::open({.data_dir = dir.data_dir()});
      ASSERT_TRUE(store.ok());
      StoreModel model = begin;
      Batch batch;
      while (model.index() < 5) {
        model.next(batch, 20);
        ASSERT_TRUE((*store)->write(batch, true).ok());
      }
      given_out = model.next_id();
    }
    const std::string log = newest_log(dir.data_dir());
    write_file(log, ending_with(log, 2));
    std::filesystem::create_directory(dir.path() + "/graves");
    const auto faults = std::make_shared<support::FaultFs>(rocksdb::FileSystem::Default());
    faults->forget_entries(dir.path() + "/graves");
    faults->before_nth(n, [&] { faults->lose_power(support::Loss::Prefix, n); });
    const std::unique_ptr<rocksdb::Env> env = rocksdb::NewCompositeEnv(faults);
    is_done =
        Store::open({.data_dir = dir.data_dir(), .recover = Recover::PointInTime, .env = env.get()})
            .ok();
    auto store = Store::open({.data_dir = dir.data_dir()});
    if (!store.ok()) {
      store = Store::open({.data_dir = dir.data_dir(), .recover = Recover::PointInTime});
    }
    ASSERT_TRUE(store.ok()) << n << ": " << store.status().message();
    EXPECT_GE((*store)->opening().next_id, skipped_ids) << n;
    EXPECT_GT((*store)->opening().next_id, given_out) << n;
  }
}

}  // namespace
}  // namespace perennial::store
