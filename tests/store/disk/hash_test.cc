#include "store/disk/hash.h"

#include <string>
#include <utility>

#include <gtest/gtest.h>

namespace perennial::store {
namespace {

std::string hash_of(std::string_view bytes) {
  Hasher hasher;
  hasher.add(bytes);
  return hasher.hex();
}

// Debian's xxh128sum prints the same hash, so that a hash in a manifest can be checked without
// Perennial.
TEST(Hash, EqualsTheOutputOfXxh128sum) {
  EXPECT_EQ(Hasher().hex(), "99aa06d3014798d86001c324468d497f");
  EXPECT_EQ(hash_of(""), "99aa06d3014798d86001c324468d497f");
  EXPECT_EQ(hash_of("hello\n"), "6bba86c7e069f56d5a10b435f1c8e49c");
}

TEST(Hash, DoesNotDependOnThePieces) {
  std::string bytes;
  for (int i = 0; i < 5000; ++i) bytes += static_cast<char>(i * 7);
  for (const size_t piece : {1, 63, 64, 65, 256, 4999}) {
    Hasher hasher;
    for (size_t at = 0; at < bytes.size(); at += piece) {
      hasher.add(std::string_view(bytes).substr(at, piece));
    }
    EXPECT_EQ(hasher.hex(), hash_of(bytes)) << piece;
  }
}

TEST(Hash, TakesMoreBytesAfterHex) {
  Hasher hasher;
  hasher.add("hel");
  EXPECT_EQ(hasher.hex(), hash_of("hel"));
  Hasher moved = std::move(hasher);
  moved.add("lo\n");
  EXPECT_EQ(moved.hex(), hash_of("hello\n"));
}

}  // namespace
}  // namespace perennial::store
