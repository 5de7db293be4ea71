#include "cmd/common/list.h"

#include <algorithm>

namespace perennial::common {

std::vector<std::string_view> list_items(std::string_view text, char separator) {
  std::vector<std::string_view> items;
  if (trimmed(text).empty()) return items;
  for (;;) {
    const size_t end = std::min(text.find(separator), text.size());
    items.push_back(trimmed(text.substr(0, end)));
    if (end == text.size()) return items;
    text.remove_prefix(end + 1);
  }
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view blanks = " \t";
  const size_t begin = std::min(text.find_first_not_of(blanks), text.size());
  return text.substr(begin, text.find_last_not_of(blanks) + 1 - begin);
}

}  // namespace perennial::common
