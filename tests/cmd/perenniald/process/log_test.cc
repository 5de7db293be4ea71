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
  set_log_verbosity(0);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "level=info at=store.open format=3 dir=\"a b\"\n"
            "level=error at=stop\n"
            "level=debug at=conn.open conn=2\n"
            "level=warning at=store.x a=1 b=2\n");
}

}  // namespace
}  // namespace perennial::perenniald
