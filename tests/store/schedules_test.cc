#include <algorithm>
#include <deque>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <rocksdb/env.h>

#include "store/reader.h"
#include "store/store.h"
#include "tests/store/raw_db.h"
#include "tests/store/temp_dir.h"
#include "tests/support/fault_fs.h"

// Schedules are written with the batch and are there at the next start. A directory is of format 5
// from the first one on, or from the first job that one has put.
namespace perennial::store {
namespace {

namespace fs = std::filesystem;

struct Found {
  ScheduleStored stored;
  std::string body;

  bool operator==(const Found&) const = default;
};
using Schedules = std::map<std::string, Found>;

Found schedule_of(std::string name, std::string body, Nanos planned = 1) {
  Schedule schedule = {
      .name = std::move(name), .tube = "mail", .when = ScheduleEvery{60, 7}, .put = {}};
  schedule.put.body_bytes = static_cast<uint32_t>(body.size());
  return {.stored = {.schedule = schedule, .progress = {.planned = planned}},
          .body = std::move(body)};
}

// The options of a program that knows the formats up to this one.
Options options_of(const std::string& path, uint32_t newest) {
  Options options = {.data_dir = path, .format = newest};
  options.families = std::span(format_families).first(newest);
  return options;
}

LoadSink sink_of(std::function<Status(const ScheduleStored&, std::string_view)> schedule) {
  const auto nothing = [](const auto&...) { return Status(); };
  return {.tube = nothing,
          .pause = nothing,
          .settings = nothing,
          .job = nothing,
          .key = nothing,
          .schedule = std::move(schedule)};
}

class SchedulesStored : public testing::Test {
 protected:
  // Opens a store, and closes it cleanly.
  void run(const std::function<void(Store&)>& work) { run_in(path(), work); }
  void run_in(const std::string& path, const std::function<void(Store&)>& work) {
    Options options = {.data_dir = path};
    options.events.info = [this](std::string_view at, std::string_view fields) {
      if (at == "store.format") said_.emplace_back(fields);
    };
    auto opened = Store::open(options);
    ASSERT_TRUE(opened.ok()) << opened.status().message();
    work(**opened);
    ASSERT_TRUE((*opened)->close(std::max<JobId>(10, (*opened)->opening().next_id)).ok());
  }
  static Status try_to_write(Store& store, const std::function<void(Batch&)>& fill,
                             bool sync = true) {
    Batch batch;
    fill(batch);
    batch.seal({.epoch = store.opening().epoch,
                .index = store.applied() + 1,
                .known_durable = store.durable()});
    return store.write(batch, sync);
  }
  static void write(Store& store, const std::function<void(Batch&)>& fill) {
    const Status written = try_to_write(store, fill);
    ASSERT_TRUE(written.ok()) << written.message();
  }
  static void set(Store& store, const Found& found) {
    write(store, [&](Batch& batch) { batch.add(found.stored, found.body); });
  }
  template <typename Source>
  static Result<Schedules> read(Source& source) {
    Schedules found;
    std::string last;
    Status loaded = source.load(sink_of([&](const ScheduleStored& stored, std::string_view body) {
      const std::string& name = stored.schedule->name;
      EXPECT_LT(std::exchange(last, name), name);
      found[name] = {.stored = stored, .body = std::string(body)};
      return Status();
    }));
    return loaded.ok() ? Result<Schedules>(std::move(found)) : Result<Schedules>(std::move(loaded));
  }
  void expect_schedules(const Schedules& wanted) {
    run([&](Store& store) {
      const Result<Schedules> found = read(store);
      ASSERT_TRUE(found.ok()) << found.status().message();
      EXPECT_EQ(*found, wanted);
    });
  }
  std::string refusal_of_load() {
    auto opened = Store::open({.data_dir = path()});
    EXPECT_TRUE(opened.ok());
    const Result<Schedules> found = read(**opened);
    EXPECT_FALSE(found.ok());
    if (found.ok()) return "";
    EXPECT_EQ(found.status().code(), StatusCode::Corruption);
    return found.status().message();
  }
  static uint32_t format(const std::string& path) {
    const auto reader = Reader::open({.path = path});
    EXPECT_TRUE(reader.ok()) << reader.status().message();
    return reader.ok() ? (*reader)->format() : 0;
  }
  std::string path() const { return dir_.data_dir(); }

  const TempDir dir_;
  std::vector<std::string> said_;
};

TEST_F(SchedulesStored, AreThereAfterAStart) {
  const Found nightly = schedule_of("nightly", "hello");
  const Found empty = schedule_of("empty", "");
  run([&](Store& store) {
    set(store, nightly);
    set(store, empty);
  });
  expect_schedules({{"nightly", nightly}, {"empty", empty}});
}

TEST_F(SchedulesStored, AreThereAfterACrash) {
  const Found nightly = schedule_of("nightly", std::string(100'000, 'x'));
  {
    auto opened = Store::open({.data_dir = path()});
    ASSERT_TRUE(opened.ok());
    set(**opened, nightly);
  }
  expect_schedules({{"nightly", nightly}});
}

TEST_F(SchedulesStored, AFiringWritesOnlyTheProgress) {
  Found nightly = schedule_of("nightly", std::string(100'000, 'x'));
  run([&](Store& store) {
    set(store, nightly);
    const uint64_t before = store.bytes_written();
    nightly.stored.progress = {.planned = 61, .last_planned = 1, .last_job = 3, .fired = 1};
    write(store, [&](Batch& batch) {
      batch.add(ScheduleChanged{.name = "nightly", .progress = nightly.stored.progress});
    });
    EXPECT_LT(store.bytes_written() - before, 300U);
  });
  expect_schedules({{"nightly", nightly}});
}

TEST_F(SchedulesStored, AreReplacedAndDeleted) {
  const Found first = schedule_of("s", "one");
  const Found second = schedule_of("s", "another", 5);
  run([&](Store& store) {
    set(store, first);
    set(store, second);
    set(store, schedule_of("gone", "x"));
    write(store, [](Batch& batch) { batch.add(ScheduleDeleted{"gone"}); });
  });
  expect_schedules({{"s", second}});
  run([](Store& store) { write(store, [](Batch& batch) { batch.add(ScheduleDeleted{"s"}); }); });
  expect_schedules({});
}

TEST_F(SchedulesStored, OneThatIsSetAndDeletedInABatchIsGone) {
  const Found old = schedule_of("s", "one");
  run([&](Store& store) {
    set(store, old);
    write(store, [&](Batch& batch) {
      batch.add(old.stored, old.body);
      batch.add(ScheduleDeleted{"s"});
    });
  });
  expect_schedules({});
}

TEST_F(SchedulesStored, NobodyMustAskForThem) {
  run([&](Store& store) {
    set(store, schedule_of("s", "one"));
    EXPECT_TRUE(store.load(sink_of({})).ok());
    EXPECT_EQ(
        store
            .load(sink_of([](const auto&...) { return Status(StatusCode::InvalidArgument, "no"); }))
            .message(),
        "load data directory " + path() + ": no");
  });
}

TEST_F(SchedulesStored, RaiseTheFormatOnce) {
  run([](Store& store) { write(store, [](Batch& batch) { batch.add(NextIdRaised{10}); }); });
  EXPECT_EQ(format(path()), 2U);
  run([](Store& store) { set(store, schedule_of("s", "one")); });
  EXPECT_EQ(said_, std::vector<std::string>{"from=2 to=5"});
  EXPECT_EQ(format(path()), 5U);
  run([](Store& store) { set(store, schedule_of("t", "two")); });
  EXPECT_EQ(said_.size(), 1U);
}

TEST_F(SchedulesStored, RaiseTheFormatFrom4) {
  run([](Store& store) {
    write(store, [](Batch& batch) {
      batch.add(SettingsStored{.tube = "mail", .settings = {.keep_max = 1}});
    });
  });
  EXPECT_TRUE(Store::open(options_of(path(), 4)).ok());
  run([](Store& store) { set(store, schedule_of("s", "one")); });
  EXPECT_EQ(said_, (std::vector<std::string>{"from=2 to=4", "from=4 to=5"}));
  const auto older = Store::open(options_of(path(), 4));
  ASSERT_FALSE(older.ok());
  EXPECT_NE(older.status().message().find("its format is 5, which only a newer program reads"),
            std::string::npos)
      << older.status().message();
  expect_schedules({{"s", schedule_of("s", "one")}});
}

TEST_F(SchedulesStored, RaiseTheFormatWithAJobThatOneHasPut) {
  JobRow row = {.id = 1, .tube = 1, .ttr_s = 1};
  row.fields = JobFields{.schedule = ScheduleOrigin{.name = "s", .planned = 5}};
  run([&](Store& store) {
    write(store, [&](Batch& batch) {
      batch.add(TubeStored{.tube = 1, .name = "mail"});
      batch.add(NextIdRaised{10});
      batch.add(JobMoved{.id = 1, .before = {}, .after = row, .promised = true});
    });
  });
  EXPECT_EQ(said_, std::vector<std::string>{"from=2 to=5"});
  run([&](Store& store) {
    JobRow found;
    LoadSink sink = sink_of({});
    sink.job = [&](const JobRow& job) {
      found = job;
      return Status();
    };
    ASSERT_TRUE(store.load(sink).ok());
    EXPECT_EQ(found, row);
  });
}

// Rows that do not fit refuse the start, which names the family and the key.
struct DamageCase {
  const char* name;
  std::function<void(RawDb&)> change;
  const char* want;
};

void PrintTo(const DamageCase& one, std::ostream* out) {
  *out << one.name;
}

class DamagedSchedules : public SchedulesStored, public testing::WithParamInterface<DamageCase> {};

TEST_P(DamagedSchedules, RefuseTheStart) {
  run([](Store& store) {
    set(store, schedule_of("a", "one"));
    set(store, schedule_of("b", "two"));
  });
  {
    RawDb db(path());
    GetParam().change(db);
  }
  EXPECT_NE(refusal_of_load().find(GetParam().want), std::string::npos) << refusal_of_load();
}

std::string progress_row() {
  return std::string(view(encode(ScheduleProgress{.planned = 1})));
}

INSTANTIATE_TEST_SUITE_P(
    Store, DamagedSchedules,
    testing::Values(
        DamageCase{"NoProgress", [](RawDb& db) { db.remove(Family::Schedules, "pa"); },
                   "schedules, key 6461: a schedule without its progress"},
        DamageCase{"NoProgressOfTheLast", [](RawDb& db) { db.remove(Family::Schedules, "pb"); },
                   "schedules, key 6462: a schedule without its progress"},
        DamageCase{"NoDefinition", [](RawDb& db) { db.remove(Family::Schedules, "da"); },
                   "schedules, key 7061: a progress without its schedule"},
        DamageCase{"NoDefinitionOfTheLast", [](RawDb& db) { db.remove(Family::Schedules, "db"); },
                   "schedules, key 7062: a progress without its schedule"},
        DamageCase{"Definition", [](RawDb& db) { db.put(Family::Schedules, "da", "x"); },
                   "schedules, key 6461: wrong length"},
        DamageCase{"Progress", [](RawDb& db) { db.put(Family::Schedules, "pa", "x"); },
                   "schedules, key 7061: wrong length"},
        DamageCase{"NameTooLong",
                   [](RawDb& db) {
                     const std::string name(schedule_name_bytes_max + 1, 'z');
                     db.put(Family::Schedules, "d" + name, "x");
                     db.put(Family::Schedules, "p" + name, progress_row());
                   },
                   "schedule name too long"},
        DamageCase{"KeyBeforeAll", [](RawDb& db) { db.put(Family::Schedules, "a", "x"); },
                   "schedules, key 61: unknown key"},
        DamageCase{"KeyBetween", [](RawDb& db) { db.put(Family::Schedules, "e", "x"); },
                   "schedules, key 65: unknown key"},
        DamageCase{"KeyBehindAll", [](RawDb& db) { db.put(Family::Schedules, "q", "x"); },
                   "schedules, key 71: unknown key"}),
    [](const auto& one) { return one.param.name; });

// A fault at one of the file calls that the first schedule makes.
TEST_F(SchedulesStored, AFaultAtAnyCallLeavesTheScheduleOrNone) {
  run([](Store& store) { write(store, [](Batch& batch) { batch.add(NextIdRaised{10}); }); });
  const Found nightly = schedule_of("nightly", "hello");
  bool fired = true;
  uint64_t there_count = 0;
  uint64_t calls = 0;
  for (; fired; ++calls) {
    SCOPED_TRACE("call " + std::to_string(calls));
    ASSERT_LT(calls, 200U) << "it never ends";
    const TempDir other;
    fs::copy(path(), other.data_dir(), fs::copy_options::recursive);
    bool is_written = false;
    {
      const auto faults = std::make_shared<support::FaultFs>(rocksdb::FileSystem::Default());
      const std::unique_ptr<rocksdb::Env> env = rocksdb::NewCompositeEnv(faults);
      auto opened = Store::open({.data_dir = other.data_dir(), .env = env.get()});
      ASSERT_TRUE(opened.ok()) << opened.status().message();
      faults->fail_nth(calls, rocksdb::IOStatus::IOError("injected"));
      is_written = try_to_write(**opened, [&](Batch& batch) {
                     batch.add(nightly.stored, nightly.body);
                   }).ok();
      fired = faults->fired();
      EXPECT_TRUE(is_written || fired);
    }
    run_in(other.data_dir(), [&](Store& store) {
      const Result<Schedules> found = read(store);
      ASSERT_TRUE(found.ok()) << found.status().message();
      EXPECT_TRUE(!is_written || found->contains("nightly"));
      there_count += found->size();
      set(store, nightly);
    });
    EXPECT_EQ(format(other.data_dir()), 5U);
  }
  EXPECT_GT(calls, 6U);
  EXPECT_GT(there_count, 0U);
}

}  // namespace
}  // namespace perennial::store
