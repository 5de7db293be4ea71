#pragma once

#include <string>
#include <vector>

#include "cmd/common/tool/subcommand.h"

namespace perennial::tool {

// What makes the shells complete commands, options and their values. Both are whole files, to be
// put where the shell looks for them: etc/completions/.
std::string bash_completions(const std::vector<Subcommand>& commands,
                             const std::vector<Group>& groups);
std::string zsh_completions(const std::vector<Subcommand>& commands,
                            const std::vector<Group>& groups);

struct CompletionsOptions {
  std::string shell;
};
// perennial completions: prints one of the two.
Subcommand completions_command(CompletionsOptions& options);

}  // namespace perennial::tool
