#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cmd/common/tool/subcommand.h"
#include "cmd/perennial/arguments/arguments.h"

namespace perennial::tool {

struct ListOptions {
  ServerAddress server = {};
  std::string tube;  // "*": all tubes.
  std::optional<std::string> states = {};
  std::optional<std::string> key = {};
  uint64_t after = 0;
  uint64_t limit = 100;  // 0: none.
  bool json = false;
};

// perennial list: prints a line for each job of a tube.
Status list(const ListOptions& options);
Subcommand list_command(ListOptions& options);

}  // namespace perennial::tool
