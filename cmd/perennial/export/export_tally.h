#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "engine/types/basic.h"

namespace perennial::tool {

// Counts what happened to the jobs of an export.
struct ExportTally {
  struct States {
    uint64_t ready = 0;
    uint64_t delayed = 0;
    uint64_t buried = 0;

    uint64_t total() const { return ready + delayed + buried; }
    uint64_t& of(JobState state) {
      if (state == JobState::Buried) return buried;
      return state == JobState::Delayed ? delayed : ready;
    }
  };

  uint64_t tubes = 0;
  States moved;
  std::map<std::string, uint64_t> left;  // Jobs that were not moved, by the reason.
  // Jobs that may exist on both servers, because an answer is missing.
  uint64_t possible_duplicates = 0;
  uint64_t not_buried = 0;     // Jobs that were moved but not buried at the target.
  uint64_t without_notes = 0;  // Jobs that were moved and had notes, which no put can carry.
  // Tubes with settings that the target does not allow.
  uint64_t tubes_without_settings = 0;
  bool stopped = false;  // Whether a signal stopped the export early.

  uint64_t left_total() const;
};

std::string tally_table(const ExportTally& tally, bool dry_run);
std::string tally_json(const ExportTally& tally, bool dry_run);

}  // namespace perennial::tool
