#include "cmd/common/tool/colours.h"

#include <cstdlib>
#include <string>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace perennial::tool {
namespace {

class Colours : public testing::Test {
 protected:
  void SetUp() override {
    terminal_ = ::posix_openpt(O_RDWR | O_NOCTTY);
    ASSERT_GE(terminal_, 0);
    file_ = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
    ASSERT_GE(file_, 0);
    ASSERT_EQ(::setenv("TERM", "xterm", 1), 0);
    ASSERT_EQ(::unsetenv("NO_COLOR"), 0);
  }
  void TearDown() override {
    ::close(terminal_);
    ::close(file_);
  }

  int terminal_ = -1;
  int file_ = -1;
};

TEST_F(Colours, AreForTerminals) {
  EXPECT_EQ(coloured("text", Colour::Red, terminal_), "\x1b[31mtext\x1b[0m");
  EXPECT_EQ(coloured("text", Colour::Red, file_), "text");
}

TEST_F(Colours, AreOffWhereSomebodySaysSo) {
  for (const char* value : {"1", "0", "true"}) {
    ASSERT_EQ(::setenv("NO_COLOR", value, 1), 0);
    EXPECT_FALSE(takes_colours(terminal_)) << value;
  }
  ASSERT_EQ(::setenv("NO_COLOR", "", 1), 0);
  EXPECT_TRUE(takes_colours(terminal_));
  ASSERT_EQ(::setenv("TERM", "dumb", 1), 0);
  EXPECT_FALSE(takes_colours(terminal_));
}

TEST_F(Colours, OfATableAreTheHeadingAlone) {
  EXPECT_EQ(with_bold_heading("A B\n1 2\n", terminal_), "\x1b[1mA B\x1b[0m\n1 2\n");
  EXPECT_EQ(with_bold_heading("A B\n1 2\n", file_), "A B\n1 2\n");
}

}  // namespace
}  // namespace perennial::tool
