#pragma once

#include <optional>
#include <string>

#include "cmd/common/tool/subcommand.h"
#include "cmd/perennial/live/live.h"

namespace perennial::tool {

struct PeekOptions {
  std::string server{default_server};
  std::optional<uint64_t> id;
  // The next one in this state of the tube; exactly one of the four is given.
  bool ready = false;
  bool delayed = false;
  bool buried = false;
  std::string tube = "default";
  bool body = false;
  bool json = false;
};

// perennial peek: a job's fields and its body, without taking it.
Status peek(const PeekOptions& options);
Subcommand peek_command(PeekOptions& options);

}  // namespace perennial::tool
