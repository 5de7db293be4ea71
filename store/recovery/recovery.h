#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "engine/types/status.h"
#include "store/format/format.h"
#include "store/recovery/log_recovery.h"
#include "store/rocks/log_env.h"
#include "store/types/options.h"

// The part of a start before RocksDB opens the database: store/README.md, "The start".
// plan_recovery() judges the database and changes nothing. A start then truncates files, and a
// Reader ignores the same bytes. Included by store's own files only.
namespace perennial::store {

class Database;
class StoreFailure;

struct ManifestTruncation {
  std::string file;
  uint64_t offset = 0;
  std::string fields;  // The fields of the event that reports the truncation.
};

// CURRENT is lost, and names the only MANIFEST again after the start.
struct CurrentRepair {
  std::string manifest;
  std::string problem;

  std::string fields() const;  // Of the event that reports it.
};

struct RecoveryPlan {
  std::optional<CurrentRepair> current = {};
  std::optional<ManifestTruncation> manifest_truncation;
  // Whether the tables have an older format or a migration that is not done. The log may hold the
  // end of that migration.
  bool is_old = false;
  // Whether there is a family that options.format does not have.
  bool has_other_families = false;
  LogJudgement log;
  bool has_durable_mark = false;
  // What is damaged of the durable mark, which can be read nevertheless. Empty: nothing.
  std::string mark_damage = {};
  // Whether a start that accepted losses was interrupted, and is to be repeated.
  bool is_unfinished = false;
  // No lower id may be given out, whatever the database says. It is above 1 if an earlier start has
  // lost history.
  JobId next_id_min = 1;
  // The bytes of log that RocksDB will replay after the truncations.
  uint64_t replay_bytes = 0;

  // The database as it will be after the truncations.
  View view() const;
  // Whether the start accepts losses, or goes on with one that did.
  bool is_forced() const { return is_unfinished || !log.losses.empty(); }
  // Whether there may be bodies without a job, and jobs without a body.
  bool compares_bodies() const { return is_unfinished || log.has_later_bodies; }
};

// What the plan is for.
enum class Purpose : uint8_t {
  Read,
  // The database will be opened to be written. RocksDB then writes the log to tables, compacts, and
  // deletes what it has replaced, before anybody meets a damaged row. So every block of the state
  // families is read first: what a refusal would cost could still be repaired.
  Write,
};

// Makes the plan of a start. Io: a file cannot be read. Corruption: something that was durable is
// damaged or missing, and the options do not accept that. Unsupported: a newer version has written
// the database.
Result<RecoveryPlan> plan_recovery(const std::string& db_path, const Options& options,
                                   StoreFailure& failure, Purpose purpose = Purpose::Read);

// Opens the database read-only as it will be after the truncations, and truncates nothing.
// `damaged`: what tables read in place of damaged blocks; it may be null, and outlives the result.
Result<Database> open_view(const std::string& db_path, const Options& options,
                           StoreFailure& failure, const RecoveryPlan& plan,
                           DamagedBlocks* damaged = nullptr);

// Returns the next id that a start gives out. If the plan has losses, it is skip_ids() of the one
// in the database, because ids that were given out may be among what is lost.
Result<JobId> next_id_of(const Database& db, const RecoveryPlan& plan);

// Replaces the durable mark by one of the plan's end of the log that forbids ids below `next_id`,
// durably. If the plan has losses, it is called before truncate_files(): in the other order a crash
// after the truncations would leave a database that looks whole and gives out ids again.
Status set_durable_mark(const RecoveryPlan& plan, JobId next_id, const Options& options);

// Makes a durable mark if there is none. It is called before the database is opened and begins a
// log: from then on the lack of a durable mark is a loss.
Status ensure_durable_mark(const RecoveryPlan& plan, const Options& options);

// Truncates the files durably, and writes CURRENT again if it is lost. Sends an event for each, for
// each accepted loss, and for damage of the durable mark.
Status truncate_files(const std::string& db_path, const Options& options, const RecoveryPlan& plan);

// Corruption: an opened database does not end with the commit row that the plan has found.
Status check_last(const CommitRow& found, const RecoveryPlan& plan);

}  // namespace perennial::store
