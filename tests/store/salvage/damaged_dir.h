#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "engine/types/basic.h"
#include "store/format/format.h"

// A data directory with a table for each family, and ways to damage one of them.
namespace perennial::store {

inline constexpr JobId damaged_dir_jobs = 4000;
// No block has more rows than this.
inline constexpr uint64_t rows_of_block_max = 400;

// Makes a directory with jobs in all states, tubes, settings and keys, in tables of several blocks.
void make_dir_to_damage(const std::string& path);

enum class Part : uint8_t {
  DataBlock,
  FirstBlock,
  LastBlock,
  Index,
  Properties,
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
std::vector<DamageCase> all_damages();

// Damages the table of the family. It becomes a file of its own, so that links to it stay whole.
void damage_table(const std::string& path, const DamageCase& damage);

}  // namespace perennial::store
