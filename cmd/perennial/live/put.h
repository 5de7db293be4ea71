#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cmd/common/tool/subcommand.h"
#include "cmd/perennial/live/live.h"

namespace perennial::tool {

struct PutOptions {
  std::string server{default_server};
  std::vector<std::string> body;  // At most one; "-" is standard input.
  std::string file;               // Instead of it.
  std::string tube = "default";
  uint32_t priority = 1024;
  uint32_t delay_s = 0;
  uint32_t ttr_s = 60;
  bool lines = false;
};

// perennial put: a job, or one for each line. Prints the ids.
Status put(const PutOptions& options);
Subcommand put_command(PutOptions& options);

}  // namespace perennial::tool
