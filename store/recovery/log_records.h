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

// A record, or what is left of one.
struct LogRecord {
  uint64_t begin = 0;  // In the file.
  uint64_t end = 0;
  std::string_view head;        // Its first bytes. Of a damaged record: those that are whole.
  std::string_view problem;     // Why it cannot be read; empty if all of it is there.
  bool ends_with_file = false;  // It has a problem, and no more than that the file is too short.
  bool is_whole() const { return problem.empty(); }
};

// Reads one file from its beginning to its end, through damage: after it, it goes on with the next
// piece whose checksum is right. Zeros up to the end of the file are its end: LogFile.
class LogReader {
 public:
  // Keeps up to `head_bytes_max` of each record.
  LogReader(std::unique_ptr<rocksdb::FSSequentialFile> file, size_t head_bytes_max);

  // False at the end of the file. The record's views are good until the next call.
  Result<bool> next(LogRecord& record);

 private:
  enum class Kind : uint8_t { Damage = 0, Full = 1, First = 2, Middle = 3, Last = 4, End };
  // A piece in the buffer, or a stretch of damage.
  struct Piece {
    Kind kind = Kind::End;
    size_t begin = 0;
    size_t end = 0;
    std::string_view problem = {};
    bool ends_with_file = false;
    bool is_zeros = false;  // Damage that is the rest of a block, and nothing but zeros.
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
  std::string buffer_;                   // Whole blocks, save at the end of the file.
  std::optional<uint64_t> zeros_begin_;  // Of zeros that were passed over, in the file.
  uint64_t buffer_begin_ = 0;
  size_t buffer_bytes_ = 0;
  size_t position_ = 0;  // In the buffer.
};

}  // namespace perennial::store
