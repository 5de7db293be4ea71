#include "tests/wire/documents.h"

#include <fstream>

#include <fmt/format.h>

namespace perennial::wire {

std::vector<std::string> documented_rows(std::string_view heading) {
  std::ifstream file(PROTOCOL_DOCUMENT);
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

}  // namespace perennial::wire
