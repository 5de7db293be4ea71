#include "wire/format.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace perennial::wire {
namespace {

std::string format(const Reply& reply) {
  std::string out = "before|";
  append_reply(out, reply);
  EXPECT_TRUE(out.starts_with("before|"));
  return out.substr(7);
}

TEST(Format, AFixedReplyIsOneLine) {
  const std::vector<std::pair<Word, std::string>> cases = {
      {Word::Deleted, "DELETED\r\n"},
      {Word::Released, "RELEASED\r\n"},
      {Word::Buried, "BURIED\r\n"},
      {Word::Touched, "TOUCHED\r\n"},
      {Word::Kicked, "KICKED\r\n"},
      {Word::Paused, "PAUSED\r\n"},
      {Word::NotFound, "NOT_FOUND\r\n"},
      {Word::NotIgnored, "NOT_IGNORED\r\n"},
      {Word::TimedOut, "TIMED_OUT\r\n"},
      {Word::DeadlineSoon, "DEADLINE_SOON\r\n"},
      {Word::Draining, "DRAINING\r\n"},
      {Word::ExpectedCrlf, "EXPECTED_CRLF\r\n"},
      {Word::JobTooBig, "JOB_TOO_BIG\r\n"},
      {Word::OutOfMemory, "OUT_OF_MEMORY\r\n"},
      {Word::InternalError, "INTERNAL_ERROR\r\n"},
      {Word::BadFormat, "BAD_FORMAT\r\n"},
      {Word::UnknownCommand, "UNKNOWN_COMMAND\r\n"},
  };
  for (const auto& [word, want] : cases) EXPECT_EQ(format(word), want);
}

TEST(Format, ANumberOrNameFollowsItsWord) {
  const std::string longest(200, 'n');
  EXPECT_EQ(format(NumberReply{Word::Inserted, 1}), "INSERTED 1\r\n");
  EXPECT_EQ(format(NumberReply{Word::Inserted, UINT64_MAX}), "INSERTED 18446744073709551615\r\n");
  EXPECT_EQ(format(NumberReply{Word::InsertedBuried, 7}), "BURIED 7\r\n");
  EXPECT_EQ(format(Using{"default"}), "USING default\r\n");
  EXPECT_EQ(format(Using{longest}), "USING " + longest + "\r\n");
  EXPECT_EQ(format(NumberReply{Word::Watching, 2}), "WATCHING 2\r\n");
  EXPECT_EQ(format(NumberReply{Word::KickedCount, 0}), "KICKED 0\r\n");
}

std::string names(std::vector<std::string> tubes) {
  return format(std::make_unique<TubeNames>(TubeNames{std::move(tubes)}));
}

TEST(Format, TubeNamesInPartsAreTheSameBytes) {
  std::string parts;
  append_names_head(parts, {.count = 3, .bytes = 1 + 7 + 2});
  append_names(parts, {{"a"}});
  append_names(parts, {{"default", "bc"}});
  parts += names_tail;
  EXPECT_EQ(parts, format(std::make_unique<TubeNames>(TubeNames{{"a", "default", "bc"}})));
  EXPECT_EQ(names_bytes({.count = 3, .bytes = 10}),
            std::string("---\n- a\n- default\n- bc\n").size());
}

TEST(Format, TubeNamesAreNeverQuoted) {
  EXPECT_EQ(names({}), "OK 4\r\n---\n\r\n");
  EXPECT_EQ(names({"default"}), "OK 14\r\n---\n- default\n\r\n");
  EXPECT_EQ(names({"default", "$a"}), "OK 19\r\n---\n- default\n- $a\n\r\n");
}

TEST(Format, ACheckpointReplyQuotesNameAndPath) {
  const auto made = [](std::string path) {
    return format(std::make_unique<CheckpointMade>(CheckpointMade{.name = "2026-11-21",
                                                                  .path = std::move(path),
                                                                  .commit = 7,
                                                                  .jobs = 3,
                                                                  .bytes = 4096,
                                                                  .took_ms = 12}));
  };
  EXPECT_EQ(made("/var/c"),
            "OK 80\r\n---\nname: \"2026-11-21\"\npath: \"/var/c\"\ncommit: 7\njobs: 3\n"
            "bytes: 4096\ntook-ms: 12\n\r\n");
  // The name of a directory may contain any byte.
  EXPECT_THAT(made("/a \"b\"\\\n\t: \xc3\xa9"),
              testing::HasSubstr("path: \"/a \\\"b\\\"\\\\\\x0a\\x09: \xc3\xa9\"\n"));
}

TEST(Format, ATemporaryCheckpointReplyHasNoBytes) {
  EXPECT_EQ(format(std::make_unique<CheckpointMade>(CheckpointMade{.name = "n", .path = "/p"})),
            "OK 54\r\n---\nname: \"n\"\npath: \"/p\"\ncommit: 0\njobs: 0\ntook-ms: 0\n\r\n");
}

TEST(Format, AFailedCheckpointReplyQuotesTheReason) {
  EXPECT_EQ(format(std::make_unique<CheckpointFailed>(CheckpointFailed{"disk \"full\""})),
            "FAILED 28\r\n---\nreason: \"disk \\\"full\\\"\"\n\r\n");
}

TEST(Format, ABodyIsBetweenHeadAndTail) {
  std::string out = "before|";
  append_job_head(out, {Word::Reserved, 9, 4});
  out.append("a\r\nb").append(job_tail);
  EXPECT_EQ(out, "before|RESERVED 9 4\r\na\r\nb\r\n");
  out.clear();
  append_job_head(out, {Word::Found, 18446744073709551615u, 0});
  out.append(job_tail);
  EXPECT_EQ(out, "FOUND 18446744073709551615 0\r\n\r\n");
}

}  // namespace
}  // namespace perennial::wire
