#pragma once

#include <string>
#include <vector>

#include "cmd/common/tool/subcommand.h"

namespace perennial::tool {

// Completions of commands, options and their values for the shells. These functions return
// whole files for the directory in which the shell looks.
std::string bash_completions(const std::vector<Subcommand>& commands,
                             const std::vector<Group>& groups);
std::string zsh_completions(const std::vector<Subcommand>& commands,
                            const std::vector<Group>& groups);
std::string fish_completions(const std::vector<Subcommand>& commands,
                             const std::vector<Group>& groups);

// perennial completions: prints one of the files.
Subcommand completions_command();

}  // namespace perennial::tool
