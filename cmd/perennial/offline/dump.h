#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <unistd.h>

#include "cmd/common/tool/subcommand.h"
#include "engine/types/basic.h"
#include "engine/types/status.h"

namespace perennial::tool {

struct DumpOptions {
  std::string data_dir = {};  // Or a checkpoint.
  std::string server = {};    // Instead of a directory.
  std::string format = "jsonl";
  std::string tube = {};
  std::string state = {};
  std::optional<uint64_t> id = {};
  std::optional<uint64_t> limit = {};
  bool no_body = false;
  bool summary = false;
  bool json = false;  // The summary's.
  bool recover_point_in_time = false;
};

// perennial dump: every job of a data directory that no server uses, of a checkpoint or of a
// running server, with all its fields; dump_format.h. Writes to `fd`, and changes nothing.
// Corruption, after everything was written: some bodies are not what they were.
Status dump(const DumpOptions& options, int fd = STDOUT_FILENO);
// The same of a directory that somebody else names; options.data_dir and server are not
// looked at.
Status dump_directory(const std::string& path, const DumpOptions& options, int fd);
Subcommand dump_command(DumpOptions& options);

}  // namespace perennial::tool
