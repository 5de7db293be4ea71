#include "cmd/perennial-bench/report/text_table.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "cmd/common/characters.h"
#include "engine/types/check.h"

namespace perennial::bench {
namespace {

constexpr size_t gap = 2;          // Spaces between two columns.
constexpr size_t label_width = 9;  // The width of the label in labelled().
constexpr size_t words_width_min = 8;

// The width in characters of UTF-8.
size_t width_of(std::string_view text) {
  return static_cast<size_t>(
      std::ranges::count_if(text, [](char c) { return !common::continues_character(c); }));
}

std::string cut(std::string_view text, size_t width) {
  if (width_of(text) <= width) return std::string(text);
  size_t end = 0;
  for (size_t seen = 0; end < text.size(); ++end)
    if (!common::continues_character(text[end]) && ++seen == width) break;
  return std::string(text.substr(0, end)) + "~";
}

}  // namespace

void TextTable::add(std::vector<std::string> cells) {
  CHECK(cells.size() == columns_.size());
  rows_.push_back(std::move(cells));
}

std::string TextTable::text() const {
  const std::vector<size_t> width = widths();
  std::string text = line(headings(), width);
  for (const std::vector<std::string>& row : rows_) text += line(row, width);
  return text;
}

std::vector<size_t> TextTable::widths() const {
  std::vector<size_t> widths;
  size_t total = 0;
  for (size_t i = 0; i < columns_.size(); ++i) {
    size_t width = columns_[i].heading.size();
    for (const std::vector<std::string>& row : rows_) width = std::max(width, width_of(row[i]));
    widths.push_back(width);
    total += width + (i == 0 ? 0 : gap);
  }
  const size_t excess = total > text_columns_max ? total - text_columns_max : 0;
  size_t& words = widths[widest_words(widths)];
  words -= std::min(excess, words - std::min(words, words_width_min));
  return widths;
}

size_t TextTable::widest_words(const std::vector<size_t>& widths) const {
  size_t widest = 0;
  for (size_t i = 0; i < widths.size(); ++i)
    if (columns_[i].left && widths[i] > widths[widest]) widest = i;
  return widest;
}

std::string TextTable::line(const std::vector<std::string>& cells,
                            const std::vector<size_t>& widths) const {
  std::string line;
  for (size_t i = 0; i < cells.size(); ++i) {
    const std::string cell = cut(cells[i], widths[i]);
    const std::string blanks(widths[i] - width_of(cell), ' ');
    if (i > 0) line.append(gap, ' ');
    line += columns_[i].left ? cell + blanks : blanks + cell;
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

std::vector<std::string> TextTable::headings() const {
  std::vector<std::string> headings;
  for (const Column& column : columns_) headings.emplace_back(column.heading);
  return headings;
}

std::string labelled(std::string_view word, std::string_view text) {
  std::string out = fmt::format("{:<{}}", word, label_width);
  size_t column = label_width;
  for (bool first = true; !text.empty(); first = false) {
    const std::string_view piece = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(text.size(), piece.size() + 1));
    if (!first && column + 1 + piece.size() > text_columns_max) {
      out += "\n" + std::string(label_width, ' ');
      column = label_width;
    } else if (!first) {
      out += ' ';
      ++column;
    }
    out += piece;
    column += piece.size();
  }
  return out + "\n";
}

}  // namespace perennial::bench
