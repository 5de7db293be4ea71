#include "cmd/perennial/offline/checkpoint_choice.h"

#include <algorithm>
#include <functional>

#include <fmt/format.h>

#include "store/disk/identity.h"

namespace perennial::tool {
namespace {

using store::CheckpointEntry;
using store::CheckpointManifest;

// Times of rows can be compared only within one database. A restore makes another one.
std::string identity_of(const std::string& data_dir) {
  const Result<std::string> identity = store::read_identity(data_dir);
  return identity.ok() ? *identity : std::string();
}

bool is_of(const std::string& data_dir, const CheckpointManifest& manifest) {
  const std::string own = identity_of(data_dir);
  return !own.empty() && manifest.database == own && manifest.format == store::format_version;
}

}  // namespace

CheckpointChoice choose_checkpoint(const std::string& data_dir) {
  CheckpointChoice out;
  Result<std::vector<CheckpointEntry>> all = store::list_checkpoints(data_dir + "/checkpoints");
  if (!all.ok()) return out;
  std::vector<CheckpointEntry> entries = all.take();
  const std::string own = identity_of(data_dir);
  std::erase_if(entries, [&](const CheckpointEntry& entry) {
    return !entry.complete || (!own.empty() && entry.database != own);
  });
  std::ranges::sort(entries, std::greater(), &CheckpointEntry::name);
  for (const CheckpointEntry& entry : entries) {
    Result<CheckpointManifest> verified = store::verify_checkpoint(entry.path);
    if (verified.ok() && verified->has_counts) {
      const bool is_same = is_of(data_dir, *verified);
      out.chosen = {.path = entry.path, .manifest = verified.take(), .is_of_directory = is_same};
      return out;
    }
    out.damaged.push_back(entry.name);
  }
  return out;
}

Result<std::string> checkpoint_for_salvage(const std::string& data_dir, const std::string& asked) {
  if (asked == "none") return std::string();
  if (asked.empty()) {
    const CheckpointChoice choice = choose_checkpoint(data_dir);
    const bool fits = choice.chosen && choice.chosen->is_of_directory;
    return fits ? choice.chosen->path : std::string();
  }
  const Result<CheckpointManifest> verified = store::verify_checkpoint(asked);
  if (!verified.ok()) return verified.status();
  if (is_of(data_dir, *verified)) return asked;
  return Status(StatusCode::InvalidArgument,
                fmt::format("{} is no checkpoint of the database in {}: give one that its server "
                            "has made since the last restore, or --checkpoint none",
                            asked, data_dir));
}

}  // namespace perennial::tool
