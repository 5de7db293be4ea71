#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "engine/types/basic.h"
#include "store/format/format.h"

namespace perennial::store {

// A block of a table that cannot be read, or does not hold what was written. The family is one that
// no start loads: is_loaded(). RocksDB reads and checks a table block by block, so this is the
// smallest part that damage costs.
struct DamagedBlock {
  Family family = Family::Bodies;
  uint64_t table = 0;   // The number of the table, as in its name.
  uint64_t offset = 0;  // In the table's file, in bytes.
  uint64_t bytes = 0;   // With the checksum behind the block.
  // Every job of which a row was in the block has an id from `first` to `last`. Rows of other jobs
  // with such an id are in other tables or blocks. Where keys do not begin with ids, as those of
  // `ended_order`, these are all ids.
  JobId first = 0;
  JobId last = 0;
  std::string problem = {};

  bool operator==(const DamagedBlock&) const = default;
};

// A block of a table of a family that a start loads, which is the state of the queue. The rows are
// in memory as long as the server runs, and the next start is refused.
struct DamagedRows {
  std::string family;
  uint64_t table = 0;   // As above,
  uint64_t offset = 0;  // and 0 if the table as a whole cannot be read.
  std::string problem;

  bool operator==(const DamagedRows&) const = default;
};

// How far all tables were read again since the start (scrub_bytes_per_second).
struct ScrubFigures {
  uint64_t bytes = 0;
  uint64_t passes = 0;  // Over all tables that there were when the pass began.
};

// Returns the name of a table's file in `db/`, "000012.sst".
std::string table_name(uint64_t number);
// Returns the number in such a name, or 0 for any other file.
uint64_t table_number_of(std::string_view name);

}  // namespace perennial::store
