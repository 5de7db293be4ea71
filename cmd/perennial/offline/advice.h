#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "engine/types/basic.h"
#include "store/offline/check.h"
#include "store/salvage/salvaged.h"

// What to do with a damaged directory: the way out that loses least.
namespace perennial::tool {

struct Advice {
  enum class Action : uint8_t {
    Start,    // A server contains the damage.
    Repair,   // What can be read loses least.
    Dump,     // The same for a checkpoint, and for a node of a cluster.
    Restore,  // A checkpoint loses less.
    None,     // Neither can be read.
  };
  struct Checkpoint {
    std::string path;
    Nanos created = 0;
    uint64_t jobs = 0;
    // Jobs that can be read here and are not in it; none: nothing can be read here.
    std::optional<uint64_t> lacks = {};
  };

  Action action = Action::None;
  std::string command = {};
  std::string reason = {};                            // What it keeps and loses, in words.
  std::optional<store::Salvaged> salvaged = {};       // None: nothing can be read.
  std::optional<Checkpoint> checkpoint = {};          // The newest one that is whole.
  std::vector<std::string> damaged_checkpoints = {};  // Newer ones, which share the damage.

  std::string line() const { return "to do: " + command + "    (" + reason + ")\n"; }
};

// `summary`: what a check of the directory has found. None if the directory has another format,
// whose fault says what to do. REQUIRES: there are faults.
std::optional<Advice> advise(const std::string& data_dir, const store::CheckSummary& summary,
                             Nanos now);

nlohmann::ordered_json advice_json(const Advice& advice, Nanos now);

}  // namespace perennial::tool
