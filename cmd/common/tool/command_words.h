#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cmd/common/tool/subcommand.h"

// The words at the beginning of a command line, before CLI11 parses the rest. CLI11 says of a word
// that it does not know only that "a subcommand is required".
namespace perennial::tool {

// "did you mean 'set'?", behind "; ", for a word that somebody mistyped: the known word with the
// fewest letters that differ, are missing, too many or swapped. Empty if none is near.
std::string suggestion(std::string_view word, std::span<const std::string> known);

// Why `arguments` name no command of the tool, and which one was perhaps meant. Empty: they name
// one, or begin with a flag.
std::string why_no_command(const std::vector<Subcommand>& commands,
                           const std::vector<Group>& groups,
                           std::span<const std::string> arguments);

}  // namespace perennial::tool
