#include "store/recovery/manifest.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "store/recovery/log_records.h"
#include "store/recovery/manifest_edit.h"
#include "store/types/rocks_status.h"

namespace perennial::store {
namespace {

// In a database that exists, a missing file is damage.
Status reading_status(const rocksdb::Status& status, const std::string& name) {
  if (!status.IsNotFound() && !status.IsPathNotFound()) return from_rocksdb(status);
  return {StatusCode::Corruption, name + " is missing; restore a checkpoint"};
}

// CURRENT holds the name of the MANIFEST and a newline.
Result<std::string> current_manifest(rocksdb::FileSystem& fs, const std::string& db_path) {
  std::string name;
  const auto read = rocksdb::ReadFileToString(&fs, db_path + "/CURRENT", &name);
  if (!read.ok()) return reading_status(read, "CURRENT");
  if (name.starts_with("MANIFEST-") && name.ends_with('\n')) return name.substr(0, name.size() - 1);
  return Status(StatusCode::Corruption, "CURRENT names no MANIFEST; restore a checkpoint");
}

// Numbers of log files only grow. RocksDB ignores a lower number, too.
void raise(std::optional<uint64_t>& number, uint64_t to) {
  number = std::max(number.value_or(0), to);
}

void apply(const ManifestEdit& edit, Manifest& manifest) {
  if (edit.drops_family) {
    manifest.flushed_to.erase(edit.family);
    manifest.names.erase(edit.family);
    return;
  }
  if (edit.adds_family) manifest.names[edit.family] = edit.family_name;
  std::optional<uint64_t>& flushed_to = manifest.flushed_to[edit.family];
  if (edit.log) raise(flushed_to, *edit.log);
  manifest.min_log = std::max(manifest.min_log, edit.min_log.value_or(0));
  manifest.next_file = std::max(manifest.next_file, edit.next_file.value_or(0));
}

Status read_records(LogReader& reader, Manifest& manifest) {
  LogRecord record;
  uint64_t end = 0;  // The end of the last whole record before any damage.
  while (true) {
    const Result<bool> more = reader.next(record);
    if (!more.ok()) return more.status();
    if (!*more) return {};
    if (!record.is_whole() && !manifest.damage) {
      manifest.damage =
          ManifestDamage{.offset = end, .bytes = 0, .problem = std::string(record.problem)};
    }
    if (manifest.damage) {
      manifest.damage->bytes = record.end - manifest.damage->offset;
      continue;
    }
    const std::optional<ManifestEdit> edit = decode_manifest_edit(record.head);
    if (!edit) {
      return {StatusCode::Unsupported,
              fmt::format("{} has a record at byte {} that this version cannot read", manifest.name,
                          record.begin)};
    }
    apply(*edit, manifest);
    end = record.end;
  }
}

}  // namespace

uint64_t Manifest::needed_from() const {
  uint64_t lowest = std::numeric_limits<uint64_t>::max();
  for (const auto& [family, log] : flushed_to) lowest = std::min(lowest, log.value_or(0));
  return std::max(lowest, min_log);
}

bool Manifest::says_enough() const {
  return next_file != 0 && std::ranges::all_of(flushed_to, [](const auto& family) {
           return family.second.has_value();
         });
}

bool Manifest::names_all(FamilyNames families) const {
  return std::ranges::all_of(families, [this](std::string_view wanted) {
    return std::ranges::any_of(names, [&](const auto& family) { return family.second == wanted; });
  });
}

uint64_t Manifest::named_max() const {
  uint64_t highest = 0;
  for (const auto& [family, log] : flushed_to) highest = std::max(highest, log.value_or(0));
  return highest;
}

Result<Manifest> read_manifest(rocksdb::FileSystem& fs, const std::string& db_path) {
  Result<std::string> name = current_manifest(fs, db_path);
  if (!name.ok()) return name.take_status();
  Manifest manifest;
  manifest.name = name.take();
  std::unique_ptr<rocksdb::FSSequentialFile> file;
  const auto opened = fs.NewSequentialFile(db_path + "/" + manifest.name, {}, &file, nullptr);
  if (!opened.ok()) return reading_status(opened, manifest.name);
  LogReader reader(std::move(file), std::numeric_limits<size_t>::max());
  if (Status read = read_records(reader, manifest); !read.ok()) return read;
  return manifest;
}

}  // namespace perennial::store
