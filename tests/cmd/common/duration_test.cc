#include "cmd/common/duration.h"

#include <string>

#include <gtest/gtest.h>

namespace perennial::common {
namespace {

using std::chrono::milliseconds;

TEST(Duration, IsReadAsPeopleWriteIt) {
  struct Case {
    std::string text;
    int64_t want_ms;
  };
  const Case cases[] = {{"0", 0},
                        {"10", 10'000},
                        {"0.5", 500},
                        {"90s", 90'000},
                        {"15m", 900'000},
                        {"1h", 3'600'000},
                        {"1.5h", 5'400'000},
                        {"1h30m", 5'400'000},
                        {"2d", 172'800'000},
                        {"250ms", 250},
                        {"1d2h3m4s5ms", 93'784'005},
                        {"1h5ms", 3'600'005},
                        {"4294967295", 4'294'967'295'000}};
  for (const Case& each : cases) {
    const Result<milliseconds> duration = parse_duration(each.text);
    ASSERT_TRUE(duration.ok()) << each.text;
    EXPECT_EQ(duration->count(), each.want_ms) << each.text;
  }
}

TEST(Duration, WhatIsNoneIsRefused) {
  for (const std::string text : {"",
                                 "x",
                                 "s",
                                 "-1",
                                 "-1s",
                                 "1x",
                                 "1 s",
                                 "1S",
                                 "30m1h",
                                 "1h2h",
                                 "1h30",
                                 "10:",
                                 ".5",
                                 "1.",
                                 "1.5.1",
                                 "0.5ms",
                                 "0.0005",
                                 "1.0001s",
                                 "nan",
                                 "4294967296",
                                 "49711d",
                                 "1h4294967295s",
                                 "18446744073709551616",
                                 "99999999999999999999d"}) {
    const Result<milliseconds> duration = parse_duration(text);
    ASSERT_FALSE(duration.ok()) << text;
    EXPECT_EQ(duration.status().code(), StatusCode::InvalidArgument);
    EXPECT_NE(duration.status().message().find("'" + text + "' is not a duration"),
              std::string::npos);
  }
}

TEST(Duration, IsWrittenAsItIsRead) {
  EXPECT_EQ(format_duration(milliseconds(0)), "0s");
  EXPECT_EQ(format_duration(milliseconds(250)), "250ms");
  EXPECT_EQ(format_duration(milliseconds(1500)), "1s500ms");
  EXPECT_EQ(format_duration(std::chrono::seconds(90)), "1m30s");
  EXPECT_EQ(format_duration(std::chrono::hours(30 * 24)), "30d");
  for (const milliseconds each : {milliseconds(1), milliseconds(86'399'999), duration_max}) {
    EXPECT_EQ(parse_duration(format_duration(each)).take(), each);
  }
}

}  // namespace
}  // namespace perennial::common
