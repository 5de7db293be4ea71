#include "wire/one_command.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/wire/describe.h"
#include "wire/client.h"

namespace perennial::wire {
namespace {

struct Sent {
  std::string name;
  Command command;
  std::string body = {};

  std::string bytes() const {
    std::string bytes;
    append_command(bytes, command, body);
    return bytes;
  }
};

Put put_of(const std::string& body, PutOptions options) {
  Put put = {.priority = 0, .delay_s = 0, .ttr_s = 9, .body_bytes = 0};
  put.body_bytes = static_cast<uint32_t>(body.size());
  put.options = std::move(options);
  return put;
}
PutBatch batch_of(uint32_t count, const std::string& items, const std::string& tube) {
  return {
      .count = {count}, .bytes = static_cast<uint32_t>(items.size()), .tube = tube, .items = {}};
}
NoteJob note_of(const std::string& text) {
  return {.id = 1, .bytes = static_cast<uint32_t>(text.size()), .text = text};
}

TEST(OneCommand, IsWhatACarefulClientSends) {
  const std::string body = "a\r\ndelete 1\r\n";
  const std::string name(200, 't');
  const std::string item = "0 0 9 1\r\na";
  const std::string large(put_batch_bytes_max + 1, 'a');
  const std::vector<Sent> cases = {
      {"an empty put", put_of("", {}), ""},
      {"a put", put_of(body, {.tube = "a", .dead = "d", .key = KeyOption{"k", 5}}), body},
      {"the longest names", put_of(body, {.tube = name, .key = KeyOption{name}}), body},
      {"a name alone", Watch{.tube = name}},
      {"all tubes", ListJobs{.tube = ""}},
      {"a name in a setting", SetTube{.tube = "t", .dead = {.given = true, .value = {"d"}}}},
      {"a setting that goes", SetTube{.tube = "t", .dead = {.given = true, .value = {}}}},
      {"a batch", batch_of(1, item, "t"), item},
      {"a batch that is refused as too large", batch_of(1, large, "t"), large},
      {"a note", note_of("\r\ndelete 1\r\n")},
      {"no argument", Quit{}},
      {"ids", DeleteBatch{.ids = {1, 2}}},
  };
  for (const Sent& each : cases)
    EXPECT_TRUE(is_one_command(each.bytes(), each.command)) << each.name;
}

TEST(OneCommand, IsNotWhatTheParserDividesOrChanges) {
  const std::vector<std::string> hostile = {
      "",
      "a b",
      "a 5",
      "a tries:3",
      "-a",
      "a\r\ndelete 1",
      "a\r\n",
      "a\nb",
      "a\rb",
      std::string("a\0b", 3),
      "a\tb",
      "a\x7f",
      "\xc3\xa4",
      "a,b",
      "*",
      std::string(201, 'a'),
      std::string(line_bytes_max, 'a'),
      std::string(line_long_bytes_max + 1, 'a'),
  };
  const std::string body = "delete 1\r\nput 0 0 9 1\r\na";
  const std::string item = "0 0 9 1\r\na";
  for (const std::string& name : hostile) {
    std::vector<Sent> cases = {
        {"watch", Watch{.tube = name}},
        {"use", Use{.tube = name}},
        {"stats-tube", StatsTube{.tube = name}},
        {"pause-tube", PauseTube{.tube = name, .delay_s = 5}},
        {"move-tube from", MoveTube{.from = name, .to = "t"}},
        {"move-tube to", MoveTube{.from = "t", .to = name}},
        {"set-tube", SetTube{.tube = name, .dead = {.given = true, .value = {"d"}}}},
        {"dead of a tube", SetTube{.tube = "t", .dead = {.given = true, .value = {name}}}},
        {"key of a put", put_of(body, {.tube = {}, .key = KeyOption{name, 5}}), body},
    };
    // With an empty name there is no such option.
    if (!name.empty()) {
      cases.push_back({"tube of a put", put_of(body, {.tube = name}), body});
      cases.push_back({"dead of a put", put_of(body, {.tube = {}, .dead = name}), body});
      cases.push_back({"tube of a batch", batch_of(1, item, name), item});
      cases.push_back({"tube of a job", SetJob{.id = 1, .tube = name}});
      cases.push_back({"key of a list", ListJobs{.tube = "t", .key = name}});
    }
    for (const Sent& each : cases) {
      const std::string bytes = each.bytes();
      EXPECT_FALSE(is_one_command(bytes, each.command)) << each.name << ": " << bytes.substr(0, 99);
    }
  }
}

TEST(OneCommand, EndsWhereTheBytesEnd) {
  const Command put = put_of("a", {});
  const std::string bytes = Sent{"", put, "a"}.bytes();
  EXPECT_TRUE(is_one_command(bytes, put));
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(is_one_command(bytes.substr(0, size), put)) << size;
  }
  EXPECT_FALSE(is_one_command(bytes + "d", put));
  EXPECT_FALSE(is_one_command(bytes + "delete 1\r\n", put));
  EXPECT_FALSE(is_one_command(bytes, Command{Quit{}}));
}

TEST(OneCommand, TheLineThatStandsForARefusedOneIsBadFormat) {
  EXPECT_EQ(describe_all({bad_format_line}), std::vector<std::string>{"bad"});
}

}  // namespace
}  // namespace perennial::wire
