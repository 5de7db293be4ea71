#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <rocksdb/iterator.h>

#include "store/offline/check_parts.h"
#include "store/rocks/database.h"
#include "store/types/rocks_status.h"

// The check of the family notes, in both directions, as that of keys: check_keys.cc. A server
// starts whatever is found here, because no start reads a note.
namespace perennial::store {
namespace {

class NoteCheck {
 public:
  NoteCheck(const Database& db, const CheckOptions& options, FaultList& faults)
      : db_(db), jobs_(db), damaged_(known_damage(db, options, Family::Notes)), faults_(faults) {}

  void row(std::string_view key, std::string_view value);

 private:
  void check_job(std::string_view key, const NoteStored& stored);
  void compare(std::string_view key, const NoteStored& stored, const Result<JobRow>& job);
  // The row of a job that has ended; none if there is none.
  std::optional<Result<JobRow>> find_ended(std::string_view id) const;

  const Database& db_;
  JobRows jobs_;
  const DamagedIds damaged_;
  FaultList& faults_;
};

void NoteCheck::row(std::string_view key, std::string_view value) {
  const Result<NoteStored> stored = decode_note(key, value);
  if (!stored.ok()) return faults_.add(Family::Notes, key, stored.status());
  check_job(key, *stored);
}

// A note that its job does not keep is no fault where the row that removed it may have been in a
// damaged block: nobody needs it, and the next start removes it.
void NoteCheck::check_job(std::string_view key, const NoteStored& stored) {
  if (damaged_.contains(stored.job)) return;
  const Bytes<8> id = job_key(stored.job);
  bool is_unknown = false;
  for (size_t place = 0; place < job_states.size(); ++place) {
    const std::optional<std::string_view> value = jobs_.find(place, view(id), is_unknown);
    if (!value) continue;
    return compare(key, stored, decode_job(job_states[place], view(id), *value));
  }
  if (const auto job = find_ended(view(id))) return compare(key, stored, *job);
  if (is_unknown) return;
  faults_.add(Family::Notes, key, fmt::format("it is about job {}, which is missing", stored.job));
}

void NoteCheck::compare(std::string_view key, const NoteStored& stored, const Result<JobRow>& job) {
  const uint32_t had = job.ok() && job->fields ? job->fields->notes : 0;
  // A row that does not decode is reported already.
  if (!job.ok() || is_kept(stored.note.number, had)) return;
  faults_.add(
      Family::Notes, key,
      fmt::format("it is note {} of job {}, which counts {}", stored.note.number, stored.job, had));
}

// A row that cannot be read is not missing.
std::optional<Result<JobRow>> NoteCheck::find_ended(std::string_view id) const {
  rocksdb::ColumnFamilyHandle* const family = db_.family(Family::Ended);
  if (family == nullptr) return std::nullopt;
  rocksdb::PinnableSlice value;
  const auto got = db_->Get({}, family, slice(id), &value);
  if (got.IsNotFound()) return std::nullopt;
  if (!got.ok()) return Result<JobRow>(from_rocksdb(got));
  Result<EndedJob> job = decode_ended(id, view(value));
  return job.ok() ? Result<JobRow>(std::move(job->row)) : Result<JobRow>(job.take_status());
}

// Whether an older note is at the place of this one.
bool has_older(std::string_view key, std::string_view value, uint32_t number) {
  const Result<NoteStored> row = decode_note(key, value);
  return row.ok() && row->note.number < number;
}

}  // namespace

void check_notes(const Database& db, const CheckOptions& options, CheckSummary& summary,
                 FaultList& faults) {
  if (db.family(Family::Notes) == nullptr) return;
  NoteCheck check(db, options, faults);
  check_each_row(db, Family::Notes, faults, [&](std::string_view key, std::string_view value) {
    ++summary.notes;
    check.row(key, value);
  });
}

// A row that is there is compared with its job by check_notes().
void check_notes_of(const Database& db, Family of, const JobRow& row, const DamagedIds& damaged,
                    FaultList& faults) {
  const uint32_t had = row.fields->notes;
  const bool is_lost = damaged.contains(row.id);
  rocksdb::ColumnFamilyHandle* const family = db.family(Family::Notes);
  for (uint32_t number = had - notes_kept(had) + 1; number <= had; ++number) {
    const auto key = note_key(row.id, place_of_note(number));
    rocksdb::PinnableSlice value;
    const auto got = family == nullptr ? rocksdb::Status::NotFound()
                                       : db->Get({}, family, slice(view(key)), &value);
    const bool is_replaced = got.ok() && is_lost && has_older(view(key), view(value), number);
    if (!got.IsNotFound() && !is_replaced) continue;
    faults.add_contained(of, view(job_key(row.id)),
                         fmt::format("the job counts {} notes, and note {} {}", had, number,
                                     is_lost ? "was in a damaged block" : "is missing"));
  }
}

}  // namespace perennial::store
