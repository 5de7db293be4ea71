#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include <rocksdb/file_system.h>

#include "engine/types/status.h"
#include "store/format/format.h"

// The file `durable` of a data directory: how far the log was synced, kept apart from the log. A
// log that lost its end at the boundary of a record looks like one that ended there; only a note
// beside it tells them apart. Included by store's own files only.
//
// The mark is written after each sync of the log and synced about once a second. What it says is
// always true: it may be older than the log, after a power cut by about a second, and is never
// newer. It has two slots with a hash each. Between two syncs only one of them is written, so that
// a power cut never tears the one that was synced.
namespace perennial::store {

class DurableMarkFile {
 public:
  // Makes the file anew, durably, and in one step: a crash leaves the old one or the new one.
  // `env`: the file system, the machine's if null; it outlives the file.
  static Result<std::unique_ptr<DurableMarkFile>> create(rocksdb::Env* env,
                                                         const std::string& data_dir,
                                                         const DurableMark& mark);
  ~DurableMarkFile();

  // Without a sync. Nothing is written if the mark says this already. By one thread at a time.
  Status write(const DurableMark& mark);
  // Syncs what was written since the last sync, if anything was. Not during a write.
  Status sync();

 private:
  DurableMarkFile(std::unique_ptr<rocksdb::FSRandomRWFile> file, const DurableMark& mark);

  const std::unique_ptr<rocksdb::FSRandomRWFile> file_;
  DurableMark last_;
  uint64_t sequence_ = 0;  // Of the slot written last: the highest is the newest.
  uint64_t slot_ = 0;      // The one to be written; the other one is synced.
  bool is_synced_ = true;
};

// None if there is no such file, as in a copy. Corruption: neither slot can be read.
Result<std::optional<DurableMark>> read_durable_mark(rocksdb::Env* env,
                                                     const std::string& data_dir);

}  // namespace perennial::store
