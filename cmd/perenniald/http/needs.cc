#include "cmd/perenniald/http/needs.h"

#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace perennial::http {

std::string text_of(const Needs& needs) {
  if (needs.verb()) return fmt::format("`{}`", access::name_of(*needs.verb()));
  std::vector<std::string> words;
  for (const std::string_view word : needs.commands()) {
    if (!word.empty()) words.push_back(fmt::format("`{}`", word));
  }
  if (words.empty()) return std::string(needs.text());
  const std::string last = words.back();
  words.pop_back();
  if (words.empty()) return "as " + last;
  return fmt::format("as {} or {}", fmt::join(words, ", "), last);
}

}  // namespace perennial::http
