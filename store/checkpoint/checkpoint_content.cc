#include "store/checkpoint/checkpoint_content.h"

#include <algorithm>
#include <memory>

#include <absl/container/flat_hash_map.h>
#include <rocksdb/options.h>
#include <rocksdb/sst_file_reader.h>

#include "engine/types/check.h"
#include "store/disk/database_copy.h"
#include "store/reader.h"
#include "store/recovery/manifest.h"
#include "store/types/file_system_of.h"
#include "store/types/rocks_status.h"

namespace perennial::store {
namespace {

// The number of rows between two calls of `cancelled`.
constexpr uint64_t rows_between_polls = 4096;

Status cancelled_status() {
  return {StatusCode::Io, "it was cancelled"};
}

// Counts the rows that a reader loads.
class RowCounter {
 public:
  RowCounter(const FileTree::Cancelled& cancelled, CheckpointManifest& out)
      : cancelled_(cancelled), out_(out) {}

  Status count(const Reader& reader) {
    const auto tube = [this](TubeId id, std::string_view name) {
      places_[id] = out_.tubes.size();
      out_.tubes.push_back({.name = std::string(name), .jobs = {}});
      return Status();
    };
    const auto job = [this](const JobRow& row) { return count(row); };
    Status loaded = reader.load({.tube = tube,
                                 .pause = [](const TubePaused&) { return Status(); },
                                 .settings = [](const SettingsStored&) { return Status(); },
                                 .job = job,
                                 .key = [this](const KeyStored&) { return poll(); }});
    std::ranges::stable_sort(out_.tubes, {}, &CheckpointTube::name);
    return loaded;
  }

 private:
  // Called with each row.
  Status poll() {
    const bool is_time = ++rows_ % rows_between_polls == 0;
    return is_time && cancelled_ && cancelled_() ? cancelled_status() : Status();
  }
  Status count(const JobRow& row) {
    if (Status polled = poll(); !polled.ok()) return polled;
    CheckpointTube& tube = out_.tubes[places_.at(row.tube)];
    tube.body_bytes += row.body_bytes;
    ++count_of(tube.jobs, row.state);
    ++count_of(out_.jobs, row.state);
    return {};
  }

  const FileTree::Cancelled& cancelled_;
  CheckpointManifest& out_;
  absl::flat_hash_map<TubeId, size_t> places_;
  uint64_t rows_ = 0;
};

}  // namespace

Result<std::vector<CheckpointFile>> read_files(const std::string& db_path, const Reading& reading) {
  const FileTree tree(reading.env);
  const Result<std::vector<std::string>> names = tree.list(db_path);
  if (!names.ok()) return names.status();
  std::vector<CheckpointFile> files;
  uint64_t bytes = 0;
  const auto add = [&](uint64_t more) {
    bytes += more;
    if (reading.progress) reading.progress(bytes);
  };
  for (const std::string& name : *names) {
    const uint64_t before = bytes;
    Result<std::string> hash = tree.hash(db_path + "/" + name, reading.cancelled, add);
    if (!hash.ok()) return hash.take_status();
    files.push_back({.name = name, .bytes = bytes - before, .hash = hash.take()});
  }
  return files;
}

// Checks one table at a time. That can be cancelled, and works without opening the families, unlike
// DB::VerifyChecksum().
Status check_tables(const std::string& db_path, const std::vector<CheckpointFile>& files,
                    const Reading& reading) {
  for (const CheckpointFile& file : files) {
    if (!is_table(file.name)) continue;
    if (reading.cancelled && reading.cancelled()) return cancelled_status();
    Status whole = check_table(db_path + "/" + file.name, reading.env);
    if (!whole.ok()) return std::move(whole).with("db/" + file.name);
  }
  return {};
}

Status check_table(const std::string& path, rocksdb::Env* env) {
  rocksdb::Options options;
  if (env != nullptr) options.env = env;
  rocksdb::SstFileReader table(options);
  rocksdb::Status status = table.Open(path);
  if (status.ok()) status = table.VerifyChecksum();
  return from_rocksdb(status);
}

Result<uint32_t> format_by_families(const std::string& db_path, rocksdb::Env* env) {
  const Result<Manifest> manifest = read_manifest(file_system_of(env), db_path);
  if (!manifest.ok()) return manifest.status();
  uint32_t format = format_version;
  while (format > format_base && !manifest->names_all(families_of(format, format_families))) {
    --format;
  }
  return format;
}

Status count_rows(const std::string& path, const Reading& reading, CheckpointManifest& out) {
  Result<std::unique_ptr<Reader>> reader = Reader::open({.path = path, .env = reading.env});
  if (!reader.ok()) return reader.take_status();
  out.format = (*reader)->format();
  out.commit = (*reader)->commit();
  out.next_id = (*reader)->next_id();
  out.jobs = {};
  out.tubes.clear();
  out.has_counts = true;
  return RowCounter(reading.cancelled, out).count(**reader);
}

}  // namespace perennial::store
