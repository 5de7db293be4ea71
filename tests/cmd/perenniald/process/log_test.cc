#include "cmd/perenniald/process/log.h"

#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cmd/common/characters.h"
#include "cmd/perenniald/process/client_log.h"
#include "cmd/perenniald/process/log_json.h"

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
  EXPECT_FALSE(is_logged(Level::Debug));
  EXPECT_TRUE(is_logged(Level::Info));
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

struct JsonCase {
  const char* fields;
  const char* members;
};

TEST(Log, FieldsAreMembersOfJson) {
  const JsonCase cases[] = {
      {"at=stop", R"("at":"stop")"},
      {"at=listen address=[::]:11300 jobs=12",
       R"("at":"listen","address":"[::]:11300","jobs":"12")"},
      {R"(at=x why="two words" n=1)", R"("at":"x","why":"two words","n":"1")"},
      {R"(at=x why="say \"hi\"" path="back\\slash")",
       R"("at":"x","why":"say \"hi\"","path":"back\\slash")"},
      {R"(at=x why="two\nlines")", R"("at":"x","why":"two\nlines")"},
      {R"(at=x why="clear \x1b[2J")", R"("at":"x","why":"clear \\x1b[2J")"},
      {R"(at=x why="")", R"("at":"x","why":"")"},
      {R"(at=x why=)", R"("at":"x","why":"")"},
      // What no line of ours has: it must not break the object.
      {R"(at=x why="no end)", R"("at":"x","why":"no end")"},
      {"at=x word", R"("at":"x","word":"")"},
      {"at=x why=\"\xff\"", "\"at\":\"x\",\"why\":\"\xef\xbf\xbd\""},
  };
  for (const auto& [fields, members] : cases) EXPECT_EQ(json_members(fields), members);
}

// Lines with a time, and as JSON, in each form.
TEST(Log, HasTheFormThatIsAskedFor) {
  testing::internal::CaptureStderr();
  for (const LogForm form : {LogForm{.has_time = true}, LogForm{.is_json = true},
                             LogForm{.is_json = true, .has_time = true}}) {
    set_log_form(form);
    log(Level::Warning, "flags", {{"warning", "a \"b\""}});
  }
  set_log_form({});
  log(Level::Info, "stop", {});
  flush_log();
  const std::string time = "20[0-9]{2}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\\.[0-9]{3}Z";
  const std::string members = R"("level":"warning","at":"flags","warning":"a \\\"b\\\"")";
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              testing::MatchesRegex("time=" + time +
                                    R"( level=warning at=flags warning="a \\\"b\\\""
)"
                                    "\\{" +
                                    members + "\\}\n\\{\"time\":\"" + time + "\"," + members +
                                    "\\}\nlevel=info at=stop\n"));
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
