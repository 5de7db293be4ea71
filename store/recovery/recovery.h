#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "engine/types/status.h"
#include "store/format/format.h"
#include "store/recovery/log_recovery.h"
#include "store/rocks/log_env.h"
#include "store/types/options.h"

// What a start makes of a database before RocksDB has touched it: store/README.md, "The start".
// First it is judged, which changes nothing; what is to be cut is cut by a start, and a Reader
// leaves it out of what it shows. Included by store's own files only.
namespace perennial::store {

class Database;
class Failure;

struct ManifestCut {
  std::string file;
  uint64_t offset = 0;
  std::string fields;  // Of the event that tells of it.
};

struct RecoveryPlan {
  std::optional<ManifestCut> manifest_cut;
  // Whether the tables alone have an older format, or a migration's that was cut short. The log may
  // hold its end.
  bool is_old = false;
  // Whether there are families that are not of the wanted format.
  bool has_other_families = false;
  LogJudgement log;
  // No id below it may be given out, whatever the database says: an earlier start has cut history.
  JobId next_id_min = 1;
  // How much log RocksDB will replay, once all cuts are made.
  uint64_t replay_bytes = 0;

  // The database as it is once all cuts are made.
  View view() const;
};

// Fails, besides where it cannot be read, with Corruption where what was on disk is not there any
// more, unless the options accept that, and with Unsupported for what a newer version has written.
Result<RecoveryPlan> plan_recovery(const std::string& db_path, const Options& options,
                                   Failure& failure);

// Opens the database only to be read, as it is once all cuts are made, and makes none.
Result<Database> open_view(const std::string& db_path, const Options& options, Failure& failure,
                           const RecoveryPlan& plan);

// The next id that a start gives out: far beyond the one in the database if the plan drops what was
// on disk, since ids that were given out may be known no more.
Result<JobId> next_id_of(const Database& db, const RecoveryPlan& plan);

// REQUIRES: the plan has losses. Before its cuts are made: notes durably, in place of the mark that
// the log does not reach, that no id below `next_id` may be given out. Otherwise a crash behind the
// cuts would leave a database that looks whole, and gives out ids again.
Status note_loss(const RecoveryPlan& plan, JobId next_id, const Options& options);

// Makes the cuts, durably, with an event for each.
Status make_cuts(const std::string& db_path, const Options& options, const RecoveryPlan& plan);

// Whether a database that was opened ends with the commit row that was judged to be its last.
Status check_last(const CommitRow& found, const RecoveryPlan& plan);

}  // namespace perennial::store
