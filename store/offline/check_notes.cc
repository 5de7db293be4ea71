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
  NoteCheck(const Database& db, FaultList& faults) : jobs_(db), faults_(faults) {}

  void row(std::string_view key, std::string_view value);

 private:
  void check_job(std::string_view key, const NoteStored& stored);

  JobRows jobs_;
  FaultList& faults_;
};

void NoteCheck::row(std::string_view key, std::string_view value) {
  const Result<NoteStored> stored = decode_note(key, value);
  if (!stored.ok()) return faults_.add(Family::Notes, key, stored.status());
  check_job(key, *stored);
}

void NoteCheck::check_job(std::string_view key, const NoteStored& stored) {
  const Bytes<8> id = job_key(stored.job);
  bool is_unknown = false;
  for (size_t place = 0; place < job_states.size(); ++place) {
    const std::optional<std::string_view> value = jobs_.find(place, view(id), is_unknown);
    if (!value) continue;
    const Result<JobRow> job = decode_job(job_states[place], view(id), *value);
    const uint32_t had = job.ok() && job->fields ? job->fields->notes : 0;
    // A row that does not decode is reported already.
    if (!job.ok() || is_kept(stored.note.number, had)) return;
    return faults_.add(Family::Notes, key,
                       fmt::format("it is note {} of job {}, which counts {}", stored.note.number,
                                   stored.job, had));
  }
  if (is_unknown) return;
  faults_.add(Family::Notes, key, fmt::format("it is about job {}, which is missing", stored.job));
}

}  // namespace

void check_notes(const Database& db, CheckSummary& summary, FaultList& faults) {
  if (db.family(Family::Notes) == nullptr) return;
  NoteCheck check(db, faults);
  check_each_row(db, Family::Notes, faults, [&](std::string_view key, std::string_view value) {
    ++summary.notes;
    check.row(key, value);
  });
}

// A row that is there is compared with its job by check_notes().
void check_notes_of(const Database& db, const JobRow& row, FaultList& faults) {
  const uint32_t had = row.fields->notes;
  rocksdb::ColumnFamilyHandle* const family = db.family(Family::Notes);
  for (uint32_t number = had - notes_kept(had) + 1; number <= had; ++number) {
    const auto key = note_key(row.id, place_of_note(number));
    rocksdb::PinnableSlice value;
    const bool is_missing =
        family == nullptr || db->Get({}, family, slice(view(key)), &value).IsNotFound();
    if (!is_missing) continue;
    faults.add_contained(
        family_of(row.state), view(job_key(row.id)),
        fmt::format("the job counts {} notes, and note {} is missing", had, number));
  }
}

}  // namespace perennial::store
