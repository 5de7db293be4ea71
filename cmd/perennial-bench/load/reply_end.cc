#include "cmd/perennial-bench/load/reply_end.h"

#include <charconv>

#include <fmt/format.h>

namespace perennial::bench {
namespace {

constexpr std::string_view crlf = "\r\n";

// How many replies follow the line of a batch.
size_t items_of(std::string_view line) {
  const size_t first = number_in(line, 0).value_or(0);
  if (line.starts_with("RESERVED_BATCH ")) return first;
  if (line.starts_with("INSERTED_BATCH ")) return first + number_in(line, 1).value_or(0);
  return 0;
}

// Removes the body of RESERVED or FOUND, and its CRLF.
Result<bool> skip_one_body(std::string_view line, std::string_view& rest, size_t body_bytes_max) {
  const std::optional<size_t> bytes = number_in(line, 1);
  if (!bytes || *bytes > body_bytes_max) return not_understood(line);
  if (rest.size() < *bytes + crlf.size()) return false;
  if (rest.substr(*bytes, crlf.size()) != crlf) return not_understood(line);
  rest.remove_prefix(*bytes + crlf.size());
  return true;
}

}  // namespace

Status not_understood(std::string_view line) {
  constexpr size_t quoted_max = 100;
  return {StatusCode::Io, fmt::format("the server answered with '{}'", line.substr(0, quoted_max))};
}

std::string_view take_line(std::string_view& bytes) {
  const size_t end = bytes.find(crlf);
  if (end == std::string_view::npos) return {};
  const std::string_view line = bytes.substr(0, end);
  bytes.remove_prefix(end + crlf.size());
  return line;
}

Result<bool> skip_body(std::string_view line, std::string_view& rest, size_t body_bytes_max) {
  if (line.starts_with("RESERVED ") || line.starts_with("FOUND "))
    return skip_one_body(line, rest, body_bytes_max);
  for (size_t left = items_of(line); left > 0; --left) {
    const std::string_view item = take_line(rest);
    if (item.empty()) return false;
    Result<bool> whole = skip_body(item, rest, body_bytes_max);
    if (!whole.ok() || !*whole) return whole;
  }
  return true;
}

std::optional<size_t> number_in(std::string_view line, size_t place) {
  for (size_t word = 0; word <= place; ++word) {
    const size_t space = line.find(' ');
    if (space == std::string_view::npos) return std::nullopt;
    line.remove_prefix(space + 1);
  }
  size_t number = 0;
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), number);
  if (error != std::errc()) return std::nullopt;
  return number;
}

}  // namespace perennial::bench
