#pragma once

#include <string>
#include <vector>

#include "cmd/common/tool/subcommand.h"

namespace perennial::tool {

// The page of one subcommand for man(1), made from its --help: perennial-dump.1.
std::string manual_page(const Subcommand& command);
// The page of the tool, which lists all subcommands: perennial.1.
std::string manual_page(const std::vector<Subcommand>& commands);

// The file name of a page: "perennial-checkpoint-create.1".
std::string manual_file(const Subcommand& command);

// perennial manual: prints one page.
Subcommand manual_command();

}  // namespace perennial::tool
