#include "store/log_recovery.h"

#include <algorithm>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <rocksdb/env.h>
#include <rocksdb/file_system.h>

#include "store/file_system.h"
#include "store/log_scan.h"
#include "store/manifest.h"
#include "store/rocks_status.h"

namespace perennial::store {
namespace {

constexpr std::string_view advice =
    "restore a checkpoint; or copy the directory, and start with --recover=point-in-time";

using Files = std::vector<LogFile>;

class LogRecovery {
 public:
  LogRecovery(const std::string& db_path, const Options& options)
      : fs_(*(options.env != nullptr ? options.env : rocksdb::Env::Default())->GetFileSystem()),
        db_path_(db_path),
        options_(options) {}

  Result<std::optional<CommitRow>> run(const std::optional<CommitRow>& flushed);

 private:
  Result<uint64_t> read_mark() const;
  std::string missing_file(const Files& files, uint64_t marked) const;
  bool is_there(const Files& files, uint64_t number) const;
  Status settle(const Files& files, const LogHistory& history);
  Status refuse_or_warn(std::string message) const;
  std::string loss(const LogFile& file, const LogHistory& history) const;
  Status cut(const Files& files, const LogDamage& damage, uint64_t& dropped_bytes);
  Status truncate(const std::string& path, uint64_t bytes);
  uint64_t size_of(const LogFile& file) const;

  rocksdb::FileSystem& fs_;
  const std::string& db_path_;
  const Options& options_;
  ManifestLogs manifest_;
};

Result<std::optional<CommitRow>> LogRecovery::run(const std::optional<CommitRow>& flushed) {
  Result<ManifestLogs> manifest = read_manifest(fs_, db_path_);
  if (!manifest.ok()) return manifest.take_status();
  manifest_ = manifest.take();
  const Result<Files> files = list_logs(fs_, db_path_, manifest_.needed_from);
  if (!files.ok()) return files.status();
  const Result<uint64_t> marked = read_mark();
  if (!marked.ok()) return marked.status();
  if (std::string missing = missing_file(*files, *marked); !missing.empty()) {
    if (Status status = refuse_or_warn(std::move(missing)); !status.ok()) return status;
  }
  const bool needs_epoch_begin =
      manifest_.needed_from != 0 && !is_there(*files, manifest_.needed_from);
  const Result<LogHistory> history = scan_logs(
      fs_, db_path_, *files, {.flushed = flushed, .needs_epoch_begin = needs_epoch_begin});
  if (!history.ok()) return history.status();
  if (Status settled = settle(*files, *history); !settled.ok()) return settled;
  const bool is_behind = flushed && history->last && history->last->index < flushed->index;
  return is_behind ? flushed : history->last;
}

// The number of the newest log file; 0 in a copy, which has no mark.
Result<uint64_t> LogRecovery::read_mark() const {
  std::vector<std::string> names;
  const auto listed = fs_.GetChildren(db_path_, {}, &names, nullptr);
  if (!listed.ok()) return from_rocksdb(listed);
  uint64_t marked = 0;
  for (const std::string& name : names) marked = std::max(marked, log_mark_of(name));
  return marked;
}

bool LogRecovery::is_there(const Files& files, uint64_t number) const {
  return std::ranges::find(files, number, &LogFile::number) != files.end();
}

// The newest log file that the MANIFEST knows must be there: RocksDB makes it first, names it or a
// number below it, and only then deletes those before it. The oldest that is needed is there by
// number, or else it was replayed at an open, which then named every family.
std::string LogRecovery::missing_file(const Files& files, uint64_t marked) const {
  if (marked >= manifest_.needed_from && marked != 0 && !is_there(files, marked)) {
    return fmt::format("the log file with number {} is missing, which was the newest", marked);
  }
  const auto is_named = [&](const LogFile& file) {
    return file.number >= manifest_.named_max && file.number < manifest_.next_file;
  };
  if (std::ranges::none_of(files, is_named)) {
    return fmt::format("a log file is missing, or {} is cut off: none has a number from {} to {}",
                       manifest_.name, manifest_.named_max, manifest_.next_file - 1);
  }
  const uint64_t needed = manifest_.needed_from;
  const auto named = std::ranges::count_if(manifest_.named,
                                           [needed](uint64_t number) { return number >= needed; });
  if (is_there(files, needed) || named >= static_cast<ptrdiff_t>(family_count) || needed == 0) {
    return {};
  }
  return fmt::format("{} is cut off, or the log file with number {} is missing", manifest_.name,
                     needed);
}

Status LogRecovery::refuse_or_warn(std::string message) const {
  if (options_.recover == Recover::Strict) {
    return {StatusCode::Corruption, fmt::format("{}: {}", message, advice)};
  }
  if (options_.events.info) {
    options_.events.info("store.log_forced", fmt::format("message=\"{}\"", message));
  }
  return {};
}

Status LogRecovery::settle(const Files& files, const LogHistory& history) {
  if (!history.damage) return {};
  const LogDamage& damage = *history.damage;
  const LogFile& file = files[damage.file];
  // A family was flushed beyond this file, and RocksDB had synced it before.
  if (damage.lost_durable || file.number < manifest_.named_max) {
    if (Status status = refuse_or_warn(loss(file, history)); !status.ok()) return status;
  }
  uint64_t dropped_bytes = 0;
  if (Status done = cut(files, damage, dropped_bytes); !done.ok()) return done;
  const BatchIndex last = history.last ? history.last->index : 0;
  if (options_.events.info) {
    options_.events.info(
        "store.log_cut",
        fmt::format(
            "file={} offset={} dropped_bytes={} last_kept={} first_dropped={} reason=\"{}\"",
            file.name, damage.offset, dropped_bytes, last, last + 1, damage.problem));
  }
  return {};
}

std::string LogRecovery::loss(const LogFile& file, const LogHistory& history) const {
  const BatchIndex last = history.last ? history.last->index : 0;
  const BatchIndex lost_max = std::max(history.index_max, last + 1);
  return fmt::format(
      "the log is damaged in {} at byte {}: {}; it was whole and on disk before: commits {} to {} "
      "could be lost, those up to {} can be kept",
      file.name, history.damage->offset, history.damage->problem, last + 1, lost_max, last);
}

// The damaged file first: until it ends where history does, the ones behind it are the proof of it.
Status LogRecovery::cut(const Files& files, const LogDamage& damage, uint64_t& dropped_bytes) {
  const LogFile& file = files[damage.file];
  dropped_bytes = size_of(file) - damage.offset;
  if (Status done = truncate(db_path_ + "/" + file.name, damage.offset); !done.ok()) return done;
  for (size_t place = damage.file + 1; place < files.size(); ++place) {
    dropped_bytes += size_of(files[place]);
    const auto removed = fs_.DeleteFile(db_path_ + "/" + files[place].name, {}, nullptr);
    if (!removed.ok()) return from_rocksdb(removed);
  }
  std::unique_ptr<rocksdb::FSDirectory> directory;
  rocksdb::IOStatus status = fs_.NewDirectory(db_path_, {}, &directory, nullptr);
  if (status.ok()) status = directory->Fsync({}, nullptr);
  return from_rocksdb(status);
}

Status LogRecovery::truncate(const std::string& path, uint64_t bytes) {
  std::unique_ptr<rocksdb::FSWritableFile> file;
  rocksdb::IOStatus status = fs_.ReopenWritableFile(path, {}, &file, nullptr);
  if (status.ok()) status = file->Truncate(bytes, {}, nullptr);
  if (status.ok()) status = file->Fsync({}, nullptr);
  if (status.ok()) status = file->Close({}, nullptr);
  return from_rocksdb(status);
}

uint64_t LogRecovery::size_of(const LogFile& file) const {
  uint64_t bytes = 0;  // Only for the event: 0 where it cannot be told.
  const auto asked = fs_.GetFileSize(db_path_ + "/" + file.name, {}, &bytes, nullptr);
  return asked.ok() ? bytes : 0;
}

}  // namespace

Result<std::optional<CommitRow>> recover_log(const std::string& db_path,
                                             const std::optional<CommitRow>& flushed,
                                             const Options& options) {
  return LogRecovery(db_path, options).run(flushed);
}

}  // namespace perennial::store
