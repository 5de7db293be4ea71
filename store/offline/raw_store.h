#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "engine/types/basic.h"
#include "engine/types/status.h"
#include "store/types/options.h"

namespace rocksdb {
class ColumnFamilyHandle;
class DB;
class WriteBatch;
}  // namespace rocksdb

// A data directory whose rows are bytes, for migrations, which have their own decoders. RawStore
// knows only the rows that are the same in every format: the commit row, the format version and the
// migration row (format.h).
namespace perennial::store {

class RawStore {
 public:
  struct Options {
    std::string data_dir = {};
    uint32_t format_max = format_version;  // A newer format is refused.
    // The families of each format.
    std::span<const FamilyNames> families = format_families;
    Events events = {};
    // The environment whose file system is used, the machine's if null.
    rocksdb::Env* env = nullptr;
  };

  // Locks the directory and reads its format. Changes nothing. NotFound: there is no data
  // directory. Locked: a server uses it. Corruption: it is damaged. Unsupported: a newer program
  // made it.
  static Result<std::unique_ptr<RawStore>> open(const Options& options);
  // Without close() the directory is left as a crash would leave it.
  ~RawStore();

  uint32_t format() const;
  // The migration that was begun and is not finished, if any.
  const std::optional<MigrationRow>& migration() const;

  // Makes a checkpoint of the directory as it is, under checkpoints/, and returns its path.
  // REQUIRES: begin() was not called.
  Result<std::string> make_checkpoint(Nanos now, const std::string& server_version);

  // Recovers the directory as a start does, and opens it for writing. If a migration had only
  // families left to drop, finishes it.
  Status begin();
  // The functions below REQUIRE begin(). family() takes the name on disk, and returns null if there
  // is none.
  rocksdb::DB& db() const;
  rocksdb::ColumnFamilyHandle* family(std::string_view name) const;
  // Returns a batch that begins with the commit row, as every record of the log must.
  rocksdb::WriteBatch new_batch() const;
  // Makes the families that the step to `format` adds. Called before the step writes anything.
  Status begin_step(uint32_t format);
  // Writes the batch synced, together with the migration's progress after it.
  Status write(rocksdb::WriteBatch& batch, const MigrationRow& migration);
  // Ends the migration, synced: sets the format version, and drops the families that do not belong
  // to it.
  Status finish(uint32_t format);
  // Flushes everything and closes.
  Status close();

 private:
  struct Impl;
  explicit RawStore(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace perennial::store
