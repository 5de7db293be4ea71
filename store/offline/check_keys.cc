#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "engine/types/later.h"
#include "store/offline/check_parts.h"
#include "store/rocks/database.h"
#include "store/types/rocks_status.h"

// The check of the family keys, in both directions: each job that holds a key has its row there,
// and each row is of such a job. Each direction looks up the rows of the other, so that no
// memory grows with the number of jobs or keys. A row that cannot be read is not blamed for what it
// lacks, because check_tables() has named its table.
namespace perennial::store {
namespace {

// Returns when the key of a job with `until` Ttl is given up.
Nanos end_of(const JobRow& row) {
  const Nanos length = Nanos{row.fields->key->seconds} * nanos_per_second;
  return later(row.created, length);
}

class KeyCheck {
 public:
  KeyCheck(const Database& db, const MetaFacts& meta, FaultList& faults)
      : jobs_(db), meta_(meta), faults_(faults) {}

  void row(std::string_view key, std::string_view value);

 private:
  void check_holder(std::string_view key, const KeyStored& stored);
  bool is_held_by(const JobRow& job, const KeyStored& stored) const;

  JobRows jobs_;
  const MetaFacts& meta_;
  FaultList& faults_;
};

void KeyCheck::row(std::string_view key, std::string_view value) {
  const Result<KeyStored> stored = decode_key(key, value);
  if (!stored.ok()) return faults_.add(Family::Keys, key, stored.status());
  faults_.check_name(Family::Keys, key, stored->tube, "the name is not one that a tube can have");
  faults_.check_name(Family::Keys, key, stored->key, "the key is not one that a job can have");
  if (stored->job >= meta_.next_id) {
    faults_.add(Family::Keys, key,
                fmt::format("job {} is not below the next id, {}", stored->job, meta_.next_id));
  }
  // A cooldown outlives the job, and so does a key that is held for a time.
  if (stored->expires_at == 0) check_holder(key, *stored);
}

void KeyCheck::check_holder(std::string_view key, const KeyStored& stored) {
  const Bytes<8> id = job_key(stored.job);
  bool is_unknown = false;
  for (size_t place = 0; place < job_states.size(); ++place) {
    const std::optional<std::string_view> value = jobs_.find(place, view(id), is_unknown);
    if (!value) continue;
    const Result<JobRow> job = decode_job(job_states[place], view(id), *value);
    // A row that does not decode is reported already.
    if (!job.ok() || is_held_by(*job, stored)) return;
    return faults_.add(Family::Keys, key,
                       fmt::format("job {} does not hold it, and it is not free", stored.job));
  }
  if (is_unknown) return;
  faults_.add(Family::Keys, key, fmt::format("it is held by job {}, which is missing", stored.job));
}

bool KeyCheck::is_held_by(const JobRow& job, const KeyStored& stored) const {
  if (!job.fields || !job.fields->key) return false;
  const JobKey& key = *job.fields->key;
  const auto tube = meta_.tubes.find(job.tube);
  // A tube that is missing, or whose name is damaged, is reported already.
  const bool is_in_tube =
      tube == meta_.tubes.end() || tube->second.empty() || tube->second == stored.tube;
  return is_in_tube && !key.given_up && key.key == stored.key;
}

}  // namespace

void check_keys(const Database& db, const MetaFacts& meta, CheckSummary& summary,
                FaultList& faults) {
  KeyCheck check(db, meta, faults);
  check_each_row(db, Family::Keys, faults, [&](std::string_view key, std::string_view value) {
    ++summary.keys;
    check.row(key, value);
  });
}

void check_key_of(const Database& db, const JobRow& row, const MetaFacts& meta, FaultList& faults) {
  const JobKey& key = *row.fields->key;
  const auto tube = meta.tubes.find(row.tube);
  if (tube == meta.tubes.end() || tube->second.empty()) return;
  const std::string place = key_row_key(tube->second, key.key);
  std::string value;
  const auto got = db->Get({}, db.family(Family::Keys), slice(place), &value);
  if (!got.ok() && !got.IsNotFound()) return;
  const Result<KeyStored> stored =
      got.ok() ? decode_key(place, value) : Status(StatusCode::NotFound, "no row");
  if (got.ok() && !stored.ok()) return;  // check_keys() reports it.
  const bool is_for_time = key.until == KeyUntil::Ttl;
  const auto refuse = [&](std::string_view what) {
    if (is_for_time && end_of(row) <= meta.now) return;  // It may be given up by now.
    faults.add(family_of(row.state), view(job_key(row.id)),
               fmt::format("the job's key, {}, {}", key.key, what));
  };
  if (!stored.ok()) return refuse("has no row in keys");
  if (stored->job != row.id) return refuse(fmt::format("is held by job {}", stored->job));
  const bool is_cooldown = stored->expires_at != 0 && !is_for_time;
  if (is_cooldown || stored->until != key.until) refuse("has a row that does not fit the job");
}

}  // namespace perennial::store
