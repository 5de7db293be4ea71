#pragma once

#include <cstdint>
#include <string>

namespace perennial::tool {

// Makes a data directory with edge cases: every state; bodies that are binary, empty, of one line,
// of many lines, almost UTF-8, and larger than any buffer; tubes with every character that a name
// may have; pauses of tubes without jobs; jobs with fields and keys; settings; the largest numbers.
// Everything follows from the seed.
void make_edge_cases(const std::string& path, uint64_t seed);

}  // namespace perennial::tool
