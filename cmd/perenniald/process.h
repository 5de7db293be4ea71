#pragma once

#include <cstdint>

#include "engine/types/stats.h"

// What the server knows of its own process.
namespace perennial::perenniald {

// The facts that never change, drawn once at the start.
ProcessFacts fixed_process_facts(uint64_t job_bytes_max);
// Processor time used so far.
void add_usage(ProcessFacts& facts);

// Raises the limit of file descriptors as far as it goes. Returns how many connections fit beside
// the server's own files, or `wanted` if that is less and not 0.
uint64_t connection_room(uint64_t wanted);

}  // namespace perennial::perenniald
