#include "store/space/compaction_pieces.h"

#include <ostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace perennial::store {

void PrintTo(const CompactionPiece& range, std::ostream* out) {
  *out << range.first << ".." << range.last;
}

namespace {

const std::string after_c = std::string("c") + '\0';

struct PieceCase {
  const char* name;
  std::vector<TableSpan> tables;  // level, smallest, largest, bytes, tombstones.
  std::vector<CompactionPiece> want;
};

void PrintTo(const PieceCase& piece, std::ostream* out) {
  *out << piece.name;
}

class PieceTest : public testing::TestWithParam<PieceCase> {};

TEST_P(PieceTest, EveryPieceHoldsTombstones) {
  EXPECT_EQ(pieces_to_compact(GetParam().tables, 100), GetParam().want);
}

INSTANTIATE_TEST_SUITE_P(
    Store, PieceTest,
    testing::Values(PieceCase{"NoTables", {}, {}},
                    PieceCase{"NoTombstones", {{6, "a", "c", 100, 0}, {6, "d", "f", 100, 0}}, {}},
                    PieceCase{"OneTable", {{0, "a", "c", 500, 1}}, {{"a", "c"}}},
                    PieceCase{"OnlyWhereTheyAre",
                              {{6, "a", "c", 100, 0}, {6, "d", "f", 100, 0}, {0, "a", "b", 1, 9}},
                              {{"a", "c"}}},
                    PieceCase{"Everywhere",
                              {{6, "a", "c", 100, 0}, {6, "d", "f", 100, 0}, {0, "b", "e", 1, 9}},
                              {{"a", "c"}, {after_c, "f"}}},
                    PieceCase{"SmallTablesTogether",
                              {{5, "a", "b", 50, 1}, {6, "b", "c", 50, 0}, {6, "d", "f", 99, 1}},
                              {{"a", "c"}, {after_c, "f"}}},
                    PieceCase{"LevelZeroBeyondTheOthers",
                              {{6, "b", "c", 100, 0}, {0, "a", "a", 1, 1}, {0, "d", "f", 500, 0}},
                              {{"a", "c"}}}),
    [](const auto& piece) { return std::string(piece.param.name); });

}  // namespace
}  // namespace perennial::store
