#include "cmd/common/tool/listing.h"

#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "cmd/common/units.h"

namespace perennial::tool {
namespace {

constexpr std::string_view head = "---\ncursor: ";
constexpr std::string_view row_begin = "- {";
constexpr std::string_view row_end = "}";

Status garbage(std::string_view line) {
  return {StatusCode::Io, fmt::format("the server sent a list with a line that is none: {:?}",
                                      line.substr(0, line.find('\n')))};
}

bool take_prefix(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

// Removes a line, and returns it without its line feed.
std::string_view take_line(std::string_view& text) {
  const std::string_view line = text.substr(0, text.find('\n'));
  text.remove_prefix(std::min(line.size() + 1, text.size()));
  return line;
}

// Parses "- {id: 7, tube: "mail", ...}". No value holds a comma: no name of a tube or a user, and
// no address, has one.
Result<StatsReply> parse_row(std::string_view line, std::string_view rare) {
  std::string_view fields = line;
  if (!take_prefix(fields, row_begin) || !fields.ends_with(row_end)) return garbage(line);
  fields.remove_suffix(row_end.size());
  std::string document = "---\n";
  for (const char c : fields) document += c == ',' ? '\n' : c;
  // A field begins with the space that was behind the comma.
  for (size_t at = document.find("\n "); at != std::string::npos; at = document.find("\n ", at))
    document.erase(at + 1, 1);
  if (!rare.empty() && document.find(fmt::format("\n{}: ", rare)) == std::string::npos)
    document += fmt::format("\n{}: false", rare);
  return StatsReply::parse(document);
}

}  // namespace

Result<Listing> parse_listing(std::string_view document, std::string_view name,
                              std::string_view rare) {
  Listing list;
  std::string_view rest = document;
  if (!take_prefix(rest, head)) return garbage(rest);
  const Result<uint64_t> cursor = common::parse_count(take_line(rest));
  if (!cursor.ok()) return garbage(document);
  list.cursor = *cursor;
  if (rest == fmt::format("{}: []\n", name)) return list;
  if (!take_prefix(rest, fmt::format("{}:\n", name))) return garbage(rest);
  while (!rest.empty()) {
    Result<StatsReply> row = parse_row(take_line(rest), rare);
    if (!row.ok()) return row.take_status();
    list.rows.push_back(row.take());
  }
  return list;
}

}  // namespace perennial::tool
