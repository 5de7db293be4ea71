#include <algorithm>
#include <filesystem>
#include <functional>
#include <memory>
#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>
#include <rocksdb/env.h>

#include "store/checkpoint/checkpoint.h"
#include "store/offline/check.h"
#include "store/reader.h"
#include "store/store.h"
#include "tests/store/temp_dir.h"
#include "tests/support/fault_fs.h"

// A directory is of format 4 from its first job that has ended and is kept, or from the first
// setting or field that belongs to such jobs. Before, it is of format 2 or 3: first_note_test.cc.
namespace perennial::store {
namespace {

namespace fs = std::filesystem;

JobRow row_in(JobId id, uint32_t notes = 0) {
  JobRow row = {.id = id, .tube = 1, .ttr_s = 1};
  if (notes > 0) row.fields = JobFields{.notes = notes};
  return row;
}

// The options of a program that knows the formats up to this one.
Options options_of(const std::string& path, uint32_t newest) {
  Options options = {.data_dir = path, .format = newest};
  options.families = std::span(format_families).first(newest);
  return options;
}

std::vector<Transition> ending(JobId id, uint32_t notes = 0) {
  EndedJob job = {.row = row_in(id, notes), .tube = "mail", .place = 1, .at = 5};
  job.row.tube = 0;
  return {JobMoved{.id = id, .before = JobState::Ready, .after = {}, .promised = true},
          JobEnded{.job = job, .span = {.first = 1, .next = 2}}};
}

// A directory with job 1 in tube 1.
class FirstEnded : public testing::Test {
 protected:
  FirstEnded() {
    run(path(), [](Store& store) {
      write(store, {TubeStored{.tube = 1, .name = "mail"}, NextIdRaised{.next_id = 10},
                    JobMoved{.id = 1, .before = {}, .after = row_in(1), .promised = true}});
    });
  }

  // Opens a store, and closes it cleanly.
  void run(const std::string& path, const std::function<void(Store&)>& work) {
    Options options = {.data_dir = path};
    options.events.info = [this](std::string_view at, std::string_view fields) {
      if (at == "store.format") said_.emplace_back(fields);
    };
    auto opened = Store::open(options);
    ASSERT_TRUE(opened.ok()) << opened.status().message();
    work(**opened);
    ASSERT_TRUE((*opened)->close(std::max<JobId>(10, (*opened)->opening().next_id)).ok());
  }
  static Status try_to_write(Store& store, const std::vector<Transition>& transitions,
                             bool sync = true) {
    Batch batch;
    for (const Transition& transition : transitions) batch.add(transition);
    batch.seal({.epoch = store.opening().epoch,
                .index = store.applied() + 1,
                .known_durable = store.durable()});
    return store.write(batch, sync);
  }
  static void write(Store& store, const std::vector<Transition>& transitions) {
    const Status written = try_to_write(store, transitions);
    ASSERT_TRUE(written.ok()) << written.message();
  }
  void add_note() {
    run(path(), [](Store& store) {
      write(store,
            {JobMoved{.id = 1, .before = JobState::Ready, .after = row_in(1, 1), .promised = true},
             NoteStored{.job = 1, .note = {.number = 1, .user = {}, .text = "why"}}});
    });
  }
  static bool is_kept_in(Store& store) {
    const auto found = store.read_ended(1, true);
    EXPECT_TRUE(found.ok()) << found.status().message();
    return found.ok() && *found && (*found)->body;
  }
  static uint32_t format(const std::string& path) {
    const auto reader = Reader::open({.path = path});
    EXPECT_TRUE(reader.ok()) << reader.status().message();
    return reader.ok() ? (*reader)->format() : 0;
  }
  static uint64_t faults(const std::string& path) {
    const auto checked = check_directory({.path = path, .deep = true});
    EXPECT_TRUE(checked.ok());
    return checked.ok() ? checked->faults : 1;
  }
  std::string path() const { return dir_.data_dir(); }

  using Said = std::vector<std::string>;
  const TempDir dir_;
  Said said_;
};

TEST_F(FirstEnded, RaisesTheFormatOnce) {
  run(path(), [](Store& store) {
    EXPECT_FALSE(is_kept_in(store));
    write(store, ending(1));
    EXPECT_TRUE(is_kept_in(store));
    write(store,
          {EndedGone{
              .tube = "mail", .place = 1, .job = 1, .notes = 0, .span = {.first = 2, .next = 2}}});
    EXPECT_FALSE(is_kept_in(store));
  });
  EXPECT_EQ(said_, Said{"from=2 to=4"});
  EXPECT_EQ(format(path()), 4U);
  EXPECT_EQ(faults(path()), 0U);
  // The format has notes, too.
  run(path(), [](Store& store) {
    write(store, {JobMoved{.id = 2, .before = {}, .after = row_in(2, 1), .promised = true},
                  NoteStored{.job = 2, .note = {.number = 1, .user = {}, .text = "why"}}});
    EXPECT_EQ(store.read_notes(2)->size(), 1U);
  });
  EXPECT_EQ(said_.size(), 1U);
}

TEST_F(FirstEnded, RaisesTheFormatOfADirectoryWithNotes) {
  add_note();
  run(path(), [](Store& store) { write(store, ending(1, 1)); });
  EXPECT_EQ(said_, (Said{"from=2 to=3", "from=3 to=4"}));
  run(path(), [](Store& store) { EXPECT_EQ(store.read_ended(1, true)->value().notes.size(), 1U); });
}

TEST_F(FirstEnded, DecidesWhetherAnOlderProgramOpensTheDirectory) {
  add_note();
  EXPECT_TRUE(Store::open(options_of(path(), 3)).ok());
  run(path(), [](Store& store) { write(store, ending(1, 1)); });
  const auto older = Store::open(options_of(path(), 3));
  ASSERT_FALSE(older.ok());
  EXPECT_NE(older.status().message().find("its format is 4, which only a newer program reads"),
            std::string::npos)
      << older.status().message();
}

TEST_F(FirstEnded, MayBeASettingOrAField) {
  JobRow restored = row_in(1);
  restored.fields = JobFields{.restored = 7};
  for (const Transition& first : std::vector<Transition>{
           SettingsStored{.tube = "mail", .settings = {.keep = nanos_per_second}},
           SettingsStored{.tube = "mail", .settings = {.keep_max = 1}},
           JobMoved{.id = 1, .before = JobState::Ready, .after = restored, .promised = true}}) {
    const TempDir other;
    fs::copy(path(), other.data_dir(), fs::copy_options::recursive);
    run(other.data_dir(), [&](Store& store) { write(store, {first}); });
    EXPECT_EQ(format(other.data_dir()), 4U);
    EXPECT_EQ(faults(other.data_dir()), 0U);
  }
  // Other settings need no more than format 2, and a tube that keeps nothing any more neither.
  run(path(), [](Store& store) {
    write(store, {SettingsStored{.tube = "mail", .settings = {.tries = 1}}});
    write(store, {SettingsStored{.tube = "mail", .settings = {}}});
  });
  EXPECT_EQ(format(path()), 2U);
}

TEST_F(FirstEnded, IsInACheckpointThatWasMadeAfterIt) {
  const std::string checkpoints = dir_.path() + "/checkpoints";
  fs::create_directory(checkpoints);
  run(path(), [&](Store& store) {
    for (const uint32_t wanted : {2U, 4U}) {
      if (wanted == 4) write(store, ending(1));
      const CheckpointPlan plan = {.dir = checkpoints,
                                   .name = checkpoint_name(wanted * nanos_per_second),
                                   .created = wanted * nanos_per_second,
                                   .database = store.identity(),
                                   .index = store.applied()};
      ASSERT_TRUE(store.create_checkpoint(partial_path(plan)).ok());
      const Result<CheckpointManifest> sent = list_partial_checkpoint(plan);
      ASSERT_TRUE(sent.ok()) << sent.status().message();
      EXPECT_EQ(sent->format, wanted);
      const Result<CheckpointManifest> made = complete_checkpoint(plan);
      ASSERT_TRUE(made.ok()) << made.status().message();
      EXPECT_EQ(made->format, wanted);
      EXPECT_EQ(made->job_count(), wanted == 4 ? 0U : 1U);
    }
  });
}

// A fault at one of the file calls that the first one makes.
struct EndedFault {
  const char* name;
  // Sets it at the n-th call, and sets `fired` when it comes.
  std::function<void(support::FaultFs& fs, uint64_t n, bool& fired)> plan;
};

void PrintTo(const EndedFault& fault, std::ostream* out) {
  *out << fault.name;
}

class FirstEndedFault : public FirstEnded, public testing::WithParamInterface<EndedFault> {};

// The store fails, and the next start finds the job, or the ended job. Some of the three families
// may be there already.
TEST_P(FirstEndedFault, AtAnyCallLosesNothing) {
  bool fired = true;
  uint64_t calls = 0;
  uint64_t ended_count = 0;
  for (; fired; ++calls) {
    SCOPED_TRACE("call " + std::to_string(calls));
    ASSERT_LT(calls, 200U) << "it never ends";
    const TempDir other;
    fs::copy(path(), other.data_dir(), fs::copy_options::recursive);
    fired = false;
    bool is_written = false;
    {
      const auto faults = std::make_shared<support::FaultFs>(rocksdb::FileSystem::Default());
      const std::unique_ptr<rocksdb::Env> env = rocksdb::NewCompositeEnv(faults);
      auto opened = Store::open({.data_dir = other.data_dir(), .env = env.get()});
      ASSERT_TRUE(opened.ok()) << opened.status().message();
      Store& store = **opened;
      ASSERT_TRUE(try_to_write(store, {NextIdRaised{.next_id = 20}}, false).ok());
      GetParam().plan(*faults, calls, fired);
      is_written = try_to_write(store, ending(1)).ok();
      fired = fired || faults->fired();
      EXPECT_TRUE(is_written || fired);
    }
    {
      auto again = Store::open({.data_dir = other.data_dir()});
      ASSERT_TRUE(again.ok()) << again.status().message();
      uint64_t jobs = 0;
      const auto nothing = [](const auto&...) { return Status(); };
      const Status loaded = (*again)->load({.tube = nothing,
                                            .pause = nothing,
                                            .settings = nothing,
                                            .job =
                                                [&](const JobRow&) {
                                                  ++jobs;
                                                  return Status();
                                                },
                                            .key = nothing});
      ASSERT_TRUE(loaded.ok()) << loaded.message();
      const bool has_ended = is_kept_in(**again);
      EXPECT_EQ(jobs, has_ended ? 0U : 1U);
      EXPECT_TRUE(!is_written || has_ended);
      ended_count += has_ended;
      // It can be done from here.
      if (!has_ended) write(**again, ending(1));
      EXPECT_TRUE(is_kept_in(**again));
      ASSERT_TRUE((*again)->close((*again)->opening().next_id).ok());
    }
    EXPECT_EQ(format(other.data_dir()), 4U);
    EXPECT_EQ(faults(other.data_dir()), 0U);
  }
  EXPECT_GT(calls, 6U);
  EXPECT_GT(ended_count, 0U);
}

EndedFault cut_of_power(const char* name, support::Loss loss) {
  return {name, [loss](support::FaultFs& fs, uint64_t n, bool& fired) {
            fs.before_nth(n, [&fs, &fired, loss, n] {
              fired = true;
              fs.lose_power(loss, n);
            });
          }};
}

INSTANTIATE_TEST_SUITE_P(
    Store, FirstEndedFault,
    testing::Values(EndedFault{"Io",
                               [](support::FaultFs& fs, uint64_t n, bool& /*fired*/) {
                                 fs.fail_nth(n, rocksdb::IOStatus::IOError("injected"));
                               }},
                    cut_of_power("PowerCut", support::Loss::Whole),
                    cut_of_power("PowerCutLeavesAPart", support::Loss::Prefix)),
    [](const auto& one) { return one.param.name; });

}  // namespace
}  // namespace perennial::store
