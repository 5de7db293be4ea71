#include <cerrno>
#include <cstring>

#include <fmt/format.h>
#include <unistd.h>

#include "cmd/perennial/checkpoints/checkpoint_create.h"
#include "cmd/perennial/dump/commands.h"

namespace perennial::tool {
namespace {

// Fails if the path is on another machine or belongs to another user.
Status check_readable(const std::string& path) {
  if (access((path + "/db/CURRENT").c_str(), R_OK) == 0) return {};
  return {StatusCode::Io,
          fmt::format("the server has made the copy {}, which cannot be read from here: {}; run "
                      "this on the server's machine and as its user",
                      path, std::strerror(errno))};
}

}  // namespace

Status dump_server(const DumpOptions& options, int fd) {
  Result<ServerConnection> connection = ServerConnection::open(options.server);
  if (!connection.ok()) return connection.take_status();
  const Result<CheckpointMade> made = request_temporary_checkpoint(*connection);
  if (!made.ok()) return made.status();
  if (Status readable = check_readable(made->path); !readable.ok()) return readable;
  Status dumped = dump_directory(made->path, options, fd);
  if (dumped.code() != StatusCode::Unsupported) return dumped;
  // What is said of a directory of another format would name the copy, which is gone in a moment.
  return {StatusCode::Unsupported,
          fmt::format("{} keeps its jobs in a format that this program does not read: use the "
                      "perennial of the server's version",
                      connection->address())};
}

}  // namespace perennial::tool
