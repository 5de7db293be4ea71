#include "store/salvage/data_block.h"

#include <cstdint>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "store/damage/table_blocks.h"
#include "store/format/bytes.h"
#include "store/salvage/block_scan.h"
#include "tests/store/dir_state.h"
#include "tests/store/salvage/damaged_dir.h"
#include "tests/store/temp_dir.h"

// Blocks of real tables, of which only the beginning is known. The blocks of `ready` are plain, and
// those of `bodies` are packed.
namespace perennial::store {
namespace {

using Outcome = BlockAttempt::Outcome;

class DataBlockOf : public testing::TestWithParam<Family> {
 protected:
  DataBlockOf() {
    copy_dir_to_damage(dir_.data_dir());
    const std::string path = largest_table(dir_.data_dir() + "/db", GetParam());
    table_ = content_of(path);
    layout_ = layout_of(path);
    bounds_.first_key = view(job_key(0));
    bounds_.last_key = view(job_key(damaged_dir_jobs));
    bounds_.sequence_max = uint64_t{1} << 40;
    bounds_.bytes = table_.size();
  }

  std::string_view from(uint64_t offset) const { return std::string_view(table_).substr(offset); }
  std::string first_block() const {
    return std::string(from(0).substr(0, layout_.blocks.front().bytes + block_trailer_bytes));
  }
  BlockAttempt attempt(std::string_view bytes) const {
    return read_data_block(bytes, table_.size(), bounds_);
  }

  const TempDir dir_;
  std::string table_;
  TableLayout layout_;
  TableBounds bounds_;
};

TEST_P(DataBlockOf, EndsWhereTheIndexSays) {
  std::string last_key;
  for (const TableBlock& block : layout_.blocks) {
    const BlockAttempt found = attempt(from(block.offset));
    ASSERT_EQ(found.outcome, Outcome::Block) << block.offset;
    EXPECT_EQ(found.block.bytes, block.bytes);
    EXPECT_LE(family_key(found.block.last_key), block.until);
    EXPECT_TRUE(last_key.empty() || sorts_before(last_key, found.block.first_key));
    last_key = found.block.last_key;
  }
}

TEST_P(DataBlockOf, BeginsNowhereElse) {
  const uint64_t second = layout_.blocks.at(1).offset;
  for (uint64_t at = 1; at < second; ++at) {
    EXPECT_NE(attempt(from(at)).outcome, Outcome::Block) << at;
  }
  for (uint64_t at = layout_.data_bytes; at < table_.size(); ++at) {
    EXPECT_NE(attempt(from(at)).outcome, Outcome::Block) << at;
  }
}

TEST_P(DataBlockOf, NeedsAllItsBytes) {
  const std::string block = first_block();
  for (size_t bytes = 1; bytes < block.size(); ++bytes) {
    EXPECT_EQ(attempt(std::string_view(block).substr(0, bytes)).outcome, Outcome::NeedsMore);
  }
  EXPECT_EQ(attempt(block).outcome, Outcome::Block);
  EXPECT_EQ(read_data_block(block.substr(1), block.size() - 1, bounds_).outcome, Outcome::NoBlock);
}

TEST_P(DataBlockOf, IsNoneWithAnyBitChanged) {
  std::string block = first_block();
  for (size_t at = 0; at < block.size(); ++at) {
    for (const int bit : {1, 0x10, 0x80}) {
      block[at] = static_cast<char>(block[at] ^ bit);
      EXPECT_NE(attempt(block).outcome, Outcome::Block) << at;
      block[at] = static_cast<char>(block[at] ^ bit);
    }
  }
}

TEST_P(DataBlockOf, IsNoneOfATableWithOtherBounds) {
  const std::string block = first_block();
  const JobId id = get_big_endian<JobId>(family_key(attempt(block).block.first_key));
  TableBounds later = bounds_;
  later.first_key = view(job_key(id + 1));
  EXPECT_EQ(read_data_block(block, block.size(), later).outcome, Outcome::NoBlock);
  TableBounds earlier = bounds_;
  earlier.last_key = view(job_key(id));
  EXPECT_EQ(read_data_block(block, block.size(), earlier).outcome, Outcome::NoBlock);
}

std::string family_of_case(const testing::TestParamInfo<Family>& one) {
  return std::string(name_of(one.param));
}

INSTANTIATE_TEST_SUITE_P(Salvage, DataBlockOf, testing::Values(Family::Ready, Family::Bodies),
                         family_of_case);

}  // namespace
}  // namespace perennial::store
