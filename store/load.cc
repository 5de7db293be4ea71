#include "store/load.h"

#include <algorithm>
#include <array>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include <absl/container/flat_hash_set.h>
#include <fmt/format.h>

#include "store/disk/set_aside.h"
#include "store/rocks/family_scan.h"
#include "store/rocks/table_check.h"
#include "store/store_impl.h"
#include "store/types/rocks_status.h"

// Loads all rows at a start: P5, P9.
namespace perennial::store {
namespace {

// Loads a row of meta. open() has read the store's own rows before.
Status load_meta_row(std::string_view key, std::string_view value, const LoadSink& sink,
                     Loaded& loaded) {
  switch (static_cast<MetaTag>(key.empty() ? '\0' : key[0])) {
    case MetaTag::Cluster:
    case MetaTag::Commit:
    case MetaTag::FormatVersion:
    case MetaTag::NextId:
      return key.size() == 1 ? Status() : damaged(Family::Meta, key, "key of the wrong length");
    case MetaTag::Migration:
      break;  // check_version() has refused a database with this row.
    case MetaTag::Pause: {
      const Result<TubePaused> pause = decode_pause(key, value);
      if (!pause.ok()) return pause.status();
      loaded.pauses.push_back(*pause);
      return {};
    }
    case MetaTag::Tube: {
      const Result<TubeStored> tube = decode_tube(key, value);
      if (!tube.ok()) return tube.status();
      loaded.tubes.insert(tube->tube);
      return sink.tube(tube->tube, tube->name);
    }
    case MetaTag::Ended: {
      const Result<EndedTube> ended = decode_ended_span(key, value);
      if (!ended.ok()) return ended.status();
      ++loaded.ended_tubes;
      return sink.ended ? sink.ended(ended->tube, ended->span) : Status();
    }
    case MetaTag::Settings: {
      const Result<SettingsStored> settings = decode_settings(key, value);
      if (!settings.ok()) return settings.status();
      ++loaded.settings;
      return sink.settings(*settings);
    }
  }
  return damaged(Family::Meta, key, "unknown key");
}

Status load_pauses(const LoadSink& sink, const Loaded& loaded) {
  for (const TubePaused& pause : loaded.pauses) {
    if (!loaded.tubes.contains(pause.tube)) {
      return damaged(Family::Meta, view(tube_key(MetaTag::Pause, pause.tube)),
                     "a pause without its tube");
    }
    if (Status taken = sink.pause(pause); !taken.ok()) return taken;
  }
  return {};
}

Status load_meta(const Database& db, const LoadSink& sink, Loaded& loaded) {
  const std::unique_ptr<rocksdb::Iterator> at(db->NewIterator({}, db.family(Family::Meta)));
  for (at->SeekToFirst(); at->Valid(); at->Next()) {
    Status row = load_meta_row(view(at->key()), view(at->value()), sink, loaded);
    if (!row.ok()) return row;
  }
  if (!at->status().ok()) return from_rocksdb(at->status());
  return load_pauses(sink, loaded);  // Last, because pauses sort before the tubes that they need.
}

// Merges the scans of the four state families into one sequence in the order of ids.
class JobMerge {
 public:
  explicit JobMerge(const Database& db) {
    for (size_t i = 0; i < scans_.size(); ++i) {
      scans_[i] = std::make_unique<FamilyScan>(db, job_states[i]);
    }
  }

  // Returns the next row, or null at the end. An id in two states or a failed scan ends the
  // sequence early; status() then says why.
  const JobRow* next() {
    if (lowest_ != nullptr) lowest_->pop();
    lowest_ = nullptr;
    const JobRow* row = nullptr;
    for (const auto& scan : scans_) {
      const JobRow* const candidate = scan->peek();
      if (candidate == nullptr && !scan->status().ok()) return fail(scan->status());
      if (candidate == nullptr || (row != nullptr && row->id < candidate->id)) continue;
      if (row != nullptr && row->id == candidate->id) return fail(in_two_states(*row, *candidate));
      row = candidate;
      lowest_ = scan.get();
    }
    return row;
  }
  const Status& status() const { return status_; }

 private:
  static Status in_two_states(const JobRow& one, const JobRow& other) {
    return damaged(family_of(one.state), view(job_key(one.id)),
                   fmt::format("the job is also in {}", name_of(family_of(other.state))));
  }
  const JobRow* fail(Status status) {
    status_ = std::move(status);
    return nullptr;
  }

  std::array<std::unique_ptr<FamilyScan>, job_states.size()> scans_;
  FamilyScan* lowest_ = nullptr;  // The scan whose row next() returned last.
  Status status_;
};

// Compares the number of rows of a family with the number in its tables' properties. This finds a
// scan that a read error ended early (RocksDB pull request 11782). It also finds jobs without a
// body and bodies without a job; those that have ended and are kept count as jobs there. Reading
// every body would find those too, but would make a start as slow as reading the whole disk.
Status check_count(Family family, uint64_t found, uint64_t accounted) {
  if (found == accounted) return {};
  return {StatusCode::Corruption, fmt::format("{} holds {} rows by the account of its tables, and "
                                              "{} jobs belong to it",
                                              name_of(family), accounted, found)};
}

// By how much numbers of rows may differ, because damaged blocks have held that many.
struct CountTolerance {
  uint64_t bodies = 0;
  uint64_t ended = 0;
};

// Sets `agree` if there are as many bodies as jobs, with those that have ended, whose rows are only
// counted, and as many rows in their order.
Status check_counts(const std::array<uint64_t, family_count>& accounted, const Loaded& loaded,
                    const CountTolerance& tolerance, bool& agree) {
  uint64_t all = 0;
  for (const JobState state : job_states) {
    const uint64_t found = loaded.jobs[static_cast<size_t>(state)];
    all += found;
    const Family family = family_of(state);
    Status same = check_count(family, found, accounted[place_of(family)]);
    if (!same.ok()) return same;
  }
  const uint64_t ended = accounted[place_of(Family::Ended)];
  const uint64_t in_order = accounted[place_of(Family::EndedOrder)];
  if (difference_of(ended, in_order) > tolerance.ended) {
    return {StatusCode::Corruption,
            fmt::format("{} holds {} rows by the account of its tables, "
                        "and {} holds {}",
                        name_of(Family::Ended), ended, name_of(Family::EndedOrder), in_order)};
  }
  all += ended;
  const uint64_t bodies = accounted[place_of(Family::Bodies)];
  agree = bodies == all && ended == in_order;
  if (difference_of(bodies, all) <= tolerance.bodies) return {};
  return check_count(Family::Bodies, all, bodies);
}

Status load_jobs(const Database& db, const LoadSink& sink, Loaded& loaded) {
  JobMerge jobs(db);
  while (const JobRow* row = jobs.next()) {
    if (!loaded.tubes.contains(row->tube)) {
      return damaged(family_of(row->state), view(job_key(row->id)), "the job's tube is missing");
    }
    ++loaded.jobs[static_cast<size_t>(row->state)];
    if (Status taken = sink.job(*row); !taken.ok()) return taken;
  }
  return jobs.status();
}

// Whether rows of the family are in memory, because the log has them. How many of these delete
// others is not known: RocksDB 7.8 does not count a SingleDelete there.
bool has_rows_of_log(const Database& db, Family family) {
  using Properties = rocksdb::DB::Properties;
  uint64_t entries = 0;
  for (const auto* const property :
       {&Properties::kNumEntriesActiveMemTable, &Properties::kNumEntriesImmMemTables}) {
    uint64_t count = 0;
    db->GetIntProperty(db.family(family), *property, &count);
    entries += count;
  }
  return entries > 0;
}

}  // namespace

// RocksDB 7.8 may skip a damaged block without an error: table_check.cc. So the rows are compared
// with the account of the tables, or each block is read where nothing can be counted.
Status check_found(const Database& db, Family family, uint64_t found) {
  if (has_rows_of_log(db, family)) return read_each_block(*db, std::span(&family, 1));
  const Result<TableCounts> tables = db.count_tables(family);
  if (!tables.ok()) return tables.status();
  if (tables->rows() == found) return {};
  return {StatusCode::Corruption,
          fmt::format("{} holds {} rows by the account of its tables, and {} were found",
                      name_of(family), tables->rows(), found)};
}

Status load_rows(const Database& db, const LoadSink& sink, Loaded& loaded) {
  if (Status meta = load_meta(db, sink, loaded); !meta.ok()) return meta;
  if (Status schedules = load_schedules(db, sink.schedule, loaded.schedules); !schedules.ok()) {
    return schedules;
  }
  if (Status jobs = load_jobs(db, sink, loaded); !jobs.ok()) return jobs;
  return load_keys(db, sink.key, loaded.keys);
}

Status check_states(const Database& db, const Loaded& loaded) {
  for (const JobState state : job_states) {
    const uint64_t found = loaded.jobs[static_cast<size_t>(state)];
    if (Status same = check_found(db, family_of(state), found); !same.ok()) return same;
  }
  return {};
}

Status load_keys(const Database& db, const std::function<Status(const KeyStored&)>& take,
                 uint64_t& count) {
  rocksdb::ReadOptions how;
  how.fill_cache = false;
  how.readahead_size = 2 << 20;
  const std::unique_ptr<rocksdb::Iterator> at(db->NewIterator(how, db.family(Family::Keys)));
  for (at->SeekToFirst(); at->Valid(); at->Next()) {
    const Result<KeyStored> key = decode_key(view(at->key()), view(at->value()));
    if (!key.ok()) return key.status();
    ++count;
    if (Status taken = take(*key); !taken.ok()) return taken;
  }
  return from_rocksdb(at->status());
}

Status Store::load(const LoadSink& sink) {
  const Nanos begun = impl_->options.steady_clock();
  const std::string doing = "load data directory " + impl_->options.data_dir;
  impl_->containment.check_suspects(**impl_->db);
  const std::vector<DamagedBlock> blocks = impl_->containment.blocks();
  // Bodies of ended jobs belong to nobody where the rows of those are lost.
  DamagedIds damaged(blocks, {Family::Bodies, Family::Ended});
  DamagedNotes damaged_notes(blocks);
  const DamagedEnded damaged_ended(blocks);
  Loaded loaded;
  LoadSink noting = sink;
  if (!blocks.empty()) {
    noting.job = [&](const JobRow& row) {
      damaged.take(row.id);
      damaged_notes.take(row);
      return sink.job(row);
    };
  }
  if (Status rows = load_rows(*impl_->db, noting, loaded); !rows.ok()) {
    return std::move(rows).with(doing);
  }
  std::array<uint64_t, family_count> counts = {};
  for (const Family family : counted_families) counts[place_of(family)] = impl_->rows_of(family);
  bool counts_agree = false;
  const DamagedIds damaged_bodies(blocks, Family::Bodies);
  const CountTolerance tolerance = {
      .bodies = damaged_bodies.difference_max() + damaged_ended.ids.difference_max(),
      .ended = damaged_ended.difference_max()};
  Status same = check_counts(counts, loaded, tolerance, counts_agree);
  if (same.ok() && !damaged_ended.empty()) {
    same = impl_->compare_ended(damaged_ended, damaged_bodies, counts_agree);
  }
  if (same.ok() && !damaged.empty()) {
    const uint64_t jobs = std::accumulate(loaded.jobs.begin(), loaded.jobs.end(), uint64_t{0});
    same = impl_->compare_bodies(damaged, jobs, counts_agree);
  }
  if (same.ok() && !damaged_notes.ids.empty()) same = impl_->compare_notes(damaged_notes);
  if (same.ok()) same = impl_->check_promise(loaded);
  if (!same.ok()) return std::move(same).with(doing);
  const auto count = [&](JobState state) { return loaded.jobs[static_cast<size_t>(state)]; };
  impl_->inform(
      "store.load",
      fmt::format("ready={} reserved={} delayed={} buried={} tubes={} pauses={} settings={} "
                  "keys={} ended_tubes={} schedules={} took_ms={}",
                  count(JobState::Ready), count(JobState::Reserved), count(JobState::Delayed),
                  count(JobState::Buried), loaded.tubes.size(), loaded.pauses.size(),
                  loaded.settings, loaded.keys, loaded.ended_tubes, loaded.schedules,
                  (impl_->options.steady_clock() - begun) / nanos_per_ms));
  // The directory is sound without a forced start, so what an earlier one kept is not needed.
  if (impl_->options.recover != Recover::Strict) return {};
  return SetAside(impl_->options.env, impl_->dir.path()).remove().with(doing);
}

}  // namespace perennial::store
