#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "engine/types/basic.h"
#include "engine/types/status.h"
#include "store/format/format.h"

namespace rocksdb {
class Env;
}  // namespace rocksdb

// The options of a store. The programs fill them in. `env` is a group_env(), the
// unsynced_env() or one of a test.
namespace perennial::store {

// Says when a reply may leave: etc/docs/durability.md.
enum class Durability : uint8_t {
  Commit,    // When the disk has the batch.
  Interval,  // When the kernel has the batch. The disk has it within sync_interval_ms.
  Never,     // When the kernel has the batch. The kernel decides when the disk has it.
};

// Returns the name of the mode in the configuration, in logs and in stats.
constexpr std::string_view durability_name(Durability durability) {
  switch (durability) {
    case Durability::Commit:
      return "commit";
    case Durability::Interval:
      return "interval";
    case Durability::Never:
      return "never";
  }
  return "unknown";
}

// Says what a start does with a damaged or incomplete log. store/README.md, "The start".
enum class Recover : uint8_t {
  Strict,       // Truncates an end that was never acknowledged, and refuses other damage.
  PointInTime,  // Truncates at the first damage, even if acknowledged batches are lost.
};

// Callbacks by which the store reports what no return value says. They are called from any thread.
struct Events {
  // One logfmt event: `at` is its name, `fields` the rest of the line.
  std::function<void(std::string_view at, std::string_view fields)> info = {};
  // The same of an event that says that the disk has no space for puts. Null: `info` gets it.
  std::function<void(std::string_view at, std::string_view fields)> scarce = {};
  // A write, a sync or a background task of RocksDB failed: Store::Impl::fail_on_error() says what
  // that means. Called once at most. The process must end without sending another reply. The
  // callback does not return in the server, and may return in tests.
  std::function<void(const Status&)> fatal = {};
};

// As a size in bytes or files: the store derives the size from the disk of the data directory.
// disk_space.h.
inline constexpr uint64_t derived = ~uint64_t{0};

// The fewest tables that RocksDB keeps open.
inline constexpr uint32_t open_tables_min = 10;

// How many bytes may still be written for puts.
struct DiskLeft {
  // Free space above the low-water mark; the largest number if there is no mark.
  uint64_t bytes = ~uint64_t{0};
  // The part of the space below the mark that is meant for puts that are under way when the free
  // space reaches the mark.
  uint64_t slack_bytes = 0;
};

struct Options {
  std::string data_dir = {};
  Durability durability = Durability::Commit;
  uint32_t sync_interval_ms = 50;
  // When the log exceeds this, RocksDB flushes what the oldest log file holds. That bounds the time
  // of a start. The store lowers this value and the next one on a small disk.
  uint64_t log_bytes_max = 64ULL << 20;
  // About how many bytes one compaction of bodies reads and rewrites.
  uint64_t compaction_bytes_max = 256ULL << 20;
  // Puts are refused when less space than this is free. 0: never.
  uint64_t low_water_bytes = 0;
  // The size of the ballast file, which is removed when less than half the low-water mark is free.
  // 0: no ballast.
  uint64_t ballast_bytes = 0;
  // A start is refused when less space than this is free.
  uint64_t open_bytes_min = derived;
  // The same in files: how many more the file system can hold, which is its free inodes.
  uint64_t low_water_files = 0;
  uint64_t open_files_min = derived;
  // The number of tables that stay open, at least open_tables_min. Others are opened when they are
  // read, so a few more are open while many are read at once.
  uint32_t open_tables_max = 64;
  // So many bytes of tables are read again each second, to find damage. 0: none.
  uint64_t scrub_bytes_per_second = 0;
  // LocalLog::append() writes no batch with more operations on its caller's thread.
  size_t caller_operations_max = SIZE_MAX;
  Recover recover = Recover::Strict;
  // The newest format that the database may have, and the oldest, which a new one gets. With
  // takes_older, older formats and an interrupted migration are accepted, too; only migrations set
  // that.
  uint32_t format = format_version;
  uint32_t format_min = format_base;
  bool takes_older = false;
  // The families of each format. A format past the end has the families of the last entry. Only
  // tests set this.
  std::span<const FamilyNames> families = format_families;
  // The clock for measurements and for the sync interval; the machine's steady clock if empty.
  std::function<Nanos()> steady_clock = {};
  // The environment whose file system the store runs on; the machine's if null. It must outlive the
  // store.
  rocksdb::Env* env = nullptr;
  Events events = {};
};

}  // namespace perennial::store
