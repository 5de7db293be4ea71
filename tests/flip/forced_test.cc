#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "engine/types/check.h"
#include "tests/flip/forced_outcome.h"
#include "tests/flip/positions.h"
#include "tests/flip/specimen.h"
#include "tests/store/child.h"
#include "tests/store/random_store.h"
#include "tests/store/temp_dir.h"
#include "tests/support/fault_fs.h"
#include "tests/support/seed.h"

// P11: a forced start on damaged log files ends in exactly the state that it has announced, which
// is one of the past, or is refused and changes nothing. Numbers and states are compared with the
// exact prefix of history that the refusal before it has promised.
//
// The load has all transitions with and without optional fields, up to three lives with random
// flushes, compactions and checkpoints, and a flush that hangs after it has begun a new log file.
// One or two logs are damaged, and starts are interrupted at each call. Blind to: whether a refusal
// is necessary, which partly_flushed_test.cc knows; damage of tables and of the MANIFEST.
namespace perennial::store {
namespace {

namespace fs = std::filesystem;
using support::FaultFs;

constexpr int damages_per_store = 8;

class Damage {
 public:
  explicit Damage(std::mt19937_64& random) : random_(random) {}

  // Damages one or two log files, and returns how.
  std::string apply(const std::string& data_dir) {
    std::string did;
    for (uint64_t count = 1 + (random_() % 4 == 0 ? 1 : 0); count > 0; --count) {
      const std::vector<std::string> logs = logs_of(data_dir);
      if (logs.empty()) break;
      did += damage(logs[random_() % logs.size()]) + "; ";
    }
    return did;
  }

 private:
  std::string damage(const std::string& path) {
    const std::string name = fs::path(path).filename();
    const uint64_t end = std::min<uint64_t>(log_end(path), fs::file_size(path));
    const uint64_t at = end == 0 ? 0 : random_() % end;
    switch (end == 0 ? 0 : random_() % 5) {
      case 0:
        fs::remove(path);
        return name + " removed";
      case 1:
        replace_file(path, "");
        return name + " emptied";
      case 2:
        replace_file(path, read_file(path).substr(0, at));
        return fmt::format("{} cut at {}", name, at);
      case 3:
        replace_file(path, read_file(path).substr(0, at) + std::string(end - at, '\0'));
        return fmt::format("{} zeroed from {}", name, at);
      default:
        flip_byte(path, at);
        return fmt::format("{} flipped at {}", name, at);
    }
  }

  std::mt19937_64& random_;
};

// Makes a store that wrote ten batches, flushed some families, wrote five batches more and was
// killed. The first log file is the one of which the other families have no row in tables.
RandomStore make_partly_flushed(const std::string& path, std::span<const Family> flushed) {
  RandomStore made = {.path = path, .seed = support::seed(), .index = 15};
  const ChildEnd end = run_child([&](const Pipe& pipe) {
    const auto store = Store::open({.data_dir = path});
    CHECK(store.ok());
    const Opening& opening = (*store)->opening();
    pipe.send(RandomStore::Opened{.index = 0, .epoch = opening.epoch, .next_id = opening.next_id});
    StoreModel model(made.seed);
    model.reopened(opening);
    const auto write_up_to = [&](BatchIndex index) {
      while (model.index() < index) {
        Batch batch;
        model.next(batch, 20);
        CHECK((*store)->write(batch, true).ok());
      }
    };
    write_up_to(10);
    for (const Family family : flushed) CHECK((*store)->flush(family).ok());
    write_up_to(15);
    ::_exit(0);
  });
  made.opened = end.reports<RandomStore::Opened>();
  return made;
}

class Forced : public testing::Test {
 protected:
  // Damages a copy of a random store, as the seed says.
  std::string make_damaged(const RandomStore& made, uint64_t seed) {
    copy_data_dir(made.path, copy_);
    std::mt19937_64 random(seed);
    return Damage(random).apply(copy_);
  }

  std::mt19937_64 random_{support::seed()};
  const TempDir dir_;
  const std::string copy_ = dir_.path() + "/copy";
};

// The memtable of bodies is full first, so that this is the ordinary state of a server.
TEST_F(Forced, StartsKeepWhatIsBeforeTheDamageIfOnlyBodiesWereFlushed) {
  constexpr std::array flushed = {Family::Bodies};
  const RandomStore made = make_partly_flushed(dir_.data_dir(), flushed);
  const std::string log = logs_of(made.path).front();
  for (uint64_t part = 1; part < 8; ++part) {
    copy_data_dir(made.path, copy_);
    flip_byte(copy_ + "/db/" + fs::path(log).filename().string(), log_end(log) * part / 8);
    const Outcome strict = start(made, copy_, Recover::Strict);
    EXPECT_NE(strict.text.find(" can be kept: restore a checkpoint; or copy the directory"),
              std::string::npos)
        << strict.text;
    const Outcome forced = start(made, copy_, Recover::PointInTime);
    ASSERT_TRUE(forced.is_open) << forced.text;
    EXPECT_EQ(forced.wrong, "") << forced.text;
    EXPECT_TRUE(fs::exists(copy_ + "/set-aside/" + fs::path(log).filename().string()));
    EXPECT_FALSE(fs::exists(copy_ + "/set-aside/unfinished"));
    EXPECT_EQ(reopen(made, copy_, forced.text), "") << forced.text;
  }
}

TEST_F(Forced, StartsAreRefusedIfTheFamiliesDifferAndTheLogBetweenIsGone) {
  constexpr std::array flushed = {Family::Meta, Family::Ready};
  const RandomStore made = make_partly_flushed(dir_.data_dir(), flushed);
  copy_data_dir(made.path, copy_);
  fs::remove(logs_of(copy_).front());
  for (const Recover recover : {Recover::Strict, Recover::PointInTime}) {
    const Outcome found = start(made, copy_, recover);
    EXPECT_FALSE(found.is_open) << found.text;
    EXPECT_EQ(found.wrong, "");
    for (const char* part : {"no state of the past can be restored", "the tables of meta, ready",
                             "restore a checkpoint, or load what perennial dump can read"}) {
      EXPECT_NE(found.text.find(part), std::string::npos) << found.text;
    }
  }
}

TEST_F(Forced, StartsWithoutTheNewestLogLeaveAWholeDirectory) {
  constexpr std::array flushed = {Family::Bodies};
  const RandomStore made = make_partly_flushed(dir_.data_dir(), flushed);
  copy_data_dir(made.path, copy_);
  fs::remove(logs_of(copy_).back());
  EXPECT_FALSE(start(made, copy_, Recover::Strict).is_open);
  const Outcome forced = start(made, copy_, Recover::PointInTime);
  ASSERT_TRUE(forced.is_open) << forced.text;
  EXPECT_EQ(forced.wrong, "") << forced.text;
  EXPECT_EQ(number_in(forced.text, "last_kept="), 10U);
  for (int kill = 0; kill < 2; ++kill) EXPECT_EQ(reopen(made, copy_, forced.text), "");
}

TEST_F(Forced, StartsEndInTheStateThatTheyAnnounce) {
  std::map<std::string, int> tally;
  for (uint64_t run = 0; run < runs() && !HasFailure(); ++run) {
    const TempDir dir;
    const uint64_t store_seed = random_();
    const RandomStore made = make_random_store(dir.data_dir(), store_seed);
    for (int i = 0; i < damages_per_store; ++i) {
      const uint64_t seed = random_();
      const std::string did = make_damaged(made, seed);
      SCOPED_TRACE(fmt::format("store {} damage {}: {}", store_seed, seed, did));
      const Outcome strict = start(made, copy_, Recover::Strict);
      ASSERT_EQ(strict.wrong, "") << strict.text;
      if (strict.is_open) {
        ++tally["whole"];
        ASSERT_EQ(number_in(strict.text, "last_kept="), made.index) << strict.text;
        continue;
      }
      const Outcome forced = start(made, copy_, Recover::PointInTime);
      ASSERT_EQ(forced.wrong, "") << forced.text << "\n" << strict.text;
      const bool is_promised = strict.text.find("can be kept") != std::string::npos;
      ASSERT_EQ(forced.is_open, is_promised) << forced.text << "\n" << strict.text;
      ++tally[!forced.is_open                                        ? "refused"
              : number_in(forced.text, "deleted_later=") > 0         ? "forced, jobs left out"
              : forced.text.find("put_later=0") == std::string::npos ? "forced, bodies removed"
                                                                     : "forced"];
      if (!forced.is_open) continue;
      const uint64_t kept = number_in(forced.text, "last_kept=");
      ASSERT_EQ(number_in(strict.text, "those up to "), kept) << strict.text;
      ASSERT_EQ(reopen(made, copy_, forced.text), "") << forced.text;
    }
  }
  for (const auto& [what, count] : tally) std::printf("%-24s%d\n", what.c_str(), count);
}

// The n-th call that writes fails, or the process is killed before it, for each n.
TEST_F(Forced, StartsThatAreInterruptedEndThereToo) {
  uint64_t stores = 0;
  int interrupted = 0;
  while (stores < std::max<uint64_t>(runs() / 3, 1) && !HasFailure()) {
    const TempDir dir;
    const uint64_t store_seed = random_();
    const RandomStore made = make_random_store(dir.data_dir(), store_seed);
    const uint64_t seed = random_();
    const std::string did = make_damaged(made, seed);
    SCOPED_TRACE(fmt::format("store {} damage {}: {}", store_seed, seed, did));
    if (start(made, copy_, Recover::Strict).is_open) continue;
    const Outcome whole = start(made, copy_, Recover::PointInTime);
    if (!whole.is_open) continue;
    ++stores;
    bool is_done = false;
    for (uint64_t n = 0; !is_done; n += 1 + n / 8) {
      make_damaged(made, seed);
      const bool kills = random_() % 2 == 0;
      const Outcome first = start(made, copy_, Recover::PointInTime, [&](FaultFs& faults) {
        if (kills) return faults.before_nth(n, [] { ::_exit(0); });
        faults.fail_nth(n, rocksdb::IOStatus::IOError("planned"));
      });
      is_done = first.is_open && kills;  // A call that fails may be one that is tolerated.
      interrupted += first.is_open ? 0 : 1;
      const Outcome again = start(made, copy_, Recover::PointInTime);
      ASSERT_TRUE(again.is_open) << n << ": " << again.text;
      // An attempt that was interrupted late has left out already what there was to leave out.
      const bool has_left_out = again.text.find("deleted_later=0 ") != std::string::npos &&
                                whole.text.find("deleted_later=0 ") == std::string::npos;
      const std::string& announced = has_left_out ? whole.text : again.text;
      if (!has_left_out) {
        ASSERT_EQ(again.wrong, "") << n << ": " << again.text;
      }
      for (const char* const name : {"last_kept=", "ready=", "reserved=", "delayed=", "buried="}) {
        ASSERT_EQ(number_in(again.text, name), number_in(whole.text, name)) << n << " " << name;
      }
      ASSERT_EQ(reopen(made, copy_, announced), "") << n << ": " << again.text;
    }
  }
  std::printf("%d interrupted\n", interrupted);
}

}  // namespace
}  // namespace perennial::store
