#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "store/salvage/table_bounds.h"

// Reads a data block of which only the beginning is known: its entries, or LZ4's sequences, are
// followed to where it must end. RocksDB wiki, "Rocksdb BlockBasedTable Format"; LZ4 Block Format
// Description. Included by store's own files only.
namespace perennial::store {

// A block with a body of the highest job_bytes_max and what lies before it, unpacked or not.
inline constexpr uint64_t data_block_bytes_max = (1ULL << 30) + (1 << 20);

// The key of an entry as it is stored: that of the family, then RocksDB's number, which has the
// sequence number and the kind of the entry.
inline constexpr size_t key_number_bytes = 8;
std::string_view family_key(std::string_view stored_key);
// Whether RocksDB sorts one entry before another: of one key the newest is first.
bool sorts_before(std::string_view stored_key, std::string_view other);

struct DataBlock {
  uint64_t offset = 0;
  uint64_t bytes = 0;  // Without what is behind it: block_trailer_bytes.
  std::string first_key = {};
  std::string last_key = {};  // Both as they are stored.
  uint64_t entries = 0;
};

struct BlockAttempt {
  enum class Outcome : uint8_t {
    NoBlock,
    NeedsMore,  // What is there could be the beginning of a block.
    Block,
  };
  Outcome outcome = Outcome::NoBlock;
  DataBlock block = {};
  uint64_t examined_bytes = 0;  // How much work it was.
};

// Reads the block that begins with `bytes`, which are all or the first of the `bytes_left` bytes
// that may belong to it and its trailer. A block counts only if its checksum fits, each entry can
// be decoded, the entries ascend, and all keys, sequence numbers and kinds are those of a table
// with these bounds. So a block of the index or the properties does not count.
BlockAttempt read_data_block(std::string_view bytes, uint64_t bytes_left,
                             const TableBounds& bounds);

}  // namespace perennial::store
