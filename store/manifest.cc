#include "store/manifest.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "store/log_records.h"
#include "store/rocks_status.h"

namespace perennial::store {
namespace {

// More than the numbers at the beginning of a record can take.
constexpr size_t head_bytes_max = 512;

// The tags of RocksDB's db/version_edit.h that come before any table. They never change.
enum class Tag : uint32_t {
  Comparator = 1,
  LogNumber = 2,
  NextFileNumber = 3,
  LastSequence = 4,
  PrevLogNumber = 9,
  MinLogNumberToKeep = 10,
  MaxColumnFamily = 203,
  DbId = 8193,
};

// Takes a variable-length number off the front of `bytes`.
std::optional<uint64_t> take_number(std::string_view& bytes) {
  uint64_t number = 0;
  for (unsigned shift = 0; shift < 64 && !bytes.empty(); shift += 7) {
    const auto byte = static_cast<uint8_t>(bytes.front());
    bytes.remove_prefix(1);
    number |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return number;
  }
  return std::nullopt;
}

void apply(Tag tag, uint64_t number, ManifestLogs& logs) {
  if (tag == Tag::LogNumber) {
    logs.named.push_back(number);
    logs.named_max = std::max(logs.named_max, number);
  } else if (tag == Tag::NextFileNumber) {
    logs.next_file = std::max(logs.next_file, number);
  } else if (tag == Tag::MinLogNumberToKeep) {
    logs.needed_from = std::max(logs.needed_from, number);
  }
}

// Up to the first tag that is not a number: what we look for comes before it.
void apply(std::string_view edit, ManifestLogs& logs) {
  while (const std::optional<uint64_t> raw = take_number(edit)) {
    const auto tag = static_cast<Tag>(*raw);
    switch (tag) {
      case Tag::Comparator:
      case Tag::DbId: {
        const std::optional<uint64_t> length = take_number(edit);
        if (!length || *length > edit.size()) return;
        edit.remove_prefix(*length);
        break;
      }
      case Tag::LogNumber:
      case Tag::NextFileNumber:
      case Tag::LastSequence:
      case Tag::PrevLogNumber:
      case Tag::MinLogNumberToKeep:
      case Tag::MaxColumnFamily: {
        const std::optional<uint64_t> number = take_number(edit);
        if (!number) return;
        apply(tag, *number, logs);
        break;
      }
      default:
        return;
    }
  }
}

Status damaged_at(const std::string& name, const LogRecord& record) {
  return {StatusCode::Corruption, fmt::format("{} is damaged at byte {}: {}; restore a checkpoint",
                                              name, record.begin, record.problem)};
}

// CURRENT holds the name and a line's end.
Result<std::string> manifest_name(rocksdb::FileSystem& fs, const std::string& db_path) {
  std::string name;
  const auto read = rocksdb::ReadFileToString(&fs, db_path + "/CURRENT", &name);
  if (!read.ok()) return from_rocksdb(read);
  if (name.starts_with("MANIFEST-") && name.ends_with('\n')) return name.substr(0, name.size() - 1);
  return Status(StatusCode::Corruption, "CURRENT names no MANIFEST; restore a checkpoint");
}

}  // namespace

Result<ManifestLogs> read_manifest(rocksdb::FileSystem& fs, const std::string& db_path) {
  Result<std::string> name = manifest_name(fs, db_path);
  if (!name.ok()) return name.take_status();
  ManifestLogs logs;
  logs.name = name.take();
  std::unique_ptr<rocksdb::FSSequentialFile> file;
  const auto opened = fs.NewSequentialFile(db_path + "/" + logs.name, {}, &file, nullptr);
  if (!opened.ok()) return from_rocksdb(opened);
  LogReader reader(std::move(file), head_bytes_max);
  LogRecord record;
  std::optional<Status> damage;  // Harmless if nothing follows: an edit that was never complete.
  while (true) {
    const Result<bool> more = reader.next(record);
    if (!more.ok()) return more.status();
    if (!*more) return logs;
    if (damage) return *damage;
    if (record.is_whole()) {
      apply(record.head, logs);
    } else if (record.ends_with_file) {
      damage = damaged_at(logs.name, record);
    } else {
      return damaged_at(logs.name, record);
    }
  }
}

}  // namespace perennial::store
