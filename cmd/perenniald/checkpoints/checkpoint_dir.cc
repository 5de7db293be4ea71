#include "cmd/perenniald/checkpoints/checkpoint_dir.h"

#include <cerrno>
#include <cstring>
#include <vector>

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/perenniald/process/log.h"

namespace perennial::perenniald {
namespace {

Status cannot(const char* what, const std::string& dir, int error) {
  const bool full = error == ENOSPC || error == EDQUOT;
  return {full ? StatusCode::NoSpace : StatusCode::InvalidArgument,
          fmt::format("{} cannot be {}: {}", dir, what, std::strerror(error))};
}

}  // namespace

std::string checkpoint_dir(const std::string& set, const std::string& data_dir) {
  return set.empty() ? data_dir + "/checkpoints" : set;
}

Status prepare_checkpoint_dir(const std::string& dir, const std::string& data_dir,
                              store::GroupAccess group_access) {
  if (mkdir(dir.c_str(), 0700) != 0 && errno != EEXIST) return cannot("made", dir, errno);
  if (group_access != store::GroupAccess::None) {
    if (Status given = store::give_group_access(dir, group_access); !given.ok()) return given;
  }
  struct stat there {};
  struct stat here {};
  if (stat(dir.c_str(), &there) != 0) return cannot("looked at", dir, errno);
  if (stat(data_dir.c_str(), &here) != 0) return cannot("looked at", data_dir, errno);
  if (!S_ISDIR(there.st_mode)) return cannot("used", dir, ENOTDIR);
  if (there.st_dev != here.st_dev) {
    return {StatusCode::InvalidArgument,
            fmt::format("{} is on another file system than the data directory {}, with which "
                        "checkpoints share their files: set checkpoint_dir to a directory on the "
                        "same one, and copy finished checkpoints to where they are safe",
                        dir, data_dir)};
  }
  if (access(dir.c_str(), R_OK | W_OK | X_OK) != 0) return cannot("read and written", dir, errno);
  return {};
}

void remove_partial(const std::string& dir, const store::CheckpointOwner& owner) {
  const Result<std::vector<std::string>> removed = store::remove_partial_checkpoints(dir, owner);
  if (!removed.ok()) {
    return log(Level::Warning, "checkpoint.removed", {{"error", removed.status().message()}});
  }
  for (const std::string& name : *removed) {
    log(Level::Info, "checkpoint.removed", {{"name", name}, {"why", "half-made"}});
  }
}

std::optional<CheckpointSeen> newest_checkpoint(const std::string& dir,
                                                const store::CheckpointOwner& owner) {
  const Result<std::vector<store::CheckpointEntry>> all = store::list_checkpoints(dir);
  if (!all.ok()) {
    log(Level::Warning, "checkpoint.list", {{"error", all.status().message()}});
    return std::nullopt;
  }
  std::optional<CheckpointSeen> newest;
  for (const store::CheckpointEntry& entry : *all) {
    if (!entry.complete || !entry.manifest.ok() || !owner.owns(entry.database)) continue;
    const Nanos created = entry.manifest->created;
    if (!newest || newest->created <= created)
      newest = CheckpointSeen{.path = entry.path, .created = created};
  }
  return newest;
}

}  // namespace perennial::perenniald
