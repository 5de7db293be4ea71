#include "store/recovery/log_records.h"

#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rocksdb/env.h>

#include "engine/types/check.h"
#include "tests/store/log_bytes.h"
#include "tests/store/temp_dir.h"

namespace perennial::store {
namespace {

constexpr size_t block_bytes = 32 << 10;

// Returns a record that ends `left` bytes before the end of its block.
std::string filling_block(size_t left) {
  return full(std::string(block_bytes - 7 - left, 'f'));
}

std::string damaged(std::string record) {
  record[8] = static_cast<char>(record[8] ^ 1);
  return record;
}

// All records of a log, one word each: "begin-end:head", with "!" before those that are not whole
// and "$" before those that the end of the file has torn.
std::vector<std::string> read_all(const std::string& content) {
  const TempDir dir;
  write_file(dir.path() + "/log", content);
  std::unique_ptr<rocksdb::FSSequentialFile> file;
  const auto& fs = rocksdb::Env::Default()->GetFileSystem();
  CHECK(fs->NewSequentialFile(dir.path() + "/log", {}, &file, nullptr).ok());
  LogReader reader(std::move(file), 4);
  std::vector<std::string> out;
  LogRecord record;
  while (true) {
    const Result<bool> more = reader.next(record);
    CHECK(more.ok());
    if (!*more) return out;
    const char* const mark = record.is_whole() ? "" : record.ends_with_file ? "$" : "!";
    out.push_back(fmt::format("{}{}-{}:{}", mark, record.begin, record.end, record.head));
  }
}

struct ReadCase {
  const char* name;
  std::string content;
  std::vector<std::string> want;
};

void PrintTo(const ReadCase& read, std::ostream* out) {
  *out << read.name;
}

class LogRecords : public testing::TestWithParam<ReadCase> {};

TEST_P(LogRecords, RecordsAreReadThroughDamage) {
  EXPECT_EQ(read_all(GetParam().content), GetParam().want);
}

const std::string one = full("one");        // 10 bytes.
const std::string second = full("second");  // 13 bytes.

INSTANTIATE_TEST_SUITE_P(
    Store, LogRecords,
    testing::Values(
        ReadCase{"None", "", {}},
        ReadCase{"Some", one + second + full(""), {"0-10:one", "10-23:seco", "23-30:"}},
        ReadCase{"OverPieces",
                 piece(2, "ab") + piece(3, "cd") + piece(4, "ef") + one,
                 {"0-27:abcd", "27-37:one"}},
        ReadCase{"ATrailerIsSkipped",
                 filling_block(6) + std::string(6, 'x') + one,
                 {"0-32762:ffff", "32768-32778:one"}},
        ReadCase{"AHeaderAtTheEndOfABlock",
                 filling_block(7) + piece(2, "") + piece(4, "ab"),
                 {"0-32761:ffff", "32761-32777:ab"}},
        ReadCase{"CutInTheHeader", one + second.substr(0, 5), {"0-10:one", "$10-15:"}},
        ReadCase{"CutInThePayload", one + second.substr(0, 12), {"0-10:one", "$10-22:"}},
        ReadCase{"CutBetweenPieces", one + piece(2, "ab"), {"0-10:one", "$10-19:ab"}},
        ReadCase{"ZerosAtTheEnd", one + std::string(100, '\0'), {"0-10:one"}},
        ReadCase{"NothingButZeros", std::string(100, '\0'), {}},
        ReadCase{"BlocksOfZerosAtTheEnd", one + std::string(70'000, '\0'), {"0-10:one"}},
        ReadCase{"BlocksOfZerosInTheMiddle",
                 one + std::string(3 * block_bytes - 10, '\0') + one + std::string(100, '\0'),
                 {"0-10:one", "!10-98304:", "98304-98314:one"}},
        ReadCase{"ZerosInsteadOfTheRest", piece(2, "ab") + std::string(100, '\0'), {"$0-9:ab"}},
        ReadCase{"ZerosBetweenPieces",
                 piece(2, "ab") + std::string(block_bytes - 9, '\0') + piece(4, "cd"),
                 {"!0-9:ab", "!9-32768:", "!32768-32777:"}},
        ReadCase{"ZerosInTheMiddle",
                 one + std::string(100, '\0') + one,
                 {"0-10:one", "!10-110:", "110-120:one"}},
        ReadCase{"AWrongByte", damaged(one) + second, {"!0-10:", "10-23:seco"}},
        ReadCase{"AWrongByteInALaterPiece",
                 piece(2, "ab") + damaged(piece(4, "cd")) + one,
                 {"!0-9:ab", "!9-18:", "18-28:one"}},
        ReadCase{"AWrongLength",
                 std::string(one).replace(4, 1, "\x04") + second,
                 {"!0-10:", "10-23:seco"}},
        ReadCase{"AHugeLength",
                 std::string(one).replace(5, 1, "\x7f") + second,
                 {"!0-10:", "10-23:seco"}},
        // A piece with only a wrong length was written whole, so it is damage and not a torn end.
        ReadCase{"AHugeLengthOfTheLast",
                 one + std::string(second).replace(5, 1, "\x7f"),
                 {"0-10:one", "!10-23:"}},
        ReadCase{"NoBeginning", piece(4, "ab") + one, {"!0-9:", "9-19:one"}},
        ReadCase{"NoEnd", piece(2, "ab") + one, {"!0-9:ab", "9-19:one"}},
        // Damage costs at most one block.
        ReadCase{"ABlockOfGarbage",
                 std::string(block_bytes, '\x05') + one,
                 {"!0-32768:", "32768-32778:one"}},
        // The reader's buffer holds 8 blocks, so the 64th block is the last one of a buffer.
        ReadCase{"OverTheBuffersEnd",
                 [] {
                   std::string blocks;
                   for (int i = 0; i < 64; ++i) blocks += filling_block(0);
                   return blocks.substr(0, 63 * block_bytes) + filling_block(8) + piece(2, "a") +
                          piece(4, "b");
                 }(),
                 [] {
                   std::vector<std::string> want;
                   for (size_t i = 0; i < 63; ++i) {
                     want.push_back(fmt::format("{}-{}:ffff", i << 15, (i + 1) << 15));
                   }
                   want.push_back(fmt::format("{}-{}:ffff", 63 << 15, (64 << 15) - 8));
                   want.push_back(fmt::format("{}-{}:ab", (64 << 15) - 8, (64 << 15) + 8));
                   return want;
                 }()}),
    [](const auto& case_info) { return case_info.param.name; });

}  // namespace
}  // namespace perennial::store
