#include "store/recovery/manifest.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

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

constexpr std::string_view manifest_prefix = "MANIFEST-";

// CURRENT holds the name of the MANIFEST and a newline.
bool names_manifest(std::string_view content) {
  if (!content.starts_with(manifest_prefix) || !content.ends_with('\n')) return false;
  const std::string_view number =
      content.substr(manifest_prefix.size(), content.size() - manifest_prefix.size() - 1);
  return !number.empty() &&
         std::ranges::all_of(number, [](char c) { return c >= '0' && c <= '9'; });
}

// Sets manifest.name, and manifest.current_problem if CURRENT does not say it.
Status find_name(rocksdb::FileSystem& fs, const std::string& db_path, Manifest& manifest) {
  std::string content;
  const auto read = rocksdb::ReadFileToString(&fs, db_path + "/CURRENT", &content);
  const bool is_missing = read.IsNotFound() || read.IsPathNotFound();
  if (!read.ok() && !is_missing) return from_rocksdb(read);
  if (read.ok() && names_manifest(content)) {
    manifest.name = content.substr(0, content.size() - 1);
    const auto found = fs.FileExists(db_path + "/" + manifest.name, {}, nullptr);
    if (!found.IsNotFound()) return from_rocksdb(found);
    manifest.current_problem =
        fmt::format("CURRENT names {}, which is missing", std::exchange(manifest.name, {}));
  } else {
    manifest.current_problem = is_missing ? "CURRENT is missing" : "CURRENT names no MANIFEST";
  }
  // If CURRENT does not name it, the MANIFEST is known only if there is exactly one.
  std::vector<std::string> names;
  const auto listed = fs.GetChildren(db_path, {}, &names, nullptr);
  if (!listed.ok()) return from_rocksdb(listed);
  std::erase_if(names, [](const std::string& name) { return !names_manifest(name + "\n"); });
  if (names.size() == 1) {
    manifest.name = std::move(names.front());
    return {};
  }
  return {StatusCode::Corruption,
          fmt::format("{}, and there are {} MANIFEST files; restore a checkpoint",
                      manifest.current_problem, names.size())};
}

// Numbers of log files only grow. RocksDB ignores a lower number, too.
void raise(std::optional<uint64_t>& number, uint64_t to) {
  number = std::max(number.value_or(0), to);
}

void apply(const ManifestEdit& edit, Manifest& manifest) {
  if (edit.drops_family) {
    manifest.flushed_to.erase(edit.family);
    manifest.made_at.erase(edit.family);
    manifest.names.erase(edit.family);
    return;
  }
  if (edit.adds_family) manifest.names[edit.family] = edit.family_name;
  if (edit.adds_family && edit.log) manifest.made_at[edit.family] = *edit.log;
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
    // Records behind the damage are read on only to learn how long the damaged part is. None of
    // them counts, because a record is a change of what all records before it have said.
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

std::string Manifest::damage_text() const {
  return fmt::format("{} is damaged at byte {}: {}", name, damage->offset, damage->problem);
}

// A log file is needed while a family has not flushed what is in it. A family without a log number
// has flushed nothing, so it needs all files.
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
  Manifest manifest;
  if (Status found = find_name(fs, db_path, manifest); !found.ok()) return found;
  std::unique_ptr<rocksdb::FSSequentialFile> file;
  const auto opened = fs.NewSequentialFile(db_path + "/" + manifest.name, {}, &file, nullptr);
  if (!opened.ok()) return reading_status(opened, manifest.name);
  LogReader reader(std::move(file), std::numeric_limits<size_t>::max());
  if (Status read = read_records(reader, manifest); !read.ok()) return read;
  return manifest;
}

}  // namespace perennial::store
