#pragma once

#include <string>

#include "cmd/common/tool/subcommand.h"
#include "engine/types/status.h"

namespace perennial::tool {

struct TokenNewOptions {
  std::string user = "NAME";
  std::string id;  // Empty: a random one.
};

// perennial token new: prints a new token, and what the server keeps of it.
Status token_new(const TokenNewOptions& options);
Subcommand token_new_command(TokenNewOptions& options);

}  // namespace perennial::tool
