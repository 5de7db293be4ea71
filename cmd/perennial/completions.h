#pragma once

#include <string>
#include <vector>

#include "cmd/perennial/command.h"

namespace perennial::tool {

// What makes the shells complete commands, options and their values. Both are whole files, to be
// put where the shell looks for them: etc/completions/.
std::string bash_completions(const std::vector<Command>& commands,
                             const std::vector<Group>& groups);
std::string zsh_completions(const std::vector<Command>& commands, const std::vector<Group>& groups);

struct CompletionsOptions {
  std::string shell;
};
// perennial completions: prints one of the two.
Command completions_command(CompletionsOptions& options);

}  // namespace perennial::tool
