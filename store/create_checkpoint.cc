#include <cerrno>
#include <limits>
#include <memory>

#include <fmt/format.h>
#include <rocksdb/utilities/checkpoint.h>
#include <sys/stat.h>

#include "store/damage/damage_record.h"
#include "store/disk/data_dir.h"
#include "store/disk/file_tree.h"
#include "store/rocks/log_files.h"
#include "store/store_impl.h"
#include "store/types/rocks_status.h"

namespace perennial::store {
namespace {

Result<dev_t> device_of(const std::string& path) {
  struct stat found = {};
  if (::stat(path.c_str(), &found) == 0) return found.st_dev;
  return from_errno(errno, "look at " + path);
}

// Tables cannot be linked to another file system. Copying them is rejected, because it could take
// minutes, and the thread that makes the checkpoint could not write batches meanwhile.
Status check_same_file_system(const std::string& dir, const std::string& db_path) {
  const Result<dev_t> there = device_of(dir);
  if (!there.ok()) return there.status();
  const Result<dev_t> here = device_of(db_path);
  if (!here.ok()) return here.status();
  if (*there == *here) return {};
  return {StatusCode::InvalidArgument,
          fmt::format("checkpoints in {} are impossible, because it is on another file system than "
                      "the data directory: let checkpoint_dir be on the same one, and copy "
                      "finished checkpoints away",
                      dir)};
}

// Copies the log instead of flushing it, which RocksDB's default would do. Copying takes
// milliseconds, and a flush of all families takes tens of milliseconds.
Status copy_database(rocksdb::DB& db, const std::string& to) {
  rocksdb::Checkpoint* made = nullptr;
  const auto created = rocksdb::Checkpoint::Create(&db, &made);
  const std::unique_ptr<rocksdb::Checkpoint> checkpoint(made);
  if (!created.ok()) return from_rocksdb(created);
  return from_rocksdb(checkpoint->CreateCheckpoint(to, std::numeric_limits<uint64_t>::max()));
}

// A start on a copy has to know of the damage, too.
Status copy_damage_record(const FileTree& tree, const std::string& from, const std::string& to) {
  const std::string name = std::string("/") + damage_record_name;
  const Result<bool> is_there = tree.exists(from + name);
  if (!is_there.ok()) return is_there.status();
  if (!*is_there) return {};
  if (Status copied = tree.copy(from + name, to + name); !copied.ok()) return copied;
  return tree.sync_dir(to);
}

// RocksDB leaves out a log file without a record, although the MANIFEST may name it. The newest log
// file has no record from a flush until the next batch. No other file is ever empty, because
// RocksDB begins a file only when the one before it holds a record. The copy gets an empty file,
// too. Accepting a copy without it is rejected, because then a copy that has lost its newest log
// file would also be accepted. REQUIRES: nothing was written since the database was copied.
Status add_empty_log(const FileTree& tree, const std::string& db_path, const std::string& to) {
  const uint64_t newest = list_log_files(db_path).newest_index;
  const std::string path = fmt::format("{}/{:06}.log", to, newest);
  const Result<bool> is_there = tree.exists(path);
  if (!is_there.ok()) return is_there.status();
  return newest == 0 || *is_there ? Status() : tree.write(path, "");
}

}  // namespace

Status Store::create_checkpoint(const std::string& dir) {
  const std::string doing = "cut a checkpoint";
  const FileTree tree(impl_->options.env);
  const std::string parent = parent_of(dir);
  Status done = check_same_file_system(parent, impl_->dir.db_path());
  if (!done.ok()) return std::move(done).with(doing);
  const Result<bool> is_there = tree.exists(dir);
  if (!is_there.ok()) return Status(is_there.status()).with(doing);
  if (*is_there) return {StatusCode::InvalidArgument, doing + ": " + dir + " is there already"};
  // RocksDB links log files that it has closed, and does not sync them: RocksDB pull request 12731.
  done = sync();
  if (done.ok()) done = tree.make_dir(dir);
  if (done.ok()) {
    done = copy_database(**impl_->db, dir + "/db");
    if (done.ok()) done = add_empty_log(tree, impl_->dir.db_path(), dir + "/db");
    if (done.ok()) done = copy_damage_record(tree, impl_->dir.db_path(), dir + "/db");
    if (!done.ok()) ignore(tree.remove(dir), "the failure of the copy is reported");
  }
  // RocksDB syncs only the directory of the copy. complete_checkpoint() syncs those above it,
  // because no batch waits for that function.
  return std::move(done).with(doing);
}

}  // namespace perennial::store
