#include "store/reader_ended.h"

#include <algorithm>
#include <memory>
#include <optional>

#include <fmt/format.h>
#include <rocksdb/iterator.h>

#include "store/damage/damaged_ids.h"
#include "store/load.h"
#include "store/read_ended.h"
#include "store/rocks/database.h"
#include "store/types/rocks_status.h"

// Ended jobs for a reader: P11. No start loads them, so a damaged block of them refuses no start,
// and must not hide what is beside it from whoever only reads.
namespace perennial::store {
namespace {

// Decides as a start does after damage: damaged_ended.cc.
class EndedWhole {
 public:
  EndedWhole(const Database& db, const std::vector<DamagedBlock>& blocks)
      : db_(db),
        ended_(blocks, Family::Ended),
        bodies_(blocks, Family::Bodies),
        is_damaged_(!DamagedEnded(blocks).empty()) {}

  // Whether the job is there. It may be one that went before, and whose deletion is lost.
  Result<bool> contains(const EndedJob& job) const {
    if (!is_damaged_) return true;
    EndedAccess access = {.db = db_};
    const auto order = read_ended_place(access, job.tube, job.place);
    if (!order.ok()) return order.status();
    if (*order && (*order)->job == job.row.id) return true;
    Result<bool> is_taken = *order ? is_place_of_another(access, **order) : Result(false);
    if (!is_taken.ok()) return is_taken;
    return *is_taken ? Result(false) : has_lost_only_its_place(job);
  }

 private:
  // False: the row is of a job that went before, and is back.
  static Result<bool> is_place_of_another(EndedAccess& access, const EndedOrder& order) {
    const Result<std::optional<EndedJob>> other = read_ended_row(access, order.job);
    if (!other.ok()) return is_damage(other.status()) ? Result(false) : other.status();
    return *other && (*other)->tube == order.tube && (*other)->place == order.place;
  }
  Result<bool> has_lost_only_its_place(const EndedJob& job) const {
    if (ended_.contains(job.row.id) && bodies_.contains(job.row.id)) return false;
    const Result<EndedSpan> span = read_ended_span(db_, {}, job.tube);
    if (!span.ok()) return span.status();
    if (job.place < span->first || job.place >= span->next) return false;
    rocksdb::PinnableSlice body;
    const auto key = job_key(job.row.id);
    return db_->Get({}, db_.family(Family::Bodies), slice(view(key)), &body).ok();
  }

  const Database& db_;
  const DamagedIds ended_;
  const DamagedIds bodies_;
  const bool is_damaged_;
};

// Says that the jobs in damaged blocks are missing. A damaged block of the order costs none.
Status missing_in(const std::vector<DamagedBlock>& blocks) {
  const auto count = std::ranges::count(blocks, Family::Ended, &DamagedBlock::family);
  if (count == 0) return {};
  const auto first = std::ranges::find(blocks, Family::Ended, &DamagedBlock::family);
  return {StatusCode::Corruption,
          fmt::format("{} blocks of {} are damaged, and ended jobs in them are missing: first that "
                      "at {} of {}, which may have had ended jobs from {} to {}: {}",
                      count, name_of(Family::Ended), first->offset, table_name(first->table),
                      first->first, first->last, first->problem)};
}

}  // namespace

Status pass_ended(const Database& db, const std::vector<DamagedBlock>& damaged,
                  const std::vector<DamagedBlock>& known,
                  const std::function<Status(const EndedJob&)>& take) {
  std::vector<DamagedBlock> blocks = known;
  blocks.insert(blocks.end(), damaged.begin(), damaged.end());
  const EndedWhole whole(db, blocks);
  Status missing = missing_in(damaged);
  rocksdb::ReadOptions how;
  how.fill_cache = false;
  how.readahead_size = 2 << 20;
  const std::unique_ptr<rocksdb::Iterator> at(db->NewIterator(how, db.family(Family::Ended)));
  uint64_t count = 0;
  for (at->SeekToFirst(); at->Valid(); at->Next()) {
    ++count;
    Result<EndedJob> job = decode_ended(view(at->key()), view(at->value()));
    if (!job.ok()) {
      if (missing.ok()) missing = job.take_status();
      continue;
    }
    const Result<bool> is_there = whole.contains(*job);
    if (!is_there.ok()) return is_there.status();
    if (!*is_there) continue;
    if (Status taken = take(*job); !taken.ok()) return taken;
  }
  if (!at->status().ok()) return from_rocksdb(at->status());
  if (!missing.ok()) return missing;
  return DamagedEnded(blocks).empty() ? check_found(db, Family::Ended, count) : Status();
}

}  // namespace perennial::store
