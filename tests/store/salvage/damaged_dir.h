#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "engine/types/basic.h"
#include "store/damage/table_blocks.h"
#include "store/format/format.h"

// A data directory with a table for each family, and ways to damage one of them.
namespace perennial::store {

inline constexpr JobId damaged_dir_jobs = 4000;
// No block has more rows than this.
inline constexpr uint64_t rows_of_block_max = 400;

// Makes a directory with jobs in all states, tubes, settings, keys and notes, in tables of several
// blocks. Each is a database of its own.
void make_dir_to_damage(const std::string& path, JobId ended_jobs = 0);
// Copies one that is made once for the whole test program: all copies are the same database.
void copy_dir_to_damage(const std::string& path);

enum class Part : uint8_t {
  DataBlock,
  FirstBlock,
  LastBlock,
  Index,
  Properties,
  Metaindex,
  Footer,
  Missing,
  Cut
};

struct DamageCase {
  Family family = Family::Ready;
  Part part = Part::DataBlock;
};
std::string name_of(const DamageCase& damage);
inline void PrintTo(const DamageCase& damage, std::ostream* out) {
  *out << name_of(damage);
}
// Each part of a table of each family that the directory has.
std::vector<DamageCase> all_damages();

// Returns the path of the largest table of the family.
std::string largest_table(const std::string& db_path, Family family);
struct TableLayout {
  std::vector<TableBlock> blocks = {};  // Those of data.
  uint64_t data_bytes = 0;
  uint64_t metaindex = 0;  // Where it begins.
  uint64_t file_bytes = 0;
};
TableLayout layout_of(const std::string& table);

// Returns the path of the family's table.
std::string table_of(const std::string& path, Family family);
// Damages the table of the family. It becomes a file of its own, so that links to it stay whole.
void damage_table(const std::string& path, const DamageCase& damage);

}  // namespace perennial::store
