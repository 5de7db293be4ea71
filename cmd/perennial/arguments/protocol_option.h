#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>

#include "cmd/common/tool/subcommand.h"
#include "engine/types/command.h"
#include "engine/types/extension.h"
#include "engine/types/status.h"
#include "wire/arguments.h"

// Options of commands of the protocol as flags of the subcommands: `--tries 5` is `tries:5`. The
// values are read by the functions that the server reads them with. Durations may be written as
// everywhere in the tool: cmd/common/duration.h.
namespace perennial::tool {

// An option and what its flag has: nothing if it was not given.
struct GivenOption {
  std::string_view name;
  const std::optional<std::string>& text;
};

bool is_any_given(std::initializer_list<GivenOption> given);

// The flag of an option, "--" and its name.
Flag option_flag(std::string_view name, std::string help, std::optional<std::string>& target);
// The same for a text that is always there.
Flag option_flag(std::string_view name, std::string help, std::string& target);

// The flag of `until`, which is the same wherever there is a key.
Flag until_flag(std::optional<std::string>& target);

// The value as the protocol has it: its durations in seconds, or in milliseconds as "250ms".
std::string protocol_value(std::string_view name, std::string_view text);
// What is wrong with a value that the server would refuse: "\"5x\" is no duration: ...". It says
// which values are valid.
std::string why_wrong(std::string_view name, std::string_view text);
// The error for a value that the server would refuse. It says which values are valid.
Status wrong_value(std::string_view name, std::string_view text);

// Sets the members of a command, or of its options, to the values that were given. Adds to `needed`
// the extensions that the server must allow for them. InvalidArgument: the server would refuse one.
// REQUIRES: the command has options of these names.
template <typename C, typename Of>
Status read_options(std::initializer_list<GivenOption> given, Of& target, ExtensionSet& needed) {
  const auto read_one = [&](const GivenOption& one, const auto& option) {
    if (option.name != one.name) return true;
    if (option.extension) needed = needed.with(*option.extension);
    const std::string value = protocol_value(one.name, *one.text);
    return wire::take_value(std::string_view(value), target.*option.member);
  };
  const auto read = [&](const GivenOption& one) {
    const auto read_as_each = [&](const auto&... options) {
      return (read_one(one, options) && ...);
    };
    return std::apply(read_as_each, command_row<C>().options);
  };
  for (const GivenOption& one : given)
    if (one.text && !read(one)) return wrong_value(one.name, *one.text);
  return {};
}

}  // namespace perennial::tool
