#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "wire/client.h"
#include "wire/yaml_text.h"

// The client's side of notes_yaml() in job_line.cc: a list of mappings, a key on each line.
namespace perennial::wire {
namespace {

std::string_view take_line(std::string_view& text) {
  const std::string_view line = text.substr(0, text.find('\n'));
  text.remove_prefix(line.size() < text.size() ? line.size() + 1 : line.size());
  return line;
}

bool read_value(std::string_view value, uint32_t& out) {
  const char* const end = value.data() + value.size();
  const auto read = std::from_chars(value.data(), end, out);
  return read.ec == std::errc() && read.ptr == end;
}

bool read_value(std::string_view value, std::string& out) {
  std::optional<std::string> text = read_yaml_text(value);
  if (!text) return false;
  out = *std::move(text);
  return true;
}

// A later server may say more of a note.
bool read_field(std::string_view key, std::string_view value, ToldNote& note) {
  if (key == "number") return read_value(value, note.number);
  if (key == "attempt") return read_value(value, note.attempt);
  if (key == "time") return read_value(value, note.time);
  if (key == "user") return read_value(value, note.user);
  if (key == "text") return read_value(value, note.text);
  return true;
}

}  // namespace

std::optional<std::vector<ToldNote>> parse_notes(std::string_view yaml) {
  std::vector<ToldNote> notes;
  if (yaml == "--- []\n") return notes;
  if (take_line(yaml) != "---") return std::nullopt;
  while (!yaml.empty()) {
    const std::string_view line = take_line(yaml);
    if (line.starts_with("- ")) notes.emplace_back();
    const size_t colon = line.find(": ");
    if (notes.empty() || line.size() < 2 || colon == std::string_view::npos) return std::nullopt;
    if (!read_field(line.substr(2, colon - 2), line.substr(colon + 2), notes.back()))
      return std::nullopt;
  }
  return notes;
}

}  // namespace perennial::wire
