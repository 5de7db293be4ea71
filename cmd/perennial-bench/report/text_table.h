#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace perennial::bench {

// The maximum width of the output, in characters.
inline constexpr size_t text_columns_max = 120;

// Rows of cells under a line of headings. Columns are as wide as their widest cell. If the table
// were wider than text_columns_max, the widest column of words is narrowed, and "~" marks truncated
// cells.
class TextTable {
 public:
  struct Column {
    std::string_view heading;  // Refers to static storage.
    bool left = false;         // Words are aligned left, numbers right.
  };

  // REQUIRES: the first column holds words.
  explicit TextTable(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // REQUIRES: one cell for each column.
  void add(std::vector<std::string> cells);
  // Returns the text, with a line feed after each line and no spaces before the line feed.
  std::string text() const;

 private:
  std::vector<size_t> widths() const;
  size_t widest_words(const std::vector<size_t>& widths) const;
  std::string line(const std::vector<std::string>& cells, const std::vector<size_t>& widths) const;
  std::vector<std::string> headings() const;

  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

// "word text". A long text continues below itself and is broken at spaces only.
std::string labelled(std::string_view word, std::string_view text);

}  // namespace perennial::bench
