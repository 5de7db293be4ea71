#pragma once

#include <string>
#include <vector>

#include "cmd/common/tool/server_connection.h"
#include "engine/types/status.h"

namespace perennial::tool {

struct TransferOptions {
  std::string command;  // The subcommand, for messages.
  std::string left_at;  // Where jobs stay that are not moved: "here", for messages.
  ServerAddress from = {};
  ServerAddress to = {};
  std::vector<std::string> tubes = {};  // Empty: all tubes.
  bool drops_options = false;           // Move also jobs that lose options by it.
  bool dry_run = false;
  bool json = false;
};

// Moves jobs from one server to another, both of which may be any that speak the protocol. Says
// before it begins what the other server cannot keep, and prints at the end what was moved and what
// was left. Io: something was left.
Status transfer(const TransferOptions& options);

}  // namespace perennial::tool
