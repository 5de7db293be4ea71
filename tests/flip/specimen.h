#pragma once

#include <cstddef>
#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "tests/store/store_model.h"

// Data directories for damage tests, with what was acknowledged in them.
namespace perennial::store {

enum class Stop : uint8_t {
  Killed,         // Has several log files, none of them flushed.
  PartlyFlushed,  // Like Killed, but one family has its part of the oldest log in a table.
  Clean,
};

struct SpecimenKind {
  const char* name;
  Stop stop = Stop::Killed;
  Durability durability = Durability::Commit;
};
inline void PrintTo(const SpecimenKind& kind, std::ostream* out) {
  *out << kind.name;
}

// One file of a data directory.
struct SpecimenFile {
  std::string name;  // Relative to the data directory.
  size_t bytes = 0;
};

// A data directory that is never opened itself. Only its copies are opened.
struct Specimen {
  std::string path;
  SpecimenKind kind;
  uint64_t seed = 0;
  StoreModel model{0};  // After the last batch. All batches were acknowledged.
  // A lower bound of the synced batches. In the mode Commit it is all of them.
  BatchIndex durable = 0;
  std::vector<SpecimenFile> files = {};

  // The state after an earlier batch.
  StoreModel model_at(BatchIndex index) const;
  std::string newest_log() const;
};

// The seed decides the jobs, but not the timing of RocksDB's threads.
Specimen make_specimen(const std::string& path, const SpecimenKind& kind, uint64_t seed);

// The kind of a file, such as "log", "table" or "MANIFEST", by which figures are counted.
std::string kind_of(const std::string& name);

// Makes a copy for one attempt. Files that a start never changes in place are hard links.
void copy_specimen(const Specimen& specimen, const std::string& to);

std::string read_file(const std::string& path);
// Replaces the file instead of writing into it, because it may be a hard link.
void replace_file(const std::string& path, const std::string& content);

}  // namespace perennial::store
