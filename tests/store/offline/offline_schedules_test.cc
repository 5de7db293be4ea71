#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <ostream>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "store/checkpoint/checkpoint.h"
#include "store/offline/builder.h"
#include "store/offline/check.h"
#include "store/offline/repair.h"
#include "store/offline/restore.h"
#include "store/reader.h"
#include "store/store.h"
#include "tests/store/dir_state.h"
#include "tests/store/raw_db.h"
#include "tests/store/temp_dir.h"

// What tools do with schedules: make, check, repair and restore them.
namespace perennial::store {
namespace {

namespace fs = std::filesystem;
using Names = std::vector<std::string>;

Schedule schedule_of(std::string name, size_t body_bytes) {
  Schedule schedule = {
      .name = std::move(name), .tube = "mail", .when = ScheduleEvery{60, 1}, .put = {}};
  schedule.put.body_bytes = static_cast<uint32_t>(body_bytes);
  return schedule;
}

std::string body_of(const std::string& name) {
  return "the body of " + name;
}

Status add(Builder& builder, const std::string& name, const ScheduleProgress& progress) {
  const std::string body = body_of(name);
  return builder.add_schedule({.schedule = schedule_of(name, body.size()), .progress = progress},
                              body);
}

// Makes a directory with job 1 and these schedules.
void make_dir(const std::string& path, const Names& names) {
  auto builder = Builder::begin({.path = path});
  ASSERT_TRUE(builder.ok());
  ASSERT_TRUE((*builder)->tube("mail").ok());
  for (const std::string& name : names) {
    ASSERT_TRUE(add(**builder, name, {.planned = 61, .last_job = 1, .fired = 1}).ok());
  }
  ASSERT_TRUE((*builder)->add_job({.id = 1, .tube = 1, .ttr_s = 1, .body_bytes = 2}, "hi").ok());
  ASSERT_TRUE((*builder)->publish({.epoch = 1, .index = 2, .now = 5}, 2).ok());
}

// The schedules by name, and whether each is paused. Each has its body.
template <typename Source>
std::map<std::string, bool> schedules_in(Source& source) {
  std::map<std::string, bool> found;
  const auto nothing = [](const auto&...) { return Status(); };
  const Status loaded =
      source.load({.tube = nothing,
                   .pause = nothing,
                   .settings = nothing,
                   .job = nothing,
                   .key = nothing,
                   .schedule = [&](const ScheduleStored& stored, std::string_view body) {
                     const std::string& name = stored.schedule->name;
                     EXPECT_EQ(body, body_of(name));
                     EXPECT_EQ(stored.progress.fired, 1U);
                     found[name] = stored.progress.is_paused;
                     return Status();
                   }});
  EXPECT_TRUE(loaded.ok()) << loaded.message();
  return found;
}

std::map<std::string, bool> schedules_of(const std::string& path) {
  const auto reader = Reader::open({.path = path});
  EXPECT_TRUE(reader.ok()) << reader.status().message();
  return reader.ok() ? schedules_in(**reader) : std::map<std::string, bool>();
}

Names check(const std::string& path, CheckSummary& summary) {
  Names faults;
  const Result<CheckSummary> checked = check_directory(
      {.path = path,
       .fault =
           [&](const Fault& fault) {
             faults.push_back(fmt::format("{} {}: {}", fault.where, fault.key, fault.what));
           },
       .is_tube_name = [](std::string_view name) { return name.front() != '-'; }});
  EXPECT_TRUE(checked.ok()) << checked.status().message();
  if (checked.ok()) summary = *checked;
  return faults;
}

struct PlantCase {
  const char* name;
  std::function<void(RawDb&)> plant;
  Names faults;
  Names lost;  // The names that a repair announces.
};

void PrintTo(const PlantCase& plant, std::ostream* out) {
  *out << plant.name;
}

class ScheduleFault : public testing::TestWithParam<PlantCase> {
 protected:
  ScheduleFault() {
    make_dir(dir_.data_dir(), {"a", "b", "c"});
    RawDb db(dir_.data_dir());
    GetParam().plant(db);
  }

  const TempDir dir_;
};

TEST_P(ScheduleFault, IsFound) {
  CheckSummary summary;
  EXPECT_EQ(check(dir_.data_dir(), summary), GetParam().faults);
  EXPECT_EQ(summary.schedules, 3U);
  EXPECT_EQ(summary.starts, GetParam().faults.empty());
}

// What is left of a schedule with a row that is not what was written does not come back, and is
// named before anything is changed.
TEST_P(ScheduleFault, CostsTheScheduleInARepair) {
  std::map<std::string, bool> kept = {{"a", false}, {"b", false}, {"c", false}};
  for (const std::string& name : GetParam().lost) kept.erase(name);
  {
    const auto reader = Reader::open({.path = dir_.data_dir(), .salvage = true});
    ASSERT_TRUE(reader.ok()) << reader.status().message();
    EXPECT_EQ((*reader)->salvaged()->schedules_lost.names, GetParam().lost);
    EXPECT_EQ(schedules_in(**reader), kept);
  }
  {
    const auto repair = Repair::open(dir_.data_dir());
    ASSERT_TRUE(repair.ok()) << repair.status().message();
    EXPECT_EQ((*repair)->account().schedules_lost.names, GetParam().lost);
    EXPECT_EQ((*repair)->account().is_whole(), GetParam().lost.empty());
    const auto done = (*repair)->run("now");
    ASSERT_TRUE(done.ok()) << done.status().message();
  }
  EXPECT_EQ(schedules_of(dir_.data_dir()), kept);
  CheckSummary summary;
  EXPECT_EQ(check(dir_.data_dir(), summary), Names());
  EXPECT_EQ(summary.schedules, kept.size());
}

std::string progress_of(JobId last_job) {
  return std::string(
      view(encode(ScheduleProgress{.planned = 61, .last_job = last_job, .fired = 1})));
}

INSTANTIATE_TEST_SUITE_P(
    Store, ScheduleFault,
    testing::Values(PlantCase{"None", [](RawDb& /*db*/) {}, {}, {}},
                    PlantCase{"DefinitionDamaged",
                              [](RawDb& db) { db.put(Family::Schedules, "db", "x"); },
                              {"schedules 6462: wrong length"},
                              {"b"}},
                    PlantCase{"DefinitionOfAnother",
                              [](RawDb& db) {
                                const std::string body = body_of("a");
                                db.put(Family::Schedules, "db",
                                       encode(schedule_of("a", body.size()), body));
                              },
                              {"schedules 6462: the hash does not fit the schedule"},
                              {"b"}},
                    PlantCase{"ProgressDamaged",
                              [](RawDb& db) { db.put(Family::Schedules, "pa", "x"); },
                              {"schedules 7061: wrong length"},
                              {"a"}},
                    PlantCase{"LastJobNotGivenOut",
                              [](RawDb& db) { db.put(Family::Schedules, "pa", progress_of(2)); },
                              {"schedules 7061: job 2 is not below the next id, 2"},
                              {}}),
    [](const auto& one) { return one.param.name; });

// A row that is missing may have been removed with the schedule, and then the other one would not
// be there either.
TEST(OfflineSchedules, ARowThatIsMissingIsAFault) {
  for (const auto& [key, fault] : std::map<std::string, std::string>{
           {"pb", "schedules 6462: a schedule without its progress"},
           {"db", "schedules 7062: a progress without its schedule"}}) {
    const TempDir dir;
    make_dir(dir.data_dir(), {"a", "b"});
    RawDb(dir.data_dir()).remove(Family::Schedules, key);
    CheckSummary summary;
    EXPECT_EQ(check(dir.data_dir(), summary), Names{fault});
    EXPECT_FALSE(summary.starts);
    const auto reader = Reader::open({.path = dir.data_dir(), .salvage = true});
    ASSERT_TRUE(reader.ok());
    EXPECT_EQ(schedules_in(**reader), (std::map<std::string, bool>{{"a", false}}));
  }
}

TEST(OfflineSchedules, InvalidNamesAreFaults) {
  const TempDir dir;
  {
    auto builder = Builder::begin({.path = dir.data_dir()});
    ASSERT_TRUE(builder.ok());
    Schedule schedule = schedule_of("-s", 0);
    schedule.tube = "-t";
    PutOptions& options = schedule.put.options.make();
    options.dead = "-d";
    options.key = KeyOption{.key = "-k"};
    options.concurrency = ConcurrencyKey{.key = "-c"};
    ASSERT_TRUE(
        (*builder)->add_schedule({.schedule = schedule, .progress = {.planned = 1}}, "").ok());
    ASSERT_TRUE((*builder)->publish({.epoch = 1, .index = 2, .now = 5}, 2).ok());
  }
  CheckSummary summary;
  EXPECT_EQ(check(dir.data_dir(), summary),
            (Names{"schedules 642d73: the name is not one that a schedule can have",
                   "schedules 642d73: the name of its tube is not one that a tube can have",
                   "schedules 642d73: the dead tube has a name that no tube can have",
                   "schedules 642d73: the key is not one that a job can have",
                   "schedules 642d73: the concurrency key is not one that a job can have"}));
}

// A block of the only table is damaged: schedules of which a row is in it are lost, and all of
// those are named of which the other row can be read.
TEST(OfflineSchedules, ADamagedBlockCostsTheSchedulesInIt) {
  constexpr size_t count = 2000;
  const TempDir dir;
  Names names;
  for (size_t i = 0; i < count; ++i) {
    names.push_back(fmt::format("{:04}-{}", i, std::string(100, static_cast<char>('a' + i % 26))));
  }
  make_dir(dir.data_dir(), names);
  std::string table;
  {
    RawDb db(dir.data_dir());
    db.compact(Family::Schedules, "", "\xff");
    table = db.table_of(Family::Schedules);
  }
  std::string content = content_of(table);
  content[content.size() / 3] ^= 1;
  write_file(table, content);
  const auto refused = Store::open({.data_dir = dir.data_dir()});
  EXPECT_FALSE(refused.ok());
  std::set<std::string> lost;
  uint64_t kept = 0;
  {
    const auto repair = Repair::open(dir.data_dir());
    ASSERT_TRUE(repair.ok()) << repair.status().message();
    const Salvaged& account = (*repair)->account();
    EXPECT_EQ(account.tables.size(), 1U);
    EXPECT_GT(account.schedules_lost.count, 0U);
    EXPECT_GT(account.schedules, count / 2);
    EXPECT_EQ(account.schedules + account.schedules_lost.count, count);
    EXPECT_EQ(account.job_count(), 1U);
    lost.insert(account.schedules_lost.names.begin(), account.schedules_lost.names.end());
    kept = account.schedules;
    ASSERT_TRUE((*repair)->run("now").ok());
  }
  const auto found = schedules_of(dir.data_dir());
  EXPECT_EQ(found.size(), kept);
  for (const std::string& name : names) EXPECT_NE(found.contains(name), lost.contains(name));
}

TEST(OfflineSchedules, ABuilderRefusesInvalidOnes) {
  const TempDir dir;
  auto builder = Builder::begin({.path = dir.data_dir()});
  ASSERT_TRUE(builder.ok());
  EXPECT_EQ(add(**builder, "", {.planned = 1}).message(), "schedule without a name");
  EXPECT_EQ(add(**builder, "a", {}).message(), "an active schedule without a next time");
  ASSERT_TRUE(add(**builder, "a", {.planned = 1, .last_job = 7}).ok());
  EXPECT_EQ((*builder)->publish({.epoch = 1, .index = 2, .now = 5}, 7).message(),
            "next id 7 is not above the id of job 7, which a schedule names");
  ASSERT_TRUE((*builder)->publish({.epoch = 1, .index = 2, .now = 5}, 8).ok());
}

// Makes a checkpoint of a directory with these schedules, of which the first is paused.
class RestoredSchedules : public testing::Test {
 protected:
  void make(const Names& names) {
    make_dir(dir_.data_dir(), names);
    auto store = Store::open({.data_dir = dir_.data_dir()});
    ASSERT_TRUE(store.ok());
    if (!names.empty()) {
      Batch batch;
      batch.add(ScheduleChanged{
          .name = names.front(),
          .progress = {.planned = 61, .last_job = 1, .fired = 1, .is_paused = true}});
      batch.seal({.epoch = (*store)->opening().epoch,
                  .index = (*store)->applied() + 1,
                  .known_durable = (*store)->durable()});
      ASSERT_TRUE((*store)->write(batch, true).ok());
    }
    fs::create_directory(dir_.path() + "/checkpoints");
    const CheckpointPlan plan = {.dir = dir_.path() + "/checkpoints",
                                 .name = checkpoint_name(nanos_per_second),
                                 .created = nanos_per_second,
                                 .database = (*store)->identity(),
                                 .index = (*store)->applied()};
    ASSERT_TRUE((*store)->create_checkpoint(partial_path(plan)).ok());
    ASSERT_TRUE(complete_checkpoint(plan).ok());
    checkpoint_ = plan.dir + "/" + plan.name;
  }
  Restored restore(const std::string& to, bool pauses, uint64_t skip_ids) {
    const Result<Restored> restored = restore_checkpoint(
        {.from = checkpoint_, .to = to, .skip_ids = skip_ids, .pause_schedules = pauses});
    EXPECT_TRUE(restored.ok()) << restored.status().message();
    return restored.ok() ? *restored : Restored();
  }

  const TempDir dir_;
  std::string checkpoint_;
};

TEST_F(RestoredSchedules, ArePausedIfThatIsAskedFor) {
  make({"a", "b", "c"});
  for (const uint64_t skip_ids : {uint64_t{0}, uint64_t{10}}) {
    const std::string to = fmt::format("{}/paused-{}", dir_.path(), skip_ids);
    const Restored paused = restore(to, true, skip_ids);
    EXPECT_EQ(paused.schedules_paused, 2U);
    EXPECT_EQ(paused.next_id, 2 + skip_ids);
    EXPECT_EQ(schedules_of(to),
              (std::map<std::string, bool>{{"a", true}, {"b", true}, {"c", true}}));
    const std::string active = fmt::format("{}/active-{}", dir_.path(), skip_ids);
    EXPECT_EQ(restore(active, false, skip_ids).schedules_paused, 0U);
    EXPECT_EQ(schedules_of(active),
              (std::map<std::string, bool>{{"a", true}, {"b", false}, {"c", false}}));
  }
}

// Without a schedule to pause an exact copy stays one.
TEST_F(RestoredSchedules, AnExactCopyWithoutThemIsTheSame) {
  make({});
  const std::string one = dir_.path() + "/one";
  const std::string other = dir_.path() + "/other";
  EXPECT_EQ(restore(one, true, 0).schedules_paused, 0U);
  restore(other, false, 0);
  EXPECT_EQ(content_of(one + "/db/CURRENT"), content_of(other + "/db/CURRENT"));
  for (const auto& file : fs::directory_iterator(one + "/db")) {
    EXPECT_EQ(content_of(file.path()),
              content_of(other + "/db/" + file.path().filename().string()));
  }
}

}  // namespace
}  // namespace perennial::store
