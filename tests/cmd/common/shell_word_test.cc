#include "cmd/common/shell_word.h"

#include <gtest/gtest.h>

namespace perennial::common {
namespace {

TEST(ShellWord, IsQuotedOnlyWhereTheShellWouldChangeIt) {
  struct Case {
    const char* text;
    const char* want;
  };
  for (const Case& each : {Case{"/var/lib/perennial", "/var/lib/perennial"},
                           Case{"a_b@c%d+e=f:g,h.i-j", "a_b@c%d+e=f:g,h.i-j"}, Case{"", "''"},
                           Case{"/my queue", "'/my queue'"}, Case{"$HOME", "'$HOME'"},
                           Case{"~", "'~'"}, Case{"a;b", "'a;b'"}, Case{"it's", "'it'\\''s'"},
                           Case{"a\nb", "'a\nb'"}, Case{"\xc3\xbc", "'\xc3\xbc'"}}) {
    EXPECT_EQ(shell_word(each.text), each.want);
  }
}

}  // namespace
}  // namespace perennial::common
