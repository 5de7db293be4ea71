#include "store/recovery/repeated_records.h"

#include <memory>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "store/format/bytes.h"
#include "store/recovery/log_records.h"
#include "store/recovery/log_scan.h"

namespace perennial::store {
namespace {

// The sequence numbers that were seen, as ranges that do not touch each other.
class SequenceRanges {
 public:
  // Returns false and adds nothing if one of these numbers was seen.
  bool add(uint64_t begin, uint64_t end) {
    auto next = ends_.upper_bound(begin);
    const bool meets_next = next != ends_.end() && next->first < end;
    auto before = next == ends_.begin() ? ends_.end() : std::prev(next);
    if (meets_next || (before != ends_.end() && before->second > begin)) return false;
    if (before == ends_.end() || before->second != begin) before = ends_.emplace(begin, end).first;
    before->second = end;
    if (next == ends_.end() || next->first != end) return true;
    before->second = next->second;
    ends_.erase(next);
    return true;
  }

 private:
  std::map<uint64_t, uint64_t> ends_;  // By the first number of a range.
};

// Returns where the first repetition in a file begins.
std::optional<uint64_t> find_repetition(rocksdb::FileSystem& fs, const std::string& path,
                                        SequenceRanges& seen) {
  std::unique_ptr<rocksdb::FSSequentialFile> file;
  if (!fs.NewSequentialFile(path, {}, &file, nullptr).ok()) return std::nullopt;
  LogReader reader(std::move(file), batch_header_bytes);
  LogRecord record;
  while (true) {
    const Result<bool> more = reader.next(record);
    if (!more.ok() || !*more) return std::nullopt;
    if (!record.is_whole() || record.head.size() < batch_header_bytes) continue;
    const auto begin = get<uint64_t>(record.head, 0);
    const auto rows = get<uint32_t>(record.head, 8);
    if (rows > 0 && !seen.add(begin, begin + rows)) return record.begin;
  }
}

}  // namespace

RepeatedRecords find_repeated_records(rocksdb::FileSystem& fs, const std::string& db_path,
                                      uint64_t number_min) {
  RepeatedRecords out;
  const Result<std::vector<LogFileName>> files = list_logs(fs, db_path, number_min);
  if (!files.ok()) return out;
  SequenceRanges seen;
  for (const LogFileName& file : *files) {
    const auto at = find_repetition(fs, db_path + "/" + file.name, seen);
    if (!at) continue;
    out.ends[file.name] = *at;
    if (!out.problem.empty()) out.problem += "; ";
    out.problem += fmt::format(
        "{} is left out from byte {} on, where it repeats what an earlier "
        "part of the log has",
        file.name, *at);
  }
  return out;
}

}  // namespace perennial::store
