#include "cmd/perennial/output/readable.h"

#include <gtest/gtest.h>

#include "cmd/perennial/output/text.h"

namespace perennial::tool {
namespace {

TEST(WithCommas, GroupsByThree) {
  EXPECT_EQ(with_commas(0), "0");
  EXPECT_EQ(with_commas(999), "999");
  EXPECT_EQ(with_commas(1000), "1,000");
  EXPECT_EQ(with_commas(~uint64_t{0}), "18,446,744,073,709,551,615");
}

TEST(RateText, IsShort) {
  EXPECT_EQ(rate_text(0), "0");
  EXPECT_EQ(rate_text(0.04), "0");
  EXPECT_EQ(rate_text(0.05), "0.1");
  EXPECT_EQ(rate_text(9.94), "9.9");
  EXPECT_EQ(rate_text(9.96), "10");
  EXPECT_EQ(rate_text(12345.4), "12,345");
  EXPECT_EQ(rate_text(2.5e6), "2.5M");
}

TEST(DurationText, HasAtMostTwoUnits) {
  EXPECT_EQ(duration_text(0), "0 s");
  EXPECT_EQ(duration_text(59), "59 s");
  EXPECT_EQ(duration_text(60), "1 min");
  EXPECT_EQ(duration_text(61), "1 min 1 s");
  EXPECT_EQ(duration_text(3600), "1 h");
  EXPECT_EQ(duration_text(3661), "1 h 1 min");
  EXPECT_EQ(duration_text(86'400), "1 d");
  EXPECT_EQ(duration_text(uint64_t{100} * 86'400 + 3 * 3600), "100 d 3 h");
}

TEST(ShortTexts, KeepToTheirColumns) {
  EXPECT_EQ(short_duration(0), "-");
  EXPECT_EQ(short_duration(119), "119s");
  EXPECT_EQ(short_duration(120), "2m");
  EXPECT_EQ(short_duration(7199), "119m");
  EXPECT_EQ(short_duration(7200), "2h");
  EXPECT_EQ(short_duration(172'800), "2d");
  EXPECT_EQ(short_count(999'999), "999,999");
  EXPECT_EQ(short_count(1'000'000), "1.0M");
  EXPECT_EQ(latency_text(999), "999 us");
  EXPECT_EQ(latency_text(1000), "1.0 ms");
  EXPECT_EQ(latency_text(1'500'000), "1.5 s");
}

TEST(Cut, MarksATruncatedText) {
  EXPECT_EQ(truncate("tube", 4), "tube");
  EXPECT_EQ(truncate("tubes", 4), "tub~");
  EXPECT_EQ(truncate("tubes", 1), "~");
}

struct TextCase {
  const char* name;
  std::string bytes;
  bool utf8;
  std::string shown;
};
void PrintTo(const TextCase& text, std::ostream* out) {
  *out << text.name;
}

class Text : public testing::TestWithParam<TextCase> {};

TEST_P(Text, IsRecognisedAndPrintedSafely) {
  EXPECT_EQ(is_utf8(GetParam().bytes), GetParam().utf8);
  EXPECT_EQ(printable(GetParam().bytes), GetParam().shown);
}

INSTANTIATE_TEST_SUITE_P(
    Output, Text,
    testing::Values(TextCase{"Empty", "", true, ""}, TextCase{"Lines", "a\tb\n", true, "a\tb\n"},
                    TextCase{"Escape", "\x1b[2J", true, "\\x1b[2J"},
                    TextCase{"Nul", std::string("a\0b", 3), true, "a\\x00b"},
                    TextCase{"Delete", "\x7f", true, "\\x7f"},
                    TextCase{"Two", "\xc3\xa4", true, "\xc3\xa4"},
                    TextCase{"Three", "\xe2\x82\xac", true, "\xe2\x82\xac"},
                    TextCase{"Four", "\xf0\x9f\x8c\xb1", true, "\xf0\x9f\x8c\xb1"},
                    TextCase{"ControlOfLatin1", "\xc2\x9b", true, "\\xc2\\x9b"},
                    TextCase{"Lone", "\xff", false, "\\xff"},
                    TextCase{"CutOff", "\xe2\x82", false, "\\xe2\\x82"},
                    TextCase{"TooLongForm", "\xc0\xaf", false, "\\xc0\\xaf"},
                    TextCase{"Surrogate", "\xed\xa0\x80", false, "\\xed\\xa0\\x80"},
                    TextCase{"PastTheLast", "\xf4\x90\x80\x80", false, "\\xf4\\x90\\x80\\x80"},
                    TextCase{"NoContinuation", "\xc3(", false, "\\xc3("}),
    [](const auto& param) { return param.param.name; });

}  // namespace
}  // namespace perennial::tool
