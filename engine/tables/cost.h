#pragma once

#include <cstdint>

// What the parts of an input cost, in the unit of Output::cost, which is about ten nanoseconds. The
// values are measured on an ordinary machine and rounded up, because only the order of magnitude
// matters. The cost of an input follows from the state and the input, never from a clock.
namespace perennial::engine::cost {

// A watched tube that is checked for a ready job, and what a tube that has one costs in addition.
inline constexpr uint64_t tube_checked = 1;
inline constexpr uint64_t ready_tube = 5;
// A tube whose waiting list a connection joins or leaves.
inline constexpr uint64_t tube_waited_on = 4;
// A connection whose wait is over.
inline constexpr uint64_t wait_ended = 50;
// A tube that a closing connection leaves and that may end then, and a tube whose memory is freed.
inline constexpr uint64_t tube_left = 40;
inline constexpr uint64_t tube_freed = 20;
// A name in a listing, and how many bytes of names cost 1. A tube that is copied into the list of a
// long listing, and a connection that a part is sent to.
inline constexpr uint64_t name_listed = 10;
inline constexpr uint64_t name_bytes_per_cost = 16;
inline constexpr uint64_t tube_collected = 1;
inline constexpr uint64_t part_sent = 30;
// A job that a walk over all ids looks at.
inline constexpr uint64_t job_looked_at = 10;
// A job on a line of list-jobs.
inline constexpr uint64_t job_listed = 50;
// A question to the calendar: it reads a cron expression, and finds a time of it in a zone.
inline constexpr uint64_t calendar_asked = 200;
// How many bytes of the bodies that schedules put cost 1. All that a Tick puts is one batch.
inline constexpr uint64_t fired_bytes_per_cost = 8;
// A job that is put, deleted or moved to another state.
inline constexpr uint64_t job_moved = 50;

}  // namespace perennial::engine::cost
