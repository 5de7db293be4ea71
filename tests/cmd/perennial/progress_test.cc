#include "cmd/common/tool/progress.h"

#include <memory>
#include <string>

#include <gtest/gtest.h>

namespace perennial::tool {
namespace {

class ProgressTest : public testing::Test {
 protected:
  std::unique_ptr<Progress> make(bool is_terminal, uint64_t total) {
    return std::make_unique<Progress>(
        "jobs written", total,
        Progress::Terminal{.is_terminal = is_terminal,
                           .now = [this] { return now_; },
                           .write = [this](std::string_view text) { shown_ = text; }});
  }

  Nanos now_ = 5 * nanos_per_second;
  std::string shown_;
};

TEST_F(ProgressTest, SaysNothingInTheFirstSecond) {
  const auto progress = make(true, 100);
  now_ += nanos_per_second - 1;
  progress->look(50);
  EXPECT_EQ(shown_, "");
}

TEST_F(ProgressTest, SaysHowFarHowFastAndHowLong) {
  const auto progress = make(true, 1000);
  now_ += 2 * nanos_per_second;
  progress->look(250);
  EXPECT_EQ(shown_, "\r\033[K250 jobs written of 1000, 125/s, 0:06 left");
}

TEST_F(ProgressTest, KnowsNoEndWithoutATotal) {
  const auto progress = make(true, 0);
  now_ += 2 * nanos_per_second;
  progress->look(250);
  EXPECT_EQ(shown_, "\r\033[K250 jobs written, 125/s");
}

TEST_F(ProgressTest, ShowsHours) {
  const auto progress = make(true, 100'000);
  now_ += 10 * nanos_per_second;
  progress->look(10);
  EXPECT_EQ(shown_, "\r\033[K10 jobs written of 100000, 1/s, 27:46:30 left");
}

TEST_F(ProgressTest, LooksAgainAfterHalfASecond) {
  const auto progress = make(true, 0);
  now_ += 2 * nanos_per_second;
  progress->look(1);
  shown_.clear();
  now_ += nanos_per_second / 2 - 1;
  progress->look(2);
  EXPECT_EQ(shown_, "");
  now_ += 1;
  progress->look(3);
  EXPECT_NE(shown_, "");
}

TEST_F(ProgressTest, LeavesNoLineBehind) {
  auto progress = make(true, 0);
  now_ += 2 * nanos_per_second;
  progress->look(1);
  progress.reset();
  EXPECT_EQ(shown_, "\r\033[K");
}

TEST_F(ProgressTest, IsSilentWithoutATerminal) {
  auto progress = make(false, 10);
  now_ += 20 * nanos_per_second;
  for (uint64_t done = 0; done < 1000; ++done) progress->at(done);
  progress.reset();
  EXPECT_EQ(shown_, "");
}

TEST_F(ProgressTest, LooksAtTheClockNowAndThen) {
  const auto progress = make(true, 0);
  now_ += 20 * nanos_per_second;
  for (uint64_t done = 1; done <= 256; ++done) progress->at(done);
  EXPECT_EQ(shown_, "\r\033[K256 jobs written, 13/s");
}

}  // namespace
}  // namespace perennial::tool
