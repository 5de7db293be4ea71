#pragma once

#include <cstdint>
#include <memory>

namespace rocksdb {
class MemTableRepFactory;
}  // namespace rocksdb

namespace perennial::store {

enum class IdMemtableUse : uint8_t {
  FlushOnly,  // Without an index: a lookup scans every entry. The family is not read while serving.
  Lookups,    // With an index by id: a lookup takes constant time.
};

// Makes memtables for a family whose keys are ids of jobs. An insert appends to an array, and a
// flush sorts the array by two numbers. RocksDB's own memtables call a comparator for each pair of
// keys. Its skip list was rejected because it does so at each insert, on the loop's thread. Its
// VectorRep was rejected because its sort takes a core that the loop needs. Figures:
// etc/docs/lab-notes.md. If a family has other keys, as another format may, the memtable calls the
// comparator, too. One thread writes at a time, and any thread may read.
std::shared_ptr<rocksdb::MemTableRepFactory> make_id_memtable_factory(IdMemtableUse use);

}  // namespace perennial::store
