#include "store/offline/raw_store.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include <rocksdb/metadata.h>
#include <sys/stat.h>

#include "store/checkpoint/checkpoint.h"
#include "store/disk/database_copy.h"
#include "store/disk/identity.h"
#include "store/recovery/recovery.h"
#include "store/rocks/database.h"
#include "store/rocks/log_env.h"
#include "store/rocks/meta_rows.h"
#include "store/rocks/observer.h"
#include "store/space/disk_space.h"
#include "store/types/rocks_status.h"

namespace perennial::store {
namespace {

// Removes the partial checkpoints in the data directory's own `checkpoints`.
Status remove_partial(const CheckpointPlan& plan) {
  const CheckpointOwner owner = {.database = plan.database, .has_unmarked = true};
  const auto removed = remove_partial_checkpoints(plan.dir, owner, plan.env);
  return removed.ok() ? Status() : removed.status();
}

// Returns the tables that the MANIFEST names. A flush that was killed leaves a table, whole or
// partial, that the MANIFEST does not name.
std::set<std::string> tables_of(const Database& db) {
  std::vector<rocksdb::LiveFileMetaData> files;
  db->GetLiveFilesMetaData(&files);
  std::set<std::string> names;
  for (const rocksdb::LiveFileMetaData& file : files) names.insert(file.relative_filename);
  return names;
}

}  // namespace

struct RawStore::Impl {
  Impl(store::Options given, DataDir locked)
      : options(std::move(given)), dir(std::move(locked)), failure(options.events) {}

  Status inspect();
  Status begin();
  Status begin_epoch();
  // Writes or deletes the migration row, and writes the format version if one is given.
  Status note(std::optional<uint32_t> version, const std::optional<MigrationRow>& migration);
  Status drop_others();
  std::vector<std::string> others(uint32_t version) const;
  Status write(rocksdb::WriteBatch& batch);
  rocksdb::WriteBatch new_batch() const;
  rocksdb::ColumnFamilyHandle* meta() const { return db->family(Family::Meta); }

  store::Options options;
  DataDir dir;
  StoreFailure failure;
  StoredFormat format;
  std::set<std::string> tables;  // The tables that belong to the database.
  std::unique_ptr<Database> db;
  CommitRow last;
};

Result<std::unique_ptr<RawStore>> RawStore::open(const Options& options) {
  ::umask(0077);  // Applies to all files that are made from here on, also by RocksDB.
  const std::string doing = "open data directory " + options.data_dir;
  // DataDir::open() would make a missing directory.
  const Result<bool> is_there = FileTree(options.env).exists(options.data_dir + "/db");
  if (!is_there.ok()) return is_there.status();
  if (!*is_there) {
    return Status(StatusCode::NotFound, options.data_dir + " is no data directory: it holds no db");
  }
  Result<DataDir> dir = DataDir::open(options.data_dir);
  if (!dir.ok()) return dir.take_status();
  store::Options how = {.data_dir = options.data_dir,
                        .format = options.format_max,
                        .takes_older = true,
                        .families = options.families,
                        .env = options.env,
                        .events = options.events};
  auto impl = std::make_unique<Impl>(std::move(how), dir.take());
  if (Status inspected = impl->inspect(); !inspected.ok()) return std::move(inspected).with(doing);
  return std::unique_ptr<RawStore>(new RawStore(std::move(impl)));
}

Status RawStore::Impl::inspect() {
  const Result<Space> disk = disk_size_of(dir.path());
  if (!disk.ok()) return disk.status();
  fit_to_disk(options, disk->bytes, disk->files);
  const Result<RecoveryPlan> plan = plan_recovery(dir.db_path(), options, failure);
  if (!plan.ok()) return plan.status();
  Result<Database> view = open_view(dir.db_path(), options, failure, *plan);
  if (!view.ok()) return view.take_status();
  Result<StoredFormat> found = read_format(*view);
  if (!found.ok()) return found.take_status();
  format = found.take();
  const Result<CommitRow> commit = read_commit(*view);
  if (!commit.ok()) return commit.status();
  last = *commit;
  tables = tables_of(*view);
  return view->close();
}

Result<std::string> RawStore::make_checkpoint(Nanos now, const std::string& server_version) {
  CHECK(impl_->db == nullptr);
  const FileTree tree(impl_->options.env);
  Result<std::string> database = read_identity(impl_->dir.path(), impl_->options.env);
  if (!database.ok()) return database;
  const CheckpointPlan plan = {.dir = impl_->dir.path() + "/checkpoints",
                               .name = checkpoint_name(now),
                               .created = now,
                               .server_version = server_version,
                               .database = database.take(),
                               .index = impl_->last.index,
                               .format = impl_->format.version,
                               .env = impl_->options.env};
  const std::string partial = partial_path(plan);
  const Result<bool> has_dir = tree.exists(plan.dir);
  if (!has_dir.ok()) return has_dir.status();
  Status done = *has_dir ? Status() : tree.make_dir(plan.dir);
  if (done.ok()) done = tree.sync_dir(impl_->dir.path());
  // This process holds the lock, so no other process is making a checkpoint.
  if (done.ok()) done = remove_partial(plan);
  if (done.ok()) done = tree.make_dir(partial);
  if (done.ok()) done = tree.make_dir(partial + "/db");
  // A crash has left tables that no MANIFEST names; and a checkpoint has no mark of its newest log.
  const auto is_left_out = [&](const std::string& name) {
    return is_table(name) ? !impl_->tables.contains(name) : log_mark_of(name) != 0;
  };
  if (done.ok()) {
    done = copy_database(tree, impl_->dir.db_path(), partial + "/db", false, is_left_out);
  }
  if (!done.ok()) {
    ignore(tree.remove(partial), "there is a failure to report already");
    return std::move(done).with("make a checkpoint");
  }
  const Result<CheckpointManifest> made = complete_checkpoint(plan);
  if (!made.ok()) return made.status();
  return plan.dir + "/" + plan.name;
}

Status RawStore::begin() {
  return impl_->begin().with("open data directory " + impl_->dir.path());
}

// Does the same steps as Store::open().
Status RawStore::Impl::begin() {
  const Result<RecoveryPlan> plan = plan_recovery(dir.db_path(), options, failure, Purpose::Write);
  if (!plan.ok()) return plan.status();
  if (Status done = truncate_files(dir.db_path(), options, *plan); !done.ok()) return done;
  if (Status made = ensure_durable_mark(*plan, options); !made.ok()) return made;
  Result<Database> opened = Database::open(dir.db_path(), options, failure);
  if (!opened.ok()) return opened.take_status();
  db = std::make_unique<Database>(opened.take());
  const Result<CommitRow> commit = read_commit(*db);
  if (!commit.ok()) return commit.status();
  if (Status same = check_last(*commit, *plan); !same.ok()) return same;
  last = *commit;
  if (Status begun = begin_epoch(); !begun.ok()) return begun;
  const bool is_to_drop = format.migration && format.migration->to == format.version;
  return is_to_drop ? drop_others() : Status();
}

Status RawStore::Impl::begin_epoch() {
  ++last.epoch;
  last.known_durable = last.index;
  rocksdb::WriteBatch batch = new_batch();
  if (Status written = write(batch); !written.ok()) return written;
  return failure.arm();
}

rocksdb::WriteBatch RawStore::Impl::new_batch() const {
  rocksdb::WriteBatch batch;
  must(batch.Put(meta(), slice(view(meta_key(MetaTag::Commit))), slice(view(encode(last)))));
  return batch;
}

Status RawStore::Impl::write(rocksdb::WriteBatch& batch) {
  if (failure.failed()) return failure.refusal();
  rocksdb::WriteOptions how;
  how.sync = true;
  return from_rocksdb((*db)->Write(how, &batch)).with("write a batch");
}

RawStore::RawStore(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
RawStore::~RawStore() = default;

uint32_t RawStore::format() const {
  return impl_->format.version;
}
const std::optional<MigrationRow>& RawStore::migration() const {
  return impl_->format.migration;
}

rocksdb::DB& RawStore::db() const {
  CHECK(impl_->db != nullptr);
  return **impl_->db;
}

rocksdb::ColumnFamilyHandle* RawStore::family(std::string_view name) const {
  return impl_->db->family(name);
}

rocksdb::WriteBatch RawStore::new_batch() const {
  return impl_->new_batch();
}

// The migration row is written first. A program that knows only the old format would not know
// families that appear without that row.
Status RawStore::begin_step(uint32_t to) {
  for (const std::string_view name : families_of(to, impl_->options.families)) {
    if (impl_->db->has_family(name)) continue;
    if (!impl_->format.migration) {
      Status noted = impl_->note({}, MigrationRow{.to = to, .progress = {}});
      if (!noted.ok()) return noted;
    }
    // A step that has written rows has recorded progress: meta_rows.h.
    CHECK(impl_->format.migration->progress.empty());
    Status made = impl_->db->create_family(std::string(name), impl_->options);
    if (!made.ok()) return made;
  }
  return {};
}

Status RawStore::write(rocksdb::WriteBatch& batch, const MigrationRow& migration) {
  must(batch.Put(impl_->meta(), slice(view(meta_key(MetaTag::Migration))),
                 slice(encode(migration))));
  Status written = impl_->write(batch);
  if (written.ok()) impl_->format.migration = migration;
  return written;
}

Status RawStore::finish(uint32_t to) {
  if (impl_->others(to).empty()) return impl_->note(to, {});
  Status noted = impl_->note(to, MigrationRow{.to = to, .progress = {}});
  return noted.ok() ? impl_->drop_others() : noted;
}

Status RawStore::Impl::note(std::optional<uint32_t> version,
                            const std::optional<MigrationRow>& migration) {
  rocksdb::WriteBatch batch = new_batch();
  const Bytes<1> key = meta_key(MetaTag::Migration);
  if (migration) must(batch.Put(meta(), slice(view(key)), slice(encode(*migration))));
  if (!migration) must(batch.Delete(meta(), slice(view(key))));
  if (version) {
    must(batch.Put(meta(), slice(view(meta_key(MetaTag::FormatVersion))),
                   slice(view(encode_format_version(*version)))));
  }
  Status written = write(batch);
  if (!written.ok()) return written;
  format = {.version = version.value_or(format.version), .migration = migration};
  return {};
}

std::vector<std::string> RawStore::Impl::others(uint32_t version) const {
  const FamilyNames own = families_of(version, options.families);
  std::vector<std::string> out;
  for (const std::string& name : db->family_names()) {
    if (std::ranges::find(own, name) == own.end()) out.push_back(name);
  }
  return out;
}

// The flush comes before the families are dropped, because a start judges the MANIFEST by the
// format in the tables.
Status RawStore::Impl::drop_others() {
  Status done = from_rocksdb(db->flush()).with("flush");
  for (const std::string& name : others(format.version)) {
    if (done.ok()) done = db->drop_family(name);
  }
  return done.ok() ? note({}, {}) : done;
}

// Ends as Store::close() does: the last commit row in the log must not look like the beginning of
// an epoch, whose known_durable equals its index.
Status RawStore::close() {
  Status done = from_rocksdb(impl_->db->flush()).with("flush");
  if (!done.ok()) return done;
  impl_->last.known_durable = impl_->last.index - std::min<BatchIndex>(impl_->last.index, 1);
  rocksdb::WriteBatch batch = new_batch();
  if (Status written = impl_->write(batch); !written.ok()) return written;
  return impl_->db->close();
}

}  // namespace perennial::store
