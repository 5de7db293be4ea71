// Core's accounts: what its connections hold, how much of that they may, and the memory budget.

#include <algorithm>

#include "cmd/perenniald/core/connection.h"
#include "cmd/perenniald/core/core.h"
#include "engine/types/check.h"

namespace perennial::core {

// Called after everything that can change what it holds.
void Core::count(Connection& conn) {
  uncount(conn);
  conn.counted_output_bytes = conn.output_bytes();
  conn.counted_held_bytes = conn.held_bytes();
  output_bytes_ += conn.counted_output_bytes;
  held_bytes_ += conn.counted_held_bytes;
}

void Core::uncount(const Connection& conn) {
  output_bytes_ -= conn.counted_output_bytes;
  held_bytes_ -= conn.counted_held_bytes;
}

void Core::check() const {
  size_t output_bytes = 0;
  size_t held_bytes = 0;
  for (const auto& entry : connections_) {
    output_bytes += entry.second->output_bytes();
    held_bytes += entry.second->held_bytes();
  }
  CHECK(output_bytes == output_bytes_);
  CHECK(held_bytes == held_bytes_);
}

// Past which a connection is neither read nor run. While all together hold too much, that is a
// little for each. Whoever is held back by that is on no list, and need not be woken when the
// others hold less: it has answers of its own to get, and is looked at again when they have left.
size_t Core::output_limit() const {
  const bool is_scarce = output_bytes_ > options_.output_total_bytes_max;
  return is_scarce ? std::min(options_.output_bytes_max, options_.output_little_bytes)
                   : options_.output_bytes_max;
}

// Whether its next command may run. Of those who wait for bodies each is looked at again when one
// of its own has come.
bool Core::may_run(const Connection& conn) const {
  const bool waits_for_reads =
      reading_.size() >= options_.reads_max && conn.outbox.open_slots() > 0;
  return !waits_for_reads && conn.may_run(output_limit());
}

size_t Core::memory_bytes() const {
  return engine_.memory_bytes() + bodies_.bytes() + connections_.size() * sizeof(Connection) +
         held_bytes_;
}

// Whether there is room for a job with so large a body.
bool Core::room(size_t body_bytes) const {
  const size_t left = memory_left();
  return disk_has_room_ && left > 0 && body_bytes <= left;
}

size_t Core::memory_left() const {
  if (options_.memory_bytes_max == 0) return SIZE_MAX;
  const size_t used = memory_bytes();
  return used < options_.memory_bytes_max ? options_.memory_bytes_max - used : 0;
}

// How large a body may become that this connection is sending: what it holds of it is not left any
// more.
size_t Core::body_room(const Connection& conn) const {
  const size_t left = memory_left();
  return left == SIZE_MAX ? left : left + conn.parser.held_bytes();
}

}  // namespace perennial::core
