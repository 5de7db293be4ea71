#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "engine/types/check.h"
#include "migrations/binlog_import.h"
#include "store/format/format.h"
#include "tests/fuzz/choices.h"
#include "tests/fuzz/targets.h"
#include "tests/support/temp_dir.h"
#include "wire/command_line.h"

namespace perennial::fuzz {
namespace {

using migrations::Binlog;
using migrations::BinlogFile;
using migrations::BinlogRecord;

constexpr Nanos now = 1'700'000'000 * nanos_per_second;

void check_record(const BinlogRecord& record) {
  CHECK(record.row.id != 0);
  CHECK(record.row.ttr_s != 0);
  CHECK(record.row.created >= 0);
  CHECK(record.state != BinlogRecord::State::Delayed || record.deadline >= 0);
  if (!record.full) return;
  CHECK(wire::is_tube_name(record.tube));
  CHECK(record.body.size() == record.row.body_bytes);
}

void check_file(const std::string& path, std::string_view bytes) {
  const auto file = BinlogFile::open(path);
  if (!file.ok()) {
    CHECK(file.status().code() == StatusCode::Unsupported);
    return;
  }
  size_t offset = 0;
  for (BinlogRecord record; (*file)->next(record);) {
    check_record(record);
    CHECK((*file)->offset() > offset);
    offset = (*file)->offset();
  }
  CHECK((*file)->offset() <= bytes.size());
  CHECK(((*file)->end() == BinlogFile::End::Damaged) == !(*file)->problem().empty());
}

void check_summary(const migrations::BinlogSummary& summary) {
  CHECK(summary.orphans <= summary.records);
  CHECK(summary.jobs.ready + summary.jobs.delayed + summary.jobs.buried <= summary.records);
  CHECK(summary.next_id > 0);
  CHECK(summary.torn.size() + summary.damaged.size() <= summary.files);
}

}  // namespace

// The input: whether to write the jobs, too, which takes long; the number of files; the lengths of
// all but the last; their bytes.
void binlog(std::string_view input) {
  Choices choices(input);
  const bool writes = choices.byte() == 'w';
  const support::TempDir dir;
  const std::string from = dir.path() + "/from";
  std::filesystem::create_directory(from);
  const size_t count = 1 + choices.below(3);
  for (size_t i = 1; i <= count; ++i) {
    const std::string_view bytes = i < count ? choices.piece(choices.number(2)) : choices.rest();
    const std::string path = fmt::format("{}/binlog.{}", from, i);
    std::ofstream(path, std::ios::binary) << bytes;
    check_file(path, bytes);
  }
  const auto log = Binlog::open(from);
  if (!log.ok()) {
    CHECK(log.status().code() == StatusCode::Unsupported);
    return;
  }
  (*log)->replay(now);
  check_summary((*log)->summary());
  CHECK(!writes || (*log)->write_to(dir.path() + "/to", now).ok());
}

}  // namespace perennial::fuzz
