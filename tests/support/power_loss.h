#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

// What a power cut does to one file.
namespace perennial::support {

// What a power cut leaves of bytes that were not synced, and of entries of directories that were
// not.
enum class Loss : uint8_t {
  Whole,   // Nothing.
  Prefix,  // A part, up to some point.
  Torn,    // Of bytes, some sectors of 512; the others are zero or garbage. Of entries, a prefix.
};

// A write over bytes that were there, which a power cut may bring back.
struct Overwrite {
  uint64_t offset = 0;
  std::string before;
};

// Brings back what is lost of these writes, which came in this order and were not synced.
void lose_overwrites(const std::string& path, const std::vector<Overwrite>& overwrites, Loss loss,
                     std::mt19937_64& random);

// Takes from the file what is lost of the bytes between `synced` and `written`. A file that is not
// there is left alone: its directory may have been renamed, as that of a new database is.
void lose_bytes(const std::string& path, uint64_t synced, uint64_t written, Loss loss,
                std::mt19937_64& random);

}  // namespace perennial::support
