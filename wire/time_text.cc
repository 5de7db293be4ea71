#include "wire/time_text.h"

#include <chrono>
#include <cstdint>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace perennial::wire {

std::string utc_text(Nanos time) {
  const std::chrono::sys_time<std::chrono::seconds> whole{
      std::chrono::seconds(time / nanos_per_second)};
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z", fmt::gmtime(whole.time_since_epoch().count()),
                     time % nanos_per_second / nanos_per_ms);
}

std::string utc_text_if_known(Nanos time) {
  return time == 0 ? std::string() : utc_text(time);
}

// Abseil reads blanks around a time, too, and words for an endless future and past.
std::optional<Nanos> read_time(std::string_view text) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  if (text.empty() || !is_digit(text.front()) || text.back() == ' ') return std::nullopt;
  absl::Time time;
  const absl::string_view whole(text.data(), text.size());
  if (!absl::ParseTime(absl::RFC3339_full, whole, &time, nullptr)) return std::nullopt;
  if (time < absl::UnixEpoch() || time > absl::FromUnixNanos(INT64_MAX)) return std::nullopt;
  return absl::ToUnixNanos(time);
}

}  // namespace perennial::wire
