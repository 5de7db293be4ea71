#include "store/store.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/format.h>
#include <rocksdb/env.h>
#include <rocksdb/version.h>
#include <sys/stat.h>

#include "engine/types/logfmt.h"
#include "store/disk/identity.h"
#include "store/read_notes.h"
#include "store/rocks/log_env.h"
#include "store/rocks/meta_rows.h"
#include "store/rocks/observer.h"
#include "store/store_impl.h"
#include "store/types/file_system_of.h"
#include "store/types/rocks_status.h"

namespace perennial::store {
namespace {

Nanos machine_clock() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// Writes the rows that every database has from the beginning. A missing row is therefore damage.
Status write_first_rows(Database& db, const Options& options) {
  rocksdb::WriteBatch writes;
  rocksdb::ColumnFamilyHandle* const meta = db.family(Family::Meta);
  const auto add = [&](MetaTag tag, std::string_view value) {
    must(writes.Put(meta, slice(view(meta_key(tag))), slice(value)));
  };
  add(MetaTag::Commit, view(encode(CommitRow())));
  add(MetaTag::FormatVersion, view(encode_format_version(options.format_min)));
  add(MetaTag::NextId, view(encode_next_id(1)));
  rocksdb::WriteOptions synced;
  synced.sync = true;
  return from_rocksdb(db->Write(synced, &writes));
}

Status create_db(DataDir& dir, const Options& options, StoreFailure& failure) {
  if (Status begun = dir.begin_new_db(); !begun.ok()) return begun;
  Result<Database> db = Database::create(dir.new_db_path(), options, failure);
  if (!db.ok()) return db.take_status();
  if (Status written = write_first_rows(*db, options); !written.ok()) return written;
  if (Status closed = db->close(); !closed.ok()) return closed;
  const Status removed = remove_log_mark(file_system_of(options.env), dir.new_db_path());
  return removed.ok() ? dir.publish_new_db() : removed;
}

// Sets `is_of_table` if a table could not be read: TableErrors.
Result<Body> get_body(const Database& db, const rocksdb::ReadOptions& options, JobId id,
                      bool& is_of_table) {
  rocksdb::PinnableSlice value;
  const auto key = job_key(id);
  const TableErrors errors;
  const auto got = db->Get(options, db.family(Family::Bodies), slice(view(key)), &value);
  is_of_table = errors.contains(got);
  if (!got.ok()) return from_rocksdb(got).with(fmt::format("read the body of job {}", id));
  Result<std::string_view> body = decode_body(id, view(value));
  if (!body.ok()) return body.take_status();
  return Body(*body);
}

}  // namespace

Result<std::unique_ptr<Store>> Store::open(Options options, const StartReview& review) {
  // RocksDB creates its files with the mask of the process. It stays set while the process runs.
  ::umask(0077);
  if (!options.steady_clock) options.steady_clock = machine_clock;
  const Nanos begun = options.steady_clock();
  const std::string path = options.data_dir;
  const std::string doing = "open data directory " + path;
  Result<DataDir> dir = DataDir::open(path);
  if (!dir.ok()) return dir.take_status();
  auto impl = std::make_unique<Impl>(std::move(options), dir.take());
  if (Status opened = impl->open(review); !opened.ok()) return std::move(opened).with(doing);
  const Opening& found = impl->opening;
  impl->inform("store.open", fmt::format("format={} epoch={} index={} next_id={} took_ms={}",
                                         impl->format, found.epoch, found.last_index, found.next_id,
                                         (impl->options.steady_clock() - begun) / nanos_per_ms));
  return std::unique_ptr<Store>(new Store(std::move(impl)));
}

Status Store::Impl::open(const StartReview& review) {
  if (Status prepared = prepare_disk_space(); !prepared.ok()) return prepared;
  if (Status created = create(); !created.ok()) return created;
  if (Status read = containment.open(); !read.ok()) return read;
  const Result<RecoveryPlan> plan = recover(review);
  if (!plan.ok()) return plan.status();
  // Recovery comes before this check: a truncation needs no space, and may free what is missing.
  if (Status made = space->ensure_space_for_start(plan->replay_bytes); !made.ok()) return made;
  if (Status made = ensure_durable_mark(*plan, options); !made.ok()) return made;
  Result<Database> opened = Database::open(dir.db_path(), options, failure, &containment);
  if (!opened.ok()) return opened.take_status();
  db = std::make_unique<Database>(opened.take());
  if (Status read = read_meta(plan->next_id_min); !read.ok()) return read;
  if (Status same = check_last(applied, *plan); !same.ok()) return same;
  if (Status counted = count_rows(); !counted.ok()) return counted;
  if (Status begun = begin_epoch(); !begun.ok()) return begun;
  if (Status begun = begin_durable_mark(); !begun.ok()) return begun;
  if (Status finished = finish_forced(); !finished.ok()) return finished;
  if (Status read = read_ended_spans(); !read.ok()) return read;
  if (Status polled = poll_disk_space(); !polled.ok()) return polled;
  return failure.arm();
}

Status Store::Impl::prepare_disk_space() {
  const Result<Space> disk = disk_size_of(dir.path());
  if (!disk.ok()) return disk.status();
  // No ballast asks for nothing of the disk.
  const bool has_ballast = options.ballast_bytes != derived && options.ballast_bytes > 0;
  const bool is_set =
      options.low_water_bytes != derived || has_ballast || options.low_water_files != derived;
  fit_to_disk(options, disk->bytes, disk->files);
  if (Status works = check_space_options(options, *disk); is_set && !works.ok()) return works;
  space.emplace(dir, options);
  return {};
}

Status Store::Impl::create() {
  if (dir.has_db()) return {};
  if (Status made = space->ensure_space_for_start(0); !made.ok()) return made;
  return create_db(dir, options, failure);
}

Status Store::Impl::poll_disk_space() {
  if (Status polled = space->poll(db->log_bytes()); !polled.ok()) return polled;
  db->limit_compactions(space->free_bytes(), reserved_space_bytes);
  return {};
}

void Store::Impl::poll_write_backlog() {
  const WriteBacklog backlog = db->write_backlog();
  const bool before = write_stalled.load(std::memory_order_relaxed);
  const uint64_t log_bytes = db->log_bytes();
  const bool now = must_stall(before, backlog) || space->must_shorten(log_bytes);
  if (now == before) return;
  write_stalled.store(now, std::memory_order_relaxed);
  inform(now ? "store.behind" : "store.caught_up",
         fmt::format("memtables={} tables={} log_bytes={}", backlog.memtables, backlog.tables,
                     log_bytes));
}

// Judges the log and the tables before RocksDB changes either. Truncating first and looking
// afterwards would destroy what a refused start must leave for the operator.
Result<RecoveryPlan> Store::Impl::recover(const StartReview& review) {
  Result<RecoveryPlan> plan = plan_recovery(dir.db_path(), options, failure, Purpose::Write);
  if (!plan.ok()) return plan;
  if (Status prepared = prepare_recovery(*plan, review); !prepared.ok()) return prepared;
  if (Status done = truncate_files(dir.db_path(), options, *plan); !done.ok()) return done;
  return plan;
}

// The database is first opened read-only, as it will be after the truncations, in the cases where
// these could do harm: a MANIFEST is truncated only if the database opens without its end, tables
// of another format are opened only if the log completes a migration, and a start that may accept a
// loss goes on only if the rows load, also where nothing is lost. A review may ask for it, too.
Status Store::Impl::prepare_recovery(RecoveryPlan& plan, const StartReview& review) {
  std::optional<Database> view;
  const auto open = [&]() -> Status {
    Result<Database> opened = open_view(dir.db_path(), options, failure, plan);
    if (!opened.ok()) return opened.take_status();
    view.emplace(opened.take());
    return {};
  };
  const bool may_lose = plan.is_forced() || options.recover != Recover::Strict;
  if (plan.current || plan.manifest_truncation || plan.is_old || plan.has_other_families ||
      may_lose) {
    if (Status opened = open(); !opened.ok()) return opened;
  }
  const auto load = [&](const LoadSink& sink) {
    Status opened = view ? Status() : open();
    return opened.ok() ? load_foreseen(*view, plan.compares_bodies(), sink) : opened;
  };
  if (review) {
    Status accepted = review(plan.log.last ? plan.log.last->now : 0, load);
    if (!accepted.ok()) return accepted;
  }
  if (plan.is_forced()) {
    if (Status begun = begin_forced(*view, plan); !begun.ok()) return begun;
  } else if (may_lose) {
    const Result<ForcedOutcome> outcome = foresee(*view, false);
    if (!outcome.ok()) return outcome.status();
  }
  return view ? view->close() : Status();
}

Status Store::Impl::read_meta(JobId next_id_min) {
  const Result<StoredFormat> found = read_format(*db);
  if (!found.ok()) return found.status();
  if (Status known = check_format(*found, options); !known.ok()) return known;
  if (Status whole = check_families(*db, options); !whole.ok()) return whole;
  format = found->version;
  const Result<CommitRow> commit = read_commit(*db);
  if (!commit.ok()) return commit.status();
  const Result<JobId> next_id = find_next_id(*db);
  if (!next_id.ok()) return next_id.status();
  applied = *commit;
  stored_next_id = *next_id;
  opening = {.epoch = applied.epoch + 1,
             .last_index = applied.index,
             .last_now = applied.now,
             .next_id = std::max(*next_id, next_id_min)};
  Result<std::string> cluster = read_cluster_id(*db);
  if (!cluster.ok()) return cluster.status();
  cluster_id = cluster.take();
  const rocksdb::Status identified = (*db)->GetDbIdentity(identity);
  identity = identity_or_none(std::move(identity));
  return from_rocksdb(identified).with("read the identity");
}

// The count is exact here, because RocksDB has flushed the log to tables while it opened.
Status Store::Impl::count_rows() {
  for (const Family family : counted_families) {
    const Result<TableCounts> tables = db->count_tables(family);
    if (!tables.ok()) return tables.status();
    rows[place_of(family)] = tables->rows();
  }
  return {};
}

// The first row of an epoch says that everything before it is durable. That is true here, because
// RocksDB has flushed the log that it replayed.
Status Store::Impl::begin_epoch() {
  applied.epoch = opening.epoch;
  applied.known_durable = applied.index;
  writes.Clear();
  add_commit_row();
  if (Status begun = write(true); !begun.ok() || opening.next_id == stored_next_id) return begun;
  // The next id is a second record, because a record that opens an epoch has exactly one row.
  writes.Clear();
  add_commit_row();
  add_meta(MetaTag::NextId, view(encode_next_id(opening.next_id)));
  return write(true);
}

// The mark is made at the end of open(), when the first record of the epoch is durable. The mark
// before it may name more than the log holds, if the options accepted a loss.
Status Store::Impl::begin_durable_mark() {
  const LogProgress::Place synced = db->synced_log();
  CHECK(synced.number != 0);
  Result<std::unique_ptr<DurableMarkFile>> made =
      DurableMarkFile::create(options.env, dir.path(),
                              {.epoch = durable.epoch,
                               .index = durable.index,
                               .log_number = synced.number,
                               .log_bytes = synced.bytes});
  if (!made.ok()) return made.take_status();
  durable_mark = made.take();
  return {};
}

void Store::Impl::inform(std::string_view at, std::string_view fields) const {
  if (options.events.info) options.events.info(at, fields);
}

Store::Store(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Store::~Store() = default;

const Options& Store::options() const {
  return impl_->options;
}
const Opening& Store::opening() const {
  return impl_->opening;
}
const std::string& Store::identity() const {
  return impl_->identity;
}
const std::string& Store::cluster_id() const {
  return impl_->cluster_id;
}

Status Store::join_cluster(const std::string& id) {
  Impl& impl = *impl_;
  CHECK(impl.cluster_id.empty());
  impl.writes.Clear();
  impl.add_commit_row();
  impl.add_meta(MetaTag::Cluster, encode_cluster_id(id));
  if (Status written = impl.write(true); !written.ok()) return written;
  impl.cluster_id = id;
  return {};
}

Status Store::begin_cluster(const std::string& id, JobId next_id) {
  Impl& impl = *impl_;
  CHECK(next_id >= impl.opening.next_id);
  impl.writes.Clear();
  impl.add_commit_row();
  impl.add_meta(MetaTag::Cluster, encode_cluster_id(id));
  impl.add_meta(MetaTag::NextId, view(encode_next_id(next_id)));
  if (Status written = impl.write(true); !written.ok()) return written;
  impl.cluster_id = id;
  return {};
}

Result<Opening> Store::reached() const {
  const Impl& impl = *impl_;
  const Result<JobId> next_id = find_next_id(*impl.db);
  if (!next_id.ok()) return next_id.status();
  return Opening{.epoch = impl.opening.epoch,
                 .last_index = impl.applied.index,
                 .last_now = impl.applied.now,
                 .next_id = std::max(*next_id, impl.opening.next_id)};
}

bool Store::failed() const {
  return impl_->failure.failed();
}
uint64_t Store::bytes_written() const {
  return impl_->bytes_written.load(std::memory_order_relaxed);
}
SpaceState Store::space_state() const {
  return impl_->space->state();
}
DiskLeft Store::disk_left() const {
  return impl_->space->left();
}
std::string rocksdb_version() {
  return rocksdb::GetRocksVersionAsString(true);
}
uint64_t Store::disk_free_bytes() const {
  return impl_->space->free_bytes();
}
std::optional<uint64_t> Store::disk_free_files() const {
  const uint64_t files = impl_->space->free_files();
  return files == unlimited_files ? std::nullopt : std::optional(files);
}
bool Store::is_scarce() const {
  return impl_->space->is_scarce();
}
void Store::make_ballast() {
  impl_->space->make_ballast();
}
Status Store::poll_disk_space() {
  return impl_->fail_on_error(impl_->poll_disk_space());
}
bool Store::write_stalled() const {
  return impl_->write_stalled.load(std::memory_order_relaxed);
}
void Store::poll_write_backlog() {
  impl_->poll_write_backlog();
}
void Store::poll_figures() {
  const DatabaseFigures figures = read_figures(*impl_->db);
  const std::lock_guard lock(impl_->figures_mutex);
  impl_->figures = figures;
}
DatabaseFigures Store::figures() const {
  const std::lock_guard lock(impl_->figures_mutex);
  return impl_->figures;
}
uint64_t Store::progress() const {
  return impl_->db->progress();
}
LogFiles Store::log_files() const {
  return list_log_files(impl_->dir.db_path());
}

Snapshot Store::snapshot() const {
  return Snapshot(**impl_->db);
}

Result<Body> Store::read_body(JobId id, const Snapshot* snapshot) const {
  rocksdb::ReadOptions options;
  if (snapshot != nullptr) options.snapshot = snapshot->at_;
  bool is_of_table = false;
  Result<Body> body = get_body(*impl_->db, options, id, is_of_table);
  if (!is_of_table) return body;
  // The damaged block need not be the body's: it may be one of a newer table that could have held
  // its deletion. Once the block is contained, the read goes past it. A disk that cannot read the
  // rest of the table either is no damage, but a disk that is gone.
  impl_->containment.suspect(Family::Bodies, id, id);
  if (!impl_->containment.check_suspects(**impl_->db)) return body;
  return get_body(*impl_->db, options, id, is_of_table);
}

Result<std::vector<Note>> Store::read_notes(JobId id, const Snapshot* snapshot) const {
  rocksdb::ReadOptions options;
  if (snapshot != nullptr) options.snapshot = snapshot->at_;
  bool is_of_table = false;
  Result<NotesFound> found = store::read_notes(*impl_->db, options, id, is_of_table);
  if (is_of_table) {
    // As in read_body().
    impl_->containment.suspect(Family::Notes, id, id);
    if (impl_->containment.check_suspects(**impl_->db)) {
      found = store::read_notes(*impl_->db, options, id, is_of_table);
    }
  }
  if (!found.ok()) return found.take_status();
  if (!found->problems.empty()) impl_->report_damaged_notes(id, found->problems);
  return std::move(found->notes);
}

void Store::Impl::report_damaged_notes(JobId id, const std::vector<Status>& problems) {
  constexpr size_t reported_max = 1000;  // No further jobs are reported.
  {
    const std::lock_guard lock(damaged_notes_mutex);
    if (damaged_notes.size() >= reported_max || !damaged_notes.insert(id).second) return;
  }
  for (const Status& problem : problems) {
    inform("store.damaged_note",
           fmt::format("job={} problem={}", id, logfmt_text(problem.message())));
  }
}

std::optional<Body> Store::body_in_memory(JobId id) const {
  rocksdb::ReadOptions options;
  options.read_tier = rocksdb::kBlockCacheTier;
  bool is_of_table = false;
  Result<Body> body = get_body(*impl_->db, options, id, is_of_table);
  return body.ok() ? std::optional(body.take()) : std::nullopt;
}

Status Store::close(JobId next_id, Nanos now) {
  Impl& impl = *impl_;
  CHECK(next_id >= impl.opening.next_id);
  impl.applied.known_durable = impl.applied.index;
  impl.applied.now = std::max(impl.applied.now, now);
  impl.writes.Clear();
  impl.add_commit_row();
  impl.add_meta(MetaTag::NextId, view(encode_next_id(next_id)));
  if (Status written = impl.write(true); !written.ok()) return written;
  if (Status flushed = flush(); !flushed.ok()) return flushed;
  // One record stays in the log, so that a start notices tables that were lost since. An empty log
  // would fit any state of the tables. The row must not look like one that opens an epoch, because
  // such a row says that everything before it is durable.
  impl.applied.known_durable = impl.applied.index - std::min<BatchIndex>(impl.applied.index, 1);
  impl.writes.Clear();
  impl.add_commit_row();
  if (Status written = impl.write(true); !written.ok()) return written;
  if (Status synced = sync_durable_mark(); !synced.ok()) return synced;
  // Nothing is written between the two, so that this one puts the mark into the other slot, too.
  if (Status copied = sync_durable_mark(); !copied.ok()) return copied;
  return impl.db->close();
}

Snapshot::Snapshot(rocksdb::DB& db) : db_(&db), at_(db.GetSnapshot()) {}
Snapshot::Snapshot(Snapshot&& other) noexcept
    : db_(other.db_), at_(std::exchange(other.at_, nullptr)) {}
Snapshot& Snapshot::operator=(Snapshot&& other) noexcept {
  std::swap(db_, other.db_);
  std::swap(at_, other.at_);
  return *this;
}
Snapshot::~Snapshot() {
  if (at_ != nullptr) db_->ReleaseSnapshot(at_);
}

}  // namespace perennial::store
