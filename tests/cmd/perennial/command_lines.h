#pragma once

#include <string>
#include <vector>

// A command line for each subcommand, for tests that run them all.
namespace perennial::tool {

// What a run needs besides its arguments.
enum class Needs { Server, DataDir, Nothing };

struct CommandLine {
  std::string command;
  // SERVER and OTHER stand for two servers, DATA for the directory of one that was stopped, and DIR
  // for one that is there. It begins with the command. Empty: it cannot be run here, for the reason
  // behind it.
  std::string line;
  Needs needs = Needs::Server;
};

// A row for each subcommand: Rules.EverySubcommandHasARow. They can be run in this order on a
// server with nine jobs in the tube `default`, and then on its directory.
const std::vector<CommandLine>& command_lines();

// What the words of a line stand for.
struct Places {
  std::string server;
  std::string other;
  std::string data_dir;
  std::string dir;
};
std::string filled_in(std::string line, const Places& places);

// Makes what the lines that need a directory read, in `dir`. REQUIRES: no server runs on data_dir.
void prepare_data_dir(const std::string& data_dir, const std::string& dir);

}  // namespace perennial::tool
