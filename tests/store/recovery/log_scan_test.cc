#include "store/recovery/log_scan.h"

#include <filesystem>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rocksdb/env.h>

#include "tests/store/log_bytes.h"
#include "tests/store/temp_dir.h"

namespace perennial::store {
namespace {

// Returns a batch of 5 rows in a mode that syncs each batch. Its sequence number follows the index.
std::string good(uint64_t epoch, BatchIndex index) {
  return batch(5 * index, 5, {.epoch = epoch, .index = index, .known_durable = index - 1});
}
// Returns a batch in a mode that never syncs.
std::string unsynced(uint64_t epoch, BatchIndex index) {
  return batch(5 * index, 5, {.epoch = epoch, .index = index, .known_durable = 10});
}
// Returns the record that opens an epoch, between two batches.
std::string opening(uint64_t epoch, BatchIndex index) {
  return batch(5 * index + 4, 1, {.epoch = epoch, .index = index, .known_durable = index});
}
std::string broken(std::string record) {
  record.back() = static_cast<char>(record.back() ^ 1);
  return record;
}
std::string torn(const std::string& record) {
  return record.substr(0, record.size() - 1);
}

struct ScanCase {
  const char* name;
  std::vector<std::string> files;
  std::string last;         // "epoch.index".
  std::string damage = {};  // "file:offset", and "!" if a durable batch is lost.
  std::optional<CommitRow> flushed = CommitRow{.epoch = 2, .index = 10, .known_durable = 9};
  bool needs_epoch_begin = false;
  bool needs_first_file = false;
};

void PrintTo(const ScanCase& scan, std::ostream* out) {
  *out << scan.name;
}

class LogScan : public testing::TestWithParam<ScanCase> {};

TEST_P(LogScan, TheEndOfHistoryIsFound) {
  const ScanCase& given = GetParam();
  const TempDir dir;
  for (size_t i = 0; i < given.files.size(); ++i) {
    write_file(fmt::format("{}/{:06}.log", dir.path(), 8 + i), given.files[i]);
  }
  rocksdb::FileSystem& fs = *rocksdb::Env::Default()->GetFileSystem();
  const auto files = list_logs(fs, dir.path(), 8);
  ASSERT_TRUE(files.ok());
  const auto found = scan_logs(fs, dir.path(), *files,
                               {.flushed = given.flushed,
                                .needs_epoch_begin = given.needs_epoch_begin,
                                .needs_first_file = given.needs_first_file});
  ASSERT_TRUE(found.ok());
  const CommitRow last = found->last.value_or(CommitRow());
  EXPECT_EQ(fmt::format("{}.{}", last.epoch, last.index), given.last);
  std::string damage;
  if (found->damage) {
    const char* const mark = found->damage->lost_durable ? "!" : "";
    damage = fmt::format("{}:{}{}", found->damage->place.file, found->damage->place.offset, mark);
  }
  EXPECT_EQ(damage, given.damage) << (found->damage ? found->damage->problem : "");
}

const size_t bytes = good(2, 11).size();
const std::string after_one = fmt::format("0:{}", bytes);
const std::string after_one_lost = after_one + "!";

INSTANTIATE_TEST_SUITE_P(
    Store, LogScan,
    testing::Values(
        ScanCase{.name = "NoLog", .files = {}, .last = "2.10"},
        ScanCase{.name = "Empty", .files = {""}, .last = "2.10"},
        ScanCase{.name = "Joins", .files = {good(2, 11) + good(2, 12)}, .last = "2.12"},
        ScanCase{
            .name = "Overlaps", .files = {good(2, 9) + good(2, 10) + good(2, 11)}, .last = "2.11"},
        ScanCase{.name = "OverFiles", .files = {good(2, 10), "", good(2, 11)}, .last = "2.11"},
        ScanCase{.name = "ANewEpoch", .files = {opening(3, 10) + good(3, 11)}, .last = "3.11"},
        ScanCase{.name = "ABatchOfALaterEpoch",
                 .files = {good(2, 11) + good(5, 12) + good(5, 13)},
                 .last = "5.13"},
        ScanCase{.name = "BeginsWithABatchOfALaterEpoch", .files = {good(5, 11)}, .last = "5.11"},
        ScanCase{.name = "ABatchOfAnEarlierEpoch",
                 .files = {good(2, 11) + good(1, 12)},
                 .last = "2.11",
                 .damage = after_one},
        ScanCase{.name = "AnEmptyBatch",
                 .files = {full(std::string(8, '\0').replace(0, 1, "\x37") + std::string(4, '\0')) +
                           good(2, 11)},
                 .last = "2.11"},
        ScanCase{.name = "ANewDatabase",
                 .files = {batch(1, 3, {}) + batch(4, 1, {.epoch = 1})},
                 .last = "1.0",
                 .flushed = {}},
        // Batches that were never acknowledged.
        ScanCase{.name = "TornAtTheEnd",
                 .files = {good(2, 11) + torn(good(2, 12))},
                 .last = "2.11",
                 .damage = after_one},
        ScanCase{.name = "BrokenAtTheEnd",
                 .files = {good(2, 11) + broken(good(2, 12))},
                 .last = "2.11",
                 .damage = after_one},
        ScanCase{.name = "UnsyncedAfterATear",
                 .files = {good(2, 11) + broken(unsynced(2, 12)) + unsynced(2, 13)},
                 .last = "2.11",
                 .damage = after_one},
        ScanCase{.name = "ATornEpochRow",
                 .files = {torn(opening(3, 10))},
                 .last = "2.10",
                 .damage = "0:0"},
        ScanCase{.name = "GarbageAtTheEnd",
                 .files = {good(2, 11) + "garbage"},
                 .last = "2.11",
                 .damage = after_one},
        // Batches that were durable.
        ScanCase{.name = "BrokenBeforeAnother",
                 .files = {good(2, 11) + broken(good(2, 12)) + good(2, 13)},
                 .last = "2.11",
                 .damage = after_one_lost},
        ScanCase{.name = "BrokenBeforeATornOne",
                 .files = {good(2, 11) + broken(good(2, 12)) + piece(2, good(2, 13).substr(7, 60))},
                 .last = "2.11",
                 .damage = after_one_lost},
        ScanCase{.name = "TornBeforeAnotherFile",
                 .files = {good(2, 11) + torn(good(2, 12)), good(2, 13)},
                 .last = "2.11",
                 .damage = after_one_lost},
        // The record is whole, so no crash has torn it, and no known version has written it.
        ScanCase{.name = "NotOurs",
                 .files = {good(2, 11) + full(good(2, 12).substr(7, 12) + "\x01\x01x")},
                 .last = "2.11",
                 .damage = after_one_lost},
        ScanCase{.name = "OneIsMissing",
                 .files = {good(2, 11) + good(2, 13)},
                 .last = "2.11",
                 .damage = after_one_lost},
        ScanCase{.name = "AFileIsMissing",
                 .files = {good(2, 11), good(2, 13)},
                 .last = "2.11",
                 .damage = after_one_lost},
        ScanCase{.name = "AFileIsMissingBeforeATornRecord",
                 .files = {good(2, 11), piece(2, good(2, 13).substr(7, 70))},
                 .last = "2.11",
                 .damage = after_one_lost},
        ScanCase{.name = "AFileBetweenIsEmpty",
                 .files = {good(2, 11), "", good(2, 13)},
                 .last = "2.11",
                 .damage = "1:0!"},
        // A power cut may keep a later file and not the end of an earlier one, if neither was
        // synced.
        ScanCase{.name = "AnUnsyncedEndIsMissing",
                 .files = {unsynced(2, 11), unsynced(2, 13)},
                 .last = "2.11",
                 .damage = after_one},
        ScanCase{
            .name = "TheFirstIsMissing", .files = {good(2, 12)}, .last = "2.10", .damage = "0:0!"},
        ScanCase{.name = "AnEpochIsMissing",
                 .files = {opening(4, 10)},
                 .last = "2.10",
                 .damage = "0:0!"},
        ScanCase{.name = "ABrokenEpochRow",
                 .files = {broken(opening(3, 10)) + good(3, 11)},
                 .last = "2.10",
                 .damage = "0:0!"},
        ScanCase{.name = "OtherRowsAreMissing",
                 .files = {good(2, 11) + good(2, 12) + batch(99, 5, {.epoch = 2, .index = 13})},
                 .last = "2.12",
                 .damage = fmt::format("0:{}", 2 * bytes)},
        ScanCase{.name = "TheTablesAreAhead",
                 .files = {good(2, 9)},
                 .last = "2.9",
                 .damage = after_one_lost},
        ScanCase{.name = "TheFirstRowsAreBroken",
                 .files = {broken(batch(1, 3, {}))},
                 .last = "0.0",
                 .damage = "0:0!",
                 .flushed = {}},
        ScanCase{.name = "TheTablesAreGone",
                 .files = {good(2, 11)},
                 .last = "0.0",
                 .damage = "0:0!",
                 .flushed = {}},
        // Replayed files that are removed must be in the tables, up to the beginning of the log.
        ScanCase{.name = "TheFirstOfItsEpoch",
                 .files = {opening(3, 10)},
                 .last = "3.10",
                 .needs_epoch_begin = true},
        ScanCase{.name = "NotTheFirstOfItsEpoch",
                 .files = {good(2, 11)},
                 .last = "2.10",
                 .damage = "0:0!",
                 .needs_epoch_begin = true},
        // The first record of a clean stop also says that everything before it is durable.
        ScanCase{.name = "TheFirstOfAStop",
                 .files = {batch(55, 2, {.epoch = 2, .index = 10, .known_durable = 10})},
                 .last = "2.10",
                 .damage = "0:0!",
                 .needs_epoch_begin = true},
        // The oldest file held a record, or RocksDB would not have begun a later one.
        // Other families may lack in their tables what meta has in its own.
        ScanCase{.name = "TheFirstFileIsEmptyAndMetaWasFlushed",
                 .files = {"", good(2, 11)},
                 .last = "2.10",
                 .damage = "0:0!",
                 .needs_first_file = true},
        ScanCase{.name = "TheFirstFileIsZeros",
                 .files = {std::string(5000, '\0'), good(2, 11)},
                 .last = "2.10",
                 .damage = "0:0!",
                 .needs_first_file = true},
        ScanCase{.name = "TheFirstFileIsEmptyBeforeATornRecord",
                 .files = {"", broken(good(2, 11)) + good(2, 12)},
                 .last = "2.10",
                 .damage = "0:0!",
                 .needs_first_file = true},
        ScanCase{.name = "TheFirstFileWasNeverSynced",
                 .files = {"", unsynced(2, 13)},
                 .last = "2.10",
                 .damage = "0:0",
                 .needs_first_file = true},
        ScanCase{.name = "TheFirstFileWasDurable",
                 .files = {"", good(2, 13)},
                 .last = "2.10",
                 .damage = "0:0!",
                 .needs_first_file = true},
        ScanCase{.name = "TheFirstFileWasDurableAndOneFamilyFlushed",
                 .files = {"", good(2, 9) + good(2, 10) + good(2, 11)},
                 .last = "2.10",
                 .damage = "0:0!",
                 .needs_first_file = true}),
    [](const auto& one) { return one.param.name; });

}  // namespace
}  // namespace perennial::store
