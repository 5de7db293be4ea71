#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace perennial::bench {

// How wide what is printed may be, in characters.
inline constexpr size_t text_columns_max = 120;

// Rows of cells under a line of headings. Columns are as wide as their widest cell; if the whole
// were wider than text_columns_max, the widest column of words gives way: what is cut off is shown
// as "~".
class TextTable {
 public:
  struct Column {
    std::string_view heading;  // Of static storage.
    bool left = false;         // Words stand at the left, numbers at the right.
  };

  // REQUIRES: the first one is of words.
  explicit TextTable(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // REQUIRES: as many cells as there are columns.
  void add(std::vector<std::string> cells);
  // With a line feed after each line, and no blanks before it.
  std::string text() const;

 private:
  std::vector<size_t> widths() const;
  size_t widest_words(const std::vector<size_t>& widths) const;
  std::string line(const std::vector<std::string>& cells, const std::vector<size_t>& widths) const;
  std::vector<std::string> headings() const;

  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

// "word  text", where text goes on below itself once a line is full; breaks at blanks only.
std::string labelled(std::string_view word, std::string_view text);

}  // namespace perennial::bench
