#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include <rocksdb/file_system.h>

#include "engine/types/status.h"
#include "store/format/format.h"

// The file `durable` of a data directory records how far the log was synced. It is separate from
// the log, because a log that lost its end at the boundary of a record looks like a log that ended
// there. Only files of store/ include this header.
//
// The mark is written after each sync of the log and synced about once a second. The mark is never
// ahead of the log. It may be behind the log, and after a power cut by about a second. The file has
// two slots, each with a hash. Between two syncs only one slot is written, so that a power cut
// never tears the slot that was synced.
//
// While the log is idle, and after a clean stop, both slots hold the newest mark, so that damage of
// one slot hides no loss. A slot with one wrong byte can be read all the same. What remains unseen:
// the log has lost its end, the newer slot has several wrong bytes, and the server was killed at
// most two seconds after a commit. Then the older slot counts, and at most the commits of these
// seconds are lost without an error. A start cannot refuse this case, because a power cut may leave
// a torn slot, too; it says that a slot is damaged.
namespace perennial::store {

class DurableMarkFile {
 public:
  // Creates the file durably and atomically: a crash leaves the old file or the new one. `env`: the
  // file system, the machine's if null. It must outlive the returned object.
  static Result<std::unique_ptr<DurableMarkFile>> create(rocksdb::Env* env,
                                                         const std::string& data_dir,
                                                         const DurableMark& mark);
  ~DurableMarkFile();

  // Writes the mark without a sync, or does nothing if `mark` equals the last mark. Only one thread
  // at a time may call this.
  Status write(const DurableMark& mark);
  // Syncs what was written since the last sync. If nothing was, the log is idle: then it copies the
  // mark to the other slot, once, and syncs that. REQUIRES: no write() runs.
  Status sync();

 private:
  DurableMarkFile(std::unique_ptr<rocksdb::FSRandomRWFile> file, const DurableMark& mark);

  Status write_slot(const DurableMark& mark);

  const std::unique_ptr<rocksdb::FSRandomRWFile> file_;
  DurableMark last_;
  // The number of the last write. The slot with the higher number is the newer one.
  uint64_t sequence_ = 0;
  uint64_t slot_ = 0;  // The slot that the next write uses. The other slot is synced.
  bool is_synced_ = true;
  bool is_in_both_ = true;  // Whether both slots hold the last mark.
};

// Returns none if there is no such file, as in a copy. Corruption: neither slot can be read. If one
// slot is damaged and the mark can be read nevertheless, `damage` says so; otherwise it is empty.
Result<std::optional<DurableMark>> read_durable_mark(rocksdb::Env* env, const std::string& data_dir,
                                                     std::string* damage = nullptr);

}  // namespace perennial::store
