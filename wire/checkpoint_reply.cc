#include <charconv>
#include <optional>
#include <string>
#include <string_view>

#include "wire/client.h"

// The client's side of what format.cc writes: lines of "key: value", where text is quoted.
namespace perennial::wire {
namespace {

// Returns the value of this key. Without a value if the key is missing.
std::optional<std::string_view> value_of(std::string_view yaml, std::string_view key) {
  const std::string start = "\n" + std::string(key) + ": ";
  const size_t found = yaml.find(start);
  if (found == std::string_view::npos) return std::nullopt;
  yaml.remove_prefix(found + start.size());
  return yaml.substr(0, yaml.find('\n'));
}

// Removes a character and its escape from the front. Without a value if the escape is not one that
// format.cc writes.
std::optional<char> take(std::string_view& text) {
  const char first = text.front();
  text.remove_prefix(1);
  if (first != '\\') return first;
  if (text.empty()) return std::nullopt;
  const char escaped = text.front();
  text.remove_prefix(1);
  if (escaped != 'x') return escaped;
  unsigned code = 0;
  if (text.size() < 2) return std::nullopt;
  const auto [end, error] = std::from_chars(text.data(), text.data() + 2, code, 16);
  if (error != std::errc() || end != text.data() + 2) return std::nullopt;
  text.remove_prefix(2);
  return static_cast<char>(code);
}

bool read(std::string_view yaml, std::string_view key, std::string& out) {
  std::optional<std::string_view> text = value_of(yaml, key);
  if (!text || text->size() < 2 || text->front() != '"' || text->back() != '"') return false;
  for (std::string_view rest = text->substr(1, text->size() - 2); !rest.empty();) {
    const std::optional<char> next = take(rest);
    if (!next) return false;
    out += *next;
  }
  return true;
}

bool read(std::string_view yaml, std::string_view key, uint64_t& out) {
  const std::optional<std::string_view> text = value_of(yaml, key);
  if (!text) return false;
  const char* const end = text->data() + text->size();
  const auto [stopped, error] = std::from_chars(text->data(), end, out);
  return error == std::errc() && stopped == end;
}

// Succeeds also if the key is missing.
bool read(std::string_view yaml, std::string_view key, std::optional<uint64_t>& out) {
  if (!value_of(yaml, key)) return true;
  return read(yaml, key, out.emplace());
}

}  // namespace

std::optional<CheckpointMade> parse_checkpoint(std::string_view yaml) {
  CheckpointMade made;
  const bool whole = read(yaml, "name", made.name) && read(yaml, "path", made.path) &&
                     read(yaml, "commit", made.commit) && read(yaml, "jobs", made.jobs) &&
                     read(yaml, "bytes", made.bytes) && read(yaml, "took-ms", made.took_ms);
  return whole ? std::optional(std::move(made)) : std::nullopt;
}

std::optional<CheckpointFailed> parse_checkpoint_failure(std::string_view yaml) {
  CheckpointFailed failed;
  return read(yaml, "reason", failed.reason) ? std::optional(std::move(failed)) : std::nullopt;
}

}  // namespace perennial::wire
