#include "store/recovery/log_scan.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <string_view>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "store/format/bytes.h"
#include "store/recovery/log_records.h"
#include "store/rocks/log_files.h"
#include "store/types/rocks_status.h"

namespace perennial::store {
namespace {

// Our batches begin with the commit row. So the first piece of a torn record still names the batch.
constexpr std::string_view commit_prefix =
    "\x01\x01"
    "c\x28";  // Put, key, length of the value.
constexpr size_t commit_bytes = 40;
constexpr size_t commit_head_bytes = batch_header_bytes + commit_prefix.size() + commit_bytes;

std::optional<CommitRow> commit_row(std::string_view head) {
  if (head.size() < commit_head_bytes) return std::nullopt;
  if (head.substr(batch_header_bytes, commit_prefix.size()) != commit_prefix) return std::nullopt;
  const Result<CommitRow> row = decode_commit(head.substr(commit_head_bytes - commit_bytes));
  return row.ok() ? std::optional(*row) : std::nullopt;
}

auto place(const CommitRow& row) {
  return std::tuple(row.epoch, row.index);
}

bool opens_epoch_after(const CommitRow& row, const CommitRow& before) {
  return row.epoch == before.epoch + 1 && row.index == before.index;
}

// Whether `row` may come directly after `before`. The index of each batch is one more than that of
// the one before, and its epoch is the same or a later one. The rows that open and close an epoch
// repeat the index.
bool follows(const CommitRow& row, const CommitRow& before) {
  if (opens_epoch_after(row, before)) return true;
  if (row.epoch == before.epoch && row.index == before.index) return true;
  return row.epoch >= before.epoch && row.index == before.index + 1;
}

std::string name_place(const CommitRow& row) {
  return fmt::format("commit {} of epoch {}", row.index, row.epoch);
}

class LogScan {
 public:
  explicit LogScan(const LogStart& start) : start_(start) {
    history_.last = start.flushed;
    if (start.flushed) history_.index_max = start.flushed->index;
  }

  void take(const LogRecord& record, size_t file);
  LogHistory finish();

 private:
  std::string problem_of(const LogRecord& record, const std::optional<CommitRow>& row) const;
  std::string joining_problem(const LogRecord& record, const CommitRow& row) const;
  bool comes_after_gap(const LogRecord& record, size_t file) const;
  LogPlace gap_before(size_t file) const;
  void accept(const LogRecord& record, const std::optional<CommitRow>& row, size_t file);
  void end_history(LogPlace place, std::string problem);
  void check_claim(const CommitRow& row);

  const LogStart start_;
  LogHistory history_;
  bool has_row_ = false;  // Whether history_.last comes from the log, and not from the tables.
  std::optional<uint64_t> next_sequence_;
  bool lacks_first_ = false;           // The first file is empty although it must hold a record.
  std::optional<BatchIndex> missing_;  // The first missing batch, once history has ended.
};

// RocksDB writes an empty batch after some recoveries.
bool is_empty_batch(const LogRecord& record) {
  return record.head.size() >= batch_header_bytes && get<uint32_t>(record.head, 8) == 0;
}

// Whether a record opens an epoch. Two kinds of rows say that everything before them is durable:
// these, and the row that begins a clean stop. The latter has the next id as a second row.
bool opens_epoch(const LogRecord& record, const CommitRow& row) {
  return row.known_durable == row.index && get<uint32_t>(record.head, 8) == 1;
}

void LogScan::take(const LogRecord& record, size_t file) {
  const std::optional<CommitRow> row = commit_row(record.head);
  if (!history_.damage) {
    std::string problem = problem_of(record, row);
    lacks_first_ = start_.needs_first_file && file > 0 && !next_sequence_;
    if (problem.empty() && !lacks_first_) return accept(record, row, file);
    const bool is_older = row && start_.flushed && place(*row) <= place(*start_.flushed);
    // RocksDB begins a file only when the one before it holds a record.
    if (lacks_first_) {
      end_history({}, "it is empty, and a later file is not");
    } else if (comes_after_gap(record, file)) {
      end_history(gap_before(file), "it ends too early: what comes next is not in the next file");
    } else {
      end_history({.file = file, .offset = record.begin}, std::move(problem));
    }
    // Two kinds of whole records prove a loss without a claim. A first record that does not join
    // the tables shows that the records between are gone. A record without a commit row was not
    // torn and comes from an unknown version. Dropping it is rejected, because it may be
    // acknowledged.
    const bool is_foreign = !row && record.is_whole() && !is_empty_batch(record);
    const bool has_gap = row && record.is_whole() && !has_row_ && (is_older || !lacks_first_);
    history_.damage->lost_durable = is_foreign || has_gap;
  }
  if (row) check_claim(*row);
}

// Whether the record is the first of its file, and the records before it are in no file.
bool LogScan::comes_after_gap(const LogRecord& record, size_t file) const {
  if (file == history_.end.file || !next_sequence_) return false;
  if (record.head.size() < batch_header_bytes) return false;
  return get<uint64_t>(record.head, 0) > *next_sequence_;
}

// Returns where the missing records were. If the file before has the last good record, that is its
// end. Otherwise all files between are empty, and it is the beginning of the first of them.
LogPlace LogScan::gap_before(size_t file) const {
  const size_t next = history_.end.file + 1;
  return next == file ? history_.end : LogPlace{.file = next, .offset = 0};
}

std::string LogScan::problem_of(const LogRecord& record,
                                const std::optional<CommitRow>& row) const {
  if (!record.is_whole()) return std::string(record.problem);
  if (record.head.size() < batch_header_bytes) return "it is no batch";
  if (!row && !is_empty_batch(record)) return "it has no commit row";
  if (row && !has_row_) {
    std::string problem = joining_problem(record, *row);
    if (!problem.empty()) return problem;
  } else if (row && !follows(*row, *history_.last)) {
    return fmt::format("it is {}, where {} was the last", name_place(*row),
                       name_place(*history_.last));
  }
  const auto sequence = get<uint64_t>(record.head, 0);
  if (!next_sequence_ || sequence == *next_sequence_) return {};
  return fmt::format("its sequence number is {}, where {} was to come", sequence, *next_sequence_);
}

// Returns what is wrong with the log's first row. It may be as old as the tables' commit row,
// older, or the next one.
std::string LogScan::joining_problem(const LogRecord& record, const CommitRow& row) const {
  if (!start_.flushed) {
    const bool is_first = place(row) == place(CommitRow());
    return is_first ? "" : "the log does not begin at the beginning, and the tables are empty";
  }
  const CommitRow& flushed = *start_.flushed;
  const bool is_older = place(row) <= place(flushed);
  const bool joins = is_older || follows(row, flushed);
  const bool may_begin = !start_.needs_epoch_begin || opens_epoch(record, row);
  if (joins && may_begin) return {};
  return fmt::format("the log begins with {}, and the tables end with {}", name_place(row),
                     name_place(flushed));
}

void LogScan::accept(const LogRecord& record, const std::optional<CommitRow>& row, size_t file) {
  history_.end = {.file = file, .offset = record.end};
  history_.has_records = true;
  next_sequence_ = get<uint64_t>(record.head, 0) + get<uint32_t>(record.head, 8);
  if (!row) return;
  history_.last = row;
  history_.index_max = std::max(history_.index_max, row->index);
  has_row_ = true;
}

void LogScan::end_history(LogPlace place, std::string problem) {
  history_.damage = LogDamage{.place = place, .problem = std::move(problem)};
}

// Checks whether a row behind the end of history proves a loss: it does if it says that the first
// missing batch was durable. The first missing batch is the one after the last good row. If the
// first file is empty, only the last missing batch is known: the one before the first row behind
// the gap. A batch of a later epoch is a proof, too, because everything before its epoch was
// durable. Truncating at any damage would be simpler, and would silently drop acknowledged batches.
void LogScan::check_claim(const CommitRow& row) {
  history_.index_max = std::max(history_.index_max, row.index);
  const CommitRow last = history_.last.value_or(CommitRow());
  if (!missing_) {
    missing_ = lacks_first_ ? std::max<BatchIndex>(row.index, 1) - 1 : last.index + 1;
  }
  if (row.known_durable >= *missing_ || (row.epoch > last.epoch && row.index > last.index)) {
    history_.damage->lost_durable = true;
  }
}

LogHistory LogScan::finish() {
  const bool is_behind =
      has_row_ && start_.flushed && place(*history_.last) < place(*start_.flushed);
  if (is_behind && !history_.damage) {
    end_history(history_.end, fmt::format("the log ends with {}, and the tables with {}",
                                          name_place(*history_.last), name_place(*start_.flushed)));
  }
  // What is in the tables was synced before, and so were the first rows of a database.
  if (history_.damage && (is_behind || !history_.last)) history_.damage->lost_durable = true;
  return std::move(history_);
}

// Passes on the records of all files in order, until `take` returns false.
Status each_record(rocksdb::FileSystem& fs, const std::string& db_path,
                   const std::vector<LogFileName>& files,
                   const std::function<bool(const LogRecord& record, size_t file)>& take) {
  for (size_t place = 0; place < files.size(); ++place) {
    std::unique_ptr<rocksdb::FSSequentialFile> file;
    const auto opened = fs.NewSequentialFile(db_path + "/" + files[place].name, {}, &file, nullptr);
    if (!opened.ok()) return from_rocksdb(opened);
    LogReader reader(std::move(file), commit_head_bytes);
    LogRecord record;
    while (true) {
      const Result<bool> more = reader.next(record);
      if (!more.ok()) return more.status();
      if (!*more) break;
      if (!take(record, place)) return {};
    }
  }
  return {};
}

}  // namespace

Result<std::vector<LogFileName>> list_logs(rocksdb::FileSystem& fs, const std::string& db_path,
                                           uint64_t number_min) {
  std::vector<std::string> names;
  const auto listed = fs.GetChildren(db_path, {}, &names, nullptr);
  if (!listed.ok()) return from_rocksdb(listed);
  std::vector<LogFileName> files;
  for (std::string& name : names) {
    const uint64_t number = log_index_of(name);
    if (number != 0 && number >= number_min) {
      files.push_back({.number = number, .name = std::move(name)});
    }
  }
  std::ranges::sort(files, {}, &LogFileName::number);
  return files;
}

Result<std::optional<uint64_t>> first_sequence(rocksdb::FileSystem& fs, const std::string& db_path,
                                               uint64_t number_min) {
  const Result<std::vector<LogFileName>> files = list_logs(fs, db_path, number_min);
  if (!files.ok()) return files.status();
  std::optional<uint64_t> first;
  Status read = each_record(fs, db_path, *files, [&](const LogRecord& record, size_t) {
    if (record.is_whole() && record.head.size() >= batch_header_bytes)
      first = get<uint64_t>(record.head, 0);
    return !first;
  });
  if (!read.ok()) return read;
  return first;
}

Result<std::optional<std::string>> find_unreadable_record(rocksdb::FileSystem& fs,
                                                          const std::string& db_path,
                                                          const std::vector<LogFileName>& files) {
  std::optional<std::string> found;
  Status read = each_record(fs, db_path, files, [&](const LogRecord& record, size_t file) {
    if (!record.is_whole()) {
      found = fmt::format("the log is damaged in {} at byte {}: {}", files[file].name, record.begin,
                          record.problem);
    }
    return !found;
  });
  if (!read.ok()) return read;
  return found;
}

Result<LogHistory> scan_logs(rocksdb::FileSystem& fs, const std::string& db_path,
                             const std::vector<LogFileName>& files, const LogStart& start) {
  LogScan scan(start);
  Status read = each_record(fs, db_path, files, [&](const LogRecord& record, size_t file) {
    scan.take(record, file);
    return true;
  });
  if (!read.ok()) return read;
  return scan.finish();
}

}  // namespace perennial::store
