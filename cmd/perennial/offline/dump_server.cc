#include "cmd/perennial/offline/dump_server.h"

#include <cerrno>
#include <cstring>

#include <fmt/format.h>
#include <unistd.h>

#include "cmd/perennial/live/checkpoint_create.h"
#include "store/checkpoint.h"

namespace perennial::tool {
namespace {

// Another machine's, or another user's. Then it cannot be removed from here either.
Status check_readable(const std::string& path) {
  if (access((path + "/manifest.json").c_str(), R_OK) == 0) return {};
  return {StatusCode::Io,
          fmt::format("the server has made the checkpoint {}, which cannot be read from here: {}; "
                      "run this on the server's machine and as its user, and remove the checkpoint "
                      "there",
                      path, std::strerror(errno))};
}

}  // namespace

Status dump_server(const DumpOptions& options, int fd) {
  const Result<CheckpointMade> made = request_checkpoint(options.server);
  if (!made.ok()) return made.status();
  if (Status readable = check_readable(made->path); !readable.ok()) return readable;
  Status dumped = dump_directory(made->path, options, fd);
  // A schedule may have removed it already.
  Status removed = store::remove_checkpoint(made->path);
  if (!dumped.ok() || removed.code() == StatusCode::NotFound) return dumped;
  return std::move(removed).with("the dump is complete, but its checkpoint could not be removed");
}

}  // namespace perennial::tool
