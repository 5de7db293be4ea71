#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <absl/container/flat_hash_map.h>

#include "engine/types/basic.h"
#include "engine/types/status.h"
#include "engine/types/transition.h"
#include "store/damage/damaged_ids.h"
#include "store/format/format.h"
#include "store/offline/check.h"

// The steps of a check. Only files of store/ include this header.
namespace rocksdb {
class Iterator;
}  // namespace rocksdb

namespace perennial::store {

class Database;

// Finds the rows of jobs. It uses iterators because a memtable of a state family has no index for
// Get(): id_memtable.h.
class JobRows {
 public:
  explicit JobRows(const Database& db);
  ~JobRows();

  // Returns the value of the row, which is valid until the next call, or none. Unknown is set if
  // the row cannot be read. `place`: that of the state in job_states.
  std::optional<std::string_view> find(size_t place, std::string_view key, bool& is_unknown);

 private:
  std::array<std::unique_ptr<rocksdb::Iterator>, job_states.size()> rows_;
};

// Counts faults and passes them on.
class FaultList {
 public:
  FaultList(const CheckOptions& options, CheckSummary& summary)
      : options_(options), summary_(summary) {}

  void add(std::string_view where, std::string key, std::string what);
  void add(Family family, std::string_view key, std::string what);
  // `status`: the error of decoding a row of that family.
  void add(Family family, std::string_view key, const Status& status);
  // Adds the fault `what` unless a tube may have this name. Keys have the same letters.
  void check_name(Family family, std::string_view key, std::string_view name,
                  std::string_view what);
  uint64_t count() const { return summary_.faults; }
  // Adds a fault with which a server starts nevertheless.
  void add_contained(std::string_view where, std::string key, std::string what);
  void add_contained(Family family, std::string_view key, std::string what);
  void add_contained(Family family, std::string_view key, const Status& status);
  // Notes that a fault of bodies stops a start, as every other fault does.
  void stop_start() { stops_start_ = true; }
  bool stops_start() const { return stops_start_; }

 private:
  const CheckOptions& options_;
  CheckSummary& summary_;
  bool stops_start_ = false;
};

// Calls `check` with the key and the value of each row of the family. Adds a fault and returns
// false if the family cannot be read to its end. REQUIRES: the database has the family.
bool check_each_row(const Database& db, Family family, FaultList& faults,
                    const std::function<void(std::string_view, std::string_view)>& check);

// What damaged blocks of the family may have had that an open store has left out.
DamagedIds known_damage(const Database& db, const CheckOptions& options, Family family);
DamagedEnded known_damage_of_ended(const Database& db, const CheckOptions& options);

// The content of meta with which the rows of jobs are compared.
struct MetaFacts {
  absl::flat_hash_map<TubeId, std::string> tubes;     // Their names; empty if damaged.
  absl::flat_hash_map<std::string, EndedSpan> ended;  // By the name of the tube.
  JobId next_id = std::numeric_limits<JobId>::max();  // The default makes no id too high.
  Nanos now = std::numeric_limits<Nanos>::max();      // By the default every time is over.
  bool is_whole = true;                               // If false, tubes may be missing in `tubes`.
};

MetaFacts check_meta(const Database& db, CheckSummary& summary, FaultList& faults);
// Returns whether `ended` could be read to its end.
bool check_jobs(const Database& db, const CheckOptions& options, const MetaFacts& meta,
                CheckSummary& summary, FaultList& faults);
// Checks the rows of `keys` against the jobs that they name.
void check_keys(const Database& db, const MetaFacts& meta, CheckSummary& summary,
                FaultList& faults);
// Checks the key of one job against `keys`. REQUIRES: the job has a key and has not given it up.
void check_key_of(const Database& db, const JobRow& row, const MetaFacts& meta, FaultList& faults);
// Checks the rows of `notes` against the jobs that they are about.
void check_notes(const Database& db, const CheckOptions& options, CheckSummary& summary,
                 FaultList& faults);
// Checks that the notes of one job are there, whose row is in `family`. `damaged`: what damaged
// blocks of notes may have had. REQUIRES: the job counts some.
void check_notes_of(const Database& db, Family family, const JobRow& row, const DamagedIds& damaged,
                    FaultList& faults);
// Checks the rows of `ended_order` against those of `ended`. `has_all`: those could be read.
void check_ended_order(const Database& db, const CheckOptions& options, const CheckSummary& summary,
                       bool has_all, FaultList& faults);
// Checks that an ended job is in the order of its tube.
void check_order_of(const Database& db, const EndedJob& job, const MetaFacts& meta,
                    FaultList& faults);
// Checks that both rows of each schedule are there.
void check_schedules(const Database& db, const MetaFacts& meta, CheckSummary& summary,
                     FaultList& faults);
void check_tables(const Database& db, const CheckOptions& options, CheckSummary& summary,
                  FaultList& faults);

}  // namespace perennial::store
