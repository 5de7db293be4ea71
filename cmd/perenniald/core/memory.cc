// Core's accounts: what its connections hold, how much of that they may, and the memory budget.

#include <algorithm>

#include "cmd/perenniald/core/beanstalk_session.h"
#include "cmd/perenniald/core/core.h"
#include "engine/types/check.h"

namespace perennial::core {

void Core::check() const {
  MemoryUse all = loans_.use();
  all += waits_.use();
  all += {.memory = bodies_.bytes()};
  for (const auto& entry : sessions_) all += entry.second->use();
  CHECK(all == budget_.used());
}

// Past which a connection is neither read nor run. While all together hold too much, that is a
// little for each. Whoever is held back by that is on no list, and need not be woken when the
// others hold less: it has answers of its own to get, and is looked at again when they have left.
size_t Core::output_limit() const {
  return budget_.answers_are_scarce()
             ? std::min(options_.output_bytes_max, options_.output_little_bytes)
             : options_.output_bytes_max;
}

// Whether its next command may run. Of those who wait for bodies each is looked at again when one
// of its own has come.
bool Core::may_run(const BeanstalkSession& conn) const {
  const bool waits_for_reads =
      waits_.count() >= options_.reads_max && conn.replies.outbox.open_slots() > 0;
  return !waits_for_reads && conn.may_run(output_limit());
}

size_t Core::memory_bytes() const {
  return engine_.memory_bytes() + budget_.used().memory;
}

bool Core::room() const {
  return disk_has_room_ && memory_left() > 0;
}

// Whether there is room for a job with this body.
bool Core::room_for(const Body& body) const {
  return room() && body.capacity() <= memory_left() && body.size() <= disk_room();
}

// How large a body may be that the disk has room for. It is written three times: to the log, to a
// table, and by a compaction. So is all that is on its way.
size_t Core::disk_room() const {
  if (disk_left_.bytes == store::DiskLeft().bytes) return SIZE_MAX;
  constexpr uint64_t times_written = 3;
  // Of bodies that are no larger the mark itself takes care.
  constexpr uint64_t small_body_bytes = 1 << 20;
  const uint64_t whole = (disk_left_.bytes + disk_left_.slack_bytes) / times_written;
  const uint64_t left = whole - std::min<uint64_t>(whole, batches_.pending_bytes());
  return std::min(left, std::max(disk_left_.bytes / times_written, small_body_bytes));
}

size_t Core::memory_left() const {
  return budget_.memory_left(engine_.memory_bytes());
}

// How large a body may become that this connection is sending: what it holds of it is not left any
// more.
size_t Core::body_room(const BeanstalkSession& conn) const {
  const size_t left = memory_left();
  return std::min(disk_room(), left == SIZE_MAX ? left : left + conn.parser.held_bytes());
}

}  // namespace perennial::core
