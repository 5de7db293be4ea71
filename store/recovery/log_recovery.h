#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <rocksdb/file_system.h>

#include "engine/types/status.h"
#include "store/format/format.h"
#include "store/recovery/manifest.h"
#include "store/types/options.h"

// Judges the log at a start, and changes nothing: store/README.md, "The start".
// Included by store's own files only.
namespace perennial::store {

// Where a log is to be truncated.
struct LogTruncation {
  std::string file;
  uint64_t offset = 0;
  std::vector<std::string> later_files;  // Names of the files that are to be removed.
  std::string fields;                    // The fields of the event that reports the truncation.
};

struct LogJudgement {
  // The commit row that the database will have once it is open; none if it has no whole record.
  std::optional<CommitRow> last;
  std::optional<LogTruncation> truncation;
  // Messages about losses that the options accept.
  std::vector<std::string> losses;
  // If there are losses: names of log files that must exist after the truncation and be empty, so
  // that the log has every file that the mark and the MANIFEST name. Otherwise the next start would
  // find them missing.
  std::vector<std::string> empty_files;
  bool has_later_bodies = false;  // PointInTime.
};

// What the tables and the durable mark say about history.
struct LogEvidence {
  std::optional<CommitRow> flushed;    // The commit row in the tables; none if they are empty.
  std::optional<DurableMark> durable;  // How far the log was synced.
};

inline constexpr std::string_view recovery_advice =
    "restore a checkpoint; or copy the directory, and start with --recover=point-in-time";
inline constexpr std::string_view salvage_advice =
    "restore a checkpoint, or load what perennial dump can read into a new directory";

// Judges the log of a database before RocksDB opens it. If only records that were never
// acknowledged are damaged or missing, the log is to be truncated there. Corruption: any other
// damage, in the strict mode. Otherwise `recover` accepts the loss, and the log is to be truncated,
// too; but a loss after which no state of the past can be restored is always refused.
Result<LogJudgement> judge_log(rocksdb::FileSystem& fs, const std::string& db_path,
                               const Manifest& manifest, const LogEvidence& evidence,
                               Recover recover);

}  // namespace perennial::store
