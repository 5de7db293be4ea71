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

// A data directory whose rows are bytes, for migrations: they bring decoders of their own. This
// knows what no format changes, so that a start can judge any log and name any format: the commit
// row, the format version, and how far a migration has come (format.h).
namespace perennial::store {

class RawStore {
 public:
  struct Options {
    std::string data_dir = {};
    uint32_t format_max = format_version;                     // A newer one is refused.
    std::span<const FamilyNames> families = format_families;  // Of each format.
    Events events = {};
    rocksdb::Env* env = nullptr;  // The file system, the machine's if null.
  };

  // Locks it, and reads what format it has; changes nothing. NotFound: there is no data directory.
  // Locked: a server uses it. Corruption: it is damaged. Unsupported: a newer program made it.
  static Result<std::unique_ptr<RawStore>> open(const Options& options);
  // Without close() it is left as a crash would leave it.
  ~RawStore();

  uint32_t format() const;
  // If a migration was begun, and is not done.
  const std::optional<MigrationRow>& migration() const;

  // Makes a checkpoint of it as it is, under checkpoints/, and returns its path. REQUIRES: before
  // begin().
  Result<std::string> make_checkpoint(Nanos now, const std::string& server_version);

  // Recovers it as a start does, and opens it to be changed. Ends a migration of which only the
  // dropping of families was left.
  Status begin();
  // The rest REQUIRES begin(). A family by its name on disk; null if there is none.
  rocksdb::DB& db() const;
  rocksdb::ColumnFamilyHandle* family(std::string_view name) const;
  // A new batch, which has begun as every record of the log must.
  rocksdb::WriteBatch new_batch() const;
  // Before anything is written for the step to a format: makes the families that it adds.
  Status begin_step(uint32_t format);
  // Writes it, synced, with how far the migration has come by it.
  Status write(rocksdb::WriteBatch& batch, const MigrationRow& migration);
  // The migration's end, likewise: from here on it has that format, and drops the families that are
  // not of it.
  Status finish(uint32_t format);
  // Flushes everything and closes.
  Status close();

 private:
  struct Impl;
  explicit RawStore(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace perennial::store
