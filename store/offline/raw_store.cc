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
#include "store/rocks/meta_rows.h"
#include "store/rocks/observer.h"
#include "store/space/room.h"
#include "store/types/rocks_status.h"

namespace perennial::store {
namespace {

// In the data directory's own `checkpoints`.
Status remove_half_made(const CheckpointCut& cut) {
  const CheckpointOwner owner = {.database = cut.database, .has_unmarked = true};
  const auto removed = remove_partial_checkpoints(cut.dir, owner, cut.env);
  return removed.ok() ? Status() : removed.status();
}

// A flush that was killed leaves a table that belongs to nothing, and perhaps half of one.
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

  Status look();
  Status begin();
  Status begin_epoch();
  Status write(rocksdb::WriteBatch& batch);
  rocksdb::WriteBatch new_batch() const;
  rocksdb::ColumnFamilyHandle* meta() const { return db->family(Family::Meta); }

  store::Options options;
  DataDir dir;
  Failure failure;
  StoredFormat format;
  std::set<std::string> tables;  // Those that the database consists of.
  std::unique_ptr<Database> db;
  CommitRow last;
};

Result<std::unique_ptr<RawStore>> RawStore::open(const Options& options) {
  ::umask(0077);  // For all files made from here on, by RocksDB too.
  const std::string doing = "open data directory " + options.data_dir;
  // DataDir would make it.
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
                        .env = options.env,
                        .events = options.events};
  auto impl = std::make_unique<Impl>(std::move(how), dir.take());
  if (Status looked = impl->look(); !looked.ok()) return std::move(looked).with(doing);
  return std::unique_ptr<RawStore>(new RawStore(std::move(impl)));
}

Status RawStore::Impl::look() {
  const Result<uint64_t> disk_bytes = disk_bytes_of(dir.path());
  if (!disk_bytes.ok()) return disk_bytes.status();
  fit_to_disk(options, *disk_bytes);
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
  const CheckpointCut cut = {.dir = impl_->dir.path() + "/checkpoints",
                             .name = checkpoint_name(now),
                             .created = now,
                             .server_version = server_version,
                             .database = database.take(),
                             .index = impl_->last.index,
                             .format = impl_->format.version,
                             .env = impl_->options.env};
  const std::string partial = partial_path(cut);
  const Result<bool> has_dir = tree.exists(cut.dir);
  if (!has_dir.ok()) return has_dir.status();
  Status done = *has_dir ? Status() : tree.make_dir(cut.dir);
  if (done.ok()) done = tree.sync_dir(impl_->dir.path());
  // The lock is held, so nobody is making one.
  if (done.ok()) done = remove_half_made(cut);
  if (done.ok()) done = tree.make_dir(partial);
  if (done.ok()) done = tree.make_dir(partial + "/db");
  const auto is_rubbish = [&](const std::string& name) { return !impl_->tables.contains(name); };
  if (done.ok()) {
    done = copy_database(tree, impl_->dir.db_path(), partial + "/db", false, is_rubbish);
  }
  if (!done.ok()) {
    ignore(tree.remove(partial), "there is a failure to report already");
    return std::move(done).with("make a checkpoint");
  }
  const Result<CheckpointManifest> made = complete_checkpoint(cut);
  if (!made.ok()) return made.status();
  return cut.dir + "/" + cut.name;
}

Status RawStore::begin() {
  return impl_->begin().with("open data directory " + impl_->dir.path());
}

// As Store::open() does.
Status RawStore::Impl::begin() {
  const Result<RecoveryPlan> plan = plan_recovery(dir.db_path(), options, failure);
  if (!plan.ok()) return plan.status();
  if (Status cut = make_cuts(dir.db_path(), options, *plan); !cut.ok()) return cut;
  Result<Database> opened = Database::open(dir.db_path(), options, failure);
  if (!opened.ok()) return opened.take_status();
  db = std::make_unique<Database>(opened.take());
  const Result<CommitRow> commit = read_commit(*db);
  if (!commit.ok()) return commit.status();
  if (Status same = check_last(*commit, *plan); !same.ok()) return same;
  last = *commit;
  return begin_epoch();
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
  const auto found = std::ranges::find(family_names, name);
  if (found == family_names.end()) return nullptr;
  return impl_->db->family(static_cast<Family>(found - family_names.begin()));
}

rocksdb::WriteBatch RawStore::new_batch() const {
  return impl_->new_batch();
}

Status RawStore::write(rocksdb::WriteBatch& batch, const MigrationRow& migration) {
  must(batch.Put(impl_->meta(), slice(view(meta_key(MetaTag::Migration))),
                 slice(encode(migration))));
  Status written = impl_->write(batch);
  if (written.ok()) impl_->format.migration = migration;
  return written;
}

Status RawStore::finish(uint32_t format) {
  rocksdb::WriteBatch batch = new_batch();
  must(batch.Delete(impl_->meta(), slice(view(meta_key(MetaTag::Migration)))));
  must(batch.Put(impl_->meta(), slice(view(meta_key(MetaTag::FormatVersion))),
                 slice(view(encode_format_version(format)))));
  Status written = impl_->write(batch);
  if (written.ok()) impl_->format = {.version = format, .migration = {}};
  return written;
}

// As Store::close() does: what bears witness in the log must not look like the begin of an epoch.
Status RawStore::close() {
  const std::vector<rocksdb::ColumnFamilyHandle*> families = [&] {
    std::vector<rocksdb::ColumnFamilyHandle*> out;
    out.reserve(std::size(family_names));
    for (const std::string_view name : family_names) out.push_back(family(name));
    return out;
  }();
  Status done = from_rocksdb((*impl_->db)->Flush({}, families)).with("flush");
  if (!done.ok()) return done;
  impl_->last.known_durable = impl_->last.index - std::min<BatchIndex>(impl_->last.index, 1);
  rocksdb::WriteBatch batch = new_batch();
  if (Status written = impl_->write(batch); !written.ok()) return written;
  return impl_->db->close();
}

}  // namespace perennial::store
