#include "cmd/perenniald/process/log.h"

#include <string>

#include <gtest/gtest.h>

namespace perennial::perenniald {
namespace {

TEST(Log, QuotesValuesThatAreNotPlain) {
  const std::pair<std::string, std::string> cases[] = {
      {"commit", "commit"},
      {"[::]:11300", "[::]:11300"},
      {"", "\"\""},
      {"two words", "\"two words\""},
      {"a=b", "\"a=b\""},
      {"say \"hi\"", "\"say \\\"hi\\\"\""},
      {"back\\slash", "\"back\\\\slash\""},
      {"two\nlines", "\"two\\nlines\""},
      {std::string("nul\0", 4), "\"nul\\x00\""},
      {"\xc3\xa9", "\"\xc3\xa9\""},
      {"\xe6\x97\xa5", "\"\xe6\x97\xa5\""},
      {"clear \x1b[2J", "\"clear \\x1b[2J\""},
      {"\xc2\x9b\x32J", "\"\\xc2\\x9b2J\""},  // The same in Latin-1.
      {"\xe2\x80\xae"
       "gnp",
       "\"\\xe2\\x80\\xaegnp\""},  // From right to left.
      {"a\xe2\x80\xa8"
       "b",
       "\"a\\xe2\\x80\\xa8"
       "b\""},                                  // A line separator.
      {"\xff\xc3", "\"\\xff\\xc3\""},           // No UTF-8.
      {"\xc0\xaf", "\"\\xc0\\xaf\""},           // Too long a form.
      {"\xed\xa0\x80", "\"\\xed\\xa0\\x80\""},  // Half of a pair.
  };
  for (const auto& [value, wanted] : cases) EXPECT_EQ(logfmt_value(value), wanted);
}

TEST(Log, WritesOneLineOfFields) {
  testing::internal::CaptureStderr();
  set_log_verbosity(0);
  log(Level::Info, "store.open", {{"format", "3"}, {"dir", "a b"}});
  log(Level::Debug, "conn.open", {{"conn", "1"}});
  log(Level::Error, "stop", {});
  set_log_verbosity(1);
  log(Level::Debug, "conn.open", {{"conn", "2"}});
  log_fields(Level::Warning, "store.x", "a=1 b=2");
  log_fields(Level::Warning, "store.x", "error=\"two\nlines \x1b[2J\"");
  set_log_verbosity(0);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "level=info at=store.open format=3 dir=\"a b\"\n"
            "level=error at=stop\n"
            "level=debug at=conn.open conn=2\n"
            "level=warning at=store.x a=1 b=2\n"
            "level=warning at=store.x error=\"two\\nlines \\x1b[2J\"\n");
}

}  // namespace
}  // namespace perennial::perenniald
