#include "wire/client.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/wire/describe.h"
#include "wire/format.h"
#include "wire/line.h"

// The server's side reads what the client's side writes, and the other way round.
namespace perennial::wire {
namespace {

struct CommandCase {
  Command command;
  std::string body;
  std::string want;
};

TEST(Client, CommandsAreParsedByTheServer) {
  const std::vector<CommandCase> cases = {
      {Put{1, 2, 3, 5}, "a\r\nbc", "put 1 2 3 5\r\na\r\nbc\r\n"},
      {Put{0, 0, 0, 0}, "", "put 0 0 0 0\r\n\r\n"},
      {Use{"t"}, "", "use t\r\n"},
      {Reserve{}, "", "reserve\r\n"},
      {ReserveWithTimeout{2147483647}, "", "reserve-with-timeout 2147483647\r\n"},
      {ReserveJob{5}, "", "reserve-job 5\r\n"},
      {Delete{UINT64_MAX}, "", "delete 18446744073709551615\r\n"},
      {Release{1, 2, 3}, "", "release 1 2 3\r\n"},
      {Bury{1, 2}, "", "bury 1 2\r\n"},
      {Touch{1}, "", "touch 1\r\n"},
      {Watch{"t"}, "", "watch t\r\n"},
      {Ignore{"t"}, "", "ignore t\r\n"},
      {Peek{1}, "", "peek 1\r\n"},
      {PeekReady{}, "", "peek-ready\r\n"},
      {PeekDelayed{}, "", "peek-delayed\r\n"},
      {PeekBuried{}, "", "peek-buried\r\n"},
      {Kick{4294967295}, "", "kick 4294967295\r\n"},
      {KickJob{1}, "", "kick-job 1\r\n"},
      {StatsJob{1}, "", "stats-job 1\r\n"},
      {ListNotes{1}, "", "list-notes 1\r\n"},
      {PeekEnded{1}, "", "peek-ended 1\r\n"},
      {RestoreJob{1}, "", "restore-job 1\r\n"},
      {RestoreTube{.tube = "t"}, "", "restore-tube t\r\n"},
      {RestoreTube{.tube = "t",
                   .since = {{90 * nanos_per_second}},
                   .how = {JobEnd::Deleted, JobEnd::Expired}},
       "", "restore-tube t since:90 how:deleted,expired\r\n"},
      {ListJobs{.tube = "t", .states = {.are_ended = true}, .after = 7}, "",
       "list-jobs t state:ended after:7\r\n"},
      {NoteJob{.id = 1, .bytes = 2, .text = "\r\n"}, "", "note 1 2\r\n\r\n\r\n"},
      {StatsTube{"t"}, "", "stats-tube t\r\n"},
      {DeleteSchedule{"s"}, "", "delete-schedule s\r\n"},
      {PauseSchedule{"s"}, "", "pause-schedule s\r\n"},
      {PauseSchedule{"s", No{true}}, "", "pause-schedule s paused:no\r\n"},
      {RunSchedule{"s"}, "", "run-schedule s\r\n"},
      {ListSchedules{}, "", "list-schedules\r\n"},
      {ListSchedules{.after = "s", .count = {7}}, "", "list-schedules after:s count:7\r\n"},
      {StatsSchedule{"s"}, "", "stats-schedule s\r\n"},
      {PeekSchedule{"s"}, "", "peek-schedule s\r\n"},
      {Stats{}, "", "stats\r\n"},
      {ListTubes{}, "", "list-tubes\r\n"},
      {ListTubeUsed{}, "", "list-tube-used\r\n"},
      {ListTubesWatched{}, "", "list-tubes-watched\r\n"},
      {PauseTube{"t", 9}, "", "pause-tube t 9\r\n"},
      {Quit{}, "", "quit\r\n"},
      {Checkpoint{}, "", "checkpoint\r\n"},
      {Checkpoint{.temporary = true}, "", "checkpoint temporary\r\n"},
  };
  // beanstalkd's commands, checkpoint, and those of notes and schedules; some are there twice.
  EXPECT_EQ(cases.size(), 43u);
  for (const CommandCase& each : cases) {
    std::string bytes;
    append_command(bytes, each.command, each.body);
    EXPECT_EQ(bytes, each.want);
    EXPECT_EQ(describe_all({bytes}), std::vector<std::string>{describe(each.command, each.body)});
  }
}

TEST(Client, ItemsOfAPutBatchAreFormattedAsTheParserReadsThem) {
  std::string items;
  Put second = {.priority = 5, .delay_s = 0, .ttr_s = 60, .body_bytes = 2};
  second.options = PutOptions{.tube = "mail", .tries = TriesOption{3}};
  append_item(items, Put{.priority = 1, .delay_s = 2, .ttr_s = 3, .body_bytes = 0}, "");
  append_item(items, second, "\r\n");
  EXPECT_EQ(items, "1 2 3 0\r\n\r\n5 0 60 2 tube:mail tries:3\r\n\r\n");
  PutBatch batch = {
      .count = {2}, .bytes = static_cast<uint32_t>(items.size()), .tube = "t", .items = {}};
  std::string bytes;
  append_command(bytes, batch, items);
  EXPECT_EQ(bytes, "put-batch 2 41 tube:t\r\n" + items + "\r\n");
  const auto read = describe_all({bytes}, 100, SIZE_MAX, ExtensionSet::all());
  ASSERT_EQ(read.size(), 1U);
  EXPECT_TRUE(read.front().starts_with("put-batch")) << read.front();
}

// Returns all replies in these pieces, with "error" as the last if the bytes are no replies.
std::vector<std::string> read_all(const std::vector<std::string_view>& pieces,
                                  uint64_t payload_bytes_max = 1000) {
  std::vector<std::string> replies;
  ReplyParser parser(payload_bytes_max);
  for (std::string_view rest : pieces) {
    while (!rest.empty()) {
      const ReplyStep step = parser.feed({rest.data(), rest.size()});
      rest.remove_prefix(step.consumed);
      if (step.reply) replies.push_back(describe(*step.reply) + "|" + step.reply->text);
      if (!step.status.ok()) {
        replies.push_back("error");
        return replies;
      }
    }
  }
  return replies;
}

TEST(Client, RepliesOfTheServerAreParsed) {
  std::string bytes;
  std::vector<std::string> want;
  for (const ReplyRow& row : reply_rows) {
    const std::string text(row.text);
    if (row.shape == ReplyShape::Nothing) {
      append_reply(bytes, row.word);
      want.push_back(text + "|");
    } else if (row.shape == ReplyShape::Number) {
      append_reply(bytes, NumberReply{row.word, UINT64_MAX});
      want.push_back(text + " 18446744073709551615|");
    }
  }
  const std::string tube(200, 'u');
  append_reply(bytes, Using{tube});
  append_job_head(bytes, {Word::Reserved, 9, 6});
  bytes.append("a\r\nb\r\n").append(job_tail);
  append_job_head(bytes, {Word::Found, 10, 0});
  bytes.append(job_tail);
  append_reply(bytes, std::make_unique<TubeNames>(TubeNames{{"default", "x"}}));
  append_reply(bytes, std::make_unique<CheckpointFailed>(CheckpointFailed{"no"}));
  want.insert(want.end(), {"USING " + tube + "|" + tube, "RESERVED 9 6|a\r\nb\r\n", "FOUND 10 0|",
                           "OK 18|---\n- default\n- x\n", "FAILED 17|---\nreason: \"no\"\n"});
  EXPECT_EQ(read_all({bytes}), want);
  const std::string_view view = bytes;
  for (size_t split = 1; split < view.size(); ++split) {
    ASSERT_EQ(read_all({view.substr(0, split), view.substr(split)}), want) << "split at " << split;
  }
}

// BURIED and KICKED are two words each: one alone and one with a number.
TEST(Client, EachReplyIsParsedAsItsOwnWord) {
  for (const ReplyRow& row : reply_rows) {
    if (row.shape == ReplyShape::Payload || row.shape == ReplyShape::JobPayload) continue;
    const std::string bytes =
        std::string(row.text) + (row.shape == ReplyShape::Nothing ? "" : " 1") + "\r\n";
    const ReplyStep step = ReplyParser().feed({bytes.data(), bytes.size()});
    ASSERT_TRUE(step.reply) << bytes;
    EXPECT_TRUE(step.reply->is(row.word)) << bytes;
  }
}

TEST(Client, CheckpointRepliesAreParsedAsTheyWereWritten) {
  const std::string odd = "/a \"b\"\\c\n\x01\x7f: \xc3\xa9 \\x41";
  std::string bytes;
  append_reply(
      bytes,
      std::make_unique<CheckpointMade>(CheckpointMade{
          .name = "n", .path = odd, .commit = UINT64_MAX, .jobs = 2, .bytes = 3, .took_ms = 4}));
  const std::optional<CheckpointMade> made = parse_checkpoint(bytes);
  ASSERT_TRUE(made);
  EXPECT_EQ(made->name, "n");
  EXPECT_EQ(made->path, odd);
  EXPECT_EQ(made->commit, UINT64_MAX);
  EXPECT_EQ(made->jobs, 2u);
  EXPECT_EQ(made->bytes, 3u);
  EXPECT_EQ(made->took_ms, 4u);
  bytes.clear();
  append_reply(bytes, std::make_unique<CheckpointFailed>(CheckpointFailed{odd}));
  ASSERT_TRUE(parse_checkpoint_failure(bytes));
  EXPECT_EQ(parse_checkpoint_failure(bytes)->reason, odd);
}

TEST(Client, InvalidCheckpointRepliesAreNotParsed) {
  const std::string rest = "\njobs: 1\nbytes: 1\ntook-ms: 1\n";
  EXPECT_TRUE(parse_checkpoint("---\nname: \"n\"\npath: \"p\"\ncommit: 1" + rest));
  for (const char* start :
       {"", "---\n", "---\nname: n\npath: \"p\"\ncommit: 1", "---\nname: \"n\"\ncommit: 1",
        "---\nname: \"n\"\npath: \"\ncommit: 1", "---\nname: \"n\"\npath: \"\\x4\"\ncommit: 1",
        "---\nname: \"n\"\npath: \"\\xzz\"\ncommit: 1",
        "---\nname: \"n\"\npath: \"p\\\"\ncommit: 1", "---\nname: \"n\"\npath: \"p\"\ncommit: x",
        "---\nname: \"n\"\npath: \"p\"\ncommit: -1"}) {
    EXPECT_FALSE(parse_checkpoint(start + rest)) << start;
  }
  EXPECT_FALSE(parse_checkpoint_failure("---\nname: \"x\"\n"));
  // The reply for a temporary checkpoint has no key "bytes".
  const std::string start = "---\nname: \"n\"\npath: \"p\"\ncommit: 1\njobs: 1\n";
  EXPECT_FALSE(parse_checkpoint(start + "took-ms: 1\n")->bytes);
  EXPECT_FALSE(parse_checkpoint(start + "bytes: x\ntook-ms: 1\n"));
}

struct GarbageCase {
  std::string name;
  std::string bytes;
};

class GarbageTest : public testing::TestWithParam<GarbageCase> {};

TEST_P(GarbageTest, IsAnError) {
  EXPECT_EQ(read_all({GetParam().bytes}, 10), std::vector<std::string>{"error"});
}

TEST(Client, AnErrorNamesTheBadLine) {
  ReplyParser parser;
  const std::string_view bytes = "HTTP/1.1 400 Bad Request\r\n";
  const ReplyStep step = parser.feed({bytes.data(), bytes.size()});
  ASSERT_FALSE(step.status.ok());
  EXPECT_NE(step.status.message().find("HTTP/1.1 400"), std::string::npos) << step.status.message();
}

// Names of tubes, keys and users have up to 200 bytes each, and the line of a reply several.
TEST(Client, ALineMayHaveSeveralLongFacts) {
  const std::string name(200, 't');
  const std::string facts = "tube:" + name + " from:" + name + " idp:" + name + " ended-by:" + name;
  const std::string all = "FOUND 1 1 " + facts + "\r\nx\r\n";
  const std::string_view view = all;
  for (const size_t split : {0, 1, 223, 224, 400}) {
    EXPECT_EQ(read_all({view.substr(0, split), view.substr(split)}),
              std::vector<std::string>{"FOUND 1 1|x"})
        << split;
  }
  ReplyParser parser;
  const ReplyStep step = parser.feed({view.data(), view.size()});
  ASSERT_TRUE(step.reply.has_value());
  EXPECT_EQ(step.reply->facts, facts);
}

TEST(Client, PayloadAtItsLimitIsParsed) {
  EXPECT_EQ(read_all({"FOUND 1 10\r\n0123456789\r\n"}, 10),
            std::vector<std::string>{"FOUND 1 10|0123456789"});
}

std::string case_name(const testing::TestParamInfo<GarbageCase>& info) {
  return info.param.name;
}
INSTANTIATE_TEST_SUITE_P(
    Client, GarbageTest,
    testing::Values(
        GarbageCase{"Empty", "\r\n"}, GarbageCase{"Unknown", "HELLO\r\n"},
        GarbageCase{"LowerCase", "deleted\r\n"}, GarbageCase{"TrailingSpace", "DELETED \r\n"},
        GarbageCase{"UnknownWithNumber", "HELLO 1\r\n"}, GarbageCase{"NoNumber", "INSERTED\r\n"},
        GarbageCase{"EmptyNumber", "INSERTED \r\n"},
        GarbageCase{"EmptyNumbers", "INSERTED_BATCH \r\n"},
        GarbageCase{"Negative", "INSERTED -1\r\n"},
        GarbageCase{"NumberTooLarge", "INSERTED 18446744073709551616\r\n"},
        GarbageCase{"NumberAndJunk", "WATCHING 1x\r\n"}, GarbageCase{"NoTube", "USING \r\n"},
        GarbageCase{"JobWithoutSize", "RESERVED 1\r\n"},
        GarbageCase{"JobWithEmptySize", "RESERVED 1 \r\n"},
        GarbageCase{"JobWithThree", "FOUND 1 2 3\r\n"},
        GarbageCase{"JobWithBadId", "FOUND x 2\r\n"},
        GarbageCase{"BodyWithoutCrlf", "FOUND 1 2\r\nabxx"},
        GarbageCase{"PayloadOnePastLimit", "FOUND 1 11\r\n"},
        GarbageCase{"PayloadPast64", "OK 18446744073709551615\r\n"},
        GarbageCase{"LineWithoutEnd", "USING " + std::string(line_long_bytes_max, 'x')},
        // What another program says first may be less than a line of ours, and it waits or closes.
        GarbageCase{"LowerCaseAndNoEnd", "del"}, GarbageCase{"LongerWord", "INSERTEDX"},
        GarbageCase{"HtmlWithoutCrlf", "<!DOCTYPE HTML>\n<html lang=\"en\">\n"},
        GarbageCase{"GreetingWithoutEnd", "220 mail ESMTP"}, GarbageCase{"CrlfSplit", "HELLO\r"}),
    case_name);

}  // namespace
}  // namespace perennial::wire
