#pragma once

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

// How a store is opened. Core, cmd and the tools fill this in; only tests set `env`.
namespace perennial::store {

// When a reply may leave: README.md at the top, "Promises".
enum class Durability : uint8_t {
  Commit,    // When the disk has its batch.
  Interval,  // When the kernel has its batch; the disk follows within sync_interval_ms.
  Never,     // When the kernel has its batch; the disk follows when the kernel likes.
};

// The word for it in the configuration, in logs and in stats.
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

// What a start does with a log that is not whole. store/README.md, "The start".
enum class Recover : uint8_t {
  Strict,       // Cuts an end that was never acknowledged, and refuses anything else.
  PointInTime,  // Cuts at the first damage, whatever is lost.
};

// What the store has to say, besides its results. Called from any thread.
struct Events {
  // One logfmt event: `at` is its name, `fields` the rest of the line.
  std::function<void(std::string_view at, std::string_view fields)> info = {};
  // A write, a sync or something in the background failed. Called once at most; the process must
  // end without answering anything more. Never returns in the server; may return in tests.
  std::function<void(const Status&)> fatal = {};
};

// For a size in bytes: what suits the disk that holds the data directory. room.h.
inline constexpr uint64_t derived = ~uint64_t{0};

// RocksDB keeps no fewer tables open.
inline constexpr uint32_t open_tables_min = 10;

// How much may be written for puts.
struct DiskLeft {
  uint64_t bytes = ~uint64_t{0};  // Above the low-water mark; at most this where there is none.
  // The part of what is below it that is for what is on its way when the mark is reached.
  uint64_t slack_bytes = 0;
};

struct Options {
  std::string data_dir = {};
  Durability durability = Durability::Commit;
  uint32_t sync_interval_ms = 50;
  // Past this much log RocksDB flushes what the oldest log file holds. Bounds the time of a start.
  // Less on a small disk, as is the next.
  uint64_t log_bytes_max = 64ULL << 20;
  // About how much one compaction of bodies reads and writes anew.
  uint64_t compaction_bytes_max = 256ULL << 20;
  // With less free room than this put is refused; 0: never.
  uint64_t low_water_bytes = 0;
  // Room kept in a file and given up when less than half the low-water mark is free; 0: none.
  uint64_t ballast_bytes = 0;
  // A start with less free room than this is refused.
  uint64_t open_bytes_min = derived;
  // So many tables are kept open; others are opened when they are read. A few more while many are
  // read at once. At least open_tables_min.
  uint32_t open_tables_max = 64;
  Recover recover = Recover::Strict;
  // The format on disk that the database must have. Migrations take older ones, too, and those that
  // a migration was cut short in.
  uint32_t format = format_version;
  bool takes_older = false;
  // The families of each format; one that is not there has those of the last. Only tests have
  // others.
  std::span<const FamilyNames> families = format_families;
  // For measuring and for the sync interval; the steady clock of the machine if empty.
  std::function<Nanos()> steady_clock = {};
  // The file system to run on, the machine's if null. It must outlive the store.
  rocksdb::Env* env = nullptr;
  Events events = {};
};

}  // namespace perennial::store
