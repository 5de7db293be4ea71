#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/types/basic.h"
#include "store/format/format.h"

// What a salvage has found: the account that tools print.
namespace perennial::store {

// Ids, of which only the first are kept.
struct IdList {
  static constexpr size_t kept_max = 100'000;

  uint64_t count = 0;
  std::vector<JobId> ids = {};

  void add(JobId id) {
    if (count++ < kept_max) ids.push_back(id);
  }
};

// Names, of which only the first are kept.
struct NameList {
  static constexpr size_t kept_max = 1'000;

  uint64_t count = 0;
  std::vector<std::string> names = {};

  void add(const std::string& name) {
    if (count++ < kept_max) names.push_back(name);
  }
};

// A part of a table that cannot be read.
struct UnreadableRange {
  // In the file, to within a few bytes: RocksDB tells the places of blocks in parts of the whole.
  uint64_t begin_offset = 0;
  uint64_t end_offset = 0;
  std::string first_key;  // What lies in the range has no lower key,
  std::string end_key;    // and only lower keys than this one.
};

struct DamagedTable {
  Family family = Family::Meta;
  std::string file;     // The name of the file.
  std::string problem;  // Why it cannot be read whole.
  // Entries are puts and removals of rows. 0 if even their number cannot be read.
  uint64_t entries = 0;
  uint64_t entries_read = 0;
  uint64_t time_max = 0;  // The highest sequence number in the table, plus one.
  std::vector<UnreadableRange> unreadable = {};
  bool is_unlisted = false;  // The MANIFEST does not name it.

  uint64_t skipped() const { return entries > entries_read ? entries - entries_read : 0; }
};

struct Salvaged {
  std::vector<DamagedTable> tables = {};
  // What is wrong with the MANIFEST, so that tables may be missing of which nobody knows.
  std::string manifest_problem = {};
  uint64_t tables_unlisted = 0;  // Tables that were read, and that the MANIFEST does not name.
  bool has_cluster = false;      // Whether the directory belongs to a cluster.
  std::string log_problem = {};  // Why a start would refuse the log; empty if it would not.
  // False: the row that shows whether the log is whole cannot be read.
  bool log_is_judged = true;
  // The commits of which not all can be read, where the log is damaged. 0: their numbers are not
  // known, or there are none.
  BatchIndex commits_lost_first = 0;
  BatchIndex commits_lost_last = 0;
  // Jobs with a row, by state. Those in bodies_lost are among them.
  std::array<uint64_t, job_states.size()> jobs = {};
  IdList rows_lost = {};    // There is a body, and the row cannot be read.
  IdList bodies_lost = {};  // There is a row, and the body cannot be read or is not what was put.
  // Jobs that may be in another state, or deleted: what would show it cannot be read.
  IdList uncertain = {};
  // Jobs that are not uncertain, and whose priority and counters may have changed since their row:
  // a newer row of the same state may be in what cannot be read.
  IdList rows_older = {};
  std::string checkpoint = {};     // The path of the checkpoint that was read, too, if one was.
  IdList rows_copied = {};         // Jobs with the rows that the checkpoint has.
  IdList bodies_copied = {};       // Jobs with the bodies that the checkpoint has.
  uint64_t tubes_copied = 0;       // Tubes with the names that the checkpoint has.
  uint64_t tubes_renamed = 0;      // Tubes with jobs whose names cannot be read.
  IdList jobs_in_renamed = {};     // Jobs in these tubes.
  uint64_t meta_rows_dropped = 0;  // Pauses and settings that are damaged or without a tube.
  uint64_t keys_rebuilt = 0;       // From the jobs that hold them.
  uint64_t keys_dropped = 0;       // Keys whose job is lost.
  uint64_t notes = 0;              // Notes of jobs with a row.
  uint64_t ended = 0;      // Jobs that have ended and are kept, whose rows and bodies are whole,
  IdList ended_lost = {};  // and those of which one of the two is not.
  uint64_t schedules = 0;  // Schedules of which both rows are those that were written last,
  NameList schedules_lost = {};  // and those of which one is not, or may not be.
  // Notes that jobs with a row count, and that cannot be read. A repair leaves none, so that they
  // alone are no damage.
  uint64_t notes_lost = 0;

  uint64_t job_count() const {
    uint64_t sum = 0;
    for (const uint64_t count : jobs) sum += count;
    return sum;
  }
  // Jobs that can be put into a new database.
  uint64_t whole_jobs() const { return job_count() - bodies_lost.count; }
  uint64_t lost_jobs() const { return rows_lost.count + bodies_lost.count; }
  // Whether jobs may be lost, or be back, of which nothing is left that says so.
  bool log_may_be_damaged() const { return !log_problem.empty() || !log_is_judged; }
  bool is_whole() const {
    return tables.empty() && manifest_problem.empty() && tables_unlisted == 0 &&
           log_problem.empty() && lost_jobs() == 0 && uncertain.count == 0 &&
           rows_older.count == 0 && tubes_renamed == 0 && meta_rows_dropped == 0 &&
           keys_rebuilt == 0 && keys_dropped == 0 && ended_lost.count == 0 &&
           schedules_lost.count == 0;
  }
};

}  // namespace perennial::store
