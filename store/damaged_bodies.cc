#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include <fmt/format.h>
#include <rocksdb/iterator.h>

#include "store/store_impl.h"
#include "store/types/rocks_status.h"

// What a store does about damaged blocks of bodies, and the functions of a store that say what is
// damaged: P11. store/damage keeps damaged blocks from RocksDB.
namespace perennial::store {
namespace {

// The bodies of a range of ids, compared with the jobs there, and with those that have ended.
struct ComparedBodies {
  std::vector<JobId> lost = {};        // Jobs whose bodies cannot be read,
  std::vector<JobId> ended_lost = {};  // and those that have ended.
  std::vector<JobId> orphans = {};     // Bodies without a job.
};

// A family whose keys are ids, from a place on.
class IdsOfRange {
 public:
  IdsOfRange(EndedAccess& access, Family family, const DamagedIds::Range& range)
      : access_(access), family_(family), range_(range) {
    rocksdb::ReadOptions how = access.how;
    how.fill_cache = false;
    how.total_order_seek = true;
    rocksdb::ColumnFamilyHandle* const found = access.db.family(family);
    at_.reset(found == nullptr ? rocksdb::NewEmptyIterator() : access.db->NewIterator(how, found));
    at_->Seek(slice(view(job_key(range.first))));
    take();
  }

  // None: the range is at its end, or status() says what is wrong.
  const std::optional<JobId>& id() const { return id_; }
  const Status& status() const { return status_; }
  void next() {
    at_->Next();
    take();
  }

 private:
  void take() {
    id_.reset();
    if (at_->Valid()) {
      const Result<JobId> id = decode_job_key(family_, view(at_->key()));
      if (!id.ok()) status_ = id.status();
      if (id.ok() && *id <= range_.last) id_ = *id;
    } else if (!at_->status().ok()) {
      if (errors_.contains(at_->status())) {
        access_.unread = {.family = family_, .first = range_.first, .last = range_.last};
      }
      status_ = from_rocksdb(at_->status());
    }
  }

  EndedAccess& access_;
  const Family family_;
  const DamagedIds::Range range_;
  const TableErrors errors_;
  std::unique_ptr<rocksdb::Iterator> at_;
  std::optional<JobId> id_;
  Status status_;
};

// Passes over the bodies of a range. `jobs` are the jobs in all ranges, and `at` the place of the
// first that was not compared yet.
Status compare_range(EndedAccess& access, const DamagedIds::Range& range,
                     const std::vector<JobId>& jobs, size_t& at, ComparedBodies& out) {
  IdsOfRange ended(access, Family::Ended, range);
  IdsOfRange bodies(access, Family::Bodies, range);
  const auto has_body = [&](JobId id) {
    while (bodies.id() && *bodies.id() < id) {
      out.orphans.push_back(*bodies.id());
      bodies.next();
    }
    const bool is_there = bodies.id() == id;
    if (is_there) bodies.next();
    return is_there;
  };
  while (bodies.status().ok() && ended.status().ok()) {
    const bool has_job = at < jobs.size() && jobs[at] <= range.last;
    if (!has_job && !ended.id()) break;
    if (has_job && (!ended.id() || jobs[at] < *ended.id())) {
      const JobId id = jobs[at++];
      if (!has_body(id)) out.lost.push_back(id);
    } else {
      const JobId id = *ended.id();
      if (!has_body(id)) out.ended_lost.push_back(id);
      ended.next();
    }
  }
  for (; bodies.id(); bodies.next()) out.orphans.push_back(*bodies.id());
  return ended.status().ok() ? bodies.status() : ended.status();
}

Result<ComparedBodies> compare_ranges(EndedAccess& access, const DamagedIds& damaged) {
  ComparedBodies out;
  size_t at = 0;
  for (const DamagedIds::Range& range : damaged.ranges()) {
    Status read = compare_range(access, range, damaged.jobs(), at, out);
    if (!read.ok()) return read;
  }
  return out;
}

}  // namespace

// Finds the jobs that have lost their bodies, and removes bodies without a job: such a body is back
// when its deletion was in a damaged block, or it was of an ended job whose row was in one. Its id
// is never used again, so it only takes space. An ended job that has lost its body goes, because it
// cannot be restored. Where nothing is lost and the numbers agree, the damage is over.
Status Store::Impl::compare_bodies(const DamagedIds& damaged, uint64_t jobs, bool counts_agree) {
  Result<ComparedBodies> found =
      read_ended(nullptr, [&](EndedAccess& access) { return compare_ranges(access, damaged); });
  if (!found.ok()) return found.take_status();
  const std::vector<DamagedBlock> blocks = containment.blocks();
  const DamagedIds of_bodies(blocks, Family::Bodies);
  for (const JobId id : found->lost) {
    if (!of_bodies.contains(id)) {
      return store::damaged(Family::Bodies, view(job_key(id)), "the job has no body");
    }
  }
  writes.Clear();
  add_commit_row();
  for (const JobId id : found->orphans) remove_row(Family::Bodies, view(job_key(id)));
  for (const JobId id : found->ended_lost) {
    if (Status done = remove_ended_without_body(id); !done.ok()) return done;
  }
  const bool is_over = found->lost.empty() && found->orphans.empty() && found->ended_lost.empty();
  if (!found->orphans.empty() || !found->ended_lost.empty()) {
    if (Status written = write(true); !written.ok()) return written;
  }
  // Each job's end will take one from this number, whether its body was there or not.
  rows[place_of(Family::Bodies)] = jobs + rows_of(Family::Ended);
  if (of_bodies.empty()) return {};
  inform(is_over ? "store.damage_over" : "store.damage",
         fmt::format("blocks={} jobs_without_body={} bodies_without_job={} "
                     "ended_jobs_without_body={}",
                     std::ranges::count(blocks, Family::Bodies, &DamagedBlock::family),
                     found->lost.size(), found->orphans.size(), found->ended_lost.size()));
  if (!is_over || !counts_agree) return {};
  return containment.forget(**db, Family::Bodies);
}

Status Store::Impl::remove_ended_without_body(JobId id) {
  const Result<std::optional<EndedJob>> job =
      read_ended(nullptr, [&](EndedAccess& access) { return read_ended_row(access, id); });
  // A row that is not what was written stays where it is.
  if (!job.ok() && job.status().code() == StatusCode::Corruption) return {};
  if (!job.ok() || !*job) return job.ok() ? Status() : job.status();
  const Result<std::optional<EndedOrder>> place = read_ended(nullptr, [&](EndedAccess& access) {
    return read_ended_place(access, (*job)->tube, (*job)->place);
  });
  if (!place.ok()) return place.status();
  if (*place && (*place)->job == id) {
    remove_row(Family::EndedOrder, ended_order_key((*place)->tube, (*place)->place));
  }
  remove_row(Family::Ended, view(job_key(id)));
  remove_notes(id, notes_max);
  return {};
}

std::vector<DamagedBlock> Store::damaged_blocks() const {
  return impl_->containment.blocks();
}

uint64_t Store::damage_version() const {
  return impl_->containment.version();
}

void Store::suspect_tables() {
  impl_->containment.suspect_all();
}

void Store::repair_damage(std::atomic<bool>& cancelled) {
  Impl& impl = *impl_;
  impl.containment.check_suspects(**impl.db);
  // A compaction needs as much space as it reads, and puts need it more.
  if (impl.containment.version() == 0 || is_scarce() || write_stalled()) return;
  for (size_t place = 0; place < family_count; ++place) {
    const auto family = static_cast<Family>(place);
    rocksdb::ColumnFamilyHandle* const handle = impl.db->family(family);
    if (is_loaded(family) || handle == nullptr) continue;
    impl.containment.rewrite(**impl.db, *handle, cancelled);
  }
}

void Store::scrub(Nanos now) {
  const uint64_t bytes = options().scrub_bytes_per_second;
  if (bytes == 0) return;
  const std::vector<uint64_t> tables = impl_->scrub.step(**impl_->db, now, bytes);
  if (!tables.empty()) impl_->containment.contain(**impl_->db, tables);
}

std::vector<DamagedRows> Store::damaged_rows() const {
  return impl_->scrub.damaged();
}

ScrubFigures Store::scrub_figures() const {
  return impl_->scrub.figures();
}

std::string Store::damage() const {
  const std::vector<DamagedRows> rows = damaged_rows();
  if (!rows.empty()) {
    return fmt::format("the block at {} of {} ({}): {}", rows[0].offset, table_name(rows[0].table),
                       rows[0].family, rows[0].problem);
  }
  if (damage_version() == 0) return {};
  const std::vector<DamagedBlock> blocks = damaged_blocks();
  if (blocks.empty()) return {};
  return fmt::format("the block at {} of {} ({}): {}", blocks[0].offset,
                     table_name(blocks[0].table), name_of(blocks[0].family), blocks[0].problem);
}

}  // namespace perennial::store
