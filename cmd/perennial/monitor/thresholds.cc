#include "cmd/perennial/monitor/thresholds.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "cmd/common/units.h"

namespace perennial::tool {
namespace {

using ParseLimit = Result<uint64_t> (*)(std::string_view);

uint64_t unit_seconds(char unit) {
  switch (unit) {
    case 's':
      return 1;
    case 'm':
      return 60;
    case 'h':
      return 3600;
    case 'd':
      return 86'400;
    default:
      return 0;
  }
}

Result<uint64_t> parse_seconds(std::string_view text) {
  const Status wrong = {StatusCode::InvalidArgument,
                        fmt::format("'{}' is no time, such as 90s, 15m, 1h or 2d", text)};
  if (const Result<uint64_t> plain = common::parse_count(text); plain.ok()) return plain;
  if (text.empty()) return wrong;
  uint64_t total = 0;
  for (std::string_view rest = text; !rest.empty();) {
    const size_t digits = std::min(rest.find_first_not_of("0123456789"), rest.size());
    const uint64_t unit = digits < rest.size() ? unit_seconds(rest[digits]) : 0;
    const Result<uint64_t> count = common::parse_count(rest.substr(0, digits));
    if (unit == 0 || !count.ok()) return wrong;
    if (*count > (std::numeric_limits<uint64_t>::max() - total) / unit) return wrong;
    total += *count * unit;
    rest.remove_prefix(digits + 1);
  }
  return total;
}

Status parse_limit(std::string_view text, ParseLimit parse, std::optional<uint64_t>& limit) {
  if (text.empty()) return {};
  const Result<uint64_t> value = parse(text);
  if (!value.ok()) return value.status();
  limit = *value;
  return {};
}

Result<Thresholds> parse_thresholds(std::string_view text, ParseLimit parse) {
  const size_t comma = std::min(text.find(','), text.size());
  const std::string_view critical = text.substr(std::min(comma + 1, text.size()));
  Thresholds limits;
  Status parsed = parse_limit(text.substr(0, comma), parse, limits.warning);
  if (parsed.ok()) parsed = parse_limit(critical, parse, limits.critical);
  if (!parsed.ok()) return parsed;
  if (!limits.warning && !limits.critical) {
    return Status(StatusCode::InvalidArgument, fmt::format("'{}' has no limit: WARN,CRIT", text));
  }
  if (limits.warning && limits.critical && *limits.warning > *limits.critical) {
    return Status(StatusCode::InvalidArgument,
                  fmt::format("'{}': the limit of WARNING is above that of CRITICAL", text));
  }
  return limits;
}

}  // namespace

Result<Thresholds> parse_count_thresholds(std::string_view text) {
  return parse_thresholds(text, common::parse_count);
}

Result<Thresholds> parse_time_thresholds(std::string_view text) {
  return parse_thresholds(text, parse_seconds);
}

}  // namespace perennial::tool
