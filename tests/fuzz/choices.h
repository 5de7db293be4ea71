#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace perennial::fuzz {

// Splits a fuzzer's input from its front: first the choices of a target, then its data. After the
// end all bytes are zero, so that every input is valid.
class Choices {
 public:
  // `bytes` must outlive this object.
  explicit Choices(std::string_view bytes) : rest_(bytes) {}

  bool done() const { return rest_.empty(); }
  uint8_t byte() { return static_cast<uint8_t>(number(1)); }
  // A little-endian number of 1 to 8 bytes.
  uint64_t number(size_t bytes) {
    uint64_t out = 0;
    const std::string_view taken = piece(bytes);
    for (size_t i = 0; i < taken.size(); ++i) {
      out |= uint64_t{static_cast<uint8_t>(taken[i])} << (8 * i);
    }
    return out;
  }
  // A number from 0 to limit - 1, from one byte. REQUIRES: 0 < limit <= 256.
  size_t below(size_t limit) { return byte() % limit; }
  // The next bytes, or fewer at the end.
  std::string_view piece(size_t bytes) {
    const std::string_view out = rest_.substr(0, bytes);
    rest_.remove_prefix(out.size());
    return out;
  }
  // A piece preceded by its length of up to 255.
  std::string_view short_piece() { return piece(byte()); }
  std::string_view rest() { return piece(rest_.size()); }

 private:
  std::string_view rest_;
};

}  // namespace perennial::fuzz
