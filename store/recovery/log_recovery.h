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

// What a start makes of the log: store/README.md, "The start". Only judges, and changes nothing.
// Included by store's own files only.
namespace perennial::store {

// Where a log ends that is not whole.
struct LogCut {
  std::string file;
  uint64_t offset = 0;
  std::vector<std::string> later_files;  // They go.
  std::string fields;                    // Of the event that tells of it.
};

struct LogJudgement {
  // The commit row that the database will have once it is open; none if it is not whole.
  std::optional<CommitRow> last;
  std::optional<LogCut> cut;
  // What is lost that was on disk, where the options accept that.
  std::vector<std::string> losses;
};

// What is known of history without the log.
struct LogEvidence {
  std::optional<CommitRow> flushed;    // The commit row that the tables alone hold.
  std::optional<DurableMark> durable;  // How far the log was synced.
};

inline constexpr std::string_view recovery_advice =
    "restore a checkpoint; or copy the directory, and start with --recover=point-in-time";

// Judges the log of a database before it is opened. A log whose end was never acknowledged is to be
// cut there. Everything else that is not whole is refused, unless it is to be cut, too.
Result<LogJudgement> judge_log(rocksdb::FileSystem& fs, const std::string& db_path,
                               const Manifest& manifest, const LogEvidence& evidence,
                               Recover recover);

}  // namespace perennial::store
