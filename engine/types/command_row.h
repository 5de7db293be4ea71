#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <tuple>
#include <type_traits>

#include "engine/types/extension.h"

// The types of the table of commands. The table itself is in command.h.
namespace perennial {

// One argument of a command: its name in the documents, and the member that holds it. The argument
// is a number or the name of a tube.
template <typename Of, typename Value>
struct Argument {
  std::string_view name;
  Value Of::*member;
};
template <typename Of, typename Value>
constexpr Argument<Of, Value> arg(std::string_view name, Value Of::*member) {
  return {name, member};
}

// One option of a command, "<name>:<value>": its name, the member that holds its value, and the
// extension that it belongs to; without one, that of its command. The type of the member says which
// values are valid. Options follow the arguments. `Of` is the command, or its type `Options`.
template <typename Of, typename Value>
struct Option {
  std::string_view name;
  Value Of::*member;
  std::optional<Extension> extension;
};
template <typename Of, typename Value>
constexpr Option<Of, Value> option(std::string_view name, Value Of::*member,
                                   std::optional<Extension> extension = {}) {
  return {name, member, extension};
}

// The same, where the member is one of a base of `Of`.
template <typename Of, typename Base, typename Value>
constexpr Option<Of, Value> inherited(std::string_view name, Value Base::*member,
                                      std::optional<Extension> extension = {}) {
  return {name, member, extension};
}

// The commands that the metrics tell apart. Those about several jobs belong to those about one.
enum class CommandKind : uint8_t { Put, Delete, Release, Bury, Reserve, Other };

struct CommandFlags {
  // The common rules do not apply to its arguments: wire/command_line.cc has a function for it.
  bool own_grammar = false;
  bool has_body = false;  // A body follows the line: wire/parser.cc reads it.
  // Refused in drain mode, and when disk or memory have no space for another job.
  bool adds_jobs = false;
  // It may move more jobs than a turn may, and then takes several turns.
  bool many_jobs = false;
  // beanstalkd does not have it. Its counter follows beanstalkd's keys in `stats`.
  bool ours = false;
  bool in_core = false;  // Core answers it. The engine never gets it.
  // DENIED to clients of listeners where `admin_on` does not allow it.
  bool admin = false;
  CommandKind kind = CommandKind::Other;
  // The extension that it belongs to. Where the extension is not allowed, the parser skips the row,
  // so that its line is answered as beanstalkd answers it. Without a value it is always allowed.
  std::optional<Extension> extension = {};
};

template <typename C, typename Arguments, typename Options = std::tuple<>>
struct CommandRow {
  using Type = C;

  // The beginning of its line. It includes the space where arguments must follow.
  std::string_view prefix;
  // The key of its counter in `stats`. Empty if the command is not counted.
  std::string_view stats_key;
  CommandFlags flags;
  Arguments arguments;
  Options options = {};

  // The prefix without its space, as a client writes it.
  constexpr std::string_view word() const {
    return prefix.ends_with(' ') ? prefix.substr(0, prefix.size() - 1) : prefix;
  }
  // The same row with these options.
  template <typename Of, typename... Values>
  constexpr auto with(Option<Of, Values>... added) const {
    using Added = std::tuple<Option<Of, Values>...>;
    return CommandRow<C, Arguments, Added>{prefix, stats_key, flags, arguments, Added(added...)};
  }
};
template <typename C, typename... Values>
constexpr auto command(std::string_view prefix, std::string_view stats_key, CommandFlags flags,
                       Argument<C, Values>... arguments) {
  using Arguments = std::tuple<Argument<C, Values>...>;
  return CommandRow<C, Arguments>{prefix, stats_key, flags, Arguments(arguments...), {}};
}

// The position of the row of C in a table, which is a tuple of rows. The size of the table if it
// has no such row.
template <typename C, typename... Rows>
constexpr size_t row_index(const std::tuple<Rows...>&) {
  constexpr std::array<bool, sizeof...(Rows)> same = {std::is_same_v<C, typename Rows::Type>...};
  size_t index = 0;
  while (index < same.size() && !same[index]) ++index;
  return index;
}

}  // namespace perennial
