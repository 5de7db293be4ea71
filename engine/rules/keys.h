#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "engine/tables/state.h"
#include "engine/types/command.h"
#include "engine/types/reply.h"

// Unique jobs: what becomes of a key. engine/tables/key_table.h holds the keys.
namespace perennial::engine {

// Returns the job that has the key of the put, if there is one, and counts it.
std::optional<Duplicate> find_duplicate(State& state, const std::string& tube, const Put& put);
// The same without counting it.
bool is_duplicate(const State& state, const std::string& tube, const Put& put);
// Whether the job, which is there, holds the key of the put, and frees it when it goes.
bool holds_key_of(const State& state, const Job& job, const std::string& tube, const Put& put);
// When the time of a key that is held until:ttl is over. `created`: the put of its job.
Nanos held_until(const JobKey& key, Nanos created);
// A new job takes its key.
void hold_key(State& state, const Job& job);

// What becomes of the key of a job that leaves.
enum class KeyEnd : uint8_t { Cooldown, Free };
// The job leaves. It frees only a key that is its own: one that it has given up, or whose time was
// over, may be that of a newer job.
void end_key(State& state, Job& job, KeyEnd key_end);
// The job is reserved: for the first time if its key is held until then.
void give_up_key(State& state, Job& job);
void free_key(State& state, const std::string& tube, const std::string& key);

}  // namespace perennial::engine
