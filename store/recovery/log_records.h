#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <rocksdb/file_checksum.h>
#include <rocksdb/file_system.h>

#include "engine/types/status.h"

// RocksDB's log format, read without RocksDB, for its logs and for its MANIFEST: blocks of 32 KiB,
// in each of them pieces of records, and before each piece seven bytes: CRC-32C, length, kind.
// RocksDB wiki, "Write Ahead Log File Format". Included by store's own files only.
namespace perennial::store {

// A record, or the rest of a damaged one.
struct LogRecord {
  uint64_t begin = 0;  // Offsets in the file.
  uint64_t end = 0;
  std::string_view head;        // The first bytes; of a damaged record those that are whole.
  std::string_view problem;     // Why the record cannot be read; empty if it is whole.
  bool ends_with_file = false;  // The only problem is that the file is too short.
  bool is_whole() const { return problem.empty(); }
};

// Reads one file from its beginning to its end. After damage it continues with the next piece whose
// checksum is right: RocksDB's own reader stops there, but recovery needs what the later records
// say. Zeros up to the end of the file are the end of the log: LogFile.
class LogReader {
 public:
  // Keeps at most `head_bytes_max` bytes of each record.
  LogReader(std::unique_ptr<rocksdb::FSSequentialFile> file, size_t head_bytes_max);

  // Returns false at the end of the file. The record's views are valid until the next call.
  Result<bool> next(LogRecord& record);

 private:
  enum class Kind : uint8_t { Damage = 0, Full = 1, First = 2, Middle = 3, Last = 4, End };
  // A piece of a record in the buffer, or damaged bytes.
  struct Piece {
    Kind kind = Kind::End;
    size_t begin = 0;
    size_t end = 0;
    std::string_view problem = {};
    bool ends_with_file = false;
    bool is_zeros = false;  // The rest of the block has only zeros.
  };

  Status fill();
  Result<Piece> peek();
  Piece piece_at(size_t at, size_t block_end) const;
  Piece damage_at(size_t at, size_t block_end, std::string_view problem) const;
  bool is_piece(size_t at, size_t block_end) const;
  bool checksum_fits(size_t at, size_t length) const;
  void take(const Piece& piece, LogRecord& record);

  std::unique_ptr<rocksdb::FSSequentialFile> file_;
  const size_t head_bytes_max_;
  const std::shared_ptr<rocksdb::FileChecksumGenFactory> checksums_;
  std::string head_;
  std::string buffer_;                   // Whole blocks, except at the end of the file.
  std::optional<uint64_t> zeros_begin_;  // The offset in the file of zeros that were skipped.
  uint64_t buffer_begin_ = 0;
  size_t buffer_bytes_ = 0;
  size_t position_ = 0;  // The next byte in the buffer.
};

}  // namespace perennial::store
