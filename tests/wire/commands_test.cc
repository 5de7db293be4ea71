#include <concepts>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "engine/types/command.h"
#include "tests/support/documents.h"
#include "tests/wire/describe.h"
#include "wire/arguments.h"
#include "wire/client.h"
#include "wire/command_line.h"

// The table of commands, compared with the documents, the parser and the client.
namespace perennial::wire {
namespace {

using support::code;
using support::documented_rows;

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
  const std::vector<std::string> documented = documented_rows("protocol.md", "## Commands");
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

// Each gives a value that is not the default and that its option or argument takes.
void fill(std::string& name) {
  name = "a-tube";
}
void fill(std::vector<JobId>& ids) {
  ids = {7, 8};
}
void fill(Duration& duration) {
  duration.nanos = 7500 * nanos_per_ms;
}
void fill(PriorityOrKeep& priority) {
  priority.priority = 7;
}
void fill(Backoff& backoff) {
  backoff = {.first = 7 * nanos_per_second, .cap = 70 * nanos_per_second};
}
void fill(Rate& rate) {
  rate = {.jobs = 7, .period = nanos_per_second};
}
void fill(KeyOption& key) {
  key = {.key = "a-key", .seconds = 7};
}
void fill(ConcurrencyKey& key) {
  key = {.key = "a-key", .jobs_max = 7};
}
void fill(ReserveMode& mode) {
  mode = ReserveMode::Weighted;
}
void fill(KeyUntil& until) {
  until = KeyUntil::Ttl;
}
void fill(Yes& yes) {
  yes.given = true;
}
void fill(No& no) {
  no.given = true;
}
void fill(YesOrNo& answer) {
  answer.value = true;
}
void fill(StateSet& states) {
  states = {JobState::Buried};
}
void fill(ListedStates& listed) {
  fill(listed.states);
}
void fill(EndSet& ends) {
  ends = {JobEnd::Deleted, JobEnd::Expired};
}
void fill(JobMatch& match) {
  match.of(JobNumber::Age) = {.min = 7};
  match.of(JobNumber::Priority) = {.max = 7};
  match.of(JobNumber::Timeouts) = {.min = 7, .max = 7};
}
void fill(JobFacts& facts) {
  facts.add(JobFact::Tube);
  facts.add(JobFact::Priority);
}
template <uint64_t lowest, uint64_t highest>
void fill(Bounded<lowest, highest>& number) {
  number.value = 7;
}
template <std::integral Number>
void fill(Number& number) {
  number = 7;
}
template <typename T>
void fill(std::optional<T>& value) {
  fill(value.emplace());
}
template <typename T>
void fill(Change<T>& change) {
  change.given = true;
  fill(change.value);
}

// Returns a command with a value for each argument and each option.
template <typename C>
C filled() {
  C command{};
  std::apply([&](const auto&... arguments) { (fill(command.*arguments.member), ...); },
             command_row<C>().arguments);
  constexpr auto options = command_row<C>().options;
  if constexpr (std::tuple_size_v < decltype(options) >> 0) {
    std::apply([&](const auto&... each) { (fill(options_of(command).*each.member), ...); },
               options);
  }
  if constexpr (std::is_same_v<C, MoveTube>) command.to = "b-tube";
  return command;
}

template <typename C>
std::string line_of(const C& command) {
  std::string bytes;
  append_command(bytes, command);
  return bytes.substr(0, bytes.size() - 2);
}

TEST(Commands, ACommandOfTheClientIsParsedAsTheSameCommand) {
  for_each_command([]<typename Row>(const Row& row) {
    using C = typename Row::Type;
    if constexpr (!command_row<C>().flags.has_body) {
      const std::string line = line_of(filled<C>());
      ASSERT_TRUE((line + ' ').starts_with(row.prefix)) << line;
      const Command read = parse_command_line(line, ExtensionSet::all().with(Extension::Auth));
      ASSERT_TRUE(std::holds_alternative<C>(read)) << line;
      EXPECT_EQ(line_of(std::get<C>(read)), line);
      EXPECT_EQ(describe(read, ""), describe(filled<C>(), ""));
    }
  });
}

TEST(Commands, APutOfTheClientIsParsedAsTheSamePut) {
  Put put = filled<Put>();
  put.options->delay_rest_ns = 250'000'000;
  std::string bytes;
  append_command(bytes, put, "7 bytes");
  const std::string line = bytes.substr(0, bytes.find("\r\n"));
  EXPECT_EQ(line,
            "put 7 7250ms 7 7 tube:a-tube tries:7 backoff:7:70 dead:a-tube expire:7500ms "
            "idp:a-key:7 until:ttl con:a-key:7");
  const std::optional<PutLine> read =
      parse_put_line(std::string_view(line).substr(put_prefix.size()), ExtensionSet::all());
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->tail, LineTail::Nothing);
  EXPECT_EQ(*read->put.options, *put.options);
}

}  // namespace
}  // namespace perennial::wire
