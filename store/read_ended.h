#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <rocksdb/options.h>
#include <rocksdb/slice.h>

#include "engine/types/status.h"
#include "store/damage/damaged_blocks.h"
#include "store/format/format.h"

namespace rocksdb {
class Iterator;
}  // namespace rocksdb

// Included by store's own files only.
namespace perennial::store {

class Database;

// How rows of ended jobs are read, and what could not be read because a table is damaged: it is for
// Containment.
struct EndedAccess {
  struct Unread {
    Family family = Family::Ended;
    // A row of these jobs, if keys of the family have ids.
    JobId first = 0;
    JobId last = std::numeric_limits<JobId>::max();
  };

  const Database& db;
  rocksdb::ReadOptions how = {};
  std::optional<Unread> unread = {};
};

// Passes over the ended jobs of one tube, by their rows in `ended_order`. It sees them as of the
// moment in which it was made, or as of the snapshot of the access. A row that is not what was
// written is passed over, as one that is missing.
class EndedScan {
 public:
  // The access outlives this. REQUIRES: the span is not empty, and the database has the family.
  EndedScan(EndedAccess& access, std::string_view tube, const EndedSpan& span);
  EndedScan(const EndedScan&) = delete;
  EndedScan& operator=(const EndedScan&) = delete;
  ~EndedScan();

  void seek(uint64_t place);         // To the first job in this place or a later one.
  void seek_before(uint64_t place);  // To the last job in an earlier place.
  void next();
  void previous();
  // None: there is no job, or status() says what is wrong: EndedAccess::unread.
  const std::optional<EndedOrder>& row() const { return row_; }
  const Status& status() const { return status_; }
  // Returns the first place from which on all jobs ended at this time or later.
  uint64_t first_since(Nanos since, const EndedSpan& span);

 private:
  enum class Way : uint8_t { Forward, Backward };
  void take(Way way);

  EndedAccess& access_;
  const TableErrors errors_;
  const std::string tube_;
  const std::string first_key_;
  const std::string end_key_;
  const rocksdb::Slice first_;
  const rocksdb::Slice end_;
  std::unique_ptr<rocksdb::Iterator> at_;
  std::optional<EndedOrder> row_;
  Status status_;
};

// Returns where the ended jobs of a tube are. An empty span: there are none.
Result<EndedSpan> read_ended_span(const Database& db, const rocksdb::ReadOptions& how,
                                  const std::string& tube);
// Returns the row of an ended job. None: there is none.
Result<std::optional<EndedJob>> read_ended_row(EndedAccess& access, JobId id);
// Returns the row in this place of a tube. None: there is none, or it is not what was written.
Result<std::optional<EndedOrder>> read_ended_place(EndedAccess& access, std::string_view tube,
                                                   uint64_t place);
// Whether a row, a body or notes are not what was written, or missing, so that others can be read.
bool is_damage(const Status& status);

}  // namespace perennial::store
