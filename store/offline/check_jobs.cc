#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "store/offline/check_parts.h"
#include "store/rocks/database.h"
#include "store/types/rocks_status.h"

// The check of the five families of jobs, and of those that have ended. It reads all of them
// together, key by key. Reading one family after the other would need memory for all keys to find
// jobs without bodies.
namespace perennial::store {
namespace {

constexpr size_t bodies_place = job_families.size() - 1;
constexpr size_t ended_place = job_families.size();
constexpr uint64_t progress_jobs = 256;

// The iteration of one family, from the first key to the last.
struct Walk {
  Family family = Family::Ready;
  std::unique_ptr<rocksdb::Iterator> at;
  uint64_t rows = 0;
  bool is_broken = false;  // The family could not be read to its end.

  bool is_at(std::string_view key) const { return at->Valid() && view(at->key()) == key; }
};

class JobCheck {
 public:
  JobCheck(const Database& db, const CheckOptions& options, const MetaFacts& meta,
           CheckSummary& summary, FaultList& faults);

  // Returns whether `ended` could be read to its end.
  bool run();

 private:
  // Sets key_ to the lowest current key of all walks. False at the end of all.
  bool find_lowest();
  void check_key();
  // Returns the row of the job at key_; none if there is no row, or it does not decode.
  std::optional<JobRow> check_states();
  // Returns the row of the ended job at key_, as check_states().
  std::optional<JobRow> check_ended();
  void check_row(const JobRow& row);
  void check_id(const JobRow& row, Family family);
  void check_fields(const JobRow& row, Family family);
  void check_key_field(const JobRow& row);
  void check_body(const std::optional<JobRow>& row);
  void check_pair();
  void advance();
  void note_end(Walk& walk, const std::string& last_key);
  void compare_counts();
  bool is_explained(const Walk& walk, uint64_t accounted) const;
  Walk& bodies() { return walks_[bodies_place]; }
  Walk& ended() { return walks_[ended_place]; }
  // Whether a family of rows could not be read to its end.
  bool are_rows_broken() const;

  const Database& db_;
  const CheckOptions& options_;
  const MetaFacts& meta_;
  CheckSummary& summary_;
  FaultList& faults_;
  // What damaged blocks of bodies, of notes and of ended jobs may have had.
  const DamagedIds damaged_;
  const DamagedIds damaged_notes_;
  const DamagedIds damaged_ended_;
  // In the order of job_families, and then `ended`.
  std::array<Walk, job_families.size() + 1> walks_;
  std::string key_;
  std::optional<Family> job_family_;  // The first family that has a row of the job at key_.
  uint64_t jobs_ = 0;
};

JobCheck::JobCheck(const Database& db, const CheckOptions& options, const MetaFacts& meta,
                   CheckSummary& summary, FaultList& faults)
    : db_(db),
      options_(options),
      meta_(meta),
      summary_(summary),
      faults_(faults),
      damaged_(known_damage(db, options, Family::Bodies)),
      damaged_notes_(known_damage(db, options, Family::Notes)),
      damaged_ended_(known_damage(db, options, Family::Ended)) {
  rocksdb::ReadOptions how;
  how.fill_cache = false;
  how.readahead_size = 2 << 20;
  for (size_t place = 0; place < walks_.size(); ++place) {
    Walk& walk = walks_[place];
    walk.family = place == ended_place ? Family::Ended : job_families[place];
    rocksdb::ColumnFamilyHandle* const family = db.family(walk.family);
    walk.at.reset(family == nullptr ? rocksdb::NewEmptyIterator() : db->NewIterator(how, family));
    walk.at->SeekToFirst();
    note_end(walk, "");
  }
}

bool JobCheck::run() {
  while (find_lowest()) {
    check_key();
    advance();
    if (++jobs_ % progress_jobs == 0 && options_.progress) options_.progress(jobs_);
  }
  for (size_t place = 0; place < bodies_place; ++place) {
    summary_.jobs[place] = walks_[place].rows;  // job_families begins with the states, in order.
  }
  summary_.bodies = bodies().rows;
  summary_.ended = ended().rows;
  compare_counts();
  return !ended().is_broken;
}

bool JobCheck::find_lowest() {
  bool found = false;
  for (const Walk& walk : walks_) {
    if (!walk.at->Valid()) continue;
    const std::string_view key = view(walk.at->key());
    if (!found || key < key_) key_ = key;
    found = true;
  }
  return found;
}

void JobCheck::check_key() {
  job_family_.reset();
  const std::optional<JobRow> row = check_states();
  const std::optional<JobRow> ended_row = check_ended();
  check_pair();
  if (row) check_row(*row);
  if (bodies().is_at(key_)) check_body(row ? row : ended_row);
}

// A start only counts the rows.
std::optional<JobRow> JobCheck::check_ended() {
  if (!ended().is_at(key_)) return std::nullopt;
  Result<EndedJob> job = decode_ended(key_, view(ended().at->value()));
  if (job_family_) {
    faults_.stop_start();  // There are too few bodies then.
    faults_.add(Family::Ended, key_, fmt::format("the job is also in {}", name_of(*job_family_)));
  } else {
    job_family_ = Family::Ended;
  }
  if (!job.ok()) {
    faults_.add_contained(Family::Ended, key_, job.status());
    return std::nullopt;
  }
  check_id(job->row, Family::Ended);
  faults_.check_name(Family::Ended, key_, job->tube, "the name is not one that a tube can have");
  check_order_of(db_, *job, meta_, faults_);
  if (job->row.fields) check_fields(job->row, Family::Ended);
  return std::move(job->row);
}

std::optional<JobRow> JobCheck::check_states() {
  std::optional<JobRow> out;
  for (const JobState state : job_states) {
    const Walk& walk = walks_[static_cast<size_t>(state)];
    if (!walk.is_at(key_)) continue;
    Result<JobRow> row = decode_job(state, key_, view(walk.at->value()));
    if (!row.ok()) faults_.add(walk.family, key_, row.status());
    if (job_family_) {
      faults_.add(walk.family, key_, fmt::format("the job is also in {}", name_of(*job_family_)));
    } else {
      job_family_ = walk.family;
      if (row.ok()) out = row.take();
    }
  }
  return out;
}

void JobCheck::check_row(const JobRow& row) {
  const Family family = family_of(row.state);
  if (meta_.is_whole && !meta_.tubes.contains(row.tube)) {
    faults_.add(family, key_, fmt::format("the job's tube, {}, is missing", row.tube));
  }
  check_id(row, family);
  if (!row.fields) return;
  check_fields(row, family);
  check_key_field(row);
}

void JobCheck::check_id(const JobRow& row, Family family) {
  if (row.id < meta_.next_id) return;
  faults_.add(family, key_,
              fmt::format("job {} is not below the next id, {}", row.id, meta_.next_id));
}

void JobCheck::check_fields(const JobRow& row, Family family) {
  const JobFields& fields = *row.fields;
  const auto check_name = [&](std::string_view name, std::string_view what) {
    if (!name.empty()) faults_.check_name(family, key_, name, what);
  };
  check_name(fields.dead.str(), "the dead tube has a name that no tube can have");
  check_name(fields.from.str(), "the tube of origin has a name that no tube can have");
  if (fields.concurrency) {
    check_name(fields.concurrency->key, "the concurrency key is not one that a job can have");
  }
  if (fields.notes > 0) check_notes_of(db_, family, row, damaged_notes_, faults_);
  if (fields.schedule) {
    check_name(fields.schedule->name, "the schedule has a name that no schedule can have");
  }
  if (fields.key) check_name(fields.key->key, "the key is not one that a job can have");
}

// A job that has ended holds no key, whatever its row says.
void JobCheck::check_key_field(const JobRow& row) {
  const JobFields& fields = *row.fields;
  if (fields.key && !fields.key->given_up) check_key_of(db_, row, meta_, faults_);
}

// A family that could not be read to its end is not blamed for missing partners. A body without a
// job whose deletion may have been in a damaged block is no fault: no job needs it, and the next
// start removes it. Nor is one of an ended job whose row may have been in one.
void JobCheck::check_pair() {
  const bool has_job = job_family_.has_value();
  const bool has_body = bodies().is_at(key_);
  const Result<JobId> id = decode_job_key(Family::Bodies, key_);
  const bool is_of_block = id.ok() && damaged_.contains(*id);
  const bool is_left = is_of_block || (id.ok() && damaged_ended_.contains(*id));
  if (has_job && !has_body && !bodies().is_broken) {
    if (is_of_block) {
      faults_.add_contained(*job_family_, key_, "the job has lost its body to a damaged block");
    } else if (job_family_ == Family::Ended && id.ok() && damaged_ended_.contains(*id)) {
      faults_.add_contained(Family::Ended, key_, "the job has gone, and is back after damage");
    } else {
      if (job_family_ == Family::Ended) faults_.stop_start();  // It compares the numbers.
      faults_.add(*job_family_, key_, "the job has no body");
    }
  }
  if (has_body && !has_job && !is_left && !are_rows_broken()) {
    faults_.stop_start();
    faults_.add(Family::Bodies, key_, "the body has no job");
  }
}

void JobCheck::check_body(const std::optional<JobRow>& row) {
  const std::string_view value = view(bodies().at->value());
  const Result<JobId> id = decode_job_key(Family::Bodies, key_);
  if (!id.ok()) return faults_.add(Family::Bodies, key_, id.status());
  const size_t hash_bytes = sizeof(body_hash(0, ""));
  if (value.size() < hash_bytes) {
    return faults_.add(Family::Bodies, key_, "the body is shorter than its hash");
  }
  const size_t bytes = value.size() - hash_bytes;
  summary_.body_bytes += bytes;
  if (row && row->body_bytes != bytes) {
    faults_.add(Family::Bodies, key_,
                fmt::format("the body has {} bytes, and its job says {}", bytes, row->body_bytes));
  }
  if (!options_.deep) return;
  const Result<std::string_view> body = decode_body(*id, value);
  if (!body.ok()) faults_.add(Family::Bodies, key_, body.status());
}

void JobCheck::advance() {
  for (Walk& walk : walks_) {
    if (!walk.is_at(key_)) continue;
    ++walk.rows;
    walk.at->Next();
    note_end(walk, key_);
  }
}

void JobCheck::note_end(Walk& walk, const std::string& last_key) {
  if (walk.at->Valid() || walk.at->status().ok()) return;
  walk.is_broken = true;
  faults_.add(walk.family, last_key,
              fmt::format("what is behind this key cannot be read, and was not checked: {}",
                          from_rocksdb(walk.at->status()).message()));
}

bool JobCheck::are_rows_broken() const {
  return std::ranges::any_of(
      walks_, [](const Walk& walk) { return walk.is_broken && walk.family != Family::Bodies; });
}

// Whether damaged blocks account for the difference, as they do for a start.
bool JobCheck::is_explained(const Walk& walk, uint64_t accounted) const {
  const uint64_t difference = difference_of(accounted, walk.rows);
  const uint64_t of_ended = damaged_ended_.difference_max();
  if (walk.family == Family::Ended) return difference <= of_ended;
  return walk.family == Family::Bodies && difference <= damaged_.difference_max() + of_ended;
}

// Compares only families whose rows are all in tables, because rows that are only in the log are
// not in the counts of the tables.
void JobCheck::compare_counts() {
  for (const Walk& walk : walks_) {
    uint64_t in_memory = 0;
    rocksdb::ColumnFamilyHandle* const family = db_.family(walk.family);
    if (family == nullptr) continue;
    db_->GetIntProperty(family, rocksdb::DB::Properties::kNumEntriesActiveMemTable, &in_memory);
    if (in_memory > 0 || walk.is_broken) continue;
    const Result<TableCounts> tables = db_.count_tables(walk.family);
    if (tables.ok() && tables->rows() == walk.rows) continue;
    if (tables.ok() && is_explained(walk, tables->rows())) continue;
    faults_.stop_start();  // It compares the numbers, too.
    if (!tables.ok()) {
      faults_.add(walk.family, "", tables.status().message());
    } else {
      faults_.add(walk.family, "",
                  fmt::format("it holds {} rows by the account of its tables, and {} were found",
                              tables->rows(), walk.rows));
    }
  }
}

}  // namespace

bool check_jobs(const Database& db, const CheckOptions& options, const MetaFacts& meta,
                CheckSummary& summary, FaultList& faults) {
  return JobCheck(db, options, meta, summary, faults).run();
}

}  // namespace perennial::store
