#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <sys/stat.h>

#include "store/checkpoint/checkpoint.h"
#include "store/checkpoint/checkpoint_content.h"
#include "store/checkpoint/checkpoint_names.h"
#include "store/disk/file_tree.h"

// Finds the checkpoints in a directory, and removes them.
namespace perennial::store {
namespace {

Result<std::vector<std::string>> list_if_there(const FileTree& tree, const std::string& dir) {
  const Result<bool> is_there = tree.exists(dir);
  if (!is_there.ok()) return is_there.status();
  if (!*is_there) return std::vector<std::string>();
  return tree.list(dir);
}

// Refuses to remove a directory that holds a foreign file. db.tmp is the name that RocksDB uses
// while it copies.
Status check_is_ours(const FileTree& tree, const std::string& path) {
  constexpr std::array<std::string_view, 3> known = {"db", "db.tmp", manifest_name};
  const Result<std::vector<std::string>> names = tree.list(path);
  if (!names.ok()) return names.status();
  for (const std::string& name : *names) {
    if (std::ranges::find(known, name) != known.end()) continue;
    return {StatusCode::InvalidArgument,
            fmt::format("{} is not removed: it holds {}, which is no part of a checkpoint", path,
                        name)};
  }
  return {};
}

Status remove_partial(const FileTree& tree, const std::string& path) {
  if (Status ours = check_is_ours(tree, path); !ours.ok()) return ours;
  if (Status removed = tree.remove(path); !removed.ok()) return removed;
  return tree.sync_dir(parent_of(path));
}

}  // namespace

CheckpointOwner checkpoint_owner(const std::string& data_dir, std::string database,
                                 const std::string& dir) {
  struct stat own = {};
  struct stat asked = {};
  const bool is_own = ::lstat((data_dir + "/checkpoints").c_str(), &own) == 0 &&
                      S_ISDIR(own.st_mode) && ::stat(dir.c_str(), &asked) == 0 &&
                      own.st_dev == asked.st_dev && own.st_ino == asked.st_ino;
  return {.database = std::move(database), .has_unmarked = is_own};
}

Result<std::vector<CheckpointEntry>> list_checkpoints(const std::string& dir, rocksdb::Env* env) {
  const FileTree tree(env);
  const Result<std::vector<std::string>> names = list_if_there(tree, dir);
  if (!names.ok()) return names.status();
  std::vector<CheckpointEntry> out;
  for (const std::string& name : *names) {
    const std::optional<CheckpointNameParts> parts = parse_checkpoint_name(name);
    if (!parts || parts->kind == CheckpointNameParts::Kind::Temporary) continue;
    const std::string path = dir + "/" + name;
    CheckpointEntry entry = {.path = path,
                             .name = std::string(parts->name),
                             .database = std::string(parts->database),
                             .complete = parts->kind == CheckpointNameParts::Kind::Complete,
                             .manifest = read_checkpoint(path, env)};
    if (entry.complete && entry.manifest.ok()) entry.database = entry.manifest->database;
    out.push_back(std::move(entry));
  }
  return out;
}

Result<std::vector<std::string>> remove_partial_checkpoints(const std::string& dir,
                                                            const CheckpointOwner& owner,
                                                            rocksdb::Env* env) {
  const FileTree tree(env);
  const Result<std::vector<std::string>> names = list_if_there(tree, dir);
  if (!names.ok()) return names.status();
  std::vector<std::string> removed;
  for (const std::string& name : *names) {
    const std::optional<CheckpointNameParts> parts = parse_checkpoint_name(name);
    if (!parts || parts->kind == CheckpointNameParts::Kind::Complete) continue;
    if (!owner.owns(parts->database)) continue;
    if (Status done = remove_partial(tree, dir + "/" + name); !done.ok()) return done;
    const bool is_temporary = parts->kind == CheckpointNameParts::Kind::Temporary;
    removed.push_back(std::string(parts->name) +
                      std::string(is_temporary ? temporary_suffix : std::string_view()));
  }
  return removed;
}

// The partial name contains the identity of the database, so that after a crash the owner still
// recognises it.
Status remove_checkpoint(const std::string& path, rocksdb::Env* env) {
  const FileTree tree(env);
  const Result<bool> is_there = tree.exists(path);
  if (!is_there.ok()) return is_there.status();
  if (!*is_there) return {StatusCode::NotFound, path + " is not there"};
  if (path.ends_with(partial_suffix) || path.ends_with(temporary_suffix)) {
    return remove_partial(tree, path);
  }
  if (Status ours = check_is_ours(tree, path); !ours.ok()) return ours;
  const Result<CheckpointManifest> manifest = read_checkpoint(path, env);
  const std::string partial =
      path + name_ending(manifest.ok() ? manifest->database : "", partial_suffix);
  if (Status removed = tree.remove(partial); !removed.ok()) return removed;
  if (Status renamed = tree.rename(path, partial); !renamed.ok()) return renamed;
  if (Status synced = tree.sync_dir(parent_of(path)); !synced.ok()) return synced;
  return remove_partial(tree, partial);
}

Result<std::vector<std::string>> prune_checkpoints(const std::string& dir,
                                                   const CheckpointOwner& owner, size_t keep,
                                                   rocksdb::Env* env) {
  const Result<std::vector<CheckpointEntry>> all = list_checkpoints(dir, env);
  if (!all.ok()) return all.status();
  std::vector<std::string> removed;
  size_t kept = 0;
  for (auto entry = all->rbegin(); entry != all->rend(); ++entry) {
    if (!entry->complete || !owner.owns(entry->database)) continue;
    if (kept < keep) {
      kept += entry->manifest.ok() ? 1 : 0;
      continue;
    }
    Status done = remove_checkpoint(entry->path, env);
    if (!done.ok() && done.code() != StatusCode::NotFound) return done;
    if (done.ok()) removed.push_back(entry->name);
  }
  std::ranges::reverse(removed);
  return removed;
}

}  // namespace perennial::store
