#pragma once

#include <nlohmann/json.hpp>

#include "store/checkpoint/checkpoint_manifest.h"

namespace perennial::tool {

// Adds the content of a checkpoint: "jobs", one count for each state, and "tubes".
inline void add_content(nlohmann::ordered_json& out, const store::CheckpointManifest& manifest) {
  out["jobs"] = manifest.job_count();
  out["ready"] = manifest.jobs.ready;
  out["reserved"] = manifest.jobs.reserved;
  out["delayed"] = manifest.jobs.delayed;
  out["buried"] = manifest.jobs.buried;
  out["tubes"] = manifest.tubes.size();
}

}  // namespace perennial::tool
