#include "store/disk/wanted_copy.h"

#include "store/disk/file_tree.h"

namespace perennial::store {
namespace {

std::string path_in(const std::string& data_dir) {
  return data_dir + "/" + std::string(wanted_copy_name);
}

}  // namespace

Status want_copy(const std::string& data_dir, std::string_view why) {
  const FileTree tree(nullptr);
  Status done = tree.write(path_in(data_dir), std::string(why) + "\n");
  if (done.ok()) done = tree.sync_dir(data_dir);
  return done;
}

Result<bool> is_copy_wanted(const std::string& data_dir) {
  return FileTree(nullptr).exists(path_in(data_dir));
}

Status end_wanted_copy(const std::string& data_dir) {
  const FileTree tree(nullptr);
  Status done = tree.remove(path_in(data_dir));
  if (done.ok()) done = tree.sync_dir(data_dir);
  return done;
}

}  // namespace perennial::store
