#pragma once

#include <cstdint>

// What RocksDB has still to do for what was written.
namespace perennial::store {

// Each of the family that has most.
struct Debt {
  uint64_t memtables = 0;  // That are full and not flushed.
  uint64_t tables = 0;     // At level 0, where nothing is sorted into anything.
};

// Past these limits RocksDB makes whoever writes wait, and past the second stops him: whoever
// deletes, too, though that is what helps. (RocksDB wiki, "Write Stalls"; a stop can last for ever
// in 7.8: RocksDB issue 10257.) So they are far off, and before it comes to that only puts wait:
// is_behind().
inline constexpr int memtables_max = 8;  // It slows down at one less.
inline constexpr int slowdown_tables = 80;
inline constexpr int stop_tables = 160;

// Whether puts should wait for flushes and compactions, when they do already or do not. What may be
// on its way when they begin to, pending_bytes_max, fits into the memtables that are left.
constexpr bool is_behind(bool before, const Debt& debt) {
  constexpr uint64_t memtables_high = 3;
  constexpr uint64_t tables_high = 40;
  if (before) return debt.memtables >= memtables_high - 1 || debt.tables >= tables_high * 3 / 4;
  return debt.memtables >= memtables_high || debt.tables >= tables_high;
}

}  // namespace perennial::store
