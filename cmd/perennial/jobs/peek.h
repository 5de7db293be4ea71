#pragma once

#include <optional>
#include <string>

#include "cmd/common/tool/subcommand.h"
#include "cmd/perennial/arguments/arguments.h"

namespace perennial::tool {

struct PeekOptions {
  ServerAddress server = {};
  std::optional<uint64_t> id;
  // The next job of the tube in this state. Exactly one of the four is given.
  bool ready = false;
  bool delayed = false;
  bool buried = false;
  bool reserved = false;
  std::string tube = "default";
  bool body = false;
  bool json = false;
};

// perennial peek: prints the fields and the body of a job without reserving it.
Status peek(const PeekOptions& options);
Subcommand peek_command(PeekOptions& options);

}  // namespace perennial::tool
