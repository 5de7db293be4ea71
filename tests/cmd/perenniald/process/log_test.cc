#include "cmd/perenniald/process/log.h"

#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "cmd/common/characters.h"
#include "cmd/perenniald/process/client_log.h"

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
  for (const auto& [value, wanted] : cases) EXPECT_EQ(common::logfmt_value(value), wanted);
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
  flush_log();
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "level=info at=store.open format=3 dir=\"a b\"\n"
            "level=error at=stop\n"
            "level=debug at=conn.open conn=2\n"
            "level=warning at=store.x a=1 b=2\n"
            "level=warning at=store.x error=\"two\\nlines \\x1b[2J\"\n");
}

// Of each kind of line that a client can cause there are at most ten a second.
TEST(ClientLog, LeavesOutAndCountsOfEveryKind) {
  for (const ClientLineRow& row : client_lines) {
    EXPECT_EQ(client_lines[static_cast<size_t>(row.line)].at, row.at);
    ClientLog lines;
    testing::internal::CaptureStderr();
    for (int i = 0; i < 1000; ++i) lines.log(row.line, nanos_per_second, {{"peer", "a b"}});
    lines.log(row.line, 2 * nanos_per_second, {{"peer", "c"}});
    flush_log();
    std::string wanted;
    for (uint64_t i = 0; i < ClientLog::lines_per_second_max; ++i) {
      wanted += fmt::format("level=warning at={} peer=\"a b\" left_out=0\n", row.at);
    }
    wanted += fmt::format("level=warning at={} peer=c left_out=990\n", row.at);
    EXPECT_EQ(testing::internal::GetCapturedStderr(), wanted);
  }
}

}  // namespace
}  // namespace perennial::perenniald
