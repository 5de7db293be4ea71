#include "cmd/common/units.h"

#include <optional>
#include <string>

#include <gtest/gtest.h>

namespace perennial::common {
namespace {

struct Case {
  std::string text;
  std::optional<uint64_t> want;
};

TEST(Units, CountsAreWholeDecimalNumbers) {
  const Case cases[] = {{"0", 0},
                        {"007", 7},
                        {"18446744073709551615", UINT64_MAX},
                        {"18446744073709551616", {}},
                        {"", {}},
                        {"-1", {}},
                        {"+1", {}},
                        {" 1", {}},
                        {"1 ", {}},
                        {"1.5", {}},
                        {"0x10", {}},
                        {"1MiB", {}}};
  for (const Case& c : cases) {
    const Result<uint64_t> got = parse_count(c.text);
    ASSERT_EQ(got.ok(), c.want.has_value()) << c.text;
    if (got.ok()) {
      EXPECT_EQ(*got, *c.want) << c.text;
    }
  }
}

TEST(Units, BytesTakeAUnit) {
  const Case cases[] = {{"65535", 65535},
                        {"1KiB", 1024},
                        {"64MiB", 64 << 20},
                        {"64 MiB", 64 << 20},
                        {"1GiB", 1 << 30},
                        {"2TiB", 2ull << 40},
                        {"1kB", 1000},
                        {"4MB", 4'000'000},
                        {"1GB", 1'000'000'000},
                        {"1TB", 1'000'000'000'000},
                        {"16777215TiB", 16777215ull << 40},
                        {"16777216TiB", {}},
                        {"MiB", {}},
                        {"-1MiB", {}},
                        {"1mib", {}},
                        {"1M", {}},
                        {"1  MiB", {}},
                        {"1MiB ", {}},
                        {"1.5GiB", {}},
                        {"", {}}};
  for (const Case& c : cases) {
    const Result<uint64_t> got = parse_bytes(c.text);
    ASSERT_EQ(got.ok(), c.want.has_value()) << c.text;
    if (got.ok()) {
      EXPECT_EQ(*got, *c.want) << c.text;
    }
  }
}

TEST(Units, FormattedBytesReadAsTheSame) {
  const std::pair<uint64_t, std::string> cases[] = {{0, "0"},
                                                    {1, "1"},
                                                    {65535, "65535"},
                                                    {1024, "1KiB"},
                                                    {1025, "1025"},
                                                    {64 << 20, "64MiB"},
                                                    {3ull << 40, "3TiB"},
                                                    {UINT64_MAX, "18446744073709551615"}};
  for (const auto& [bytes, text] : cases) {
    EXPECT_EQ(format_bytes(bytes), text);
    EXPECT_EQ(*parse_bytes(text), bytes);
  }
}

}  // namespace
}  // namespace perennial::common
