#include "store/checkpoint/checkpoint.h"

#include <algorithm>
#include <ctime>
#include <utility>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "engine/types/check.h"
#include "store/checkpoint/checkpoint_content.h"
#include "store/checkpoint/checkpoint_manifest.h"
#include "store/checkpoint/checkpoint_names.h"
#include "store/disk/database_copy.h"
#include "store/disk/file_tree.h"

namespace perennial::store {
namespace {

std::string counts_text(const StateCounts& jobs) {
  return fmt::format("{} ready, {} reserved, {} delayed and {} buried jobs", jobs.ready,
                     jobs.reserved, jobs.delayed, jobs.buried);
}

Status server_mistake(const std::string& what) {
  return {StatusCode::Corruption, what + ": this is a mistake of the server"};
}

CheckpointManifest begin_manifest(const CheckpointPlan& plan) {
  return {.name = plan.name,
          .created = plan.created,
          .server_version = plan.server_version,
          .database = plan.database,
          .format = plan.format};
}

// The steps from a partial checkpoint to a complete one.
class Completion {
 public:
  explicit Completion(const CheckpointPlan& plan)
      : plan_(plan),
        tree_(plan.env),
        reading_({.env = plan.env, .cancelled = plan.cancelled}),
        path_(partial_path(plan)),
        manifest_(begin_manifest(plan)) {}

  Result<CheckpointManifest> run() {
    if (Status read = read_files(); !read.ok()) return read;
    if (Status counted = count(); !counted.ok()) return counted;
    if (Status published = publish(); !published.ok()) return published;
    return std::move(manifest_);
  }

 private:
  Status read_files() {
    Result<std::vector<CheckpointFile>> files = store::read_files(db_path(), reading_);
    if (!files.ok()) return files.take_status();
    manifest_.files = files.take();
    for (const CheckpointFile& file : manifest_.files) {
      // A table is a hard link to a file that RocksDB synced when it wrote it. The others are
      // copies.
      if (is_table(file.name)) continue;
      if (Status synced = tree_.sync(db_path() + "/" + file.name); !synced.ok()) return synced;
    }
    return check_tables(db_path(), manifest_.files, reading_);
  }

  Status count() {
    manifest_.has_counts = is_served(plan_.format);
    if (!manifest_.has_counts) return {};
    if (Status counted = count_rows(path_, reading_, manifest_); !counted.ok()) return counted;
    if (manifest_.commit.index != plan_.index) {
      return server_mistake(fmt::format("it ends with commit {}, and was cut after commit {}",
                                        manifest_.commit.index, plan_.index));
    }
    if (!plan_.jobs || manifest_.jobs == *plan_.jobs) return {};
    return server_mistake(fmt::format("it holds {}, and the server counted {}",
                                      counts_text(manifest_.jobs), counts_text(*plan_.jobs)));
  }

  // The manifest is durable before the directory gets its final name. So a directory with such a
  // name is always a whole checkpoint.
  Status publish() {
    const std::string to = plan_.dir + "/" + plan_.name;
    const Result<bool> is_taken = tree_.exists(to);
    if (!is_taken.ok()) return is_taken.status();
    if (*is_taken) return {StatusCode::InvalidArgument, to + " is there already"};
    Status done = tree_.write(path_ + "/" + std::string(manifest_name), render(manifest_));
    if (done.ok()) done = tree_.sync_dir(db_path());
    if (done.ok()) done = tree_.sync_dir(path_);
    if (done.ok()) done = tree_.publish(path_, to);
    return done;
  }

  std::string db_path() const { return path_ + "/db"; }

  const CheckpointPlan& plan_;
  const FileTree tree_;
  const Reading reading_;
  const std::string path_;
  CheckpointManifest manifest_;
};

Status damaged_checkpoint(std::string_view file, std::string_view what) {
  return {StatusCode::Corruption, fmt::format("{} {}", file, what)};
}

// Refuses any other name, because a checkpoint holds only its database and its manifest.
Status check_names(const FileTree& tree, const std::string& path) {
  const Result<std::vector<std::string>> names = tree.list(path);
  if (!names.ok()) return names.status();
  for (const std::string& name : *names) {
    if (name == "db" || name == manifest_name) continue;
    return damaged_checkpoint(name, "does not belong to it");
  }
  return {};
}

// Both sorted by name.
Status compare_files(const std::vector<CheckpointFile>& wanted,
                     const std::vector<CheckpointFile>& found) {
  const auto find = [](const std::vector<CheckpointFile>& files, const std::string& name) {
    const auto at = std::ranges::lower_bound(files, name, {}, &CheckpointFile::name);
    return at != files.end() && at->name == name ? &*at : nullptr;
  };
  for (const CheckpointFile& file : wanted) {
    const CheckpointFile* const there = find(found, file.name);
    const std::string name = "db/" + file.name;
    if (there == nullptr) return damaged_checkpoint(name, "is missing");
    if (there->bytes != file.bytes) {
      return damaged_checkpoint(name,
                                fmt::format("has {} bytes, and had {}", there->bytes, file.bytes));
    }
    if (there->hash != file.hash) {
      return damaged_checkpoint(name, "is damaged: its hash is another than when it was made");
    }
  }
  for (const CheckpointFile& file : found) {
    if (find(wanted, file.name) == nullptr) {
      return damaged_checkpoint("db/" + file.name, "does not belong to it");
    }
  }
  return {};
}

// Returns the manifest with what was counted. Rows of a format that is not served are not read.
Result<CheckpointManifest> compare_rows(const std::string& path, const CheckpointManifest& wanted,
                                        const Reading& reading) {
  CheckpointManifest found = wanted;
  if (!is_served(wanted.format)) return found;
  if (Status counted = count_rows(path, reading, found); !counted.ok()) return counted;
  if (wanted.has_counts && render(found) != render(wanted)) {
    return Status(StatusCode::Corruption,
                  fmt::format("it holds commit {} and {}, and its manifest says commit {} and {}",
                              found.commit.index, counts_text(found.jobs), wanted.commit.index,
                              counts_text(wanted.jobs)));
  }
  const bool has_index = wanted.commit.index != 0;
  if (has_index && found.commit.index != wanted.commit.index) {
    return Status(StatusCode::Corruption,
                  fmt::format("it ends with commit {}, and its manifest says commit {}",
                              found.commit.index, wanted.commit.index));
  }
  return found;
}

// The checksums of the tables were read when a checkpoint was completed, and its hashes show that
// the tables have not changed since. A checkpoint without counts was sent by another node, and not
// completed.
Result<CheckpointManifest> compare_content(const std::string& path,
                                           const CheckpointManifest& wanted,
                                           const Reading& reading) {
  if (!wanted.has_counts) {
    if (Status whole = check_tables(path + "/db", wanted.files, reading); !whole.ok()) return whole;
  }
  return compare_rows(path, wanted, reading);
}

Status compare(const std::string& path, const CheckpointManifest& wanted, const Reading& reading) {
  const FileTree tree(reading.env);
  if (Status known = check_names(tree, path); !known.ok()) return known;
  const Result<std::vector<CheckpointFile>> found = read_files(path + "/db", reading);
  if (!found.ok()) return found.status();
  if (Status same = compare_files(wanted.files, *found); !same.ok()) return same;
  const Result<CheckpointManifest> counted = compare_content(path, wanted, reading);
  return counted.ok() ? Status() : counted.status();
}

}  // namespace

uint64_t CheckpointManifest::bytes() const {
  uint64_t sum = 0;
  for (const CheckpointFile& file : files) sum += file.bytes;
  return sum;
}

uint64_t CheckpointManifest::job_count() const {
  return jobs.ready + jobs.reserved + jobs.delayed + jobs.buried;
}

std::string checkpoint_name(Nanos now) {
  const std::time_t seconds = now / nanos_per_second;
  return fmt::format("{:%Y-%m-%dT%H-%M-%S}.{:03}Z", fmt::gmtime(seconds),
                     now % nanos_per_second / nanos_per_ms);
}

std::string partial_path(const CheckpointPlan& plan) {
  return plan.dir + "/" + plan.name +
         name_ending(plan.database, plan.temporary ? temporary_suffix : partial_suffix);
}

Result<CheckpointManifest> complete_checkpoint(const CheckpointPlan& plan) {
  CHECK(!plan.temporary);
  Result<CheckpointManifest> made = Completion(plan).run();
  if (made.ok()) return made;
  ignore(FileTree(plan.env).remove(partial_path(plan)), "there is a failure to report already");
  return made.take_status().with("make checkpoint " + plan.name);
}

Result<CheckpointManifest> list_partial_checkpoint(const CheckpointPlan& plan) {
  CHECK(!plan.temporary);
  const FileTree tree(plan.env);
  const std::string db_path = partial_path(plan) + "/db";
  const Result<std::vector<std::string>> names = tree.list(db_path);
  if (!names.ok()) return names.status();
  CheckpointManifest manifest = begin_manifest(plan);
  manifest.has_counts = false;
  manifest.commit.index = plan.index;
  const Result<uint32_t> format = format_by_families(db_path, plan.env);
  if (!format.ok()) return format.status();
  manifest.format = *format;
  for (const std::string& name : *names) {
    const Result<uint64_t> bytes = tree.size_of(db_path + "/" + name);
    if (!bytes.ok()) return bytes.status();
    manifest.files.push_back({.name = name, .bytes = *bytes, .hash = {}});
  }
  return manifest;
}

Result<CheckpointManifest> read_checkpoint(const std::string& path, rocksdb::Env* env) {
  const FileTree tree(env);
  const std::string name = path + "/" + std::string(manifest_name);
  const Result<bool> is_there = tree.exists(name);
  if (!is_there.ok()) return is_there.status();
  if (!*is_there) {
    return Status(StatusCode::NotFound, path + " is no checkpoint: it holds no manifest.json");
  }
  // A partial checkpoint may have its manifest already, because the manifest is written before the
  // directory is renamed.
  if (path.ends_with(partial_suffix)) {
    return Status(StatusCode::NotFound,
                  path + " is half-made: give a checkpoint that was completed");
  }
  const Result<std::string> text = tree.read(name);
  if (!text.ok()) return text.status();
  Result<CheckpointManifest> manifest = parse_manifest(*text);
  if (manifest.ok()) return manifest;
  return manifest.take_status().with("checkpoint " + path);
}

Result<CheckpointManifest> verify_checkpoint(const std::string& path,
                                             const std::function<void(uint64_t)>& progress,
                                             rocksdb::Env* env) {
  Result<CheckpointManifest> manifest = read_checkpoint(path, env);
  if (!manifest.ok()) return manifest;
  Status same = compare(path, *manifest, {.env = env, .progress = progress});
  if (!same.ok()) return std::move(same).with("checkpoint " + path);
  return manifest;
}

Status verify_database_file(const std::string& path, rocksdb::Env* env) {
  return is_table(path) ? check_table(path, env) : Status();
}

Result<CheckpointManifest> verify_rows(const std::string& path, const CheckpointManifest& manifest,
                                       const std::function<bool()>& cancelled, rocksdb::Env* env) {
  Result<CheckpointManifest> found =
      compare_rows(path, manifest, {.env = env, .cancelled = cancelled});
  if (found.ok()) return found;
  return found.take_status().with("checkpoint " + path);
}

}  // namespace perennial::store
