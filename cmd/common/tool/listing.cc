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

// The fields of a row, a line each: "id: 7, tube: "mail"" with line feeds for the commas between
// them. A comma in quotes is part of a value.
std::string lines_of(std::string_view fields) {
  std::string lines;
  bool is_quoted = false;
  for (size_t at = 0; at < fields.size(); ++at) {
    const char c = fields[at];
    if (is_quoted && c == '\\' && at + 1 < fields.size()) {
      lines += c;
      lines += fields[++at];
    } else if (c == ',' && !is_quoted) {
      lines += '\n';
      while (at + 1 < fields.size() && fields[at + 1] == ' ') ++at;
    } else {
      is_quoted ^= c == '"';
      lines += c;
    }
  }
  return lines;
}

// Parses "- {id: 7, tube: "mail", ...}".
Result<StatsReply> parse_row(std::string_view line, std::string_view rare) {
  std::string_view fields = line;
  if (!take_prefix(fields, row_begin) || !fields.ends_with(row_end)) return garbage(line);
  fields.remove_suffix(row_end.size());
  std::string document = "---\n" + lines_of(fields);
  if (!rare.empty() && document.find(fmt::format("\n{}: ", rare)) == std::string::npos)
    document += fmt::format("\n{}: false", rare);
  return StatsReply::parse(document);
}

// Parses what follows the cursor.
Result<std::vector<StatsReply>> parse_rows(std::string_view rest, std::string_view name,
                                           std::string_view rare) {
  std::vector<StatsReply> rows;
  if (rest == fmt::format("{}: []\n", name)) return rows;
  if (!take_prefix(rest, fmt::format("{}:\n", name))) return garbage(rest);
  while (!rest.empty()) {
    Result<StatsReply> row = parse_row(take_line(rest), rare);
    if (!row.ok()) return row.take_status();
    rows.push_back(row.take());
  }
  return rows;
}

}  // namespace

Result<Listing> parse_listing(std::string_view document, std::string_view name,
                              std::string_view rare) {
  std::string_view rest = document;
  if (!take_prefix(rest, head)) return garbage(rest);
  const Result<uint64_t> cursor = common::parse_count(take_line(rest));
  if (!cursor.ok()) return garbage(document);
  Result<std::vector<StatsReply>> rows = parse_rows(rest, name, rare);
  if (!rows.ok()) return rows.take_status();
  return Listing{.cursor = *cursor, .rows = rows.take()};
}

Result<NamedListing> parse_named_listing(std::string_view document, std::string_view name) {
  std::string_view rest = document;
  if (!take_prefix(rest, head)) return garbage(rest);
  std::string_view cursor = take_line(rest);
  if (cursor.size() < 2 || !cursor.starts_with('"') || !cursor.ends_with('"'))
    return garbage(document);
  cursor = cursor.substr(1, cursor.size() - 2);
  Result<std::vector<StatsReply>> rows = parse_rows(rest, name, {});
  if (!rows.ok()) return rows.take_status();
  return NamedListing{.cursor = std::string(cursor), .rows = rows.take()};
}

}  // namespace perennial::tool
