#include "store/checkpoint/table_identity.h"

#include <algorithm>
#include <functional>
#include <vector>

#include <rocksdb/env.h>
#include <rocksdb/options.h>
#include <rocksdb/sst_file_reader.h>
#include <rocksdb/table_properties.h>

#include "store/disk/identity.h"
#include "store/types/damage.h"
#include "store/types/file_system_of.h"
#include "store/types/rocks_status.h"

namespace perennial::store {

Result<std::string> identity_of_newest_table(const std::string& db_path, rocksdb::Env* env) {
  std::vector<std::string> names;
  const auto listed = file_system_of(env).GetChildren(db_path, {}, &names, nullptr);
  if (!listed.ok()) return from_rocksdb(listed).with("list " + db_path);
  std::erase_if(names, [](const std::string& name) { return table_number_of(name) == 0; });
  std::ranges::sort(names, std::greater(), table_number_of);
  rocksdb::Options how;
  if (env != nullptr) how.env = env;
  for (const std::string& name : names) {
    rocksdb::SstFileReader table(how);
    if (!table.Open(db_path + "/" + name).ok()) continue;
    std::string identity = identity_or_none(table.GetTableProperties()->db_id);
    if (!identity.empty()) return identity;
  }
  return std::string();
}

}  // namespace perennial::store
