#pragma once

#include <string>
#include <vector>

#include "cmd/common/tool/subcommand.h"

namespace perennial::tool {

// The page of one subcommand for man(1), from the text of its --help: perennial-dump.1.
std::string manual_page(const Subcommand& command);
// The page of the tool itself, which lists them all: perennial.1.
std::string manual_page(const std::vector<Subcommand>& commands);

// The file of a page: "perennial-checkpoint-create.1".
std::string manual_file(const Subcommand& command);

struct ManualOptions {
  std::vector<std::string> command;  // Its words; none: the tool itself.
};
// perennial manual: prints one.
Subcommand manual_command(ManualOptions& options);

}  // namespace perennial::tool
