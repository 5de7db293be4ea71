#include "tests/support/documents.h"

#include <cstddef>
#include <cstdlib>
#include <fstream>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace perennial::support {
namespace {

std::string path_of(std::string_view name) {
  return fmt::format("{}/{}", DOCUMENTS, name);
}

// Calls `on_line(line, is_row)` for each line of a document.
template <typename OnLine>
void for_each_line(std::string_view name, std::string_view heading, OnLine on_line) {
  std::ifstream file(path_of(name));
  bool inside = false;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("##")) inside = line == heading;
    on_line(line, inside && line.starts_with("| `"));
  }
}

void replace_rows(std::string_view name, std::string_view heading,
                  const std::vector<std::string>& made) {
  std::string text;
  bool is_written = false;
  for_each_line(name, heading, [&](const std::string& line, bool is_row) {
    if (!is_row) {
      text += line + "\n";
    } else if (!is_written) {
      text += fmt::format("{}\n", fmt::join(made, "\n"));
      is_written = true;
    }
  });
  std::ofstream(path_of(name)) << text;
}

}  // namespace

std::vector<std::string> documented_rows(std::string_view name, std::string_view heading) {
  std::vector<std::string> rows;
  for_each_line(name, heading, [&](const std::string& line, bool is_row) {
    if (is_row) rows.push_back(line);
  });
  return rows;
}

std::vector<std::string> documented_rows(std::string_view name, std::string_view heading,
                                         const std::vector<std::string>& made) {
  if (std::getenv("UPDATE_DOCUMENTS") != nullptr) replace_rows(name, heading, made);
  return documented_rows(name, heading);
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
