#pragma once

#include <cstdint>

// The flushes and compactions that RocksDB has still to do for what was written.
namespace perennial::store {

// Each member is the number of the family that has most.
struct WriteBacklog {
  uint64_t memtables = 0;  // Full memtables that are not flushed yet.
  uint64_t tables = 0;     // Tables at level 0, which are not merged into lower levels yet.
};

// RocksDB's own limits: past the first it slows every write down, and past the second it stops all
// writes. (RocksDB wiki, "Write Stalls"; in 7.8 a stop can last for ever: RocksDB issue 10257.)
// Its limits are set far away, because RocksDB would delay deletes, too, and deletes are what
// reduces the backlog. Long before these limits must_stall() makes only puts wait.
inline constexpr int memtables_max = 8;  // RocksDB slows down at one less.
inline constexpr int slowdown_tables = 80;
inline constexpr int stop_tables = 160;

// Whether puts should wait for flushes and compactions; `before` says whether they wait now. Puts
// that were accepted before the stall hold at most pending_bytes_max. These bytes fit into the
// memtables that are left.
constexpr bool must_stall(bool before, const WriteBacklog& backlog) {
  constexpr uint64_t memtables_high = 3;
  constexpr uint64_t tables_high = 40;
  if (before)
    return backlog.memtables >= memtables_high - 1 || backlog.tables >= tables_high * 3 / 4;
  return backlog.memtables >= memtables_high || backlog.tables >= tables_high;
}

}  // namespace perennial::store
