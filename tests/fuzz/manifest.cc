#include "store/recovery/manifest.h"

#include <string>

#include <fmt/format.h>

#include "engine/types/check.h"
#include "store/recovery/log_recovery.h"
#include "store/recovery/manifest_edit.h"
#include "tests/fuzz/choices.h"
#include "tests/fuzz/log_image.h"
#include "tests/fuzz/memory_files.h"
#include "tests/fuzz/targets.h"

namespace perennial::fuzz {
namespace {

using store::CommitRow;
using store::LogJudgement;
using store::Manifest;

constexpr const char* manifest_name = "MANIFEST-000001";

// Edits, either complete or in damaged pieces.
LogBytes take_manifest(Choices& choices) {
  LogBytes out;
  for (size_t steps = choices.below(32); steps > 0; --steps) {
    switch (choices.below(6)) {
      case 0:
        out.add_raw(choices.short_piece());
        break;
      case 1:
        out.add_zeros(choices.number(2));
        break;
      case 2: {
        const size_t from_end = choices.byte();
        out.flip(from_end, choices.byte());
        break;
      }
      case 3:
        out.cut_off(choices.byte());
        break;
      default:
        out.add_record(choices.short_piece());
    }
  }
  return out;
}

// RocksDB's MANIFEST is truncated where it is damaged. What remains must decode to the same.
void check_truncation(const Manifest& manifest, MemoryFiles::Content content) {
  std::string& bytes = content[manifest_name];
  CHECK(manifest.damage->bytes > 0);
  CHECK(manifest.damage->offset + manifest.damage->bytes <= bytes.size());
  bytes.resize(manifest.damage->offset);
  MemoryFiles files("db", std::move(content));
  const Result<Manifest> again = store::read_manifest(files, "db");
  CHECK(again.ok());
  CHECK(!again->damage);
  CHECK(again->min_log == manifest.min_log);
  CHECK(again->next_file == manifest.next_file);
  CHECK(again->flushed_to == manifest.flushed_to);
}

void check_judgement(const LogJudgement& judgement, const MemoryFiles::Content& content) {
  if (!judgement.truncation) return;
  CHECK(content.contains(judgement.truncation->file));
  CHECK(judgement.truncation->offset <= content.at(judgement.truncation->file).size());
  for (const std::string& later : judgement.truncation->later_files) {
    CHECK(content.contains(later));
    CHECK(later > judgement.truncation->file);
  }
}

void check_logs(const Manifest& manifest, const store::LogEvidence& evidence,
                const MemoryFiles::Content& content) {
  MemoryFiles files("db", content);
  const auto strict = store::judge_log(files, "db", manifest, evidence, store::Recover::Strict);
  const auto lenient =
      store::judge_log(files, "db", manifest, evidence, store::Recover::PointInTime);
  if (!strict.ok()) {
    CHECK(strict.status().code() == StatusCode::Corruption);
    CHECK(!lenient.ok() || !manifest.damage);
    CHECK(lenient.ok() || lenient.status().code() == StatusCode::Corruption);
    CHECK(!lenient.ok() || !lenient->losses.empty());
    return;
  }
  check_judgement(*strict, content);
  CHECK(strict->losses.empty());
  CHECK(lenient.ok());
  CHECK(lenient->losses.empty());
  CHECK(lenient->last == strict->last);
}

// The content of one edit does not affect the next one.
void check_edit(std::string_view record) {
  const std::string_view first = record.substr(0, record.size() / 2);
  const bool both = store::decode_manifest_edit(first).has_value() &&
                    store::decode_manifest_edit(record.substr(first.size())).has_value();
  CHECK(!both || store::decode_manifest_edit(record).has_value());
}

}  // namespace

// The MANIFEST, the content of the tables, the mark of the newest log, and a LogImage.
void manifest(std::string_view input) {
  check_edit(input);
  Choices choices(input);
  MemoryFiles::Content content;
  const uint8_t known = choices.byte();
  content["CURRENT"] =
      (known & 2) == 0 ? fmt::format("{}\n", manifest_name) : std::string(choices.short_piece());
  content[manifest_name] = take_manifest(choices).bytes();
  std::optional<CommitRow> flushed;
  if ((known & 1) != 0) flushed = small_commit_row(choices);
  if (const uint8_t mark = choices.byte(); mark != 0) {
    content[fmt::format("newest-log-{}", mark)] = "";
  }
  const uint8_t first = choices.byte();
  const LogImage image(choices, first + uint64_t{1});
  for (const LogImage::File& file : image.files()) {
    content[log_name(file.number)] = file.log.bytes();
  }

  // At the end of the input, so that older inputs keep their meaning.
  std::optional<store::DurableMark> durable;
  if (choices.byte() == 1) {
    const CommitRow row = small_commit_row(choices);
    durable = {.epoch = row.epoch,
               .index = row.index,
               .log_number = choices.byte(),
               .log_bytes = choices.number(2)};
  }

  MemoryFiles files("db", content);
  const Result<Manifest> read = store::read_manifest(files, "db");
  if (!read.ok()) {
    CHECK(!read.status().message().empty());
    return;
  }
  if (read->damage) check_truncation(*read, content);
  check_logs(*read, {.flushed = flushed, .durable = durable}, content);
}

}  // namespace perennial::fuzz
