#include "cmd/perennial/monitor/thresholds.h"

#include <algorithm>
#include <chrono>

#include <fmt/format.h>

#include "cmd/common/duration.h"
#include "cmd/common/units.h"

namespace perennial::tool {
namespace {

using ParseLimit = Result<uint64_t> (*)(std::string_view);

Result<uint64_t> parse_seconds(std::string_view text) {
  const Result<std::chrono::milliseconds> time = common::parse_duration(text);
  if (!time.ok()) return time.status();
  const auto seconds = std::chrono::floor<std::chrono::seconds>(*time);
  if (seconds == *time) return static_cast<uint64_t>(seconds.count());
  return Status(StatusCode::InvalidArgument, fmt::format("'{}' has parts of a second", text));
}

Status parse_limit(std::string_view text, ParseLimit parse, std::optional<uint64_t>& limit) {
  if (text.empty()) return {};
  const Result<uint64_t> value = parse(text);
  if (!value.ok()) return value.status();
  limit = *value;
  return {};
}

Result<Thresholds> parse_thresholds(std::string_view text, ParseLimit parse, bool is_low = false) {
  const size_t comma = std::min(text.find(','), text.size());
  const std::string_view critical = text.substr(std::min(comma + 1, text.size()));
  Thresholds limits;
  Status parsed = parse_limit(text.substr(0, comma), parse, limits.warning);
  if (parsed.ok()) parsed = parse_limit(critical, parse, limits.critical);
  if (!parsed.ok()) return parsed;
  if (!limits.warning && !limits.critical) {
    return Status(StatusCode::InvalidArgument, fmt::format("'{}' has no limit: WARN,CRIT", text));
  }
  if (!limits.warning || !limits.critical) return limits;
  if (is_low ? *limits.warning < *limits.critical : *limits.warning > *limits.critical) {
    return Status(StatusCode::InvalidArgument,
                  fmt::format("'{}': the limit of WARNING is {} that of CRITICAL", text,
                              is_low ? "below" : "above"));
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

Result<Thresholds> parse_low_bytes_thresholds(std::string_view text) {
  return parse_thresholds(text, common::parse_bytes, true);
}

}  // namespace perennial::tool
