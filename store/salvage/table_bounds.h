#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

// Included by store's own files only.
namespace perennial::store {

// The longest key of any family: store/format/README.md.
inline constexpr size_t table_key_bytes_max = 401;

// What the MANIFEST says of a table.
struct TableBounds {
  std::string first_key = {};
  std::string last_key = {};
  uint64_t sequence_max = 0;
  uint64_t bytes = 0;
};

}  // namespace perennial::store
