#include "store/cluster/entry.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <xxhash.h>

#include "store/batch/batch_codec.h"
#include "store/batch/batch_layout.h"
#include "store/format/bytes.h"
#include "tests/store/cluster/simulated_node.h"

namespace perennial::store::cluster {
namespace {

using testing::HasSubstr;

const std::string batch = entry_bytes(3, 7, 1'000, "mail");

TEST(Entry, HasTheBatchAndTheHashOfTheOneBefore) {
  const std::string bytes = chain_entry(batch, 0x0123456789abcdef);
  const Result<Entry> entry = open_entry(bytes);
  ASSERT_TRUE(entry.ok());
  EXPECT_EQ(entry->previous, 0x0123456789abcdefU);
  EXPECT_EQ(entry->batch, batch);
}

// These bytes are in etcd, and every later version reads them.
TEST(Entry, HasTheSameBytesForEver) {
  const std::string bytes = chain_entry("batch", 0x0102030405060708);
  EXPECT_EQ(bytes.substr(0, 21), std::string("\x03\0\0\0\0\0\0\0\x08\x07\x06\x05\x04\x03\x02\x01"
                                             "batch",
                                             21));
  EXPECT_EQ(bytes.size(), 29U);
  EXPECT_EQ(hash_of_entry(bytes), 0x393fa6b4181c36bdU);
}

TEST(Entry, OfAVersionWithoutTheChainIsTheBatchAlone) {
  const Result<Entry> entry = open_entry(batch);
  ASSERT_TRUE(entry.ok());
  EXPECT_EQ(entry->previous, 0U);
  EXPECT_EQ(entry->batch, batch);
  EXPECT_EQ(hash_of_entry(batch), get<uint64_t>(batch, batch.size() - 8));
}

TEST(Entry, ThatIsDamagedAnywhereIsRefused) {
  const std::string bytes = chain_entry(batch, 5);
  for (size_t at = 0; at < bytes.size(); ++at) {
    std::string flipped = bytes;
    flipped[at] = static_cast<char>(flipped[at] ^ 1);
    const Result<Entry> entry = open_entry(flipped);
    // Without its first byte it is taken for a batch, which it is not.
    EXPECT_FALSE(entry.ok() && decode_batch(entry->batch).ok()) << at;
  }
  for (size_t size = 0; size < bytes.size(); ++size) {
    const Result<Entry> entry = open_entry(std::string_view(bytes).substr(0, size));
    EXPECT_FALSE(entry.ok() && decode_batch(entry->batch).ok()) << size;
  }
}

// A version without the chain says so of an entry with it, after a part of the nodes was upgraded
// and all others are in the cluster no more. It knows the batches up to those with fields, and
// first compares the hash. With that version itself: tests/upgrade/rolling_test.py.
TEST(Entry, IsOfANewerVersionForAVersionWithoutTheChain) {
  const std::string bytes = chain_entry(batch, 5);
  EXPECT_GT(bytes[0], batch_format_with_fields);
  const std::string hashed = bytes.substr(0, bytes.size() - batch_hash_bytes);
  Bytes<batch_hash_bytes> hash;
  put(hash.data(), XXH3_64bits(hashed.data(), hashed.size()));
  EXPECT_EQ(bytes.substr(hashed.size()), view(hash));
}

TEST(Entry, IsNoBatch) {
  const Result<Batch> read = decode_batch(chain_entry(batch, 5));
  EXPECT_EQ(read.status().code(), StatusCode::Corruption);
  EXPECT_THAT(read.status().message(), HasSubstr("unknown format"));
}

TEST(Entry, OfAnotherHistoryHasAnotherHash) {
  const std::string one = chain_entry(batch, 5);
  EXPECT_NE(hash_of_entry(one), hash_of_entry(chain_entry(batch, 6)));
  EXPECT_NE(hash_of_entry(one), hash_of_entry(chain_entry(entry_bytes(3, 7, 1'001, "mail"), 5)));
}

}  // namespace
}  // namespace perennial::store::cluster
