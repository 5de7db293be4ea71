#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

// The effect of a power cut on one file.
namespace perennial::support {

// What a power cut keeps of unsynced bytes, and of unsynced directory entries.
enum class Loss : uint8_t {
  Whole,   // Keeps nothing.
  Prefix,  // Keeps a prefix.
  Torn,  // Keeps some sectors of 512 bytes, others are zero or garbage. Keeps a prefix of entries.
};

// A write over existing bytes, which a power cut may restore.
struct Overwrite {
  uint64_t offset = 0;
  std::string before;
};

// Restores what is lost of these unsynced writes, which are given in their order.
void lose_overwrites(const std::string& path, const std::vector<Overwrite>& overwrites, Loss loss,
                     std::mt19937_64& random);

// Removes or damages what is lost of the bytes between `synced` and `written`. A missing file is
// ignored: its directory may have been renamed, as that of a new database is.
void lose_bytes(const std::string& path, uint64_t synced, uint64_t written, Loss loss,
                std::mt19937_64& random);

}  // namespace perennial::support
