#pragma once

#include <cstdint>
#include <random>
#include <string>

#include "tests/power_cut/disk.h"

namespace perennial::power_cut {

// Writes what a power cut at this moment may leave of the disk, drawn from `random`, into the empty
// directory `path`. Names of one file are hard links. Returns in words what was drawn.
std::string write_image(const Disk& disk, std::mt19937_64& random, const std::string& path);

// Writes what the kernel has, as if nothing were lost.
void write_whole(const Disk& disk, const std::string& path);

}  // namespace perennial::power_cut
