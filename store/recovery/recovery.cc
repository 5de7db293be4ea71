#include "store/recovery/recovery.h"

#include <algorithm>
#include <array>
#include <memory>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <rocksdb/env.h>
#include <rocksdb/file_system.h>

#include "engine/types/logfmt.h"
#include "store/disk/durable_mark.h"
#include "store/disk/set_aside.h"
#include "store/format/skipped_ids.h"
#include "store/recovery/log_scan.h"
#include "store/recovery/manifest.h"
#include "store/rocks/database.h"
#include "store/rocks/log_env.h"
#include "store/rocks/meta_rows.h"
#include "store/rocks/observer.h"
#include "store/rocks/table_check.h"
#include "store/types/file_system_of.h"
#include "store/types/rocks_status.h"

namespace perennial::store {
namespace {

// Refuses a MANIFEST that does not say enough to judge the log. Damage behind such a part may be
// truncated: README.md, "The rules".
Status incomplete(const Manifest& manifest) {
  if (!manifest.damage) {
    return {StatusCode::Corruption,
            manifest.name + " is cut off: it does not name all families; restore a checkpoint"};
  }
  return {StatusCode::Corruption, manifest.damage_text() + "; restore a checkpoint"};
}

// What the tables say without the log. Both are none if nothing was ever flushed.
struct Flushed {
  std::optional<CommitRow> commit;
  std::optional<StoredFormat> format;
};

// Whether the MANIFEST names all families that the format in the tables needs. The log may hold the
// end of a migration. The check stays right, because raw_store.cc drops a family only when the
// tables say that the migration is done, and writes to a family only when it exists.
bool names_families(const Manifest& manifest, const Flushed& flushed, const Options& options) {
  if (flushed.format) return manifest.names_all(wanted_families(*flushed.format, options).needed);
  return std::ranges::any_of(options.families,
                             [&](FamilyNames names) { return manifest.names_all(names); });
}

bool has_other_families(const Manifest& manifest, const Options& options) {
  const FamilyNames own = families_of(options.format, options.families);
  return std::ranges::any_of(manifest.names, [&](const auto& family) {
    return std::ranges::find(own, family.second) == own.end();
  });
}

std::optional<ManifestTruncation> truncation_of(const Manifest& manifest) {
  if (!manifest.damage) return std::nullopt;
  const ManifestDamage& damage = *manifest.damage;
  return ManifestTruncation{
      .file = manifest.name,
      .offset = damage.offset,
      .fields = fmt::format("file={} offset={} dropped_bytes={} reason={}", manifest.name,
                            damage.offset, damage.bytes, logfmt_text(damage.problem))};
}

Result<Flushed> read_flushed(const Database& tables, const Options& options, bool& is_old) {
  const Result<TableCounts> meta = tables.count_tables(Family::Meta);
  if (!meta.ok()) return meta.status();
  if (meta->puts == 0) return Flushed();
  Result<StoredFormat> found = read_format(tables);
  if (!found.ok()) return found.take_status();
  // The log may hold the end of a migration, so an older format is no error yet. A newer format is
  // refused at once, because nothing in a log lowers it.
  const bool is_newer = found->version > options.format;
  is_old = !is_newer && (found->version < options.format_min || found->migration);
  if (Status known = check_format(*found, options); !known.ok() && !is_old) return known;
  const Result<CommitRow> commit = read_commit(tables);
  if (!commit.ok()) return commit.status();
  return Flushed{.commit = *commit, .format = found.take()};
}

// A node of a cluster replaces what it cannot load by a copy of another node's, so it need not be
// repaired.
Status read_states(const Database& tables) {
  const Result<std::string> cluster = read_cluster_id(tables);
  if (!cluster.ok()) return cluster.status();
  if (!cluster->empty()) return {};
  constexpr std::array states = {Family::Ready, Family::Reserved, Family::Delayed, Family::Buried};
  return read_each_block(*tables, states);
}

Result<Flushed> read_flushed(const std::string& db_path, const Options& options,
                             StoreFailure& failure, RecoveryPlan& plan, Purpose purpose) {
  Result<Database> tables = Database::open_tables(db_path, options, failure, plan.view());
  if (!tables.ok()) return tables.take_status();
  Result<Flushed> flushed = read_flushed(*tables, options, plan.is_old);
  if (!flushed.ok()) return flushed;
  const Status whole = purpose == Purpose::Write ? read_states(*tables) : Status();
  if (!whole.ok()) return whole;
  if (Status closed = tables->close(); !closed.ok()) return closed;
  return flushed;
}

// Sums the bytes of the log files that any family needs. A file whose size cannot be read counts as
// empty, because the scan of the log reports it.
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

// Reads the durable mark. A database that was started before has one: without it nothing would show
// that the log has lost its end. The first versions, which wrote format 1, made none.
Result<std::optional<DurableMark>> find_mark(const std::string& db_path, const Options& options,
                                             const Flushed& flushed, std::string& damage) {
  Result<std::optional<DurableMark>> mark =
      read_durable_mark(options.env, options.data_dir, &damage);
  if (!mark.ok() || *mark) return mark;
  const uint32_t format = flushed.format ? flushed.format->version : options.format;
  if (format == 1) return mark;
  const Result<uint64_t> newest_log = find_newest_log(file_system_of(options.env), db_path);
  if (!newest_log.ok()) return newest_log.status();
  if (*newest_log == 0) return mark;
  return Status(StatusCode::Corruption,
                fmt::format("{}/durable is missing, which says how far the log was synced; commits "
                            "could be lost",
                            options.data_dir));
}

// If the mark cannot be read or is missing and the options accept that, it returns none and sets
// `problem`. `damage` is that of read_durable_mark().
Result<std::optional<DurableMark>> read_mark(const std::string& db_path, const Options& options,
                                             const Flushed& flushed, std::string& problem,
                                             std::string& damage) {
  Result<std::optional<DurableMark>> mark = find_mark(db_path, options, flushed, damage);
  if (mark.ok() || mark.status().code() != StatusCode::Corruption) return mark;
  if (options.recover == Recover::Strict) {
    return Status(StatusCode::Corruption,
                  fmt::format("{}: {}", mark.status().message(), recovery_advice));
  }
  problem = mark.status().message();
  return std::optional<DurableMark>();
}

// Between the cut and the end of a forced start, the rows of bodies need not fit the jobs.
Result<bool> is_unfinished(const Options& options) {
  Result<bool> found = SetAside(options.env, options.data_dir).is_unfinished();
  if (!found.ok() || !*found || options.recover != Recover::Strict) return found;
  return Status(StatusCode::Corruption,
                fmt::format("a start with --recover=point-in-time was interrupted: start with it "
                            "again; the files from before are in {}/{}",
                            options.data_dir, set_aside_name));
}

}  // namespace

std::string CurrentRepair::fields() const {
  return fmt::format("problem={} now_names={}", logfmt_text(problem), manifest);
}

View RecoveryPlan::view() const {
  View view;
  if (current) view.current = current->manifest;
  if (manifest_truncation) view.ends[manifest_truncation->file] = manifest_truncation->offset;
  if (log.truncation) {
    view.ends[log.truncation->file] = log.truncation->offset;
    view.hidden.insert(log.truncation->later_files.begin(), log.truncation->later_files.end());
  }
  return view;
}

Result<RecoveryPlan> plan_recovery(const std::string& db_path, const Options& options,
                                   StoreFailure& failure, Purpose purpose) {
  rocksdb::FileSystem& fs = file_system_of(options.env);
  const Result<bool> unfinished = is_unfinished(options);
  if (!unfinished.ok()) return unfinished.status();
  const Result<Manifest> manifest = read_manifest(fs, db_path);
  if (!manifest.ok()) return manifest.status();
  if (!manifest->says_enough()) return incomplete(*manifest);
  std::optional<CurrentRepair> current;
  if (!manifest->current_problem.empty()) {
    current = CurrentRepair{.manifest = manifest->name, .problem = manifest->current_problem};
  }
  RecoveryPlan plan = {.current = std::move(current),
                       .manifest_truncation = truncation_of(*manifest),
                       .is_old = false,
                       .has_other_families = false,
                       .log = {},
                       .has_durable_mark = false,
                       .is_unfinished = *unfinished,
                       .replay_bytes = 0};
  const Result<Flushed> flushed = read_flushed(db_path, options, failure, plan, purpose);
  if (!flushed.ok()) return flushed.status();
  if (!names_families(*manifest, *flushed, options)) return incomplete(*manifest);
  plan.has_other_families = has_other_families(*manifest, options);
  std::string no_mark;
  const Result<std::optional<DurableMark>> mark =
      read_mark(db_path, options, *flushed, no_mark, plan.mark_damage);
  if (!mark.ok()) return mark.status();
  Result<LogJudgement> log = judge_log(
      fs, db_path, *manifest, {.flushed = flushed->commit, .durable = *mark}, options.recover);
  if (!log.ok()) return log.take_status();
  plan.log = log.take();
  if (!no_mark.empty()) plan.log.losses.push_back(std::move(no_mark));
  plan.has_durable_mark = mark->has_value();
  if (*mark) plan.next_id_min = (*mark)->next_id_min;
  const Result<uint64_t> replay_bytes =
      count_replay(fs, db_path, manifest->needed_from(), plan.view());
  if (!replay_bytes.ok()) return replay_bytes.status();
  plan.replay_bytes = *replay_bytes;
  return plan;
}

Result<JobId> next_id_of(const Database& db, const RecoveryPlan& plan) {
  Result<JobId> found = find_next_id(db);
  if (!found.ok() || plan.log.losses.empty()) return found;
  return skip_ids(*found);
}

Status set_durable_mark(const RecoveryPlan& plan, JobId next_id, const Options& options) {
  const CommitRow last = plan.log.last.value_or(CommitRow());
  const auto noted =
      DurableMarkFile::create(options.env, options.data_dir,
                              {.epoch = last.epoch, .index = last.index, .next_id_min = next_id});
  return noted.ok() ? Status() : noted.status();
}

Status ensure_durable_mark(const RecoveryPlan& plan, const Options& options) {
  if (plan.has_durable_mark || plan.is_forced()) return {};  // A forced start has set one.
  return set_durable_mark(plan, plan.next_id_min, options);
}

Result<Database> open_view(const std::string& db_path, const Options& options,
                           StoreFailure& failure, const RecoveryPlan& plan,
                           DamagedBlocks* damaged) {
  View view = plan.view();
  view.damaged = damaged;
  Result<Database> db = Database::open_to_read(db_path, options, failure, std::move(view));
  if (!db.ok()) return db;
  if (Status known = check_version(*db, options); !known.ok()) return known;
  if (Status whole = check_families(*db, options); !whole.ok()) return whole;
  const Result<CommitRow> commit = read_commit(*db);
  if (!commit.ok()) return commit.status();
  if (Status same = check_last(*commit, plan); !same.ok()) return same;
  return db;
}

Status check_last(const CommitRow& found, const RecoveryPlan& plan) {
  const std::optional<CommitRow>& last = plan.log.last;
  if (last && found == *last) return {};
  return {StatusCode::Corruption,
          fmt::format("the database ends with commit {} of epoch {}, and its log with {} of {}",
                      found.index, found.epoch, last ? last->index : 0, last ? last->epoch : 0)};
}

}  // namespace perennial::store
