#pragma once

#include <atomic>
#include <cstdint>
#include <initializer_list>
#include <mutex>
#include <string>
#include <vector>

#include "engine/types/basic.h"
#include "engine/types/status.h"
#include "store/damage/damaged_blocks.h"
#include "store/types/damage.h"
#include "store/types/options.h"

namespace rocksdb {
class ColumnFamilyHandle;
class DB;
class Status;
struct LiveFileMetaData;
}  // namespace rocksdb

// Included by store's own files only.
namespace perennial::store {

// Keeps a damaged block from costing more than the rows in it: P11. RocksDB ends a
// compaction at the first damaged block, and then takes no write. So when a read or a compaction
// has met damage, each block of the table is checked, the damaged ones are noted durably, and from
// then on RocksDB reads others in their place (damaged_blocks.h). The next compaction of the table
// writes a whole one. A link to the damaged table is kept in `damaged/` of the data directory.
//
// It concerns tables of the families that no start loads (is_loaded()): a damaged block of any
// other family is the state of the queue, and stays a failure. Thread-safe.
class Containment {
 public:
  // `options` outlive this.
  Containment(const Options& options, std::string db_path);

  // Reads what earlier processes have found. A record that is damaged itself counts as empty, and
  // an event says so.
  Status open();

  // Checks these tables, as far as they are of families that no start loads. Returns whether a
  // damaged block was found that was not known before, or that another thread has found meanwhile,
  // so that what has failed is worth another try. Called on any thread; it takes as long as reading
  // the tables.
  bool contain(rocksdb::DB& db, const std::vector<uint64_t>& tables);

  // For a reader of the database, which changes nothing on disk: checks all tables of these
  // families, and returns the damaged blocks. They are read as others from then on, and nothing
  // notes them. REQUIRES: no start loads the families. A second call returns only what it finds
  // anew.
  Result<std::vector<DamagedBlock>> pass_over(rocksdb::DB& db,
                                              std::initializer_list<Family> families);

  // The three steps of a compaction, on its thread. It begins; it has failed, after which the
  // tables that it has read are checked; and whether its error may be forgiven, because the damage
  // is contained and the next try will not meet it.
  // `containment`: null if it concerns another family.
  static void begin_compaction(const Containment* containment);
  void end_failed_compaction(rocksdb::DB& db, const rocksdb::Status& status,
                             const std::vector<uint64_t>& tables);
  static bool forgives(const rocksdb::Status& status);

  // Writes the damaged tables of a family anew, without the damaged blocks: the database has no
  // damage there then. Stops after the table at hand when `cancelled` is set. An error is reported,
  // and tried again by the next call.
  void rewrite(rocksdb::DB& db, rocksdb::ColumnFamilyHandle& family,
               const std::atomic<bool>& cancelled);

  // Rows of jobs with ids from `first` to `last` could not be read: the tables that may hold them
  // are to be checked. Where keys have no ids these are all of the family.
  void suspect(Family family, JobId first, JobId last);
  // Something that read all of them has met damage: all tables are to be checked.
  void suspect_all();
  // Checks the tables that may hold the suspected rows, as contain() does.
  bool check_suspects(rocksdb::DB& db);

  // The blocks that are known, of all families, in the order in which they were found.
  std::vector<DamagedBlock> blocks() const;
  // A number that changes with blocks(). 0: none was ever found.
  uint64_t version() const { return version_.load(std::memory_order_acquire); }
  // Nothing of the family is missing any more: forgets all its blocks of tables that are gone.
  Status forget(rocksdb::DB& db, Family family);

  DamagedBlocks& substitutes() { return substitutes_; }

 private:
  struct Suspect {
    Family family = Family::Bodies;
    JobId first = 0;
    JobId last = 0;
  };

  Result<std::vector<DamagedBlock>> check(const rocksdb::LiveFileMetaData& table,
                                          Substitutes& substitutes) const;
  Status note(const std::vector<DamagedBlock>& found);
  void set_aside(const rocksdb::LiveFileMetaData& table) const;
  void inform(std::string_view at, std::string_view fields) const;

  const Options& options_;
  const std::string db_path_;
  DamagedBlocks substitutes_;
  std::atomic<uint64_t> version_ = 0;
  std::mutex checking_;       // One thread at a time checks tables.
  mutable std::mutex mutex_;  // Guards what is below.
  std::vector<DamagedBlock> blocks_;
  std::vector<Suspect> suspects_;
  bool suspects_all_ = false;
};

}  // namespace perennial::store
