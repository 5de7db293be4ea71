#include "cmd/common/tool/cli.h"
#include "cmd/perennial/subcommands.h"

int main(int argc, char** argv) {
  return perennial::tool::run_command_line(perennial::tool::all_commands(),
                                           perennial::tool::all_groups(), argc, argv);
}
