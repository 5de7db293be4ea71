#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "store/format/format.h"

// The data blocks of the tables of a data directory, and what was put into each.
namespace perennial::store {

struct DataBlock {
  Family family = Family::Meta;
  std::string file;  // The name of the table, without the directory.
  uint64_t offset = 0;
  uint64_t bytes = 0;
  std::string after;                // Each key in the block is greater. Empty: it is the first.
  std::string until;                // No key in the block is greater.
  std::set<std::string> puts = {};  // Keys with a row in the block. Removals are not among them.

  // Whether the block may hold anything about this key.
  bool spans(std::string_view key) const { return key > after && key <= until; }
};

// Returns the blocks of one family, table by table. It reads all tables of the family. REQUIRES: no
// store has the directory open.
std::vector<DataBlock> data_blocks_of(const std::string& data_dir, Family family);

}  // namespace perennial::store
