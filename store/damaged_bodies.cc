#include <algorithm>
#include <memory>

#include <fmt/format.h>

#include "store/store_impl.h"
#include "store/types/rocks_status.h"

// What a store does about damaged blocks of bodies, and the functions of a store that say what is
// damaged: P11. store/damage keeps damaged blocks from RocksDB.
namespace perennial::store {
namespace {

// The bodies of a range of ids, compared with the jobs there.
struct Compared {
  std::vector<JobId> lost;     // Jobs whose bodies cannot be read.
  std::vector<JobId> orphans;  // Bodies without a job.
};

// Whether the id is one of a job that has ended. Ids come in ascending order.
class EndedIds {
 public:
  explicit EndedIds(const Database& db) {
    rocksdb::ReadOptions how;
    how.fill_cache = false;
    rocksdb::ColumnFamilyHandle* const family = db.family(Family::Ended);
    at_.reset(family == nullptr ? rocksdb::NewEmptyIterator() : db->NewIterator(how, family));
    at_->SeekToFirst();
  }

  bool contains(JobId id) {
    const auto key = job_key(id);
    if (at_->Valid() && view(at_->key()) < view(key)) at_->Seek(slice(view(key)));
    return at_->Valid() && view(at_->key()) == view(key);
  }
  Status status() const { return from_rocksdb(at_->status()); }

 private:
  std::unique_ptr<rocksdb::Iterator> at_;
};

// Passes over the bodies of a range. `jobs` are the jobs in all ranges, and `at` the place of the
// first that was not compared yet.
Status compare_range(const Database& db, const DamagedIds::Range& range,
                     const std::vector<JobId>& jobs, size_t& at, EndedIds& ended, Compared& out) {
  rocksdb::ReadOptions how;
  how.fill_cache = false;
  how.total_order_seek = true;
  const std::unique_ptr<rocksdb::Iterator> bodies(db->NewIterator(how, db.family(Family::Bodies)));
  for (bodies->Seek(slice(view(job_key(range.first)))); bodies->Valid(); bodies->Next()) {
    const Result<JobId> id = decode_job_key(Family::Bodies, view(bodies->key()));
    if (!id.ok()) return id.status();
    if (*id > range.last) break;
    while (at < jobs.size() && jobs[at] < *id) out.lost.push_back(jobs[at++]);
    if (at < jobs.size() && jobs[at] == *id) {
      ++at;
    } else if (!ended.contains(*id)) {
      out.orphans.push_back(*id);
    }
  }
  if (Status read = ended.status(); !read.ok()) return read;
  if (!bodies->status().ok()) return from_rocksdb(bodies->status());
  while (at < jobs.size() && jobs[at] <= range.last) out.lost.push_back(jobs[at++]);
  return {};
}

}  // namespace

// Finds the jobs that have lost their bodies, and removes bodies without a job: such a body is back
// when its deletion was in a damaged block. Its id is never used again, so it only takes space.
// Where nothing is lost and the numbers agree, the damage is over.
Status Store::Impl::compare_bodies(const DamagedIds& damaged, uint64_t jobs, bool counts_agree) {
  Compared found;
  size_t at = 0;
  EndedIds ended(*db);
  for (const DamagedIds::Range& range : damaged.ranges()) {
    Status read = compare_range(*db, range, damaged.jobs(), at, ended, found);
    if (!read.ok()) return read;
  }
  if (!found.orphans.empty()) {
    writes.Clear();
    add_commit_row();
    for (const JobId id : found.orphans) remove_row(Family::Bodies, view(job_key(id)));
    if (Status written = write(true); !written.ok()) return written;
  }
  // Each job's end will take one from this number, whether its body was there or not.
  rows[place_of(Family::Bodies)] = jobs + rows_of(Family::Ended);
  const bool is_over = found.lost.empty() && found.orphans.empty();
  const std::vector<DamagedBlock> blocks = containment.blocks();
  inform(is_over ? "store.damage_over" : "store.damage",
         fmt::format("blocks={} jobs_without_body={} bodies_without_job={}",
                     std::ranges::count(blocks, Family::Bodies, &DamagedBlock::family),
                     found.lost.size(), found.orphans.size()));
  if (!is_over || !counts_agree) return {};
  return containment.forget(**db, Family::Bodies);
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
