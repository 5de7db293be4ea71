#include "store/salvage/manifest_changes.h"

#include <algorithm>
#include <map>
#include <string_view>

#include <rocksdb/file_checksum.h>

#include "store/format/bytes.h"
#include "store/salvage/table_bounds.h"

namespace perennial::store {
namespace {

constexpr size_t block_bytes = 32 << 10;
constexpr size_t header_bytes = 7;
// The tags of an edit.
constexpr uint64_t log_number = 2;
constexpr uint64_t next_file_number = 3;
constexpr uint64_t last_sequence = 4;
constexpr uint64_t deleted_file = 6;
constexpr uint64_t new_file = 103;
constexpr uint64_t column_family = 200;
constexpr uint64_t end_of_file_fields = 1;
// RocksDB takes one more for none.
constexpr uint64_t sequence_max = (uint64_t{1} << 56) - 2;

enum class Kind : char { Full = 1, First = 2, Middle = 3, Last = 4 };

// As log_records.cc checks it.
uint32_t checksum_of(std::string_view bytes) {
  const auto checksum = rocksdb::GetFileChecksumGenCrc32cFactory()->CreateFileChecksumGenerator({});
  checksum->Update(bytes.data(), bytes.size());
  checksum->Finalize();
  uint32_t value = 0;
  for (const char byte : checksum->GetChecksum()) value = value << 8 | static_cast<uint8_t>(byte);
  return ((value >> 15) | (value << 17)) + 0xa282ead8U;
}

void add_piece(std::string& out, Kind kind, std::string_view bytes) {
  std::string checked(1, static_cast<char>(kind));
  checked += bytes;
  const uint32_t checksum = checksum_of(checked);
  for (int shift = 0; shift < 32; shift += 8) out.push_back(static_cast<char>(checksum >> shift));
  out.push_back(static_cast<char>(bytes.size()));
  out.push_back(static_cast<char>(bytes.size() >> 8));
  out += checked;
}

// Adds a record in the layout of RocksDB's logs, which a MANIFEST has, too: blocks of 32 KiB, and
// no piece crosses the end of one. `begin`: the offset of `out` in the file.
void add_record(std::string& out, uint64_t begin, std::string_view record) {
  bool is_first = true;
  do {
    size_t free_bytes = block_bytes - (begin + out.size()) % block_bytes;
    if (free_bytes < header_bytes) {
      out.append(free_bytes, '\0');
      free_bytes = block_bytes;
    }
    const size_t bytes = std::min(record.size(), free_bytes - header_bytes);
    const bool is_last = bytes == record.size();
    const Kind kind =
        is_first ? (is_last ? Kind::Full : Kind::First) : (is_last ? Kind::Last : Kind::Middle);
    add_piece(out, kind, record.substr(0, bytes));
    record.remove_prefix(bytes);
    is_first = false;
  } while (!record.empty());
}

void add_bytes(std::string& out, std::string_view bytes) {
  add_varint(out, bytes.size());
  out += bytes;
}

// A key with the number of its entry, which is the lowest or the highest of all that there can be.
std::string internal_key(std::string_view key, uint64_t sequence) {
  constexpr uint64_t value_kind = 1;
  std::string out(key);
  const uint64_t rest = sequence << 8 | value_kind;
  for (int shift = 0; shift < 64; shift += 8) out.push_back(static_cast<char>(rest >> shift));
  return out;
}

// RocksDB refuses a MANIFEST without these numbers. Their values do not matter: no file is made,
// and with the highest sequence number all entries are visible.
std::string needed_numbers() {
  std::string edit;
  add_varint(edit, log_number);
  add_varint(edit, 0);
  add_varint(edit, next_file_number);
  add_varint(edit, 1);
  add_varint(edit, last_sequence);
  add_varint(edit, sequence_max);
  return edit;
}

// The bounds are those of all possible keys and sequence numbers, because the MANIFEST does not
// know the table. Level 0 is the only one whose tables may overlap.
std::string edit_of(const UnlistedTable& table) {
  std::string edit;
  add_varint(edit, column_family);
  add_varint(edit, table.family);
  add_varint(edit, next_file_number);
  add_varint(edit, table.number + 1);
  add_varint(edit, last_sequence);
  add_varint(edit, sequence_max);
  add_varint(edit, new_file);
  add_varint(edit, 0);  // The level.
  add_varint(edit, table.number);
  add_varint(edit, table.bytes);
  add_bytes(edit, internal_key({}, sequence_max));
  add_bytes(edit, internal_key(std::string(table_key_bytes_max + 1, '\xff'), 0));
  add_varint(edit, 0);  // The lowest sequence number in the table.
  add_varint(edit, sequence_max);
  add_varint(edit, end_of_file_fields);
  return edit;
}

}  // namespace

std::string manifest_changes(uint64_t manifest_bytes, const ManifestChanges& changes) {
  std::map<uint32_t, std::string> edits;  // By family.
  for (const ManifestTable& table : changes.removed) {
    std::string& edit = edits[table.family];
    if (edit.empty()) {
      add_varint(edit, column_family);
      add_varint(edit, table.family);
    }
    add_varint(edit, deleted_file);
    add_varint(edit, static_cast<uint64_t>(table.level));
    add_varint(edit, table.number);
  }
  std::string out;
  if (changes.with_numbers) add_record(out, manifest_bytes, needed_numbers());
  for (const auto& [family, edit] : edits) add_record(out, manifest_bytes, edit);
  if (changes.added != nullptr) add_record(out, manifest_bytes, edit_of(*changes.added));
  return out;
}

}  // namespace perennial::store
