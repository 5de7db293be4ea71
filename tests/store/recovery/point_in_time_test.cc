#include "store/recovery/point_in_time.h"

#include <algorithm>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

// P11: where a damaged log can be cut so that a state of the past is left.
namespace perennial::store {
namespace {

// The log files up to which meta, ready and bodies were flushed.
struct FlushedTo {
  uint64_t meta = 0;
  uint64_t ready = 0;
  uint64_t bodies = 0;
  // And another family, which was made when the log file `made` was the newest. 0: there is none.
  uint64_t other = 0;
  uint64_t made = 0;
};

struct PointCase {
  const char* name;
  FlushedTo flushed_to;
  std::vector<uint64_t> files = {};
  std::optional<size_t> last_good = {};  // The file with the last good record.
  bool is_damaged = true;
  bool lacks_oldest = false;
  BatchIndex last = 20;  // Of history. The tables of meta end with 20.
  std::string problem_names = {};
  bool has_later_bodies = false;
};

void PrintTo(const PointCase& point, std::ostream* out) {
  *out << point.name;
}

class PointInTimeTest : public testing::TestWithParam<PointCase> {};

TEST_P(PointInTimeTest, IsFoundOrRefused) {
  const PointCase& point = GetParam();
  const auto [meta, ready, bodies, other, made] = point.flushed_to;
  Manifest manifest = {.name = "MANIFEST-000001",
                       .next_file = 100,
                       .flushed_to = {{0, meta}, {1, ready}, {5, bodies}},
                       .names = {{0, "default"}, {1, "ready"}, {5, "bodies"}},
                       .damage = {}};
  if (other != 0) {
    manifest.flushed_to[8] = other;
    manifest.made_at[8] = made;
    manifest.names[8] = "ended";
  }
  std::vector<LogFileName> files;
  for (const uint64_t number : point.files) files.push_back({.number = number, .name = ""});
  LogHistory history;
  history.last = CommitRow{.epoch = 1, .index = point.last};
  history.has_records = point.last_good.has_value();
  history.end.file = point.last_good.value_or(0);
  if (point.is_damaged) history.damage = LogDamage{.place = history.end, .problem = "damage"};
  const PointInTime found = find_point_in_time(manifest, {.files = files,
                                                          .history = history,
                                                          .lacks_oldest = point.lacks_oldest,
                                                          .flushed = CommitRow{1, 20}});
  EXPECT_EQ(found.problem.empty(), point.problem_names.empty()) << found.problem;
  EXPECT_NE(found.problem.find(point.problem_names), std::string::npos) << found.problem;
  EXPECT_EQ(found.has_later_bodies, point.has_later_bodies);
}

INSTANTIATE_TEST_SUITE_P(
    Store, PointInTimeTest,
    testing::Values(
        PointCase{
            .name = "NothingWasFlushed", .flushed_to = {10, 10, 10}, .files = {10}, .last_good = 0},
        PointCase{.name = "OnlyBodiesWereFlushed",
                  .flushed_to = {10, 10, 12},
                  .files = {10, 12},
                  .last_good = 0,
                  .has_later_bodies = true},
        PointCase{.name = "DamageBehindTheFlushOfBodies",
                  .flushed_to = {10, 10, 12},
                  .files = {10, 12},
                  .last_good = 1},
        PointCase{.name = "ReadyIsAhead",
                  .flushed_to = {10, 12, 10},
                  .files = {10, 12},
                  .last_good = 0,
                  .problem_names = "the tables of ready may"},
        PointCase{.name = "AFamilyThatWasMadeLaterHasNoTables",
                  .flushed_to = {10, 10, 10, 12, 12},
                  .files = {10, 12},
                  .last_good = 0},
        PointCase{.name = "AFamilyThatWasMadeLaterIsAhead",
                  .flushed_to = {10, 10, 10, 14, 12},
                  .files = {10, 12, 14},
                  .last_good = 0,
                  .problem_names = "the tables of ended may"},
        PointCase{.name = "AFamilyThatWasMadeAndTheOldestFileIsGone",
                  .flushed_to = {10, 10, 10, 12, 12},
                  .files = {12},
                  .lacks_oldest = true},
        PointCase{.name = "MetaIsAhead",
                  .flushed_to = {12, 10, 10},
                  .files = {10, 12},
                  .last_good = 0,
                  .last = 15,
                  .problem_names = "the tables of meta may"},
        PointCase{.name = "HistoryEndsWhereMetaEnds",
                  .flushed_to = {12, 10, 10},
                  .files = {10, 12},
                  .last_good = 0},
        PointCase{.name = "HistoryEndsWhereMetaEndsAndReadyIsFurther",
                  .flushed_to = {12, 14, 10},
                  .files = {10, 12, 14},
                  .last_good = 0,
                  .problem_names = "meta, ready"},
        PointCase{.name = "OnlyTheTablesAreLeft",
                  .flushed_to = {10, 10, 12},
                  .files = {12},
                  .lacks_oldest = true,
                  .has_later_bodies = true},
        PointCase{.name = "TheLogBetweenIsGone",
                  .flushed_to = {12, 10, 10},
                  .files = {12},
                  .last_good = 0,
                  .lacks_oldest = true,
                  .problem_names = "meta"},
        PointCase{.name = "OnlyBodiesLackTheLogThatIsGone",
                  .flushed_to = {12, 12, 10},
                  .files = {12},
                  .last_good = 0,
                  .lacks_oldest = true,
                  .problem_names = "meta, ready"},
        PointCase{.name = "TheFirstRecordIsDamaged",
                  .flushed_to = {10, 12, 10},
                  .files = {10, 12},
                  .problem_names = "ready"},
        PointCase{.name = "ThereIsNoFile", .flushed_to = {10, 10, 10}, .is_damaged = false},
        PointCase{.name = "ThereIsNoFileAndMetaIsAhead",
                  .flushed_to = {12, 10, 10},
                  .is_damaged = false,
                  .problem_names = "meta"}),
    [](const auto& one) { return one.param.name; });

}  // namespace
}  // namespace perennial::store
