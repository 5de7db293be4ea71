#include "store/recovery/log_recovery.h"

#include <algorithm>
#include <string_view>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "engine/types/logfmt.h"
#include "store/recovery/log_scan.h"
#include "store/recovery/point_in_time.h"
#include "store/rocks/log_env.h"
#include "store/types/rocks_status.h"

namespace perennial::store {
namespace {

using Files = std::vector<LogFileName>;

std::string log_name(uint64_t number) {
  return fmt::format("{:06}.log", number);
}

class LogRecovery {
 public:
  LogRecovery(rocksdb::FileSystem& fs, const std::string& db_path, const Manifest& manifest,
              Recover recover)
      : fs_(fs), db_path_(db_path), manifest_(manifest), recover_(recover) {}

  Result<LogJudgement> run(const LogEvidence& evidence);

 private:
  std::string missing_newest(const Files& files, uint64_t marked) const;
  std::string missing_oldest(const Files& files, const LogHistory& history) const;
  bool exists(const Files& files, uint64_t number) const;
  void compare_with_mark(const DurableMark& mark, const Files& files, LogHistory& history) const;
  bool is_loss(const Files& files, const LogHistory& history) const;
  Status refuse_or_lose(const std::string& missing, const LogFound& found);
  std::string first_problem(const std::string& missing, const LogFound& found,
                            bool has_point) const;
  std::string loss(const LogFileName& file, const LogHistory& history) const;
  void plan_truncation(const Files& files, const LogHistory& history);
  void plan_empty_files(const LogFound& found, uint64_t marked);
  uint64_t size_of(const LogFileName& file) const;

  rocksdb::FileSystem& fs_;
  const std::string& db_path_;
  const Manifest& manifest_;
  const Recover recover_;
  LogJudgement judgement_;
};

Result<LogJudgement> LogRecovery::run(const LogEvidence& evidence) {
  const std::optional<CommitRow>& flushed = evidence.flushed;
  const uint64_t needed = manifest_.needed_from();
  const Result<Files> files = list_logs(fs_, db_path_, needed);
  if (!files.ok()) return files.status();
  const Result<uint64_t> marked = find_newest_log(fs_, db_path_);
  if (!marked.ok()) return marked.status();
  const bool has_needed = exists(*files, needed);
  Result<LogHistory> history = scan_logs(fs_, db_path_, *files,
                                         {.flushed = flushed,
                                          .needs_epoch_begin = needed != 0 && !has_needed,
                                          .needs_first_file = has_needed});
  if (!history.ok()) return history.status();
  const std::string no_oldest = missing_oldest(*files, *history);
  std::string missing = missing_newest(*files, *marked);
  if (missing.empty()) missing = no_oldest;
  const bool is_behind = flushed && history->last && history->last->index < flushed->index;
  judgement_.last = is_behind ? flushed : history->last;
  if (evidence.durable) compare_with_mark(*evidence.durable, *files, *history);
  if (!missing.empty() || is_loss(*files, *history)) {
    // If no file ever had the oldest number, the first record opens an epoch and joins the tables.
    const bool begins_late = !has_needed && history->damage && !history->has_records;
    const LogFound found = {.files = *files,
                            .history = *history,
                            .lacks_oldest = !no_oldest.empty() || begins_late,
                            .flushed = flushed};
    if (Status status = refuse_or_lose(missing, found); !status.ok()) return status;
    plan_empty_files(found, *marked);
  }
  if (history->damage) plan_truncation(*files, *history);
  return std::move(judgement_);
}

bool LogRecovery::exists(const Files& files, uint64_t number) const {
  return std::ranges::find(files, number, &LogFileName::number) != files.end();
}

// Returns what is wrong if the newest log file is missing. The mark names that file. The MANIFEST
// proves less, and is checked because a checkpoint has no mark: RocksDB makes a log file, names it
// or a number below it in the MANIFEST, and then deletes older files. So one file of that number or
// above must exist.
std::string LogRecovery::missing_newest(const Files& files, uint64_t marked) const {
  if (marked >= manifest_.needed_from() && marked != 0 && !exists(files, marked)) {
    return fmt::format("the log file with number {} is missing, which was the newest", marked);
  }
  const uint64_t named_max = manifest_.named_max();
  const auto is_named = [&](const LogFileName& file) {
    return file.number >= named_max && file.number < manifest_.next_file;
  };
  if (std::ranges::none_of(files, is_named)) {
    return fmt::format("a log file is missing, or {} is cut off: none has a number from {} to {}",
                       manifest_.name, named_max, manifest_.next_file - 1);
  }
  return {};
}

// Returns what is wrong if the oldest needed log file is missing. It may be missing only if no file
// ever had its number. An open that has replayed the log gives every family such a number, in one
// synced write. Families that were flushed since have the number of the oldest existing file or a
// higher one. Then that file has a record, because it is the one that the open has begun: RocksDB
// deletes it only when no family needs it, and then needs a higher number. A family that was made
// since, and not flushed, has the number of the file that was the newest, and says nothing about
// older ones. A missing file is not simply accepted, because RocksDB opens without it.
std::string LogRecovery::missing_oldest(const Files& files, const LogHistory& history) const {
  const uint64_t needed = manifest_.needed_from();
  if (exists(files, needed) || files.empty()) return {};  // missing_newest() reports no files.
  const bool is_empty = !history.has_records && !history.damage;
  for (const auto& [family, flushed_to] : manifest_.flushed_to) {
    const bool is_flushed_since = flushed_to && *flushed_to >= files.front().number && !is_empty;
    const auto made_at = manifest_.made_at.find(family);
    const bool is_made_since = made_at != manifest_.made_at.end() && flushed_to == made_at->second;
    if (flushed_to == needed || is_flushed_since || is_made_since) continue;
    return fmt::format("{} is cut off, or the log file with number {} is missing", manifest_.name,
                       needed);
  }
  return {};
}

// Refuses the log, or notes a loss that the options accept. With a damaged MANIFEST no loss is
// accepted: it could affect some families only, and the rows would contradict each other.
// `missing` says which file is missing, if one is.
Status LogRecovery::refuse_or_lose(const std::string& missing, const LogFound& found) {
  const PointInTime point = find_point_in_time(manifest_, found);
  const bool has_point = point.problem.empty();
  std::string message = first_problem(missing, found, has_point);
  if (manifest_.damage) {
    return {StatusCode::Corruption,
            fmt::format("{}; and what stands before does not fit the log: {}; restore a checkpoint",
                        manifest_.damage_text(), message)};
  }
  if (!has_point) {
    return {StatusCode::Corruption,
            fmt::format("{}; {}: {}", message, point.problem, salvage_advice)};
  }
  if (recover_ == Recover::Strict) {
    return {StatusCode::Corruption, fmt::format("{}: {}", message, recovery_advice)};
  }
  judgement_.losses.push_back(std::move(message));
  if (!missing.empty() && is_loss(found.files, found.history)) {
    const size_t file = found.history.damage->place.file;
    judgement_.losses.push_back(loss(found.files[file], found.history));
  }
  judgement_.has_later_bodies = point.has_later_bodies;
  return {};
}

std::string LogRecovery::first_problem(const std::string& missing, const LogFound& found,
                                       bool has_point) const {
  std::string message = missing.empty()
                            ? loss(found.files[found.history.damage->place.file], found.history)
                            : missing + "; commits could be lost";
  if (!has_point) return message;
  const BatchIndex last = judgement_.last ? judgement_.last->index : 0;
  return message + fmt::format(", those up to {} can be kept", last);
}

// Compares the log with the durable mark. A log that ends before the mark has lost records that
// were on disk, even if the log itself looks whole. If the mark names a file that is no longer
// needed, its rows are in the tables, and only the commit rows are compared.
void LogRecovery::compare_with_mark(const DurableMark& mark, const Files& files,
                                    LogHistory& history) const {
  const CommitRow last = judgement_.last.value_or(CommitRow());
  const std::tuple reached(last.epoch, last.index);
  bool is_short = reached < std::tuple(mark.epoch, mark.index);
  // A mark of an empty file says no more than its commit row does.
  if (!files.empty() && mark.log_bytes > 0 && mark.log_number >= files.front().number) {
    const std::tuple end(files[history.end.file].number, history.end.offset);
    is_short = is_short || end < std::tuple(mark.log_number, mark.log_bytes);
  }
  if (!is_short || files.empty()) return;  // missing_newest() has reported a log without files.
  history.index_max = std::max(history.index_max, mark.index);
  if (!history.damage) {
    history.damage = LogDamage{
        .place = history.end,
        .problem = fmt::format("it ends there, and was synced up to commit {} of epoch {}, in log "
                               "file {} at byte {}",
                               mark.index, mark.epoch, mark.log_number, mark.log_bytes)};
  }
  history.damage->lost_durable = true;
}

// Whether the damage is one of acknowledged records.
bool LogRecovery::is_loss(const Files& files, const LogHistory& history) const {
  if (!history.damage) return false;
  // Before RocksDB flushes a family up to a later log file, it syncs the files before that.
  return history.damage->lost_durable ||
         files[history.damage->place.file].number < manifest_.named_max();
}

std::string LogRecovery::loss(const LogFileName& file, const LogHistory& history) const {
  const BatchIndex last = history.last ? history.last->index : 0;
  const BatchIndex lost_max = std::max(history.index_max, last + 1);
  return fmt::format(
      "the log is damaged in {} at byte {}: {}; it was whole and on disk before: commits {} to {} "
      "could be lost",
      file.name, history.damage->place.offset, history.damage->problem, last + 1, lost_max);
}

void LogRecovery::plan_truncation(const Files& files, const LogHistory& history) {
  const LogDamage& damage = *history.damage;
  const LogFileName& file = files[damage.place.file];
  LogTruncation truncation = {
      .file = file.name, .offset = damage.place.offset, .later_files = {}, .fields = {}};
  uint64_t dropped_bytes = size_of(file) - damage.place.offset;
  for (size_t place = damage.place.file + 1; place < files.size(); ++place) {
    dropped_bytes += size_of(files[place]);
    truncation.later_files.push_back(files[place].name);
  }
  const BatchIndex last = history.last ? history.last->index : 0;
  truncation.fields = fmt::format(
      "file={} offset={} dropped_bytes={} last_kept={} first_dropped={} reason={}", file.name,
      damage.place.offset, dropped_bytes, last, last + 1, logfmt_text(damage.problem));
  judgement_.truncation = std::move(truncation);
}

void LogRecovery::plan_empty_files(const LogFound& found, uint64_t marked) {
  const auto& damage = found.history.damage;
  std::vector<uint64_t> kept;
  for (size_t i = 0; i < found.files.size() && (!damage || i <= damage->place.file); ++i) {
    kept.push_back(found.files[i].number);
  }
  const auto keep_empty = [&](uint64_t number) {
    if (number == 0 || std::ranges::count(kept, number) > 0) return;
    kept.push_back(number);
    judgement_.empty_files.push_back(log_name(number));
  };
  if (marked >= manifest_.needed_from()) keep_empty(marked);
  const auto is_named = [this](uint64_t number) {
    return number >= manifest_.named_max() && number < manifest_.next_file;
  };
  if (std::ranges::none_of(kept, is_named)) keep_empty(manifest_.named_max());
  if (found.lacks_oldest && !found.history.has_records) keep_empty(manifest_.needed_from());
}

uint64_t LogRecovery::size_of(const LogFileName& file) const {
  uint64_t bytes = 0;  // Only the event uses it, so 0 is good enough for an unreadable size.
  const auto asked = fs_.GetFileSize(db_path_ + "/" + file.name, {}, &bytes, nullptr);
  return asked.ok() ? bytes : 0;
}

}  // namespace

Result<LogJudgement> judge_log(rocksdb::FileSystem& fs, const std::string& db_path,
                               const Manifest& manifest, const LogEvidence& evidence,
                               Recover recover) {
  return LogRecovery(fs, db_path, manifest, recover).run(evidence);
}

}  // namespace perennial::store
