#include "store/disk/replacement.h"

#include <vector>

#include "store/disk/data_dir.h"
#include "store/disk/file_tree.h"

namespace perennial::store {
namespace {

std::string below(const std::string& dir, std::string_view name) {
  return dir + "/" + std::string(name);
}

// Returns the name of the directory in replacement/ that is to keep the old database, or nothing.
Result<std::string> aside_in(const FileTree& tree, const std::string& replacement) {
  const Result<bool> is_there = tree.exists(replacement);
  if (!is_there.ok()) return is_there.status();
  if (!*is_there) return std::string();
  const Result<std::vector<std::string>> names = tree.list(replacement);
  if (!names.ok()) return names.status();
  for (const std::string& name : *names) {
    if (name.starts_with(aside_prefix)) return name;
  }
  return std::string();
}

// The old database moves into replacement/, so that it is removed in the end and not in the middle.
Status exchange(const FileTree& tree, const std::string& data_dir, const std::string& replacement,
                const std::string& aside) {
  // The mark says how far the old log was synced. It must not be there beside the new one.
  for (const char* const mark : {"durable", "durable.new"}) {
    if (Status removed = tree.remove(below(data_dir, mark)); !removed.ok()) return removed;
  }
  Status done = tree.sync_dir(data_dir);
  if (!done.ok()) return done;
  const std::string db = below(data_dir, "db");
  const Result<bool> has_old = tree.exists(db);
  if (!has_old.ok()) return has_old.status();
  if (*has_old) {
    done = tree.rename(db, below(replacement, aside.empty() ? "old" : aside + "/db"));
    if (done.ok() && !aside.empty()) done = tree.sync_dir(below(replacement, aside));
  }
  if (done.ok()) done = tree.rename(below(replacement, "db"), db);
  if (done.ok()) done = tree.sync_dir(replacement);
  if (done.ok()) done = tree.sync_dir(data_dir);
  return done;
}

}  // namespace

Status replace_database(const std::string& data_dir, const std::string& from) {
  const FileTree tree(nullptr);
  Status done = tree.publish(from, below(data_dir, replacement_name));
  if (done.ok()) done = finish_replacement(data_dir);
  return std::move(done).with("replace the database");
}

Status finish_replacement(const std::string& data_dir) {
  const FileTree tree(nullptr);
  const std::string replacement = below(data_dir, replacement_name);
  const Result<bool> has_new = tree.exists(below(replacement, "db"));
  if (!has_new.ok()) return has_new.status();
  const Result<std::string> aside = aside_in(tree, replacement);
  if (!aside.ok()) return aside.status();
  if (*has_new) {
    if (Status done = exchange(tree, data_dir, replacement, *aside); !done.ok()) return done;
  }
  if (!aside->empty()) {
    Status kept = tree.publish(below(replacement, *aside), below(data_dir, *aside));
    if (!kept.ok()) return kept;
  }
  for (const std::string_view name : {replacement_name, incoming_name, peer_name}) {
    if (Status removed = tree.remove(below(data_dir, name)); !removed.ok()) return removed;
  }
  return {};
}

}  // namespace perennial::store
