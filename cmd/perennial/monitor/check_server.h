#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cmd/common/tool/server_connection.h"
#include "cmd/common/tool/subcommand.h"

namespace perennial::tool {

struct CheckServerOptions {
  ServerAddress server = std::string();
  std::vector<std::string> tubes = {};  // Empty: all tubes.
  // Limits as they were written: thresholds.h. Empty: none, or the usual ones.
  std::optional<std::string> oldest = {};
  std::optional<std::string> ready = {};
  std::optional<std::string> buried = {};
  std::optional<std::string> dead = {};
  std::optional<std::string> damaged = {};
  std::optional<std::string> checkpoint_age = {};
  std::optional<std::string> disk_free = {};
  std::optional<std::string> standby_lag = {};
  bool json = false;

  // Whether there is anything but a server's address and --json.
  bool has_limits() const;
};

// The flags but for --json, which the caller has for itself, too.
std::vector<Flag> with_check_server_flags(CheckServerOptions& options, std::vector<Flag> flags);

// perennial check --server: prints what a monitor is to be told of the server, and returns the exit
// code of a plugin: 0 OK, 1 WARNING, 2 CRITICAL, 3 UNKNOWN.
int check_server(const CheckServerOptions& options);

}  // namespace perennial::tool
