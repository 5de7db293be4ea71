#include "wire/command_line.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <limits>
#include <string>
#include <tuple>
#include <type_traits>

namespace perennial::wire {
namespace {

constexpr Malformed bad_format{Malformed::Kind::BadFormat};
constexpr Malformed unknown{Malformed::Kind::UnknownCommand};

// Which bytes may stand in the name of a tube.
constexpr std::array<bool, 256> make_name_bytes() {
  std::array<bool, 256> table{};
  for (const char c : std::string_view("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                       "0123456789-+/;.$_()")) {
    table[static_cast<unsigned char>(c)] = true;
  }
  return table;
}
constexpr std::array<bool, 256> name_bytes = make_name_bytes();

bool is_name_byte(char c) {
  return name_bytes[static_cast<unsigned char>(c)];
}

void skip_spaces(std::string_view& args) {
  while (args.starts_with(' ')) args.remove_prefix(1);
}

// Takes a number off the front: any spaces, then digits and nothing else, not even a sign.
template <typename Number>
bool take(std::string_view& args, Number& number) {
  skip_spaces(args);
  const auto [end, error] = std::from_chars(args.data(), args.data() + args.size(), number);
  if (error != std::errc()) return false;
  args.remove_prefix(static_cast<size_t>(end - args.data()));
  return true;
}

// The same with a name, which ends at a space. None is skipped before it, unlike before a number:
// a name can only be the first argument.
bool take(std::string_view& args, std::string& name) {
  const std::string_view word = args.substr(0, args.find(' '));
  if (!is_tube_name(word)) return false;
  args.remove_prefix(word.size());
  name = word;
  return true;
}

// All arguments of a row, in their order.
template <typename C>
bool take_arguments(std::string_view& args, C& command) {
  return std::apply([&](const auto&... each) { return (take(args, command.*each.member) && ...); },
                    command_row<C>().arguments);
}

// The arguments of a command, from what follows its prefix. This is the rule; the overloads below
// it, one for each row with a grammar of its own, are the exceptions.
template <typename C>
Command parse(std::type_identity<C>, std::string_view args) {
  static_assert(!command_row<C>().flags.own_grammar, "it has no overload here");
  C command{};
  if (!take_arguments(args, command) || !args.empty()) return bad_format;
  return command;
}

// What follows the number is not looked at, as in every version of beanstalkd.
Command parse(std::type_identity<ReserveWithTimeout>, std::string_view args) {
  uint32_t timeout_s = 0;
  if (!take(args, timeout_s)) return bad_format;
  if (timeout_s > std::numeric_limits<int32_t>::max()) return bad_format;
  return ReserveWithTimeout{timeout_s};
}

bool is_blank(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

// Lenient as strtoul is: any white space, a sign, and junk behind the digits. "-1" kicks all, and
// only the low 32 bits count.
Command parse(std::type_identity<Kick>, std::string_view args) {
  while (!args.empty() && is_blank(args.front())) args.remove_prefix(1);
  const bool negative = args.starts_with('-');
  if (negative || args.starts_with('+')) args.remove_prefix(1);
  uint64_t count = 0;
  const auto [end, error] = std::from_chars(args.data(), args.data() + args.size(), count);
  if (error != std::errc()) return bad_format;
  return Kick{static_cast<uint32_t>(negative ? 0 - count : count)};
}

// Spaces before the name are skipped here alone, and none is needed.
Command parse(std::type_identity<PauseTube>, std::string_view args) {
  skip_spaces(args);
  const auto end = std::find_if_not(args.begin(), args.end(), is_name_byte);
  const std::string_view name = args.substr(0, static_cast<size_t>(end - args.begin()));
  args.remove_prefix(name.size());
  uint32_t delay_s = 0;
  if (name.empty() || !take(args, delay_s) || !args.empty()) return bad_format;
  if (!is_tube_name(name)) return Malformed{Malformed::Kind::BadPauseTube};
  return PauseTube{std::string(name), delay_s};
}

// Never a bad format: "quitx" quits.
Command parse(std::type_identity<Quit>, std::string_view /*args*/) {
  return Quit{};
}

constexpr std::string_view temporary_argument = " temporary";

// What else follows is looked at later: whether this client may know the command is not known here.
Command parse(std::type_identity<Checkpoint>, std::string_view args) {
  const bool temporary = args == temporary_argument;
  return Checkpoint{.temporary = temporary, .trailing_junk = !temporary && !args.empty()};
}

// What is tried for a line, made of the table of commands: those that begin with the same byte
// stand together, in the order of the table, but each behind those that it is the beginning of. So
// the first that matches is the longest. What clients see of this: "stats-foo" is a bad `stats`,
// and "delete" without its space is unknown.
struct Candidate {
  std::string_view prefix;
  Command (*parse)(std::string_view args);  // Gets what follows the prefix.
};

template <typename C>
Command parse_as(std::string_view args) {
  return parse(std::type_identity<C>(), args);
}

constexpr size_t first_byte(std::string_view text) {
  return static_cast<unsigned char>(text.front());
}

using Candidates = std::array<Candidate, commands_count>;

struct Dispatch {
  Candidates candidates = {};
  std::array<uint8_t, 257> begin = {};  // By first byte, and where the last of them end.
};

constexpr void insert(Candidates& all, size_t& count, const Candidate& added) {
  size_t at = 0;
  while (at < count && !added.prefix.starts_with(all[at].prefix)) ++at;
  for (size_t moved = count++; moved > at; --moved) all[moved] = all[moved - 1];
  all[at] = added;
}

constexpr Dispatch make_dispatch() {
  Candidates all = {};
  size_t count = 0;
  for_each_command([&]<typename Row>(const Row& row) {
    using C = typename Row::Type;
    if constexpr (!command_row<C>().flags.has_body) insert(all, count, {row.prefix, parse_as<C>});
  });
  Dispatch made;
  uint8_t placed = 0;
  for (size_t byte = 0; byte < 256; ++byte) {
    made.begin[byte] = placed;
    for (size_t at = 0; at < count; ++at) {
      if (first_byte(all[at].prefix) == byte) made.candidates[placed++] = all[at];
    }
  }
  made.begin[256] = placed;
  return made;
}
constexpr Dispatch dispatch = make_dispatch();

}  // namespace

std::optional<PutLine> parse_put_line(std::string_view args) {
  Put put{};
  if (!take_arguments(args, put)) return std::nullopt;
  return PutLine{put, !args.empty()};
}

Command parse_command_line(std::string_view line) {
  if (line.empty()) return unknown;
  const size_t end = dispatch.begin[first_byte(line) + 1];
  for (size_t at = dispatch.begin[first_byte(line)]; at < end; ++at) {
    const Candidate& candidate = dispatch.candidates[at];
    if (line.starts_with(candidate.prefix))
      return candidate.parse(line.substr(candidate.prefix.size()));
  }
  return unknown;
}

bool is_tube_name(std::string_view name) {
  if (name.empty() || name.size() > tube_name_bytes_max || name.front() == '-') return false;
  return std::all_of(name.begin(), name.end(), is_name_byte);
}

}  // namespace perennial::wire
