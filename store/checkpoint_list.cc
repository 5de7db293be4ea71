#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "store/checkpoint.h"
#include "store/checkpoint_content.h"
#include "store/file_tree.h"

// Checkpoints that are there: found, and removed.
namespace perennial::store {
namespace {

constexpr std::string_view name_shape = "####-##-##T##-##-##.###Z";

// checkpoint_name()'s.
bool is_checkpoint_name(std::string_view name) {
  return std::ranges::equal(name, name_shape, [](char is, char shape) {
    return shape == '#' ? is >= '0' && is <= '9' : is == shape;
  });
}

// The name without the suffix, or nothing if it has none.
std::string_view partial_name(std::string_view name) {
  if (!name.ends_with(partial_suffix)) return {};
  name.remove_suffix(partial_suffix.size());
  return is_checkpoint_name(name) ? name : std::string_view();
}

Result<std::vector<std::string>> list_if_there(const FileTree& tree, const std::string& dir) {
  const Result<bool> is_there = tree.exists(dir);
  if (!is_there.ok()) return is_there.status();
  if (!*is_there) return std::vector<std::string>();
  return tree.list(dir);
}

// db.tmp is RocksDB's, while it copies. What is not a checkpoint's must not be removed as one.
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

Result<std::vector<CheckpointEntry>> list_checkpoints(const std::string& dir, rocksdb::Env* env) {
  const FileTree tree(env);
  const Result<std::vector<std::string>> names = list_if_there(tree, dir);
  if (!names.ok()) return names.status();
  std::vector<CheckpointEntry> out;
  for (const std::string& name : *names) {
    const std::string_view partial = partial_name(name);
    if (partial.empty() && !is_checkpoint_name(name)) continue;
    const std::string path = dir + "/" + name;
    out.push_back({.path = path,
                   .name = std::string(partial.empty() ? name : partial),
                   .complete = partial.empty(),
                   .manifest = read_checkpoint(path, env)});
  }
  return out;
}

Result<std::vector<std::string>> remove_partial_checkpoints(const std::string& dir,
                                                            std::string_view spare,
                                                            rocksdb::Env* env) {
  const FileTree tree(env);
  const Result<std::vector<std::string>> names = list_if_there(tree, dir);
  if (!names.ok()) return names.status();
  std::vector<std::string> removed;
  for (const std::string& name : *names) {
    const std::string_view partial = partial_name(name);
    if (partial.empty() || partial == spare) continue;
    if (Status done = remove_partial(tree, dir + "/" + name); !done.ok()) return done;
    removed.emplace_back(partial);
  }
  return removed;
}

Status remove_checkpoint(const std::string& path, rocksdb::Env* env) {
  const FileTree tree(env);
  const Result<bool> is_there = tree.exists(path);
  if (!is_there.ok()) return is_there.status();
  if (!*is_there) return {StatusCode::NotFound, path + " is not there"};
  if (path.ends_with(partial_suffix)) return remove_partial(tree, path);
  if (Status ours = check_is_ours(tree, path); !ours.ok()) return ours;
  const std::string partial = path + std::string(partial_suffix);
  if (Status removed = tree.remove(partial); !removed.ok()) return removed;
  if (Status renamed = tree.rename(path, partial); !renamed.ok()) return renamed;
  if (Status synced = tree.sync_dir(parent_of(path)); !synced.ok()) return synced;
  return remove_partial(tree, partial);
}

Result<std::vector<std::string>> prune_checkpoints(const std::string& dir, size_t keep,
                                                   rocksdb::Env* env) {
  const Result<std::vector<CheckpointEntry>> all = list_checkpoints(dir, env);
  if (!all.ok()) return all.status();
  std::vector<std::string> removed;
  size_t kept = 0;
  for (auto entry = all->rbegin(); entry != all->rend(); ++entry) {
    if (!entry->complete) continue;
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
