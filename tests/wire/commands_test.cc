#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "engine/types/command.h"
#include "tests/wire/describe.h"
#include "tests/wire/documents.h"
#include "wire/client.h"
#include "wire/command_line.h"

// The table of commands against what is made of it: the documents, the parser and the client.
namespace perennial::wire {
namespace {

template <typename Row>
std::string usage(const Row& row) {
  std::string text;
  const auto add = [&](const auto& argument) {
    text += fmt::format("{}<{}>", text.empty() ? "" : " ", argument.name);
  };
  std::apply([&](const auto&... arguments) { (add(arguments), ...); }, row.arguments);
  return text.empty() ? text : code(text);
}

std::string flags_text(const CommandFlags& flags) {
  std::string text;
  const auto add = [&](bool set, std::string_view name) {
    if (set) text += fmt::format("{}{}", text.empty() ? "" : ", ", name);
  };
  add(flags.adds_jobs, "adds jobs");
  add(flags.many_jobs, "many jobs");
  add(flags.ours, "ours");
  return text.empty() ? "-" : text;
}

TEST(Commands, AreDocumentedAsTheirRowsSay) {
  const std::vector<std::string> documented = documented_rows("## Commands");
  ASSERT_EQ(documented.size(), commands_count);
  size_t at = 0;
  for_each_command([&](const auto& row) {
    const std::string& line = documented[at++];
    EXPECT_TRUE(line.starts_with(fmt::format("| {} | {}", code(row.prefix), usage(row)))) << line;
    const std::string then =
        fmt::format(" | {} | {} | ", code(row.stats_key), flags_text(row.flags));
    EXPECT_NE(line.find(then), std::string::npos) << line << "\n" << then;
  });
}

TEST(Commands, PrefixesAndKeysAreUsedOnce) {
  std::set<std::string_view> prefixes;
  std::set<std::string_view> keys;
  for_each_command([&](const auto& row) {
    EXPECT_TRUE(prefixes.insert(row.prefix).second) << row.prefix;
    if (row.stats_key.empty()) return;
    EXPECT_TRUE(keys.insert(row.stats_key).second) << row.stats_key;
    EXPECT_EQ(row.stats_key, fmt::format("cmd-{}", row.word()));
  });
}

void fill(std::string& name) {
  name = "a-tube";
}
template <typename Number>
void fill(Number& number) {
  number = 7;
}

// With a number or a name for each argument.
template <typename C>
C filled() {
  C command{};
  std::apply([&](const auto&... arguments) { (fill(command.*arguments.member), ...); },
             command_row<C>().arguments);
  return command;
}

TEST(Commands, WhatAClientWritesIsReadAsTheSame) {
  for_each_command([]<typename Row>(const Row& row) {
    using C = typename Row::Type;
    if constexpr (!command_row<C>().flags.has_body) {
      std::string bytes;
      append_command(bytes, filled<C>());
      ASSERT_TRUE(bytes.starts_with(row.prefix)) << bytes;
      const Command read = parse_command_line(std::string_view(bytes).substr(0, bytes.size() - 2));
      EXPECT_TRUE(std::holds_alternative<C>(read)) << bytes;
      EXPECT_EQ(describe(read, ""), describe(filled<C>(), ""));
    }
  });
}

}  // namespace
}  // namespace perennial::wire
