#include "store/cluster/log_size.h"

#include <vector>

#include <gtest/gtest.h>

namespace perennial::store::cluster {
namespace {

// Ten entries of 100 bytes after a base of 50.
LogSize ten_entries(const TrimLimits& limits) {
  LogSize log(limits);
  log.reset(50);
  for (BatchIndex index = 51; index <= 60; ++index) log.add(index, 100);
  return log;
}

struct Case {
  TrimLimits limits;
  std::vector<BatchIndex> flushed;
  BatchIndex expected;
};

TEST(LogSize, TrimBefore) {
  const TrimLimits keep_300 = {.copies_min = 2, .keep_bytes = 300, .bytes_max = 10'000};
  const TrimLimits small = {.copies_min = 2, .keep_bytes = 300, .bytes_max = 500};
  const TrimLimits alone = {.copies_min = 1, .keep_bytes = 300, .bytes_max = 10'000};
  const std::vector<Case> cases = {
      {keep_300, {60, 60}, 58},      // All but what is kept.
      {keep_300, {60}, 51},          // One copy.
      {keep_300, {}, 51},            // None.
      {keep_300, {60, 53}, 54},      // What both have.
      {keep_300, {60, 60, 53}, 54},  // What all have.
      {keep_300, {60, 60, 0}, 51},   // One that holds nothing yet.
      {small, {60, 60, 0}, 56},      // Past 500 bytes, nobody is waited for.
      {small, {60, 52, 0}, 53},      // But two copies there must be.
      {alone, {60}, 58},             // Where one copy is enough.
      {{.copies_min = 2, .keep_bytes = 0, .bytes_max = 10'000}, {60, 60}, 60},  // The newest stays.
  };
  for (const Case& test : cases) {
    const LogSize log = ten_entries(test.limits);
    EXPECT_EQ(log.trim_before(test.flushed), test.expected)
        << &test - cases.data() << " of the table";
  }
}

TEST(LogSize, Trimmed) {
  LogSize log = ten_entries({});
  log.trimmed(54);
  EXPECT_EQ(log.first(), 54U);
  EXPECT_EQ(log.last(), 60U);
  EXPECT_EQ(log.bytes(), 700U);
  log.add(61, 50);
  EXPECT_EQ(log.bytes(), 750U);
}

TEST(LogSize, BehindIsPastTheBoundWithNothingToTrim) {
  const TrimLimits limits = {.copies_min = 2, .keep_bytes = 100, .bytes_max = 999};
  const LogSize log = ten_entries(limits);
  EXPECT_TRUE(log.must_hold_puts(std::vector<BatchIndex>{60}));
  EXPECT_TRUE(log.must_hold_puts(std::vector<BatchIndex>{60, 50}));
  EXPECT_FALSE(log.must_hold_puts(std::vector<BatchIndex>{60, 51}));
  EXPECT_FALSE(ten_entries({.copies_min = 2, .keep_bytes = 100, .bytes_max = 1000})
                   .must_hold_puts(std::vector<BatchIndex>{60}));
}

}  // namespace
}  // namespace perennial::store::cluster
