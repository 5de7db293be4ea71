#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <iterator>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rocksdb/iterator.h>

#include "store/damage/damage_record.h"
#include "store/damage/damaged_blocks.h"
#include "store/offline/check.h"
#include "store/reader.h"
#include "tests/store/damage/damage_fixture.h"
#include "tests/store/raw_db.h"
#include "tests/support/long_form.h"

// P11: a damaged block of ended jobs costs the ended jobs in it, and nothing else; one of their
// order costs none, once the store is started again. The load is of jobs that ended in one tube
// with a long name, each with a body, some with a note; it knows no time. The doors are reads,
// compactions, restores, removals and the scrub of an open store, starts, checks and batches of
// another node. It is blind to damage of an index or a footer, which a start refuses.
namespace perennial::store {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr JobId jobs_max = 4000;
using Ids = std::set<JobId>;

const std::string& tube_name() {
  static const std::string name(150, 'm');
  return name;
}

std::string body_of(JobId id) {
  return fmt::format("body of {}", id);
}

JobRow row_of(JobId id) {
  JobRow row = {.id = id, .tube = 1, .ttr_s = 1};
  row.body_bytes = static_cast<uint32_t>(body_of(id).size());
  if (id % 10 == 0) row.fields = JobFields{.notes = 1};
  return row;
}

// Each job ends in the place that is its id, less `shift`.
EndedJob ended_of(JobId id, uint64_t shift = 0) {
  EndedJob job = {.row = row_of(id), .tube = tube_name(), .place = id - shift, .at = 10};
  job.row.tube = 0;
  return job;
}

EndedGone gone_of(const EndedOrder& order, const EndedSpan& span) {
  return {.tube = order.tube,
          .place = order.place,
          .job = order.job,
          .notes = order.notes,
          .span = span};
}

class DamagedEndedJobs : public DamageFixture {
 protected:
  void open() {
    DamageFixture::open([this](const JobRow& row) { live_.insert(row.id); });
  }

  // Puts jobs, and lets them end.
  void end_jobs(JobId first, JobId last, uint64_t shift = 0) {
    std::vector<std::string> bodies;
    for (JobId id = first; id <= last; ++id) bodies.push_back(body_of(id));
    Batch batch;
    batch.add(TubeStored{.tube = 1, .name = tube_name()});
    for (JobId id = first; id <= last; ++id) {
      const JobRow row = row_of(id);
      batch.add(JobMoved{.id = id, .before = {}, .after = row, .promised = true},
                bodies[id - first]);
      if (row.fields) batch.add(NoteStored{.job = id, .note = {.number = 1, .text = "why"}});
    }
    write(batch);
    Batch ending;
    for (JobId id = first; id <= last; ++id) {
      ending.add(JobMoved{.id = id, .before = JobState::Ready, .after = {}, .promised = true});
      span_.next = id - shift + 1;
      ending.add(JobEnded{.job = ended_of(id, shift), .span = span_});
      there_.insert(id);
    }
    write(ending);
  }

  // Two tables of level 0 that overlap the one below are compacted with it.
  void compact(const std::string& table, const Ids& left_out) {
    for (int i = 0; i < 2; ++i) {
      const auto is_left = [&](JobId id) { return !left_out.contains(id); };
      restore({*std::ranges::find_if(there_, is_left),
               *std::find_if(there_.rbegin(), there_.rend(), is_left)});
      ASSERT_TRUE(store_->flush().ok());
    }
    for (int i = 0; i < 1000 && fs::exists(table); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    EXPECT_FALSE(fs::exists(table)) << "a compaction has replaced it";
  }

  // Leaves one table of each family of ended jobs, of the lowest level.
  void make(JobId last = jobs_max) {
    open();
    end_jobs(1, last);
    close();
    RawDb db(dir_.data_dir());
    for (const Family family : {Family::Ended, Family::EndedOrder}) db.compact(family, "", "\xff");
  }

  // As EndedDesk: reads what may go, up to a place, and lets it go.
  void let_go(uint64_t last) {
    const auto order = store_->read_ended_order(tube_name(), span_.first, last);
    ASSERT_TRUE(order.ok()) << order.status().message();
    Batch batch;
    for (const EndedOrder& each : *order) {
      if (each.place > last) break;
      span_.first = each.place + 1;
      batch.add(gone_of(each, span_));
    }
    span_.first = last + 1;
    batch.add(EndedTrimmed{.tube = tube_name(), .span = span_});
    write(batch);
    for (JobId id = 1; id <= last; ++id) there_.erase(id);
  }
  // As restore-job: the job goes, wherever its place is.
  void restore(const Ids& ids) {
    Batch batch;
    for (const JobId id : ids) {
      const auto found = store_->read_ended(id, true);
      ASSERT_TRUE(found.ok()) << found.status().message();
      ASSERT_TRUE(*found && (*found)->body);
      if ((*found)->job.place == span_.first) ++span_.first;
      batch.add(gone_of(order_of((*found)->job), span_));
      there_.erase(id);
    }
    write(batch);
  }

  // The jobs whose rows are in a block.
  static Ids jobs_in(Family family, const std::string& table, const TableBlock& block) {
    rocksdb::SstFileReader reader{rocksdb::Options()};
    EXPECT_TRUE(reader.Open(table).ok());
    const std::unique_ptr<rocksdb::Iterator> at(reader.NewIterator({}));
    Ids out;
    for (at->SeekToFirst(); at->Valid(); at->Next()) {
      const std::string key = at->key().ToString();
      if (key <= block.after || key > block.until) continue;
      const std::string_view value = at->value().ToStringView();
      out.insert(family == Family::Ended ? decode_ended(key, value)->row.id
                                         : decode_ended_order(key, value)->job);
    }
    return out;
  }

  // Lists the jobs in both orders and looks at each. All that are shown are right.
  Ids shown() {
    Ids out;
    for (const bool newest_first : {false, true}) {
      EndedQuery query = {.tube = tube_name(),
                          .newest_first = newest_first,
                          .jobs_max = 300,
                          .bytes_max = 1 << 20,
                          .with_bodies = true,
                          .with_notes = true};
      Ids found;
      for (bool is_end = false; !is_end;) {
        const Result<EndedPage> page = store_->read_ended(query);
        EXPECT_TRUE(page.ok()) << page.status().message();
        if (!page.ok()) return {};
        for (const EndedFound& each : page->jobs) expect_right(each, found);
        is_end = page->is_end;
        query.from = page->next_place;
      }
      if (newest_first) {
        EXPECT_EQ(found, out);
      } else {
        out = found;
      }
    }
    for (JobId id = 1; id <= jobs_max + 200; ++id) {
      const auto found = store_->read_ended(id, true);
      EXPECT_TRUE(found.ok()) << found.status().message();
      EXPECT_EQ(found.ok() && found->has_value(), out.contains(id)) << id;
    }
    return out;
  }
  static void expect_right(const EndedFound& found, Ids& seen) {
    const JobId id = found.job.row.id;
    EXPECT_TRUE(seen.insert(id).second) << id;
    EXPECT_EQ(found.job.row.fields, row_of(id).fields);
    EXPECT_EQ(found.body ? found.body->view() : "none", body_of(id));
    EXPECT_EQ(found.notes.size(), id % 10 == 0 ? 1U : 0U);
  }
  Ids there_without(const Ids& lost) const {
    Ids out;
    std::ranges::set_difference(there_, lost, std::inserter(out, out.end()));
    return out;
  }

  // What a check finds. It must say that a server starts.
  std::vector<std::string> check(CheckSummary* summary = nullptr) {
    std::vector<std::string> faults;
    const auto found = check_directory(
        {.path = dir_.data_dir(),
         .fault = [&](const Fault& fault) { faults.push_back(fault.where + ": " + fault.what); },
         .env = env_.get()});
    EXPECT_TRUE(found.ok()) << found.status().message();
    EXPECT_TRUE(found.ok() && found->starts);
    if (summary != nullptr && found.ok()) *summary = *found;
    return faults;
  }
  bool has_record() const { return fs::exists(db_path() + "/" + damage_record_name); }
  // Starts again until the damage is over. A start may remove rows, and deletions of rows that were
  // in a damaged block count until they are compacted.
  void restart_until_over() {
    for (int i = 0; i < 4 && has_record(); ++i) {
      open();
      rewrite();
      std::atomic<bool> cancelled = false;
      EXPECT_TRUE(store_->compact_tombstones(cancelled, 0).ok());
      close();
    }
    EXPECT_FALSE(has_record()) << events();
    CheckSummary summary;
    EXPECT_EQ(check(&summary), std::vector<std::string>());
    EXPECT_EQ(summary.bodies, summary.ended);
    open();
  }

  EndedSpan span_;
  Ids there_;
  Ids live_;
};

struct Case {
  Family family;
  Where where;
  uint64_t number;  // From 0, among all cases.
};
void PrintTo(const Case& one, std::ostream* out) {
  *out << name_of(one.family) << " " << one.where.name;
}

class DamagedBlockOfEnded : public DamagedEndedJobs, public testing::WithParamInterface<Case> {
 protected:
  // Each test is of thousands of jobs, and takes a second or two.
  void SetUp() override {
    if (!support::is_tried(GetParam().number, 3)) GTEST_SKIP() << "other blocks are damaged";
  }

  // Damages the one table of the family. Returns the jobs in it.
  Ids damage() {
    const Family family = GetParam().family;
    table_ = tables(family).front();
    const std::vector<TableBlock> blocks = blocks_of(table_);
    EXPECT_GT(blocks.size(), 8U);
    const Where& where = GetParam().where;
    const size_t first = where.first > 1000 ? blocks.size() - (where.first - 1000) : where.first;
    Ids out;
    for (size_t i = first; i < first + where.count; ++i) {
      out.merge(jobs_in(family, table_, blocks[i]));
    }
    if (where.unreadable) {
      disk_->set(table_, blocks[first].offset + 17, 512);
      return out;
    }
    for (size_t i = first; i < first + where.count; ++i) {
      flip_byte(table_, blocks[i].offset + blocks[i].bytes / 2);
    }
    return out;
  }
  void expect_contained() {
    expect_no_failure();
    EXPECT_EQ(store_->damaged_blocks().size(), GetParam().where.count) << events();
    for (const DamagedBlock& block : store_->damaged_blocks()) {
      EXPECT_EQ(block.family, GetParam().family);
    }
    EXPECT_THAT(store_->damage(), HasSubstr(fmt::format("({})", name_of(GetParam().family))));
    EXPECT_TRUE(store_->damaged_rows().empty()) << "the next start is not refused";
  }
  // What is lost for good: a place is written again.
  Ids lost_for_good(const Ids& in_block) const {
    return GetParam().family == Family::Ended ? in_block : Ids();
  }

  std::string table_;
};

TEST_P(DamagedBlockOfEnded, AReadFindsTheBlockAndATableWithoutItIsWritten) {
  make();
  const Ids in_block = damage();
  open();
  EXPECT_EQ(shown(), there_without(in_block));
  expect_contained();
  rewrite();
  expect_contained();
  EXPECT_EQ(shown(), there_without(in_block));
  EXPECT_FALSE(fs::exists(table_));
  for (const std::string& table : tables(GetParam().family)) blocks_of(table);
  EXPECT_TRUE(fs::exists(dir_.data_dir() + "/damaged")) << "the damaged table is kept";
}

TEST_P(DamagedBlockOfEnded, ACompactionGoesOnWithoutTheBlock) {
  make();
  const Ids in_block = damage();
  open();
  compact(table_, in_block);
  expect_contained();
  EXPECT_EQ(shown(), there_without(in_block));
  // The store writes and compacts on.
  end_jobs(jobs_max + 1, jobs_max + 50);
  ASSERT_TRUE(store_->flush().ok());
  let_go(3);
  for (const std::string& table : tables(GetParam().family)) {
    if (fs::exists(table) && blocks_of(table).size() > 8) compact(table, in_block);
  }
  expect_no_failure();
  EXPECT_EQ(shown(), there_without(in_block));
}

TEST_P(DamagedBlockOfEnded, TheScrubFindsTheBlock) {
  make();
  const Ids in_block = damage();
  open();
  for (Nanos second = 1; store_->scrub_figures().passes == 0; ++second) {
    store_->scrub(second * nanos_per_second);
  }
  expect_contained();
  rewrite();
  EXPECT_EQ(shown(), there_without(in_block));
  for (const std::string& table : tables(GetParam().family)) blocks_of(table);
}

TEST_P(DamagedBlockOfEnded, ItIsOverAfterRestarts) {
  make();
  const Ids in_block = damage();
  open();
  EXPECT_EQ(shown(), there_without(in_block));
  store_.reset();  // As a crash leaves it, with the damaged table.
  EXPECT_TRUE(has_record());
  open();
  EXPECT_EQ(shown(), there_without(lost_for_good(in_block)));
  rewrite();
  close();
  disk_->set("", 0, 0);
  EXPECT_TRUE(has_record());
  check();
  restart_until_over();
  EXPECT_EQ(shown(), there_without(lost_for_good(in_block)));
  EXPECT_EQ(store_->damage(), "");
  expect_no_failure();
}

TEST_P(DamagedBlockOfEnded, AllGoAlsoWithoutARestart) {
  make();
  damage();
  open();
  end_jobs(jobs_max + 1, jobs_max + 10);
  for (const uint64_t last : {JobId{1000}, JobId{2500}, jobs_max + 10}) let_go(last);
  EXPECT_EQ(shown(), Ids());
  // The places begin anew.
  span_ = {};
  end_jobs(jobs_max + 11, jobs_max + 30, jobs_max + 10);
  EXPECT_EQ(shown(), there_);
  // Jobs of the block may have gone unread, and before a compaction has met it.
  store_->suspect_tables();
  rewrite();
  EXPECT_EQ(shown(), there_);
  close();
  disk_->set("", 0, 0);
  restart_until_over();
  EXPECT_EQ(shown(), there_);
  let_go(15);
  EXPECT_EQ(shown().size(), 5U);
  expect_no_failure();
}

TEST_P(DamagedBlockOfEnded, JobsAreRestoredBesideIt) {
  make();
  const Ids in_block = damage();
  open();
  Ids some;
  for (JobId id = 1; id <= jobs_max; id += 7) {
    if (!in_block.contains(id)) some.insert(id);
  }
  EXPECT_FALSE(*store_->read_ended(*in_block.begin(), true));
  restore(some);
  EXPECT_EQ(shown(), there_without(in_block));
  rewrite();
  close();
  disk_->set("", 0, 0);
  open();
  EXPECT_EQ(shown(), there_without(lost_for_good(in_block)));
  rewrite();
  close();
  restart_until_over();
  EXPECT_EQ(shown(), there_without(lost_for_good(in_block)));
  let_go(jobs_max);
  EXPECT_EQ(shown(), Ids());
  close();
  CheckSummary summary;
  EXPECT_EQ(check(&summary), std::vector<std::string>());
  EXPECT_EQ(summary.bodies, 0U);
  EXPECT_EQ(summary.notes, 0U);
}

TEST_P(DamagedBlockOfEnded, ACheckOfADamagedTableSaysThatAServerStarts) {
  make();
  damage();
  const std::vector<std::string> faults = check();
  ASSERT_FALSE(faults.empty());
  EXPECT_THAT(faults.front(),
              HasSubstr(fmt::format("{}: the table file is damaged", name_of(GetParam().family))));
}

// A place is in the row of its job, too. Each further pass says the same.
TEST_P(DamagedBlockOfEnded, AReaderShowsTheOthersAndSaysWhichAreMissing) {
  make();
  const Ids in_block = damage();
  const auto reader = Reader::open({.path = dir_.data_dir(), .env = env_.get()});
  ASSERT_TRUE(reader.ok()) << reader.status().message();
  for (int pass = 0; pass < 2; ++pass) {
    Ids found;
    const Status read = (*reader)->ended([&](const EndedJob& job) {
      found.insert(job.row.id);
      return Status();
    });
    EXPECT_EQ(found, there_without(lost_for_good(in_block)));
    if (GetParam().family == Family::EndedOrder) {
      EXPECT_TRUE(read.ok()) << read.message();
    } else {
      EXPECT_EQ(read.code(), StatusCode::Corruption);
      EXPECT_THAT(read.message(), HasSubstr(fs::path(table_).filename().string()));
    }
  }
  EXPECT_FALSE(fs::exists(dir_.data_dir() + "/damaged")) << "a reader changes nothing";
}

TEST_P(DamagedBlockOfEnded, ACheckpointOfWhatIsLeftStarts) {
  make();
  const Ids in_block = damage();
  open();
  EXPECT_EQ(shown(), there_without(in_block));
  rewrite();
  const std::string copy = dir_.path() + "/copy";
  ASSERT_TRUE(store_->create_checkpoint(copy).ok());
  close();
  disk_->set("", 0, 0);
  fs::remove_all(dir_.data_dir());
  fs::rename(copy, dir_.data_dir());
  EXPECT_TRUE(has_record());
  open();
  EXPECT_EQ(shown(), there_without(lost_for_good(in_block)));
  expect_no_failure();
}

std::vector<Case> cases() {
  std::vector<Case> out;
  for (const Family family : {Family::Ended, Family::EndedOrder}) {
    for (const Where& where :
         {Where{"First", 0, 1, false}, Where{"Middle", 5, 1, false}, Where{"Last", 1001, 1, false},
          Where{"Neighbours", 3, 3, false}, Where{"UnreadableFirst", 0, 1, true},
          Where{"UnreadableMiddle", 6, 1, true}}) {
      out.push_back({family, where, out.size()});
    }
  }
  return out;
}

INSTANTIATE_TEST_SUITE_P(Store, DamagedBlockOfEnded, testing::ValuesIn(cases()),
                         [](const auto& one) {
                           const bool is_order = one.param.family == Family::EndedOrder;
                           return std::string(is_order ? "Order" : "Jobs") + one.param.where.name;
                         });

// A loss that no damaged block accounts for still refuses a start, although blocks are known.
TEST_F(DamagedEndedJobs, ALossBesideADamagedBlockRefusesAStart) {
  make();
  const std::string table = tables(Family::Ended).front();
  const TableBlock block = blocks_of(table)[3];
  const Ids in_block = jobs_in(Family::Ended, table, block);
  flip_byte(table, block.offset + 10);
  open();
  EXPECT_EQ(shown(), there_without(in_block));
  rewrite();
  close();
  ASSERT_TRUE(has_record());
  // The rows of as many jobs again, and of some more.
  const Ids all = there_;
  {
    RawDb db(dir_.data_dir());
    JobId left = 2 * in_block.size() + 10;
    for (auto id = all.rbegin(); left > 0; ++id, --left) {
      db.single_delete(Family::Ended, view(job_key(*id)));
      db.single_delete(Family::Bodies, view(job_key(*id)));
    }
  }
  const auto store = Store::open({.data_dir = dir_.data_dir()});
  ASSERT_TRUE(store.ok()) << store.status().message();
  const auto nothing = [](const auto&...) { return Status(); };
  const Status loaded = (*store)->load(
      {.tube = nothing, .pause = nothing, .settings = nothing, .job = nothing, .key = nothing});
  EXPECT_EQ(loaded.code(), StatusCode::Corruption);
  EXPECT_THAT(loaded.message(), HasSubstr("ended"));
}

// ---- Rows that are back, because their deletion was in a damaged block.

class DeletionsLost : public DamagedEndedJobs, public testing::WithParamInterface<Family> {
 protected:
  // Damages all blocks of the tables of the family but the largest.
  void damage_newer() {
    const std::vector<std::string> all = tables(GetParam());
    ASSERT_GT(all.size(), 1U);
    for (size_t i = 1; i < all.size(); ++i) {
      for (const TableBlock& block : blocks_of(all[i])) flip_byte(all[i], block.offset + 10);
    }
  }
};

TEST_P(DeletionsLost, AreNotShownAndAreRemovedByAStart) {
  make(1200);
  open();
  let_go(100);
  Ids restored;
  for (JobId id = 200; id < 300; ++id) restored.insert(id);
  restore(restored);
  close();
  damage_newer();
  open();
  EXPECT_EQ(shown(), there_);
  for (const JobId id : {1, 100, 200, 299}) EXPECT_FALSE(*store_->read_ended(id, true)) << id;
  rewrite();
  EXPECT_EQ(shown(), there_);
  close();
  open();
  EXPECT_THAT(events(), HasSubstr("store.damage_of_ended blocks=1 removed=200"));
  EXPECT_EQ(shown(), there_);
  rewrite();
  close();
  restart_until_over();
  EXPECT_EQ(shown(), there_);
  expect_no_failure();
}

// The tube is emptied, and the next job takes a place in which a row is back.
TEST_P(DeletionsLost, DoNotComeBackBehindNewRows) {
  make(900);
  open();
  let_go(900);
  close();
  damage_newer();
  open();
  EXPECT_EQ(shown(), Ids());
  span_ = {};
  end_jobs(901, 1000, 900);
  EXPECT_EQ(shown(), there_);
  rewrite();
  ASSERT_TRUE(store_->flush().ok());
  EXPECT_EQ(shown(), there_);
  span_.first = 1;
  const auto order = store_->read_ended_order(tube_name(), 1, 1000);
  ASSERT_TRUE(order.ok());
  EXPECT_EQ(order->size(), 100U);
  let_go(100);
  there_.clear();
  EXPECT_EQ(shown(), Ids());
  rewrite();
  close();
  restart_until_over();
  EXPECT_EQ(shown(), Ids());
  close();
  CheckSummary summary;
  EXPECT_EQ(check(&summary), std::vector<std::string>());
  EXPECT_EQ(summary.bodies, 0U);
  expect_no_failure();
}

INSTANTIATE_TEST_SUITE_P(Store, DeletionsLost, testing::Values(Family::Ended, Family::EndedOrder),
                         [](const auto& one) {
                           return one.param == Family::Ended ? "OfJobs" : "OfTheirOrder";
                         });

// An ended job that has lost its body cannot be restored, so that a start removes it.
TEST_F(DamagedEndedJobs, WithoutBodiesGo) {
  make();
  const std::string table = tables(Family::Bodies).front();
  const TableBlock block = blocks_of(table).back();
  flip_byte(table, block.offset + 10);
  open();
  Ids lost;
  for (JobId id = 1; id <= jobs_max; ++id) {
    if (!store_->read_body(id).ok()) lost.insert(id);
  }
  ASSERT_FALSE(lost.empty());
  rewrite();
  close();
  open();
  EXPECT_EQ(shown(), there_without(lost));
  rewrite();
  close();
  restart_until_over();
  EXPECT_EQ(shown(), there_without(lost));
}

// ---- Batches of another node.

// Each node has all rows of what is there, and none of what went, whatever the leader has lost.
class EndedOnNodes : public testing::Test {
 protected:
  struct Node {
    TempDir dir = {};
    std::unique_ptr<Store> store = {};
  };
  EndedOnNodes() {
    for (Node& node : nodes_) open(node);
    for (Node& node : nodes_) EXPECT_TRUE(node.store->join_cluster("c").ok());
  }
  static void open(Node& node) {
    auto opened = Store::open({.data_dir = node.dir.data_dir()});
    ASSERT_TRUE(opened.ok()) << opened.status().message();
    node.store = opened.take();
  }
  // Writes the batch to all.
  void write(const std::vector<Transition>& transitions) {
    Batch batch;
    std::vector<std::string> bodies(transitions.size());
    for (size_t i = 0; i < transitions.size(); ++i) {
      const auto* const moved = std::get_if<JobMoved>(&transitions[i]);
      if (moved != nullptr && !moved->before) bodies[i] = body_of(moved->id);
      batch.add(transitions[i], bodies[i]);
    }
    ++index_;
    batch.seal({.epoch = 100 * index_, .index = index_, .known_durable = index_ - 1});
    for (Node& node : nodes_) {
      const Status written = node.store->write(batch, true);
      ASSERT_TRUE(written.ok()) << written.message();
    }
  }
  void end_jobs(JobId first, JobId last) {
    std::vector<Transition> put = {TubeStored{.tube = 1, .name = tube_name()},
                                   NextIdRaised{.next_id = 1000}};
    std::vector<Transition> end;
    for (JobId id = first; id <= last; ++id) {
      put.emplace_back(JobMoved{.id = id, .before = {}, .after = row_of(id), .promised = true});
      if (row_of(id).fields) {
        put.emplace_back(NoteStored{.job = id, .note = {.number = 1, .text = "why"}});
      }
      for (Transition& each : ending_of(id, id)) end.push_back(std::move(each));
    }
    write(put);
    write(end);
  }
  std::vector<Transition> ending_of(JobId id, uint64_t place) {
    EndedJob job = ended_of(id);
    job.place = place;
    span_.next = place + 1;
    return {JobMoved{.id = id, .before = JobState::Ready, .after = {}, .promised = true},
            JobEnded{.job = job, .span = span_}};
  }
  // The rows of a job are lost on the first node, as if all of them had been in damaged blocks.
  void lose(const Ids& ids) {
    Node& node = nodes_[0];
    node.store.reset();
    {
      RawDb db(node.dir.data_dir());
      for (const JobId id : ids) {
        db.single_delete(Family::Ended, view(job_key(id)));
        db.single_delete(Family::EndedOrder, ended_order_key(tube_name(), id));
        db.single_delete(Family::Bodies, view(job_key(id)));
        db.remove(Family::Notes, view(note_key(id, 0)));
      }
    }
    open(node);
  }
  void expect_same() {
    std::vector<std::vector<FamilyDigest>> all;
    for (Node& node : nodes_) {
      node.store.reset();
      const auto reader = Reader::open({.path = node.dir.data_dir()});
      ASSERT_TRUE(reader.ok()) << reader.status().message();
      const auto digests = (*reader)->digests({});
      ASSERT_TRUE(digests.ok());
      all.push_back(*digests);
      std::erase_if(all.back(), [](const FamilyDigest& one) { return one.family == "default"; });
    }
    EXPECT_EQ(all[0], all[1]);
    for (Node& node : nodes_) {
      std::vector<std::string> faults;
      const auto summary =
          check_directory({.path = node.dir.data_dir(), .fault = [&](const Fault& fault) {
                             faults.push_back(fault.where + ": " + fault.what);
                           }});
      ASSERT_TRUE(summary.ok());
      EXPECT_EQ(faults, std::vector<std::string>());
      ended_ = summary->ended;
      open(node);
      const auto nothing = [](const auto&...) { return Status(); };
      const Status loaded = node.store->load(
          {.tube = nothing, .pause = nothing, .settings = nothing, .job = nothing, .key = nothing});
      EXPECT_TRUE(loaded.ok()) << loaded.message();
    }
  }
  EndedGone gone(JobId id) const { return gone_of(order_of(ended_of(id)), span_); }

  std::array<Node, 2> nodes_;
  BatchIndex index_ = 0;
  EndedSpan span_;
  uint64_t ended_ = 0;
};

TEST_F(EndedOnNodes, WhatThePlacesPassedOverStillHaveGoes) {
  end_jobs(1, 40);
  lose({2, 3, 10, 20, 30});
  // The first node leads, and passes over the places that it has not.
  span_.first = 5;
  write({gone(1), gone(4)});
  span_.first = 11;
  write({gone(5), gone(6), gone(7), gone(8), gone(9), EndedTrimmed{tube_name(), span_}});
  span_.first = 21;
  std::vector<Transition> batch;
  for (JobId id = 11; id < 20; ++id) batch.emplace_back(gone(id));
  batch.emplace_back(EndedTrimmed{tube_name(), span_});
  write(batch);
  // Now the second one leads, and names what the first has not.
  span_.first = 31;
  batch.clear();
  for (JobId id = 21; id <= 30; ++id) batch.emplace_back(gone(id));
  write(batch);
  expect_same();
  EXPECT_EQ(ended_, 10U);
}

// The batch empties the tube, and the next jobs of it take the first places again.
TEST_F(EndedOnNodes, NoPlaceIsPutTwice) {
  end_jobs(1, 10);
  lose({1, 3});
  std::vector<Transition> batch;
  for (JobId id = 11; id <= 13; ++id) {
    batch.emplace_back(JobMoved{.id = id, .before = {}, .after = row_of(id), .promised = true});
  }
  write(batch);
  batch.clear();
  span_ = {.first = 11, .next = 11};
  for (const JobId id : {2, 4, 5, 6, 7, 8, 9, 10}) batch.emplace_back(gone(id));
  batch.emplace_back(EndedTrimmed{tube_name(), span_});
  span_ = {};
  for (JobId id = 11; id <= 13; ++id) {
    for (Transition& each : ending_of(id, id - 10)) batch.push_back(std::move(each));
  }
  write(batch);
  expect_same();
  EXPECT_EQ(ended_, 3U);
  // And again, all in batches of their own.
  span_ = {.first = 4, .next = 4};
  batch.clear();
  for (JobId id = 11; id <= 13; ++id) {
    EndedJob job = ended_of(id);
    job.place = id - 10;
    batch.emplace_back(gone_of(order_of(job), span_));
  }
  write(batch);
  expect_same();
  EXPECT_EQ(ended_, 0U);
}

// A job in the middle is restored, and its place stays empty until those before it go.
TEST_F(EndedOnNodes, AnEmptyPlaceIsPassedOver) {
  end_jobs(1, 10);
  write({gone(4), gone(5)});
  span_.first = 4;
  write({gone(1), gone(2), gone(3)});
  span_.first = 6;
  write({EndedTrimmed{tube_name(), span_}});
  span_.first = 11;
  write({gone(6), gone(7), gone(8), gone(9), gone(10)});
  expect_same();
  EXPECT_EQ(ended_, 0U);
}

}  // namespace
}  // namespace perennial::store
