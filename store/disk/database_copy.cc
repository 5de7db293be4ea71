#include "store/disk/database_copy.h"

#include <vector>

#include "store/disk/identity.h"

namespace perennial::store {

bool is_table(std::string_view name) {
  return name.ends_with(".sst");
}

Status copy_database(const FileTree& tree, const std::string& from, const std::string& to,
                     bool copy_tables,
                     const std::function<bool(const std::string& name)>& is_left_out) {
  const Result<std::vector<std::string>> names = tree.list(from);
  if (!names.ok()) return names.status();
  for (const std::string& name : *names) {
    if (name == identity_file || (is_left_out && is_left_out(name))) continue;
    const std::string source = from + "/" + name;
    const std::string target = to + "/" + name;
    // A link may fail for many reasons, such as another file system or another owner. Its error is
    // ignored, because only an error of the copy that follows matters.
    if (!copy_tables && is_table(name) && tree.link(source, target).ok()) continue;
    if (Status copied = tree.copy(source, target); !copied.ok()) return copied;
  }
  return tree.sync_dir(to);
}

}  // namespace perennial::store
