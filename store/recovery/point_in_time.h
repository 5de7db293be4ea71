#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "store/format/format.h"
#include "store/recovery/log_scan.h"
#include "store/recovery/manifest.h"

// Whether a log that is damaged or incomplete can be cut, so that the database holds exactly what
// it held at that moment of the past: README.md, "Forced starts".
namespace perennial::store {

struct PointInTime {
  // Why no state of the past can be restored; empty if it can.
  std::string problem;
  // Whether the tables of bodies or notes hold rows from behind the cut, or lack rows that were
  // deleted or written over behind it. That can be mended, because a body belongs to one job and
  // never changes, and a note has its number.
  bool has_later_bodies = false;
};

// What was found about the log files that the MANIFEST needs.
struct LogFound {
  const std::vector<LogFileName>& files;
  const LogHistory& history;
  bool lacks_oldest = false;         // The oldest needed file may be missing.
  std::optional<CommitRow> flushed;  // The commit row in the tables.
};

// The tables of each family hold exactly what the log held where one of its files begins. So the
// state at the end of history exists if no family but bodies and notes is flushed beyond it, and if
// no log file is missing that a family needs up to there.
PointInTime find_point_in_time(const Manifest& manifest, const LogFound& found);

}  // namespace perennial::store
