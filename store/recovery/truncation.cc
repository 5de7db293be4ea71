#include <algorithm>
#include <memory>
#include <string>

#include <fmt/format.h>
#include <rocksdb/env.h>
#include <rocksdb/file_system.h>

#include "engine/types/logfmt.h"
#include "store/disk/file_tree.h"
#include "store/recovery/recovery.h"
#include "store/rocks/log_files.h"
#include "store/types/file_system_of.h"
#include "store/types/rocks_status.h"

// Truncates files as a plan says: truncate_files() in recovery.h.
namespace perennial::store {
namespace {

Status truncate_in_place(rocksdb::FileSystem& fs, const std::string& path, uint64_t bytes) {
  std::unique_ptr<rocksdb::FSWritableFile> file;
  rocksdb::IOStatus status = fs.ReopenWritableFile(path, {}, &file, nullptr);
  if (status.ok()) status = file->Truncate(bytes, {}, nullptr);
  if (status.ok()) status = file->Fsync({}, nullptr);
  if (status.ok()) status = file->Close({}, nullptr);
  return from_rocksdb(status);
}

// Truncates a file. If a checkpoint holds a link to it, the database gets a shorter copy instead:
// truncating in place would shorten the checkpoint's file, too.
Status truncate(const std::string& path, uint64_t bytes, const Options& options) {
  rocksdb::FileSystem& fs = file_system_of(options.env);
  uint64_t links = 0;
  const auto counted = fs.NumFileLinks(path, {}, &links, nullptr);
  if (!counted.ok()) return from_rocksdb(counted);
  if (links <= 1) return truncate_in_place(fs, path, bytes);
  const FileTree tree(options.env);
  const std::string shorter = path + ".cut";
  if (Status copied = tree.copy(path, shorter, bytes); !copied.ok()) return copied;
  if (Status renamed = tree.rename(shorter, path); !renamed.ok()) return renamed;
  return tree.sync_dir(parent_of(path));
}

// Truncates the damaged file first, then moves the mark, and removes the later files last. A crash
// between two steps must leave a log that a start judges in the same way. Until the damaged file is
// truncated, the later files show that history is damaged there. If the later files were removed
// before the mark is moved, a start would find that the newest log file is missing, and refuse.
Status truncate_log(const std::string& db_path, const LogTruncation& truncation,
                    const Options& options) {
  rocksdb::FileSystem& fs = file_system_of(options.env);
  Status truncated = truncate(db_path + "/" + truncation.file, truncation.offset, options);
  if (!truncated.ok() || truncation.later_files.empty()) return truncated;
  const auto moved = move_log_mark(fs, db_path, log_index_of(truncation.file));
  if (!moved.ok()) return from_rocksdb(moved);
  const FileTree tree(options.env);
  if (Status synced = tree.sync_dir(db_path); !synced.ok()) return synced;
  for (const std::string& name : truncation.later_files) {
    const auto removed = fs.DeleteFile(db_path + "/" + name, {}, nullptr);
    if (!removed.ok()) return from_rocksdb(removed);
  }
  return tree.sync_dir(db_path);
}

bool is_in(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

// Cuts the log where the plan accepts a loss. The newest files come first and the damaged one last,
// so that a start after a crash finds the damage in the same place. Files that must be empty are
// made or emptied, and the mark of the newest file stays.
Status cut_log(const std::string& db_path, const LogJudgement& log, const Options& options) {
  const FileTree tree(options.env);
  std::vector<std::string> later;
  if (log.truncation) later = log.truncation->later_files;
  for (auto name = log.empty_files.rbegin(); name != log.empty_files.rend(); ++name) {
    const std::string path = db_path + "/" + *name;
    Status emptied = is_in(later, *name) ? truncate(path, 0, options) : tree.write(path, "");
    if (!emptied.ok()) return emptied;
  }
  if (Status synced = tree.sync_dir(db_path); !synced.ok()) return synced;
  for (auto name = later.rbegin(); name != later.rend(); ++name) {
    if (is_in(log.empty_files, *name)) continue;
    if (Status removed = tree.remove(db_path + "/" + *name); !removed.ok()) return removed;
  }
  if (Status synced = tree.sync_dir(db_path); !synced.ok()) return synced;
  if (!log.truncation) return {};
  return truncate(db_path + "/" + log.truncation->file, log.truncation->offset, options);
}

Status write_current(const FileTree& tree, const std::string& db_path,
                     const std::string& manifest) {
  const std::string path = db_path + "/CURRENT";
  Status done = tree.write(path + ".new", manifest + "\n");
  if (done.ok()) done = tree.rename(path + ".new", path);
  return done.ok() ? tree.sync_dir(db_path) : done;
}

void inform(const Options& options, std::string_view at, std::string_view fields) {
  if (options.events.info) options.events.info(at, fields);
}

}  // namespace

Status truncate_files(const std::string& db_path, const Options& options,
                      const RecoveryPlan& plan) {
  if (plan.current) {
    Status written = write_current(FileTree(options.env), db_path, plan.current->manifest);
    if (!written.ok()) return written;
    inform(options, "store.current_made", plan.current->fields());
  }
  if (!plan.mark_damage.empty()) {
    inform(options, "store.mark_damaged", fmt::format("problem={}", logfmt_text(plan.mark_damage)));
  }
  for (const std::string& loss : plan.log.losses) {
    inform(options, "store.log_forced", fmt::format("message={}", logfmt_text(loss)));
  }
  if (const auto& truncation = plan.manifest_truncation) {
    if (Status done = truncate(db_path + "/" + truncation->file, truncation->offset, options);
        !done.ok()) {
      return done;
    }
    inform(options, "store.manifest_cut", truncation->fields);
  }
  const auto& truncation = plan.log.truncation;
  Status done = !plan.log.losses.empty() ? cut_log(db_path, plan.log, options)
                : truncation             ? truncate_log(db_path, *truncation, options)
                                         : Status();
  if (done.ok() && truncation) inform(options, "store.log_cut", truncation->fields);
  return done;
}

}  // namespace perennial::store
