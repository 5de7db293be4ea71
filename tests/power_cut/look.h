#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tests/power_cut/disk.h"
#include "tests/power_cut/history.h"
#include "tests/power_cut/recording.h"

// Builds image after image in child processes, and judges what a start finds.
namespace perennial::power_cut {

// A moment and the number from which its image is drawn.
struct Cut {
  uint64_t at;
  uint64_t draw;
};

// Draws cuts in the order of their moments. Half of them are just behind an answer, if there are
// any, where most has been promised and least is synced.
std::vector<Cut> draw_cuts(const Recording& recording, const History& history, uint64_t count,
                           uint64_t seed);

struct Finding {
  uint64_t images = 0;  // How many were looked at.
  std::string problem = {};
};

// Cuts the power of a disk again and again while it takes the events of a recording, up to the
// first image that is wrong. `known_at`: the moment in `history` that every image is compared with;
// none: the cut is one.
Finding look_at_images(Disk disk, const Recording& recording, const History& history,
                       std::span<const Cut> cuts, std::optional<uint64_t> known_at = std::nullopt);

}  // namespace perennial::power_cut
