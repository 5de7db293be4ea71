#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

#include "store/format/format.h"

// Functions that write numbers into bytes and read them back, for the files that encode and decode.
namespace perennial::store {

static_assert(std::endian::native == std::endian::little,
              "values are written as they lie in memory");

template <typename Number>
void put(char* at, Number number) {
  std::memcpy(at, &number, sizeof number);
}

template <typename Number>
Number get(std::string_view value, size_t at) {
  Number number;
  std::memcpy(&number, value.data() + at, sizeof number);
  return number;
}

template <typename Number>
void put_big_endian(char* at, Number number) {
  for (size_t i = 0; i < sizeof number; ++i) {
    at[i] = static_cast<char>(number >> (8 * (sizeof number - 1 - i)));
  }
}

template <typename Number>
Number get_big_endian(std::string_view bytes) {
  Number number = 0;
  for (const char byte : bytes) {
    number = static_cast<Number>(number << 8 | static_cast<uint8_t>(byte));
  }
  return number;
}

// Adds a varint, as take_varint() takes it.
inline void add_varint(std::string& out, uint64_t value) {
  for (; value >= 0x80; value >>= 7) out.push_back(static_cast<char>(value | 0x80));
  out.push_back(static_cast<char>(value));
}

// Takes a varint off the front of `rest`, as RocksDB writes it: seven bits in each byte, the lowest
// first. None: it is not complete.
inline std::optional<uint64_t> take_varint(std::string_view& rest) {
  uint64_t out = 0;
  for (unsigned shift = 0; shift < 64 && !rest.empty(); shift += 7) {
    const auto byte = static_cast<uint8_t>(rest.front());
    rest.remove_prefix(1);
    out |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return out;
  }
  return std::nullopt;
}

inline bool all_zero(std::string_view bytes) {
  return bytes.find_first_not_of('\0') == std::string_view::npos;
}

// Returns what is wrong with the shape of a value, or nothing. A valid value has `bytes` bytes and
// starts with the format byte. The bytes between that and `header_bytes` are unused and must be
// zero.
inline std::string_view shape_problem(std::string_view value, size_t bytes, size_t header_bytes) {
  if (value.size() != bytes || value.empty()) return "wrong length";
  if (static_cast<uint8_t>(value[0]) != row_format) return "unknown row format";
  if (!all_zero(value.substr(1, header_bytes - 1))) return "unused bytes are not zero";
  return {};
}

}  // namespace perennial::store
