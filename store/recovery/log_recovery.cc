#include "store/recovery/log_recovery.h"

#include <algorithm>
#include <string_view>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "store/recovery/log_scan.h"
#include "store/rocks/log_env.h"
#include "store/types/rocks_status.h"

namespace perennial::store {
namespace {

using Files = std::vector<LogFileName>;

class LogRecovery {
 public:
  LogRecovery(rocksdb::FileSystem& fs, const std::string& db_path, const Manifest& manifest,
              Recover recover)
      : fs_(fs), db_path_(db_path), manifest_(manifest), recover_(recover) {}

  Result<LogJudgement> run(const LogEvidence& evidence);

 private:
  Result<uint64_t> read_mark() const;
  std::string missing_file(const Files& files, uint64_t marked) const;
  std::string missing_oldest(const Files& files) const;
  bool is_there(const Files& files, uint64_t number) const;
  void hold_against(const DurableMark& mark, const Files& files, LogHistory& history) const;
  Status settle(const Files& files, const LogHistory& history);
  Status refuse_or_lose(std::string message);
  std::string loss(const LogFileName& file, const LogHistory& history) const;
  void cut(const Files& files, const LogHistory& history);
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
  const Result<uint64_t> marked = read_mark();
  if (!marked.ok()) return marked.status();
  if (std::string missing = missing_file(*files, *marked); !missing.empty()) {
    if (Status status = refuse_or_lose(std::move(missing)); !status.ok()) return status;
  }
  const bool has_needed = is_there(*files, needed);
  Result<LogHistory> history = scan_logs(fs_, db_path_, *files,
                                         {.flushed = flushed,
                                          .needs_epoch_begin = needed != 0 && !has_needed,
                                          .needs_first_file = has_needed});
  if (!history.ok()) return history.status();
  const bool is_behind = flushed && history->last && history->last->index < flushed->index;
  judgement_.last = is_behind ? flushed : history->last;
  if (evidence.durable) hold_against(*evidence.durable, *files, *history);
  if (Status settled = settle(*files, *history); !settled.ok()) return settled;
  return std::move(judgement_);
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
  return std::ranges::find(files, number, &LogFileName::number) != files.end();
}

// The newest log file that the MANIFEST knows must be there: RocksDB makes it first, names it or a
// number below it, and only then deletes those before it.
std::string LogRecovery::missing_file(const Files& files, uint64_t marked) const {
  if (marked >= manifest_.needed_from() && marked != 0 && !is_there(files, marked)) {
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
  return missing_oldest(files);
}

// The oldest that is needed is there by number, or else it was replayed at an open. That gave every
// family this number, which no file has, in one synced write; and whatever a family was flushed up
// to since then is the oldest file that is there, or newer.
std::string LogRecovery::missing_oldest(const Files& files) const {
  const uint64_t needed = manifest_.needed_from();
  if (is_there(files, needed)) return {};
  for (const auto& [family, flushed_to] : manifest_.flushed_to) {
    if (flushed_to && (*flushed_to == needed || *flushed_to >= files.front().number)) continue;
    return fmt::format("{} is cut off, or the log file with number {} is missing", manifest_.name,
                       needed);
  }
  return {};
}

// Without the end of the MANIFEST a loss could be one of some families only: never accepted.
Status LogRecovery::refuse_or_lose(std::string message) {
  if (manifest_.damage) {
    return {
        StatusCode::Corruption,
        fmt::format("{} is damaged at byte {}: {}; and what stands before does not fit the log: "
                    "{}; restore a checkpoint",
                    manifest_.name, manifest_.damage->offset, manifest_.damage->problem, message)};
  }
  if (recover_ == Recover::Strict) {
    return {StatusCode::Corruption, fmt::format("{}: {}", message, recovery_advice)};
  }
  judgement_.losses.push_back(std::move(message));
  return {};
}

// A log that ends before the mark has lost what was on disk, however whole it looks. A file that is
// no longer needed may be gone: then the tables hold what it held, and their commit row tells.
void LogRecovery::hold_against(const DurableMark& mark, const Files& files,
                               LogHistory& history) const {
  const CommitRow last = judgement_.last.value_or(CommitRow());
  const std::tuple reached(last.epoch, last.index);
  bool is_short = reached < std::tuple(mark.epoch, mark.index);
  if (!files.empty() && mark.log_number >= files.front().number) {
    const std::tuple end(files[history.end.file].number, history.end.offset);
    is_short = is_short || end < std::tuple(mark.log_number, mark.log_bytes);
  }
  if (!is_short || files.empty()) return;  // Without any file the loss is known already.
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

Status LogRecovery::settle(const Files& files, const LogHistory& history) {
  if (!history.damage) return {};
  const LogDamage& damage = *history.damage;
  const LogFileName& file = files[damage.place.file];
  // A family was flushed beyond this file, and RocksDB had synced it before.
  if (damage.lost_durable || file.number < manifest_.named_max()) {
    if (Status status = refuse_or_lose(loss(file, history)); !status.ok()) return status;
  }
  cut(files, history);
  return {};
}

std::string LogRecovery::loss(const LogFileName& file, const LogHistory& history) const {
  const BatchIndex last = history.last ? history.last->index : 0;
  const BatchIndex lost_max = std::max(history.index_max, last + 1);
  return fmt::format(
      "the log is damaged in {} at byte {}: {}; it was whole and on disk before: commits {} to {} "
      "could be lost, those up to {} can be kept",
      file.name, history.damage->place.offset, history.damage->problem, last + 1, lost_max, last);
}

void LogRecovery::cut(const Files& files, const LogHistory& history) {
  const LogDamage& damage = *history.damage;
  const LogFileName& file = files[damage.place.file];
  LogCut cut = {.file = file.name, .offset = damage.place.offset, .later_files = {}, .fields = {}};
  uint64_t dropped_bytes = size_of(file) - damage.place.offset;
  for (size_t place = damage.place.file + 1; place < files.size(); ++place) {
    dropped_bytes += size_of(files[place]);
    cut.later_files.push_back(files[place].name);
  }
  const BatchIndex last = history.last ? history.last->index : 0;
  cut.fields =
      fmt::format("file={} offset={} dropped_bytes={} last_kept={} first_dropped={} reason=\"{}\"",
                  file.name, damage.place.offset, dropped_bytes, last, last + 1, damage.problem);
  judgement_.cut = std::move(cut);
}

uint64_t LogRecovery::size_of(const LogFileName& file) const {
  uint64_t bytes = 0;  // Only for the event: 0 where it cannot be told.
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
