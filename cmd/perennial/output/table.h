#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

// A table of text for people. Pure.
namespace perennial::tool {

// The cells of one line. All lines of a table have as many as the first one, which is the heading.
using TableLine = std::vector<std::string>;

struct TableLayout {
  size_t gap = 2;  // Spaces between two columns.
  // The columns from `numbers` to `numbers_end`, which is not among them, are aligned to the right,
  // and all others to the left.
  size_t numbers = 1;
  size_t numbers_end = SIZE_MAX;
  // The longest line, in characters. The cells of the first column are truncated for that, to no
  // less than `first_column_min`.
  size_t columns_max = SIZE_MAX;
  size_t first_column_min = 1;
};

// Each column is as wide as its widest cell. Counts bytes, which is correct for ASCII.
// REQUIRES: there is a line, and it has a cell.
std::string text_table(const std::vector<TableLine>& lines, const TableLayout& layout);

}  // namespace perennial::tool
