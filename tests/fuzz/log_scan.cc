#include "store/recovery/log_scan.h"

#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "engine/types/check.h"
#include "store/recovery/log_records.h"
#include "tests/fuzz/choices.h"
#include "tests/fuzz/log_image.h"
#include "tests/fuzz/memory_files.h"
#include "tests/fuzz/targets.h"

namespace perennial::fuzz {
namespace {

using store::LogDamage;
using store::LogHistory;
using store::LogStart;
using Logs = std::vector<std::string>;  // The bytes of the logs, oldest first.

MemoryFiles files_of(const Logs& logs) {
  MemoryFiles::Content content;
  for (size_t i = 0; i < logs.size(); ++i) content[log_name(i + 1)] = logs[i];
  return MemoryFiles("db", std::move(content));
}

LogHistory scan(const Logs& logs, const LogStart& start) {
  MemoryFiles files = files_of(logs);
  const auto listed = store::list_logs(files, "db", 0);
  CHECK(listed.ok());
  CHECK(listed->size() == logs.size());
  Result<LogHistory> history = store::scan_logs(files, "db", *listed, start);
  CHECK(history.ok());
  return history.take();
}

// Records are in the order of the file, without duplicates, and within the file.
void check_records(const std::string& bytes) {
  constexpr size_t head_bytes_max = 20;
  MemoryFiles files = files_of({bytes});
  std::unique_ptr<rocksdb::FSSequentialFile> file;
  CHECK(files.NewSequentialFile("db/" + log_name(1), {}, &file, nullptr).ok());
  store::LogReader reader(std::move(file), head_bytes_max);
  store::LogRecord record;
  uint64_t end = 0;
  while (true) {
    const Result<bool> more = reader.next(record);
    CHECK(more.ok());
    if (!*more) return;
    CHECK(record.begin >= end);
    CHECK(record.end > record.begin);
    CHECK(record.end <= bytes.size());
    CHECK(record.head.size() <= head_bytes_max);
    end = record.end;
  }
}

bool is_behind(const LogHistory& history, const LogStart& start) {
  if (!start.flushed || !history.last) return false;
  return std::tuple(history.last->epoch, history.last->index) <
         std::tuple(start.flushed->epoch, start.flushed->index);
}

// What remains after a start has truncated the log must be undamaged and have the same end.
void check_truncation(Logs logs, const LogDamage& damage, const LogHistory& history,
                      const LogStart& start) {
  CHECK(damage.place.file < logs.size());
  CHECK(damage.place.offset <= logs[damage.place.file].size());
  logs.resize(damage.place.file + 1);
  logs.back().resize(damage.place.offset);
  const LogHistory again = scan(logs, start);
  CHECK(again.last == history.last);
  // Truncation does not repair a log that ends before what was flushed.
  if (again.damage) CHECK(is_behind(again, start));
}

// Zeros that are preallocated in a log's file are its end.
void check_zeros(Logs logs, size_t zeros, const LogHistory& history, const LogStart& start) {
  logs.back().append(zeros, '\0');
  const LogHistory again = scan(logs, start);
  CHECK(!again.damage);
  CHECK(again.last == history.last);
  CHECK(again.index_max == history.index_max);
}

}  // namespace

// The state of the start, the number of zeros to append, and a LogImage.
void log_scan(std::string_view input) {
  Choices choices(input);
  const uint8_t known = choices.byte();
  LogStart start = {
      .flushed = {}, .needs_epoch_begin = (known & 2) != 0, .needs_first_file = (known & 4) != 0};
  if ((known & 1) != 0) start.flushed = small_commit_row(choices);
  const size_t zeros = choices.number(2);
  const LogImage image(choices, 1);
  Logs logs;
  for (const LogImage::File& file : image.files()) logs.push_back(file.log.bytes());

  for (const std::string& log : logs) check_records(log);
  const LogHistory history = scan(logs, start);
  if (history.damage) {
    check_truncation(logs, *history.damage, history, start);
  } else {
    check_zeros(logs, zeros, history, start);
  }
}

}  // namespace perennial::fuzz
