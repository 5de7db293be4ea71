#include "cmd/common/units.h"

#include <array>
#include <charconv>
#include <limits>

#include <fmt/format.h>

namespace perennial::common {
namespace {

struct Unit {
  std::string_view name;
  uint64_t bytes;
};
// The powers of 1024 come first, and the largest of them first, because format_bytes uses the first
// unit that divides the number.
constexpr std::array<Unit, 8> units = {{{"TiB", 1ull << 40},
                                        {"GiB", 1ull << 30},
                                        {"MiB", 1ull << 20},
                                        {"KiB", 1ull << 10},
                                        {"TB", 1'000'000'000'000},
                                        {"GB", 1'000'000'000},
                                        {"MB", 1'000'000},
                                        {"kB", 1'000}}};
constexpr size_t binary_units = 4;

Status bad(std::string_view text, std::string_view wanted) {
  return {StatusCode::InvalidArgument, fmt::format("'{}' is not {}", text, wanted)};
}

}  // namespace

Result<uint64_t> parse_count(std::string_view text) {
  uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end) return bad(text, "a whole number");
  return value;
}

Result<uint64_t> parse_bytes(std::string_view text) {
  for (const Unit& unit : units) {
    if (!text.ends_with(unit.name)) continue;
    std::string_view digits = text.substr(0, text.size() - unit.name.size());
    if (digits.ends_with(' ')) digits.remove_suffix(1);
    const Result<uint64_t> count = parse_count(digits);
    if (!count.ok() || *count > std::numeric_limits<uint64_t>::max() / unit.bytes) {
      return bad(text, "a number of bytes");
    }
    return *count * unit.bytes;
  }
  const Result<uint64_t> count = parse_count(text);
  if (!count.ok())
    return bad(text, "a number of bytes (units: KiB, MiB, GiB, TiB, kB, MB, GB, TB)");
  return *count;
}

std::string format_bytes(uint64_t bytes) {
  for (size_t i = 0; i < binary_units; ++i) {
    if (bytes != 0 && bytes % units[i].bytes == 0) {
      return fmt::format("{}{}", bytes / units[i].bytes, units[i].name);
    }
  }
  return fmt::format("{}", bytes);
}

}  // namespace perennial::common
