#include "store/recovery/repeated_records.h"

#include <map>
#include <ostream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rocksdb/env.h>

#include "store/format/format.h"
#include "tests/store/log_bytes.h"
#include "tests/store/temp_dir.h"

namespace perennial::store {
namespace {

std::string rows(uint64_t sequence, uint32_t count) {
  return batch(sequence, count, CommitRow());
}
std::string broken(std::string record) {
  record.back() = static_cast<char>(record.back() ^ 1);
  return record;
}

const size_t five = rows(1, 5).size();

struct RepeatCase {
  const char* name;
  std::vector<std::string> files;
  std::map<std::string, uint64_t> ends;
};

void PrintTo(const RepeatCase& repeat, std::ostream* out) {
  *out << repeat.name;
}

class Repeats : public testing::TestWithParam<RepeatCase> {};

TEST_P(Repeats, AreFound) {
  const TempDir dir;
  for (size_t i = 0; i < GetParam().files.size(); ++i) {
    write_file(fmt::format("{}/{:06}.log", dir.path(), 8 + i), GetParam().files[i]);
  }
  const auto found = find_repeated_records(*rocksdb::FileSystem::Default(), dir.path(), 8);
  EXPECT_EQ(found.ends, GetParam().ends);
  EXPECT_EQ(found.problem.empty(), GetParam().ends.empty());
  for (const auto& [name, end] : GetParam().ends) {
    EXPECT_NE(found.problem.find(fmt::format("{} is left out from byte {} on", name, end)),
              std::string::npos)
        << found.problem;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Store, Repeats,
    testing::Values(
        RepeatCase{"None", {rows(1, 5) + rows(6, 5), rows(11, 5)}, {}},
        RepeatCase{"NoneWithAGap", {rows(1, 5), rows(21, 5), rows(11, 5)}, {}},
        RepeatCase{"NoneBesideADamagedRecord", {rows(1, 5) + broken(rows(6, 5)), rows(6, 5)}, {}},
        RepeatCase{"NoneOfAnEmptyBatch", {rows(1, 5), "", rows(6, 5)}, {}},
        RepeatCase{"AWholeFile",
                   {rows(1, 5) + rows(6, 5), rows(1, 5) + rows(6, 5), rows(11, 5)},
                   {{"000009.log", 0}}},
        RepeatCase{"FromAPlaceOn",
                   {rows(6, 5), rows(1, 5) + rows(6, 5) + rows(11, 5), rows(11, 5)},
                   {{"000009.log", five}}},
        RepeatCase{"InTheSameFile", {rows(1, 5) + rows(1, 5)}, {{"000008.log", five}}},
        RepeatCase{"APart", {rows(1, 5), rows(4, 5), rows(9, 5)}, {{"000009.log", 0}}},
        RepeatCase{"OfTheNext", {rows(6, 5), rows(4, 5), rows(1, 5)}, {{"000009.log", 0}}},
        RepeatCase{"OfJoinedRanges",
                   {rows(1, 5) + rows(11, 5) + rows(6, 5), rows(8, 1), rows(16, 1), rows(15, 1)},
                   {{"000009.log", 0}, {"000011.log", 0}}}),
    [](const auto& one) { return one.param.name; });

TEST(RepeatedRecords, AreThoseOfFilesThatAreNeeded) {
  const TempDir dir;
  write_file(dir.path() + "/000008.log", rows(1, 5));
  write_file(dir.path() + "/000009.log", rows(1, 5));
  const auto found = find_repeated_records(*rocksdb::FileSystem::Default(), dir.path(), 9);
  EXPECT_TRUE(found.ends.empty());
}

}  // namespace
}  // namespace perennial::store
