#pragma once

#include <cstdint>
#include <string>

namespace perennial::tool {

// Makes a data directory with everything that is odd: every state, bodies that are binary, empty,
// of one line and of many, almost UTF-8, and larger than any buffer; tubes with every character
// that a name may have; pauses of tubes without jobs; the largest numbers. The seed decides it.
void make_odd_world(const std::string& path, uint64_t seed);

}  // namespace perennial::tool
