#include "cmd/perennial/checkpoints/checkpoint_place.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include <nlohmann/json.hpp>

namespace perennial::tool {

namespace {

// A mistyped directory must not look like one without checkpoints: nobody would remove any.
Status require_directory(const std::string& path) {
  std::error_code failed;
  if (std::filesystem::is_directory(path, failed)) return {};
  return {StatusCode::NotFound, "there is no directory " + path};
}

}  // namespace

Result<std::string> dir_of(const CheckpointPlace& place) {
  const std::string& given = place.dir.empty() ? place.data_dir : place.dir;
  if (!given.empty()) {
    if (Status found = require_directory(given); !found.ok()) return found;
    return place.dir.empty() ? given + "/checkpoints" : given;
  }
  return Status(StatusCode::InvalidArgument,
                "say where the checkpoints are: --data-dir DIR, or --dir CHECKPOINT_DIR if "
                "checkpoint_dir is set in the server's configuration");
}

std::vector<Flag> place_flags(CheckpointPlace& place, std::vector<Flag> others) {
  std::vector<Flag> flags = {
      {"--data-dir", "DIR", "The data directory, whose checkpoints are in DIR/checkpoints",
       &place.data_dir},
      {"--dir", "DIR", "Where the checkpoints are, if checkpoint_dir says another place",
       &place.dir}};
  for (Flag& flag : others) flags.push_back(std::move(flag));
  return flags;
}

void add_content(nlohmann::ordered_json& out, const store::CheckpointManifest& manifest) {
  out["jobs"] = manifest.job_count();
  out["ready"] = manifest.jobs.ready;
  out["reserved"] = manifest.jobs.reserved;
  out["delayed"] = manifest.jobs.delayed;
  out["buried"] = manifest.jobs.buried;
  out["tubes"] = manifest.tubes.size();
}

}  // namespace perennial::tool
