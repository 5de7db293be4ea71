#include "cmd/perennial/cluster/directory.h"

#include <utility>

#include <sys/stat.h>

#include "store/offline/raw_store.h"

namespace perennial::tool {

Result<std::unique_ptr<store::Store>> open_directory(const std::string& path) {
  ::umask(0077);  // Applies to all files that are made here, also by RocksDB.
  {
    // Makes no directory, as opposed to the store.
    const Result<std::unique_ptr<store::RawStore>> there =
        store::RawStore::open({.data_dir = path});
    if (!there.ok()) return there.status();
  }
  Result<std::unique_ptr<store::Store>> store = store::Store::open({.data_dir = path});
  if (!store.ok()) return store;
  if (!(*store)->identity().empty()) return store;
  return Status(StatusCode::Unsupported,
                path +
                    " has no identity: dump its jobs with `perennial dump`, and load them into "
                    "a new directory");
}

}  // namespace perennial::tool
