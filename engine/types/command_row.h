#pragma once

#include <array>
#include <cstddef>
#include <string_view>
#include <tuple>
#include <type_traits>

// What the table of commands is made of: command.h has the table itself.
namespace perennial {

// One argument of a command's line: its name in the documents, and the member that holds it. A
// number, or the name of a tube.
template <typename Of, typename Value>
struct Argument {
  std::string_view name;
  Value Of::*member;
};
template <typename Of, typename Value>
constexpr Argument<Of, Value> arg(std::string_view name, Value Of::*member) {
  return {name, member};
}

struct CommandFlags {
  // Its arguments are not read by the common rules: wire/command_line.cc has a function for it.
  bool own_grammar = false;
  bool has_body = false;   // A body follows its line: wire/parser.cc reads it.
  bool adds_jobs = false;  // Refused by a server that drains, and by one that has no room.
  bool many_jobs = false;  // It may move more jobs than one turn may, and then takes several.
  bool ours = false;       // Not beanstalkd's. Its counter follows beanstalkd's keys in stats.
  bool in_core = false;    // core answers it, and the engine never sees it.
};

template <typename C, typename... Values>
struct CommandRow {
  using Type = C;

  // What its line begins with; with its space, where arguments must follow.
  std::string_view prefix;
  std::string_view stats_key;  // Of the counter that it raises. Empty: it is not counted.
  CommandFlags flags;
  std::tuple<Argument<C, Values>...> arguments;

  // The prefix without its space, as a client writes it.
  constexpr std::string_view word() const {
    return prefix.ends_with(' ') ? prefix.substr(0, prefix.size() - 1) : prefix;
  }
};
template <typename C, typename... Values>
constexpr CommandRow<C, Values...> command(std::string_view prefix, std::string_view stats_key,
                                           CommandFlags flags, Argument<C, Values>... arguments) {
  return {prefix, stats_key, flags, {arguments...}};
}

// Where the row of C stands in a table, which is a tuple of rows; the size of the table if it has
// none.
template <typename C, typename... Rows>
constexpr size_t row_index(const std::tuple<Rows...>&) {
  constexpr std::array<bool, sizeof...(Rows)> same = {std::is_same_v<C, typename Rows::Type>...};
  size_t index = 0;
  while (index < same.size() && !same[index]) ++index;
  return index;
}

}  // namespace perennial
