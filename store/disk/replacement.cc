#include "store/disk/replacement.h"

#include "store/disk/data_dir.h"
#include "store/disk/file_tree.h"

namespace perennial::store {
namespace {

std::string below(const std::string& dir, std::string_view name) {
  return dir + "/" + std::string(name);
}

// The old database moves into replacement/, so that it is removed in the end and not in the middle.
Status exchange(const FileTree& tree, const std::string& data_dir, const std::string& replacement) {
  // The mark says how far the old log was synced. It must not be there beside the new one.
  for (const char* const mark : {"durable", "durable.new"}) {
    if (Status removed = tree.remove(below(data_dir, mark)); !removed.ok()) return removed;
  }
  Status done = tree.sync_dir(data_dir);
  if (!done.ok()) return done;
  const std::string db = below(data_dir, "db");
  const Result<bool> has_old = tree.exists(db);
  if (!has_old.ok()) return has_old.status();
  if (*has_old) done = tree.rename(db, below(replacement, "old"));
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
  if (*has_new) {
    if (Status done = exchange(tree, data_dir, replacement); !done.ok()) return done;
  }
  for (const std::string_view name : {replacement_name, incoming_name, peer_name}) {
    if (Status removed = tree.remove(below(data_dir, name)); !removed.ok()) return removed;
  }
  return {};
}

}  // namespace perennial::store
