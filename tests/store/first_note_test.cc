#include <algorithm>
#include <atomic>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <rocksdb/db.h>
#include <rocksdb/env.h>

#include "store/batch/batch_codec.h"
#include "store/checkpoint/checkpoint.h"
#include "store/offline/builder.h"
#include "store/offline/check.h"
#include "store/offline/restore.h"
#include "store/reader.h"
#include "store/store.h"
#include "tests/store/raw_db.h"
#include "tests/store/temp_dir.h"
#include "tests/support/fault_fs.h"

// A directory is of format 2 until its first note, which makes it one of format 3.
namespace perennial::store {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view raised = "store.format from=2 to=3";
constexpr std::string_view newer_format = "its format is 3, which only a newer program reads";

Note note(uint32_t number) {
  return {.number = number, .attempt = 1, .time = 5, .user = "ann", .text = "why"};
}

JobRow row_of(JobId id, uint32_t notes) {
  JobRow row = {.id = id, .tube = 1, .ttr_s = 1};
  if (notes > 0) row.fields = JobFields{.notes = notes};
  return row;
}

// The options of a program that knows format 2 only.
Options of_1_0(const std::string& path) {
  Options options = {.data_dir = path, .format = 2};
  options.families = std::span(format_families).first(2);
  return options;
}

// Returns what the program says, or an empty string if it opens the directory.
std::string opened_by_1_0(const std::string& path) {
  const auto store = Store::open(of_1_0(path));
  return store.ok() ? "" : store.status().message();
}

// The newest log file: no name is longer than another.
std::string newest_log(const std::string& path) {
  std::string newest;
  for (const auto& entry : fs::directory_iterator(path + "/db")) {
    if (entry.path().extension() == ".log") newest = std::max(newest, entry.path().string());
  }
  return newest;
}

// A store with job 1 in tube 1. Its batches are numbered.
class FirstNote : public testing::Test {
 protected:
  FirstNote() {
    open();
    write({TubeStored{.tube = 1, .name = "mail"}, NextIdRaised{.next_id = 10},
           JobMoved{.id = 1, .before = {}, .after = row_of(1, 0), .promised = true}});
  }

  void open(Recover recover = Recover::Strict, rocksdb::Env* env = nullptr) {
    store_.reset();
    Options options = {.data_dir = path(), .recover = recover, .env = env};
    options.events.info = [this](std::string_view at, std::string_view fields) {
      if (at != "store.format") return;
      said_.push_back(std::string(at) + " " + std::string(fields));
    };
    auto opened = Store::open(options);
    ASSERT_TRUE(opened.ok()) << opened.status().message();
    store_ = opened.take();
    index_ = store_->opening().last_index;
  }
  void close() {
    ASSERT_TRUE(store_->close(std::max<JobId>(10, store_->opening().next_id)).ok());
    store_.reset();
  }

  Batch batch_of(const std::vector<Transition>& transitions) {
    Batch batch;
    for (const Transition& transition : transitions) batch.add(transition);
    ++index_;
    batch.seal({.epoch = store_->opening().epoch, .index = index_, .known_durable = index_ - 1});
    return batch;
  }
  Status try_to_write(const std::vector<Transition>& transitions) {
    return store_->write(batch_of(transitions), true);
  }
  void write(const std::vector<Transition>& transitions) {
    const Status written = try_to_write(transitions);
    ASSERT_TRUE(written.ok()) << written.message();
  }
  static std::vector<Transition> noting(uint32_t number, JobId id = 1) {
    return {JobMoved{
                .id = id, .before = JobState::Ready, .after = row_of(id, number), .promised = true},
            NoteStored{.job = id, .note = note(number)}};
  }

  // Sets a fault, and sets `fired` when it comes.
  using Plan = std::function<void(support::FaultFs& fs, bool& fired)>;
  // Returns whether the first note of a copy was written. An unsynced batch comes before it.
  bool write_in(const std::string& copy, const Plan& plan, bool& fired) {
    const auto faults = std::make_shared<support::FaultFs>(rocksdb::FileSystem::Default());
    const std::unique_ptr<rocksdb::Env> env = rocksdb::NewCompositeEnv(faults);
    auto opened = Store::open({.data_dir = copy, .env = env.get()});
    EXPECT_TRUE(opened.ok()) << opened.status().message();
    Store& store = **opened;
    index_ = store.opening().last_index;
    const auto write_here = [&](const std::vector<Transition>& transitions, bool sync) {
      Batch batch;
      for (const Transition& transition : transitions) batch.add(transition);
      ++index_;
      batch.seal(
          {.epoch = store.opening().epoch, .index = index_, .known_durable = store.durable()});
      return store.write(batch, sync).ok();
    };
    EXPECT_TRUE(write_here({NextIdRaised{.next_id = 20}}, false));
    plan(*faults, fired);
    const bool is_written = write_here(noting(1), true);
    fired = fired || faults->fired();
    EXPECT_EQ(is_written, !store.failed());
    EXPECT_TRUE(is_written || fired);
    return is_written;
  }
  // Returns a copy as a kill leaves it between the family and its first batch.
  std::string killed_between() {
    for (uint64_t n = 0; n < 100; ++n) {
      std::string copy = dir_.path() + "/killed-" + std::to_string(n);
      fs::copy(path(), copy, fs::copy_options::recursive);
      bool fired = false;
      const auto plan = [n](support::FaultFs& fs, bool& /*fired*/) {
        fs.fail_nth(n, rocksdb::IOStatus::IOError("injected"));
      };
      const bool is_written = write_in(copy, plan, fired);
      std::vector<std::string> names;
      EXPECT_TRUE(rocksdb::DB::ListColumnFamilies({}, copy + "/db", &names).ok());
      if (!is_written && std::ranges::count(names, "notes") == 1 && format(copy) == 2) return copy;
    }
    ADD_FAILURE() << "no call is between the two";
    return path();
  }

  std::string path() const { return dir_.data_dir(); }
  std::vector<Note> notes(JobId id = 1) const {
    const Result<std::vector<Note>> found = store_->read_notes(id);
    EXPECT_TRUE(found.ok());
    return found.ok() ? *found : std::vector<Note>();
  }
  // Of the directory, as a reader finds it.
  uint32_t format() const { return format(path()); }
  static uint32_t format(const std::string& path) {
    const auto reader = Reader::open({.path = path});
    EXPECT_TRUE(reader.ok()) << reader.status().message();
    return reader.ok() ? (*reader)->format() : 0;
  }
  uint64_t faults() const {
    const auto checked = check_directory({.path = path(), .deep = true});
    EXPECT_TRUE(checked.ok());
    return checked.ok() ? checked->faults : 1;
  }

  const TempDir dir_;
  std::vector<std::string> said_;
  std::unique_ptr<Store> store_;
  BatchIndex index_ = 0;
};

using Said = std::vector<std::string>;
using Notes = std::vector<Note>;

TEST_F(FirstNote, RaisesTheFormatForGood) {
  EXPECT_EQ(notes(), Notes());
  EXPECT_EQ(said_, Said());
  write(noting(1));
  EXPECT_EQ(said_, Said{std::string(raised)});
  EXPECT_EQ(notes(), Notes{note(1)});
  write(noting(2));
  open();
  EXPECT_EQ(notes(), (Notes{note(1), note(2)}));
  write(noting(3));
  EXPECT_EQ(said_.size(), 1U);
  write({JobMoved{.id = 1, .before = JobState::Ready, .after = {}, .promised = true},
         NotesRemoved{.job = 1, .kept = 3}});
  close();
  EXPECT_EQ(format(), 3U);
  EXPECT_EQ(faults(), 0U);
}

TEST_F(FirstNote, DecidesWhetherAnOlderProgramOpensTheDirectory) {
  close();
  EXPECT_EQ(format(), 2U);
  EXPECT_EQ(faults(), 0U);
  EXPECT_EQ(opened_by_1_0(path()), "");
  for (const bool is_flushed : {false, true}) {
    open();
    write(noting(is_flushed ? 2 : 1));
    // The version is in the log or in the tables.
    is_flushed ? close() : store_.reset();
    EXPECT_NE(opened_by_1_0(path()).find(newer_format), std::string::npos) << opened_by_1_0(path());
  }
}

// A deletion names the notes that the job has had, and these have never left the batch.
TEST_F(FirstNote, IsNoneInABatchThatHasDeletedItsJob) {
  write({JobMoved{.id = 2, .before = {}, .after = row_of(2, 0), .promised = true},
         JobMoved{.id = 2, .before = JobState::Ready, .after = row_of(2, 1), .promised = true},
         NoteStored{.job = 2, .note = note(1)},
         JobMoved{.id = 2, .before = JobState::Ready, .after = {}, .promised = true},
         NotesRemoved{.job = 2, .kept = 1}});
  EXPECT_EQ(said_, Said());
  close();
  EXPECT_EQ(format(), 2U);
}

// A row that counts notes is one that format 2 does not have.
TEST_F(FirstNote, MayBeOneThatAJobOnlyCounts) {
  write({JobMoved{.id = 1, .before = JobState::Ready, .after = row_of(1, 4), .promised = true}});
  EXPECT_EQ(said_.size(), 1U);
  close();
  EXPECT_EQ(format(), 3U);
}

// As after a kill between the two: the family is there, and the version is the old one.
TEST_F(FirstNote, ComesAfterItsFamily) {
  close();
  const std::string killed = killed_between();
  fs::remove_all(path());
  fs::rename(killed, path());
  EXPECT_EQ(format(), 2U);
  EXPECT_EQ(faults(), 0U);
  const std::string said = opened_by_1_0(path());
  EXPECT_NE(said.find("it has a family notes, which only a newer version knows"), std::string::npos)
      << said;
  open();
  EXPECT_EQ(notes(), Notes());
  EXPECT_EQ(said_, Said());
  close();
  open();
  write(noting(1));
  EXPECT_EQ(said_.size(), 1U);
  open();
  EXPECT_EQ(notes(), Notes{note(1)});
  close();
  EXPECT_EQ(format(), 3U);
  EXPECT_EQ(faults(), 0U);
}

// A family that format 3 has and that is not there is damage, as one of format 2 is.
TEST_F(FirstNote, LostWithItsFamilyIsDamage) {
  close();
  RawDb(path()).put(Family::Meta, "f", view(encode_format_version(3)));
  const auto store = Store::open({.data_dir = path()});
  ASSERT_FALSE(store.ok());
  EXPECT_EQ(store.status().code(), StatusCode::Corruption);
  EXPECT_NE(store.status().message().find("is cut off: it does not name all families"),
            std::string::npos)
      << store.status().message();
}

// A fault at one of the file calls that the first note makes.
struct FaultCase {
  const char* name;
  // Sets it at the n-th call, and sets `fired` when it comes.
  std::function<void(support::FaultFs& fs, uint64_t n, bool& fired)> plan;
};

void PrintTo(const FaultCase& fault, std::ostream* out) {
  *out << fault.name;
}

class FirstNoteFault : public FirstNote, public testing::WithParamInterface<FaultCase> {};

// The store fails, and the next start finds the directory as it was, with or without the family, or
// with the note.
TEST_P(FirstNoteFault, AtAnyCallLosesNothing) {
  close();
  bool fired = true;
  uint64_t calls = 0;
  for (; fired; ++calls) {
    SCOPED_TRACE("call " + std::to_string(calls));
    ASSERT_LT(calls, 100U) << "it never ends";
    const TempDir other;
    fs::copy(path(), other.data_dir(), fs::copy_options::recursive);
    fired = false;
    const auto plan = [calls](support::FaultFs& fs, bool& has_come) {
      GetParam().plan(fs, calls, has_come);
    };
    const bool is_written = write_in(other.data_dir(), plan, fired);
    auto again = Store::open({.data_dir = other.data_dir()});
    ASSERT_TRUE(again.ok()) << again.status().message();
    const Result<Notes> found = (*again)->read_notes(1);
    ASSERT_TRUE(found.ok());
    EXPECT_TRUE(!is_written || *found == Notes{note(1)});
    EXPECT_EQ((*again)->opening().last_index == index_, !found->empty());
    ASSERT_TRUE((*again)->close((*again)->opening().next_id).ok());
    again = Status(StatusCode::Io, "closed");
    const auto checked = check_directory({.path = other.data_dir(), .deep = true});
    ASSERT_TRUE(checked.ok());
    EXPECT_EQ(checked->faults, 0U);
  }
  EXPECT_GT(calls, 3U);
}

FaultCase power_cut(const char* name, support::Loss loss) {
  return {name, [loss](support::FaultFs& fs, uint64_t n, bool& fired) {
            fs.before_nth(n, [&fs, &fired, loss, n] {
              fired = true;
              fs.lose_power(loss, n);
            });
          }};
}

INSTANTIATE_TEST_SUITE_P(
    Store, FirstNoteFault,
    testing::Values(FaultCase{"Io",
                              [](support::FaultFs& fs, uint64_t n, bool& /*fired*/) {
                                fs.fail_nth(n, rocksdb::IOStatus::IOError("injected"));
                              }},
                    FaultCase{"NoSpace",
                              [](support::FaultFs& fs, uint64_t n, bool& /*fired*/) {
                                fs.fail_nth(n, rocksdb::IOStatus::NoSpace("injected"));
                              }},
                    power_cut("PowerCut", support::Loss::Whole),
                    power_cut("PowerCutLeavesAPart", support::Loss::Prefix)),
    [](const auto& one) { return one.param.name; });

// Pool threads read notes and figures, and the housekeeper walks the families, while the family is
// made.
TEST_F(FirstNote, IsMadeWhileOthersRead) {
  std::atomic<bool> is_over = false;
  std::atomic<uint64_t> found = 0;
  std::vector<std::thread> threads;
  threads.emplace_back([&] {
    while (!is_over) {
      const Result<Notes> read = store_->read_notes(1);
      ASSERT_TRUE(read.ok());
      ASSERT_TRUE(read->empty() || *read == Notes{note(1)});
      found += read->size();
    }
  });
  threads.emplace_back([&] {
    std::atomic<bool> cancelled = false;
    while (!is_over) {
      ASSERT_TRUE(store_->compact_tombstones(cancelled, 0).ok());
      ASSERT_TRUE(store_->flush().ok());
    }
  });
  threads.emplace_back([&] {
    while (!is_over) {
      store_->poll_figures();
      store_->poll_write_backlog();
    }
  });
  for (JobId id = 2; id < 6; ++id) {
    write({JobMoved{.id = id, .before = {}, .after = row_of(id, 0), .promised = true}});
  }
  write(noting(1));
  while (found == 0) std::this_thread::yield();
  is_over = true;
  for (std::thread& thread : threads) thread.join();
}

// A snapshot from before has no notes.
TEST_F(FirstNote, IsNotInASnapshotFromBefore) {
  const Snapshot before = store_->snapshot();
  write(noting(1));
  EXPECT_EQ(*store_->read_notes(1, &before), Notes());
  EXPECT_EQ(notes(), Notes{note(1)});
}

// A node that follows gets the batches as bytes, and of another epoch.
TEST_F(FirstNote, RaisesTheFormatOfAStandby) {
  const TempDir other;
  fs::copy(path(), other.data_dir(), fs::copy_options::recursive);
  Said said;
  Options options = {.data_dir = other.data_dir()};
  options.events.info = [&](std::string_view at, std::string_view fields) {
    if (at == "store.format") said.push_back(std::string(fields));
  };
  {
    const auto standby = Store::open(options);
    ASSERT_TRUE(standby.ok()) << standby.status().message();
    std::string bytes;
    encode_batch(batch_of(noting(1)), bytes);
    Result<Batch> decoded = decode_batch(bytes);
    ASSERT_TRUE(decoded.ok());
    decoded->reseal(
        {.epoch = (*standby)->opening().epoch + 1, .index = index_, .known_durable = index_ - 1});
    ASSERT_TRUE((*standby)->write(*decoded, false).ok());
    EXPECT_EQ(said, Said{"from=2 to=3"});
    EXPECT_EQ(*(*standby)->read_notes(1), Notes{note(1)});
  }
  const auto again = Store::open(options);
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_EQ(*(*again)->read_notes(1), Notes{note(1)});
}

// Both have the same rows, wherever the family is there and empty.
TEST_F(FirstNote, IsNotWhatDigestsOfNodesDifferBy) {
  close();
  const auto hashes = [this] {
    const auto reader = Reader::open({.path = path()});
    EXPECT_TRUE(reader.ok());
    std::map<std::string, std::string> out;
    const auto digests = (*reader)->digests({});
    EXPECT_TRUE(digests.ok());
    for (const FamilyDigest& each : *digests) {
      out[std::string(each.family)] = each.hash;
    }
    return out;
  };
  const auto without = hashes();
  EXPECT_EQ(without.size(), family_count);
  const std::string killed = killed_between();
  fs::remove_all(path());
  fs::rename(killed, path());
  EXPECT_EQ(hashes().at("notes"), without.at("notes"));
}

// The log is cut before the first note. The family stays, and the next note is the first.
TEST_F(FirstNote, MayBeLostToAForcedStart) {
  write(noting(1));
  store_.reset();
  const std::string log = newest_log(path());
  flip_byte(log, log_end(log) - 3);
  ASSERT_FALSE(Store::open({.data_dir = path()}).ok());
  open(Recover::PointInTime);
  EXPECT_EQ(notes(), Notes());
  said_.clear();
  write(noting(1));
  EXPECT_EQ(said_, Said{std::string(raised)});
  open();
  EXPECT_EQ(notes(), Notes{note(1)});
  close();
  EXPECT_EQ(faults(), 0U);
}

TEST_F(FirstNote, IsInACheckpointThatWasMadeAfterIt) {
  const std::string checkpoints = dir_.path() + "/checkpoints";
  fs::create_directory(checkpoints);
  for (const uint32_t wanted : {2U, 3U}) {
    if (wanted == 3) write(noting(1));
    const CheckpointPlan plan = {.dir = checkpoints,
                                 .name = checkpoint_name(wanted * nanos_per_second),
                                 .created = wanted * nanos_per_second,
                                 .database = store_->identity(),
                                 .index = index_};
    ASSERT_TRUE(store_->create_checkpoint(partial_path(plan)).ok());
    const Result<CheckpointManifest> sent = list_partial_checkpoint(plan);
    ASSERT_TRUE(sent.ok()) << sent.status().message();
    EXPECT_EQ(sent->format, wanted);
    const Result<CheckpointManifest> counted = verify_rows(partial_path(plan), *sent);
    ASSERT_TRUE(counted.ok()) << counted.status().message();
    EXPECT_EQ(counted->format, wanted);
    EXPECT_TRUE(counted->has_counts);
    const Result<CheckpointManifest> made = complete_checkpoint(plan);
    ASSERT_TRUE(made.ok()) << made.status().message();
    EXPECT_EQ(made->format, wanted);
    EXPECT_TRUE(made->has_counts);
    EXPECT_EQ(made->job_count(), 1U);
  }
  for (const uint32_t wanted : {2U, 3U}) {
    const std::string from = checkpoints + "/" + checkpoint_name(wanted * nanos_per_second);
    const auto verified = verify_checkpoint(from);
    ASSERT_TRUE(verified.ok()) << verified.status().message();
    for (const uint64_t skipped : {uint64_t{0}, uint64_t{1000}}) {
      const std::string to = dir_.path() + "/back-" + std::to_string(wanted + skipped);
      const auto restored = restore_checkpoint({.from = from, .to = to, .skip_ids = skipped});
      ASSERT_TRUE(restored.ok()) << restored.status().message();
      auto reader = Reader::open({.path = to});
      ASSERT_TRUE(reader.ok()) << reader.status().message();
      EXPECT_EQ((*reader)->format(), wanted);
      const bool has_notes = wanted == 3;
      EXPECT_EQ(*(*reader)->notes().read(1, has_notes ? 1 : 0),
                has_notes ? Notes{note(1)} : Notes());
      reader = Status(StatusCode::Io, "closed");
      EXPECT_EQ(opened_by_1_0(to).empty(), !has_notes) << opened_by_1_0(to);
    }
  }
}

// A salvage reads both.
TEST_F(FirstNote, IsSalvaged) {
  for (const uint32_t wanted : {2U, 3U}) {
    if (wanted == 3) {
      open();
      write(noting(1));
    }
    close();
    const auto reader = Reader::open({.path = path(), .salvage = true});
    ASSERT_TRUE(reader.ok()) << reader.status().message();
    EXPECT_EQ((*reader)->format(), wanted);
    EXPECT_EQ((*reader)->salvaged()->notes, wanted == 3 ? 1U : 0U);
  }
}

TEST(FirstNoteOffline, RaisesTheFormatOfABuilder) {
  for (const uint32_t had : {0U, 1U, 2U}) {
    const TempDir dir;
    auto builder = Builder::begin({.path = dir.data_dir()});
    ASSERT_TRUE(builder.ok()) << builder.status().message();
    ASSERT_EQ(*(*builder)->tube("mail"), 1U);
    ASSERT_TRUE((*builder)->add_job(row_of(1, 0), "").ok());
    ASSERT_TRUE((*builder)->add_job(row_of(2, had), "").ok());
    for (uint32_t number = 1; number <= had; ++number) {
      ASSERT_TRUE((*builder)->add_note(2, note(number)).ok());
    }
    const Status published = (*builder)->publish({.epoch = 1, .index = 1, .now = 1}, 3);
    ASSERT_TRUE(published.ok()) << published.message();
    builder = Status(StatusCode::Io, "closed");
    EXPECT_EQ(opened_by_1_0(dir.data_dir()).empty(), had == 0);
    const auto store = Store::open({.data_dir = dir.data_dir()});
    ASSERT_TRUE(store.ok()) << store.status().message();
    EXPECT_EQ((*store)->read_notes(2)->size(), had);
  }
}

}  // namespace
}  // namespace perennial::store
