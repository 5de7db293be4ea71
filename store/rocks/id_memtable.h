#pragma once

#include <cstdint>
#include <memory>

namespace rocksdb {
class MemTableRepFactory;
}  // namespace rocksdb

namespace perennial::store {

enum class IdMemtableUse : uint8_t {
  FlushOnly,  // Not read while it serves: a lookup looks at every entry.
  Lookups,    // With an index, for lookups in constant time.
};

// Memtables for a family whose keys are ids of jobs: an array that is appended to, and sorted when
// it is flushed, by two numbers in place. RocksDB's own call a comparator for each two keys: its
// VectorRep when it is flushed, on a core that the loop needs; its skip list at each insert, on the
// loop. Figures: etc/BENCHMARKS.md. With other keys among them, as another format may have, it
// calls the comparator, too. One thread writes at a time, any may read.
std::shared_ptr<rocksdb::MemTableRepFactory> make_id_memtable_factory(IdMemtableUse use);

}  // namespace perennial::store
