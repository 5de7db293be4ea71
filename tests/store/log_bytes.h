#pragma once

#include <string>
#include <string_view>

#include <rocksdb/file_checksum.h>

#include "store/format/bytes.h"

// Makes RocksDB's log records byte by byte.
namespace perennial::store {

// Returns one piece of a record in RocksDB's format.
inline std::string piece(char kind, const std::string& payload) {
  const auto checksum = rocksdb::GetFileChecksumGenCrc32cFactory()->CreateFileChecksumGenerator({});
  const std::string covered = kind + payload;
  checksum->Update(covered.data(), covered.size());
  checksum->Finalize();
  const auto plain = get_big_endian<uint32_t>(checksum->GetChecksum());
  std::string out(6, '\0');
  put(out.data(), static_cast<uint32_t>(((plain >> 15) | (plain << 17)) + 0xa282ead8U));
  put(out.data() + 4, static_cast<uint16_t>(payload.size()));
  return out + covered;
}
inline std::string full(const std::string& payload) {
  return piece(1, payload);
}

// Returns a batch with its commit row and `count` - 1 more rows, whose bytes recovery never reads.
inline std::string batch(uint64_t sequence, uint32_t count, const CommitRow& row) {
  std::string out(12, '\0');
  put(out.data(), sequence);
  put(out.data() + 8, count);
  out +=
      "\x01\x01"
      "c\x28";
  return full(out + std::string(view(encode(row))) + std::string(10 * (count - 1), 'r'));
}

}  // namespace perennial::store
