#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <unistd.h>

#include "cmd/common/tool/server_connection.h"
#include "cmd/common/tool/subcommand.h"
#include "engine/types/basic.h"
#include "engine/types/status.h"

// Subcommands that write and read dumps, and what those do that tests call.
namespace perennial::tool {

Subcommand dump_command();
Subcommand load_command();

struct DumpOptions {
  std::string data_dir = {};  // Or a checkpoint.
  ServerAddress server = "";  // Instead of a data directory.
  std::string format = "jsonl";
  std::string tube = {};
  std::string state = {};
  std::optional<uint64_t> id = {};
  std::optional<uint64_t> limit = {};
  bool no_body = false;
  bool summary = false;
  bool json = false;  // For the summary.
  bool recover_point_in_time = false;
  bool salvage = false;         // Also where the log is damaged.
  std::string checkpoint = {};  // checkpoint_for_salvage().
};

// perennial dump: writes every job, with all its fields, of a data directory that no server uses,
// of a checkpoint or of a running server; dump_format.h. Writes to `fd` and changes nothing.
// Corruption: some bodies are damaged, or the directory is: then everything was written that can be
// read. Where the log is damaged, that is done only if options.salvage is set.
Status dump(const DumpOptions& options, int fd = STDOUT_FILENO);
// Dumps the given directory instead. options.data_dir and options.server are ignored.
Status dump_directory(const std::string& path, const DumpOptions& options, int fd);
// Dumps the server at options.server, which keeps running. Requests a temporary checkpoint and
// dumps that. The server removes the checkpoint when the connection closes, however this process
// ends. Io: there is no server, or the checkpoint cannot be read from here.
Status dump_server(const DumpOptions& options, int fd);

struct LoadOptions {
  std::string data_dir = {};  // Must not exist, or be an empty directory.
  std::string from = "-";     // A dump; "-" is standard input.
  bool skip_damaged = false;
  std::string schedules = "paused";  // Or "active": as they were when they were dumped.
  bool json = false;
};

// perennial load: makes a data directory from a dump, with everything that the dump holds. Prints
// to `fd` what was loaded. Corruption: the dump is incomplete or invalid. InvalidArgument: the
// directory cannot be used. After an error nothing is changed.
Status load(const LoadOptions& options, int fd = STDOUT_FILENO);

}  // namespace perennial::tool
