#pragma once

#include <cstddef>
#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "tests/store/world.h"

// Data directories to be damaged, with what was acknowledged in them.
namespace perennial::store {

enum class Stop : uint8_t {
  Killed,         // With several log files, none of them flushed.
  PartlyFlushed,  // Likewise, but one family has its part of the oldest in a table.
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
  std::string name;  // Below the data directory.
  size_t bytes = 0;
};

// A data directory that is never opened itself: only its copies are.
struct Specimen {
  std::string path;
  SpecimenKind kind;
  uint64_t seed = 0;
  World world{0};  // After the last batch, which was acknowledged like all before it.
  // At least so many batches had been synced. In the mode Commit all of them.
  BatchIndex durable = 0;
  std::vector<SpecimenFile> files = {};

  // As it was after an earlier batch.
  World world_at(BatchIndex index) const;
  std::string newest_log() const;
};

// The seed decides the jobs, not what RocksDB's threads make of them.
Specimen make_specimen(const std::string& path, const SpecimenKind& kind, uint64_t seed);

// "log", "table", "MANIFEST" and so on: what the figures are counted by.
std::string kind_of(const std::string& name);

// A copy for one try. Files that a start never changes in place are hard links.
void copy_specimen(const Specimen& specimen, const std::string& to);

std::string read_file(const std::string& path);
// Under the same name, but not through it: it may be a hard link.
void replace_file(const std::string& path, const std::string& content);

}  // namespace perennial::store
