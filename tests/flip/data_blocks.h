#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "store/format/format.h"
#include "tests/store/store_model.h"

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

  // The ended jobs of the image with a row in the block. REQUIRES: it is of `ended` or of their
  // order, or of bodies, which stand for the jobs.
  std::set<JobId> ended_jobs(const Image& image) const;
  // Whether the block may hold anything about this key.
  bool spans(std::string_view key) const { return key > after && key <= until; }
};

// Returns the blocks of one family, table by table. It reads all tables of the family. REQUIRES: no
// store has the directory open.
std::vector<DataBlock> data_blocks_of(const std::string& data_dir, Family family);
// Returns those of tables that the database has. A store that was killed may leave others, and one
// of these that is not complete.
std::vector<DataBlock> live_data_blocks_of(const std::string& data_dir, Family family);
// Returns those of these of which the copy has other bytes. A table of another length is left out:
// a start refuses it.
std::vector<DataBlock> damaged_blocks_of(const std::string& data_dir, const std::string& copy,
                                         Family family);

}  // namespace perennial::store
