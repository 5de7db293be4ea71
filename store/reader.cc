#include "store/reader.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <rocksdb/iterator.h>

#include "engine/types/logfmt.h"
#include "store/damage/containment.h"
#include "store/damage/damage_record.h"
#include "store/disk/data_dir.h"
#include "store/disk/hash.h"
#include "store/forced_start.h"
#include "store/load.h"
#include "store/read_notes.h"
#include "store/reader_ended.h"
#include "store/recovery/recovery.h"
#include "store/rocks/database.h"
#include "store/rocks/meta_rows.h"
#include "store/rocks/observer.h"
#include "store/salvage/salvage.h"
#include "store/types/rocks_status.h"

namespace perennial::store {

struct Reader::Impl {
  explicit Impl(Options given) : options(std::move(given)), failure(options.events) {}

  Status open();
  void report_truncations(const RecoveryPlan& plan) const;
  Status find_damaged_ended();

  Options options;
  std::unique_ptr<ReadLock> lock;
  StoreFailure failure;
  store::Options how;                      // With which the database is open.
  std::optional<Containment> containment;  // What it reads in place of damaged blocks.
  // Those of ended jobs and of their order. None: nobody has looked for them yet.
  std::optional<std::vector<DamagedBlock>> damaged_ended;
  std::unique_ptr<Database> db;
  std::unique_ptr<Salvage> salvage;  // Instead of `db`.
  CommitRow commit;
  uint32_t format = format_base;
  JobId next_id = 1;
  // The jobs that a forced start would leave out, and those that have ended.
  absl::flat_hash_set<JobId> left_out;
  absl::flat_hash_set<JobId> ended_left_out;
};

struct Reader::Bodies::Impl {
  explicit Impl(const Database* database) : db(database) {}

  void go_to(std::string_view key);
  Status find(JobId id);
  Status find_salvaged(JobId id);

  const Database* const db;  // The reader's, which outlives this. Null if it salvages.
  std::optional<Salvage::Bodies> salvaged;
  std::unique_ptr<rocksdb::Iterator> at;
  rocksdb::PinnableSlice got;
  std::string_view value;  // The row that find() found; empty if it cannot be read.
};

struct Reader::Notes::Impl {
  const Database* db;  // The reader's, which outlives this. Null if it salvages.
  std::optional<Salvage::Notes> salvaged;
  std::vector<Status> problems = {};
};

Result<std::unique_ptr<Reader>> Reader::open(Options options) {
  const std::string doing = "read " + options.path;
  auto impl = std::make_unique<Impl>(std::move(options));
  Result<ReadLock> lock = ReadLock::take(impl->options.path);
  if (!lock.ok()) return lock.take_status();
  impl->lock = std::make_unique<ReadLock>(lock.take());
  if (Status opened = impl->open(); !opened.ok()) return std::move(opened).with(doing);
  return std::unique_ptr<Reader>(new Reader(std::move(impl)));
}

// Opens the database by the rules of a start. What a start would truncate is ignored here.
Status Reader::Impl::open() {
  const std::string db_path = options.path + "/db";
  how.data_dir = options.path;
  how.events = options.events;
  how.env = options.env;
  how.recover = options.recover;
  how.open_tables_max = 16;  // A reader scans in key order, and may share its process with a store.
  if (options.salvage) {
    Result<std::unique_ptr<Salvage>> opened =
        Salvage::open(db_path, how, failure, options.checkpoint);
    if (!opened.ok()) return opened.take_status();
    salvage = opened.take();
    commit = salvage->commit();
    next_id = salvage->next_id();
    format = salvage->format();
    return {};
  }
  const Result<RecoveryPlan> plan = plan_recovery(db_path, how, failure);
  if (!plan.ok()) return plan.status();
  report_truncations(*plan);
  containment.emplace(how, db_path);
  Result<Database> view = open_view(db_path, how, failure, *plan, &containment->substitutes());
  if (!view.ok()) return view.take_status();
  db = std::make_unique<Database>(view.take());
  const Result<StoredFormat> stored = read_format(*db);
  if (!stored.ok()) return stored.status();
  format = stored->version;
  const Result<CommitRow> last = read_commit(*db);
  if (!last.ok()) return last.status();
  const Result<JobId> found = next_id_of(*db, *plan);
  if (!found.ok()) return found.status();
  commit = *last;
  next_id = std::max(*found, plan->next_id_min);
  if (!plan->compares_bodies()) return {};
  const Result<ForcedOutcome> outcome = foresee(*db, true);
  if (!outcome.ok()) return outcome.status();
  left_out = outcome->left_out();
  for (const EndedOrder& ended : outcome->ended_gone_later) ended_left_out.insert(ended.job);
  return {};
}

void Reader::Impl::report_truncations(const RecoveryPlan& plan) const {
  if (!options.events.info) return;
  if (plan.current) options.events.info("store.current_would_be_made", plan.current->fields());
  if (plan.manifest_truncation) {
    options.events.info("store.manifest_would_cut", plan.manifest_truncation->fields);
  }
  if (!plan.mark_damage.empty()) {
    options.events.info("store.mark_damaged",
                        fmt::format("problem={}", logfmt_text(plan.mark_damage)));
  }
  for (const std::string& loss : plan.log.losses) {
    options.events.info("store.log_would_force", fmt::format("message={}", logfmt_text(loss)));
  }
  if (plan.log.truncation) options.events.info("store.log_would_cut", plan.log.truncation->fields);
}

Reader::Reader(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Reader::~Reader() = default;

const CommitRow& Reader::commit() const {
  return impl_->commit;
}
uint32_t Reader::format() const {
  return impl_->format;
}
JobId Reader::next_id() const {
  return impl_->next_id;
}

const Salvaged* Reader::salvaged() const {
  return impl_->salvage == nullptr ? nullptr : &impl_->salvage->account();
}

namespace {

Status load_salvaged(const Salvage& salvage, const LoadSink& sink) {
  Status done;
  for (const auto& [tube, span] : salvage.ended_spans()) {
    if (done.ok() && sink.ended) done = sink.ended(tube, span);
  }
  for (const SettingsStored& settings : salvage.settings()) {
    if (done.ok()) done = sink.settings(settings);
  }
  for (const auto& [id, name] : salvage.tubes()) {
    if (done.ok()) done = sink.tube(id, name);
  }
  for (const TubePaused& pause : salvage.pauses()) {
    if (done.ok()) done = sink.pause(pause);
  }
  if (done.ok() && sink.schedule) done = salvage.each_schedule(sink.schedule);
  if (done.ok()) done = salvage.each_job(sink.job);
  return done.ok() ? salvage.each_key(sink.key) : done;
}

}  // namespace

Status Reader::load(const LoadSink& sink) const {
  const std::string doing = "read " + impl_->options.path;
  if (impl_->salvage != nullptr) return load_salvaged(*impl_->salvage, sink).with(doing);
  Loaded loaded;
  const auto& left_out = impl_->left_out;
  LoadSink kept = sink;
  kept.job = [&](const JobRow& row) {
    return left_out.contains(row.id) ? Status() : sink.job(row);
  };
  kept.key = [&](const KeyStored& key) {
    return left_out.contains(key.job) ? Status() : sink.key(key);
  };
  Status rows = load_rows(*impl_->db, left_out.empty() ? sink : kept, loaded);
  if (rows.ok()) rows = check_states(*impl_->db, loaded);
  return std::move(rows).with(doing);
}

Status Reader::load_keys(const std::function<Status(const KeyStored&)>& take) const {
  if (impl_->salvage != nullptr) {
    return impl_->salvage->each_key(take).with("read " + impl_->options.path);
  }
  uint64_t count = 0;
  const auto take_kept = [&](const KeyStored& key) {
    return impl_->left_out.contains(key.job) ? Status() : take(key);
  };
  return store::load_keys(*impl_->db, take_kept, count).with("read " + impl_->options.path);
}

Status Reader::ended(const std::function<Status(const EndedJob&)>& take) const {
  const std::string doing = "read " + impl_->options.path;
  if (impl_->salvage != nullptr) {
    const auto take_job = [&](const EndedJob& job, std::string_view /*body*/) { return take(job); };
    return impl_->salvage->each_ended(take_job).with(doing);
  }
  const auto take_kept = [&](const EndedJob& job) {
    return impl_->ended_left_out.contains(job.row.id) ? Status() : take(job);
  };
  if (impl_->db->family(Family::Ended) == nullptr) return {};
  Status looked = impl_->find_damaged_ended();
  if (!looked.ok()) return std::move(looked).with(doing);
  const auto known = read_damage_record(impl_->options.env, (*impl_->db)->GetName());
  // A record that is damaged itself explains nothing.
  return pass_ended(*impl_->db, *impl_->damaged_ended,
                    known.ok() ? *known : std::vector<DamagedBlock>(), take_kept)
      .with(doing);
}

Status Reader::Impl::find_damaged_ended() {
  if (damaged_ended) return {};
  auto found = containment->pass_over(**db, {Family::Ended, Family::EndedOrder});
  if (!found.ok()) return found.take_status();
  damaged_ended = found.take();
  return {};
}

Reader::Bodies Reader::bodies() const {
  if (impl_->salvage != nullptr) {
    auto bodies = std::make_unique<Bodies::Impl>(nullptr);
    bodies->salvaged.emplace(*impl_->salvage);
    return Bodies(std::move(bodies));
  }
  rocksdb::ReadOptions options;
  options.fill_cache = false;
  options.readahead_size = 2 << 20;
  auto bodies = std::make_unique<Bodies::Impl>(impl_->db.get());
  bodies->at.reset((*impl_->db)->NewIterator(options, impl_->db->family(Family::Bodies)));
  return Bodies(std::move(bodies));
}

namespace {

void add_sized(Hasher& hasher, std::string_view bytes) {
  const uint64_t size = bytes.size();
  hasher.add({reinterpret_cast<const char*>(&size), sizeof size});
  hasher.add(bytes);
}

// The part of a row that is the same on all nodes of a cluster. In the commit row the epoch and the
// durable index are each node's own.
Result<std::string> common_part(Family family, std::string_view key, std::string_view value) {
  if (family != Family::Meta || key != view(meta_key(MetaTag::Commit))) return std::string(value);
  const Result<CommitRow> commit = decode_commit(value);
  if (!commit.ok()) return commit.status();
  return fmt::format("{} {}", commit->index, commit->now);
}

Result<FamilyDigest> digest_family(const Database& db, Family family,
                                   const std::function<bool()>& cancelled) {
  constexpr uint64_t rows_between_looks = 4096;
  rocksdb::ReadOptions options;
  options.fill_cache = false;
  options.readahead_size = 2 << 20;
  FamilyDigest out = {.family = family_names[static_cast<size_t>(family)], .rows = 0, .hash = {}};
  Hasher hasher;
  rocksdb::ColumnFamilyHandle* const handle = db.family(family);
  // One without the family has the same rows as one whose family is empty.
  const std::unique_ptr<rocksdb::Iterator> at(handle == nullptr ? rocksdb::NewEmptyIterator()
                                                                : db->NewIterator(options, handle));
  for (at->SeekToFirst(); at->Valid(); at->Next()) {
    if (out.rows % rows_between_looks == 0 && cancelled && cancelled()) {
      return Status(StatusCode::Io, "it was cancelled");
    }
    const Result<std::string> value = common_part(family, view(at->key()), view(at->value()));
    if (!value.ok()) return value.status();
    add_sized(hasher, view(at->key()));
    add_sized(hasher, *value);
    ++out.rows;
  }
  if (!at->status().ok()) return from_rocksdb(at->status()).with(std::string(out.family));
  out.hash = hasher.hex();
  return out;
}

}  // namespace

Result<std::vector<FamilyDigest>> Reader::digests(const std::function<bool()>& cancelled) const {
  std::vector<FamilyDigest> out;
  for (size_t i = 0; i < family_count; ++i) {
    Result<FamilyDigest> digest = digest_family(*impl_->db, static_cast<Family>(i), cancelled);
    if (!digest.ok()) return digest.take_status();
    out.push_back(digest.take());
  }
  return out;
}

Reader::Notes Reader::notes() const {
  auto notes = std::make_unique<Notes::Impl>(Notes::Impl{.db = impl_->db.get(), .salvaged = {}});
  if (impl_->salvage != nullptr) notes->salvaged.emplace(*impl_->salvage);
  return Notes(std::move(notes));
}

Reader::Notes::Notes(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Reader::Notes::Notes(Notes&&) noexcept = default;
Reader::Notes::~Notes() = default;

Result<std::vector<Note>> Reader::Notes::read(JobId id, uint32_t had) {
  if (impl_->salvaged) return impl_->salvaged->find(id, had);
  rocksdb::ReadOptions how;
  how.fill_cache = false;
  bool is_of_table = false;
  Result<NotesFound> found = read_notes(*impl_->db, how, id, is_of_table);
  impl_->problems = found.ok() ? std::move(found->problems) : std::vector<Status>();
  if (!found.ok()) return found.take_status();
  // Where a forced start has not removed yet what its log has lost, notes of later are left, and
  // where one after damage has not, those that are back.
  std::erase_if(found->notes, [&](const Note& note) { return !is_kept(note.number, had); });
  return std::move(found->notes);
}

const std::vector<Status>& Reader::Notes::problems() const {
  return impl_->problems;
}

Reader::Bodies::Bodies(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Reader::Bodies::Bodies(Bodies&&) noexcept = default;
Reader::Bodies::~Bodies() = default;

Result<std::string_view> Reader::Bodies::read(JobId id) {
  if (Status found = impl_->find(id); !found.ok()) return found;
  return decode_body(id, impl_->value);
}

// The value begins with the hash of the body, which does not fit.
std::string_view Reader::Bodies::damaged() const {
  return impl_->value.substr(std::min<size_t>(impl_->value.size(), sizeof(uint64_t)));
}

// Moves the iterator to `key`. It steps to a row that is near and seeks to one that is far, because
// a seek costs more than a few steps and reads its block again.
void Reader::Bodies::Impl::go_to(std::string_view key) {
  constexpr int steps_max = 8;
  for (int step = 0; step < steps_max && at->Valid(); ++step) {
    if (view(at->key()) >= key) return;
    at->Next();
  }
  at->Seek(slice(key));
}

// After the iterator has met a damaged table it fails for rows of other tables, too. Such rows are
// then read with Get(), so that damage of one table does not hide the bodies in others.
Status Reader::Bodies::Impl::find(JobId id) {
  if (salvaged) return find_salvaged(id);
  const auto key = job_key(id);
  value = {};
  go_to(view(key));
  if (at->Valid() && view(at->key()) == view(key)) {
    value = view(at->value());
    return {};
  }
  if (at->status().ok()) {
    return {StatusCode::NotFound,
            store::damaged(Family::Bodies, view(key), "the body is missing").message()};
  }
  if (!at->status().IsCorruption()) return from_rocksdb(at->status());
  got.Reset();
  const auto asked = (*db)->Get({}, db->family(Family::Bodies), slice(view(key)), &got);
  if (!asked.ok()) return from_rocksdb(asked).with(fmt::format("read the body of job {}", id));
  value = view(got);
  return {};
}

Status Reader::Bodies::Impl::find_salvaged(JobId id) {
  value = {};
  const Result<std::optional<std::string_view>> found = salvaged->find(id);
  if (!found.ok()) return found.status();
  if (!*found) return {StatusCode::NotFound, fmt::format("the body of job {} is lost", id)};
  value = **found;
  return {};
}

}  // namespace perennial::store
