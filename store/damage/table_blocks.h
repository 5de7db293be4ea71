#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <rocksdb/file_system.h>

#include "engine/types/status.h"

// The data blocks of a table, found and checked without RocksDB, which stops at the first damaged
// one. RocksDB wiki, "Rocksdb BlockBasedTable Format". Included by store's own files only.
namespace perennial::store {

// Behind each block: a byte for its compression, and four of a checksum.
inline constexpr uint64_t block_trailer_bytes = 5;

// A block in a table's file, without what is behind it: block_trailer_bytes.
struct BlockHandle {
  uint64_t offset = 0;
  uint64_t bytes = 0;
};

// How a block is stored: the byte behind it.
enum class Compression : char { None = 0, Lz4 = 4 };

// A footer ends the file. It has the checksum's kind, two handles, the format's version and a magic
// number.
inline constexpr uint64_t footer_bytes = 53;
std::string write_footer(const BlockHandle& metaindex, const BlockHandle& index);

// The data block of a table. Keys are those of the family, without RocksDB's own numbers.
struct TableBlock {
  uint64_t offset = 0;
  uint64_t bytes = 0;      // Without what is behind it: block_trailer_bytes.
  std::string after = {};  // Each key in the block is greater. Empty: it is the first block.
  std::string until = {};  // No key in the block is greater.
  // RocksDB's number of the last row, where the index has numbers: several rows with one key may
  // then lie in several blocks, in the falling order of their numbers. 0: it has none.
  uint64_t until_sequence = 0;
};

// How the keys of a table's index are written: a property of the table.
enum class IndexKeys : uint8_t { OfFamily, WithNumbers };

// Returns the data blocks in the order of their keys. Corruption: the footer or the index is
// damaged. Io: it cannot be read. Unsupported: the table has a layout that is not ours.
Result<std::vector<TableBlock>> list_blocks(rocksdb::FSRandomAccessFile& file, uint64_t file_bytes,
                                            IndexKeys keys);

// Reads a block and compares its checksum. Corruption: it does not fit. Io: the block cannot be
// read.
Status check_block(rocksdb::FSRandomAccessFile& file, uint64_t offset, uint64_t bytes);

// Unpacks a block that is compressed with LZ4. Corruption: it cannot be unpacked, or it has more
// than `bytes_max` bytes then.
Result<std::string> unpack_block(std::string_view block, uint64_t bytes_max);

// Returns the checksum that belongs behind a block. `block` includes the byte of the compression.
uint32_t block_checksum(std::string_view block);

}  // namespace perennial::store
