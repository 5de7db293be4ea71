#include "cmd/common/shell_word.h"

#include <algorithm>

namespace perennial::common {
namespace {

bool is_plain(char c) {
  constexpr std::string_view others = "_@%+=:,./-";
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         others.find(c) != std::string_view::npos;
}

}  // namespace

std::string shell_word(std::string_view text) {
  if (!text.empty() && std::ranges::all_of(text, is_plain)) return std::string(text);
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'') out += "'\\'";
    out += c;
  }
  return out + "'";
}

}  // namespace perennial::common
