#pragma once

#include <cstdint>

// What the parts of an input cost, in the unit of Output::cost, which is about ten nanoseconds.
// Measured on an ordinary machine and rounded up: only the order of magnitude matters. The cost of
// an input follows from the state and the input alone, never from a clock.
namespace perennial::engine::cost {

// A watched tube that is looked at for a ready job, and one that has one.
inline constexpr uint64_t tube_looked_at = 1;
inline constexpr uint64_t ready_tube = 5;
// A tube whose waiting list a connection joins or leaves.
inline constexpr uint64_t tube_waited_on = 4;
// A connection whose wait is over.
inline constexpr uint64_t wait_ended = 50;
// A tube that a closing connection leaves, which may end then, and one whose memory is freed.
inline constexpr uint64_t tube_left = 40;
inline constexpr uint64_t tube_freed = 20;
// A name in a listing, and so many bytes of names; a tube that is kept to be listed later, and a
// connection that is sent a part.
inline constexpr uint64_t name_listed = 10;
inline constexpr uint64_t name_bytes_per_cost = 16;
inline constexpr uint64_t tube_noted = 1;
inline constexpr uint64_t part_sent = 30;
// A job that comes, goes or moves.
inline constexpr uint64_t job_moved = 50;

}  // namespace perennial::engine::cost
