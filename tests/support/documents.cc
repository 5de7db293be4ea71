#include "tests/support/documents.h"

#include <cstddef>
#include <fstream>

#include <fmt/format.h>

namespace perennial::support {

std::vector<std::string> documented_rows(std::string_view name, std::string_view heading) {
  std::ifstream file(fmt::format("{}/{}", DOCUMENTS, name));
  std::vector<std::string> rows;
  bool inside = false;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("##")) inside = line == heading;
    if (inside && line.starts_with("| `")) rows.push_back(line);
  }
  return rows;
}

std::string code(std::string_view text) {
  return text.empty() ? "-" : fmt::format("`{}`", text);
}

std::string one_of(const std::vector<std::string_view>& words) {
  std::string out;
  for (size_t i = 0; i < words.size(); ++i) {
    if (i > 0) out += i + 1 == words.size() ? " or " : ", ";
    out += code(words[i]);
  }
  return out;
}

}  // namespace perennial::support
