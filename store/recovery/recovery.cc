#include "store/recovery/recovery.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <rocksdb/env.h>
#include <rocksdb/file_system.h>

#include "store/disk/durable_mark.h"
#include "store/disk/file_tree.h"
#include "store/format/skipped_ids.h"
#include "store/recovery/log_scan.h"
#include "store/recovery/manifest.h"
#include "store/rocks/database.h"
#include "store/rocks/log_env.h"
#include "store/rocks/log_files.h"
#include "store/rocks/meta_rows.h"
#include "store/rocks/observer.h"
#include "store/types/file_system_of.h"
#include "store/types/rocks_status.h"

namespace perennial::store {
namespace {

// Any damage may be cut out if enough stands before it to tell what the log must hold:
// store/README.md.
Status incomplete(const Manifest& manifest) {
  if (!manifest.damage) {
    return {StatusCode::Corruption,
            manifest.name + " is cut off: it does not name all families; restore a checkpoint"};
  }
  return {StatusCode::Corruption,
          fmt::format("{} is damaged at byte {}: {}; restore a checkpoint", manifest.name,
                      manifest.damage->offset, manifest.damage->problem)};
}

// What the tables alone say of their format.
struct Flushed {
  std::optional<CommitRow> commit;     // None in a database of which nothing was ever flushed.
  std::optional<StoredFormat> format;  // Likewise.
};

// The log may hold the end of a migration. But no family is dropped before the tables say that its
// end has come, and none is written to before it is there: raw_store.cc.
bool names_families(const Manifest& manifest, const Flushed& flushed, const Options& options) {
  if (flushed.format) return manifest.names_all(wanted_families(*flushed.format, options).needed);
  return std::ranges::any_of(options.families,
                             [&](FamilyNames names) { return manifest.names_all(names); });
}

std::optional<ManifestCut> cut_of(const Manifest& manifest) {
  if (!manifest.damage) return std::nullopt;
  const ManifestDamage& damage = *manifest.damage;
  return ManifestCut{
      .file = manifest.name,
      .offset = damage.offset,
      .fields = fmt::format("file={} offset={} dropped_bytes={} reason=\"{}\"", manifest.name,
                            damage.offset, damage.bytes, damage.problem)};
}

Result<Flushed> read_flushed(const Database& tables, const Options& options, bool& is_old) {
  const Result<TableCounts> meta = tables.count_tables(Family::Meta);
  if (!meta.ok()) return meta.status();
  if (meta->puts == 0) return Flushed();
  Result<StoredFormat> found = read_format(tables);
  if (!found.ok()) return found.take_status();
  // The log may end a migration, and never takes a newer format back.
  const bool is_newer = found->version > options.format;
  is_old = !is_newer && (found->version < options.format || found->migration);
  if (Status known = check_format(*found, options); !known.ok() && !is_old) return known;
  const Result<CommitRow> commit = read_commit(tables);
  if (!commit.ok()) return commit.status();
  return Flushed{.commit = *commit, .format = found.take()};
}

Result<Flushed> read_flushed(const std::string& db_path, const Options& options, Failure& failure,
                             RecoveryPlan& plan) {
  Result<Database> tables = Database::open_tables(db_path, options, failure, plan.view());
  if (!tables.ok()) return tables.take_status();
  Result<Flushed> flushed = read_flushed(*tables, options, plan.is_old);
  if (!flushed.ok()) return flushed;
  if (Status closed = tables->close(); !closed.ok()) return closed;
  return flushed;
}

// Of the log files that any family needs. A size that cannot be read counts for nothing here: what
// cannot be read is refused elsewhere.
Result<uint64_t> count_replay(rocksdb::FileSystem& fs, const std::string& db_path,
                              uint64_t needed_from, const View& view) {
  const Result<std::vector<LogFileName>> files = list_logs(fs, db_path, needed_from);
  if (!files.ok()) return files.status();
  uint64_t total = 0;
  for (const LogFileName& file : *files) {
    if (view.hidden.contains(file.name)) continue;
    uint64_t bytes = 0;
    const auto asked = fs.GetFileSize(db_path + "/" + file.name, {}, &bytes, nullptr);
    if (!asked.ok()) continue;
    const auto end = view.ends.find(file.name);
    total += end == view.ends.end() ? bytes : std::min(bytes, end->second);
  }
  return total;
}

Status truncate_in_place(rocksdb::FileSystem& fs, const std::string& path, uint64_t bytes) {
  std::unique_ptr<rocksdb::FSWritableFile> file;
  rocksdb::IOStatus status = fs.ReopenWritableFile(path, {}, &file, nullptr);
  if (status.ok()) status = file->Truncate(bytes, {}, nullptr);
  if (status.ok()) status = file->Fsync({}, nullptr);
  if (status.ok()) status = file->Close({}, nullptr);
  return from_rocksdb(status);
}

// A checkpoint may hold a link to a log file, and must keep all of it: then the database gets a
// shorter file of its own.
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

Status sync_names(rocksdb::FileSystem& fs, const std::string& path) {
  std::unique_ptr<rocksdb::FSDirectory> directory;
  rocksdb::IOStatus status = fs.NewDirectory(path, {}, &directory, nullptr);
  if (status.ok()) status = directory->Fsync({}, nullptr);
  return from_rocksdb(status);
}

// The damaged file first: until it ends where history does, the ones behind it are the proof of it.
// Then the mark, because a start that finds none of the file that it names takes it for lost.
Status cut_log(const std::string& db_path, const LogCut& cut, const Options& options) {
  rocksdb::FileSystem& fs = file_system_of(options.env);
  if (Status done = truncate(db_path + "/" + cut.file, cut.offset, options); !done.ok()) {
    return done;
  }
  if (cut.later_files.empty()) return {};
  const auto moved = move_log_mark(fs, db_path, log_index_of(cut.file));
  if (!moved.ok()) return from_rocksdb(moved);
  if (Status synced = sync_names(fs, db_path); !synced.ok()) return synced;
  for (const std::string& name : cut.later_files) {
    const auto removed = fs.DeleteFile(db_path + "/" + name, {}, nullptr);
    if (!removed.ok()) return from_rocksdb(removed);
  }
  return sync_names(fs, db_path);
}

// `problem`: why it cannot be read, where the options accept that.
Result<std::optional<DurableMark>> read_mark(const Options& options, std::string& problem) {
  Result<std::optional<DurableMark>> mark = read_durable_mark(options.env, options.data_dir);
  if (mark.ok() || mark.status().code() != StatusCode::Corruption) return mark;
  if (options.recover == Recover::Strict) {
    return Status(StatusCode::Corruption,
                  fmt::format("{}: {}", mark.status().message(), recovery_advice));
  }
  problem = mark.status().message();
  return std::optional<DurableMark>();
}

void inform(const Options& options, std::string_view at, std::string_view fields) {
  if (options.events.info) options.events.info(at, fields);
}

}  // namespace

View RecoveryPlan::view() const {
  View view;
  if (manifest_cut) view.ends[manifest_cut->file] = manifest_cut->offset;
  if (log.cut) {
    view.ends[log.cut->file] = log.cut->offset;
    view.hidden.insert(log.cut->later_files.begin(), log.cut->later_files.end());
  }
  return view;
}

Result<RecoveryPlan> plan_recovery(const std::string& db_path, const Options& options,
                                   Failure& failure) {
  rocksdb::FileSystem& fs = file_system_of(options.env);
  const Result<Manifest> manifest = read_manifest(fs, db_path);
  if (!manifest.ok()) return manifest.status();
  if (!manifest->says_enough()) return incomplete(*manifest);
  RecoveryPlan plan = {.manifest_cut = cut_of(*manifest),
                       .is_old = false,
                       .has_other_families = false,
                       .log = {},
                       .replay_bytes = 0};
  const Result<Flushed> flushed = read_flushed(db_path, options, failure, plan);
  if (!flushed.ok()) return flushed.status();
  if (!names_families(*manifest, *flushed, options)) return incomplete(*manifest);
  plan.has_other_families =
      manifest->names.size() > families_of(options.format, options.families).size();
  std::string no_mark;
  const Result<std::optional<DurableMark>> mark = read_mark(options, no_mark);
  if (!mark.ok()) return mark.status();
  Result<LogJudgement> log = judge_log(
      fs, db_path, *manifest, {.flushed = flushed->commit, .durable = *mark}, options.recover);
  if (!log.ok()) return log.take_status();
  plan.log = log.take();
  if (!no_mark.empty()) plan.log.losses.push_back(std::move(no_mark));
  if (*mark) plan.next_id_min = (*mark)->next_id_min;
  const Result<uint64_t> replay_bytes =
      count_replay(fs, db_path, manifest->needed_from(), plan.view());
  if (!replay_bytes.ok()) return replay_bytes.status();
  plan.replay_bytes = *replay_bytes;
  return plan;
}

Result<JobId> next_id_of(const Database& db, const RecoveryPlan& plan) {
  const Result<JobId> found = find_next_id(db);
  if (!found.ok() || plan.log.losses.empty()) return found;
  return skip_ids(*found);
}

Status note_loss(const RecoveryPlan& plan, JobId next_id, const Options& options) {
  const CommitRow last = plan.log.last.value_or(CommitRow());
  const auto noted =
      DurableMarkFile::create(options.env, options.data_dir,
                              {.epoch = last.epoch, .index = last.index, .next_id_min = next_id});
  return noted.ok() ? Status() : noted.status();
}

Result<Database> open_view(const std::string& db_path, const Options& options, Failure& failure,
                           const RecoveryPlan& plan) {
  Result<Database> db = Database::open_to_read(db_path, options, failure, plan.view());
  if (!db.ok()) return db;
  if (Status known = check_version(*db, options); !known.ok()) return known;
  if (Status whole = check_families(*db, options); !whole.ok()) return whole;
  const Result<CommitRow> commit = read_commit(*db);
  if (!commit.ok()) return commit.status();
  if (Status same = check_last(*commit, plan); !same.ok()) return same;
  return db;
}

Status make_cuts(const std::string& db_path, const Options& options, const RecoveryPlan& plan) {
  for (const std::string& loss : plan.log.losses) {
    inform(options, "store.log_forced", fmt::format("message=\"{}\"", loss));
  }
  if (const auto& cut = plan.manifest_cut) {
    if (Status done = truncate(db_path + "/" + cut->file, cut->offset, options); !done.ok()) {
      return done;
    }
    inform(options, "store.manifest_cut", cut->fields);
  }
  if (const auto& cut = plan.log.cut) {
    if (Status done = cut_log(db_path, *cut, options); !done.ok()) return done;
    inform(options, "store.log_cut", cut->fields);
  }
  return {};
}

Status check_last(const CommitRow& found, const RecoveryPlan& plan) {
  const std::optional<CommitRow>& last = plan.log.last;
  if (last && found == *last) return {};
  return {StatusCode::Corruption,
          fmt::format("the database ends with commit {} of epoch {}, and its log with {} of {}",
                      found.index, found.epoch, last ? last->index : 0, last ? last->epoch : 0)};
}

}  // namespace perennial::store
