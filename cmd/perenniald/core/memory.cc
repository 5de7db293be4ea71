// The part of Core that limits memory: what a connection may hold of answers, and the budget.

#include <algorithm>

#include "cmd/perenniald/core/beanstalk_session.h"
#include "cmd/perenniald/core/core.h"
#include "engine/types/check.h"

namespace perennial::core {

void Core::check() const {
  MemoryUse all = shared_bodies_.use();
  all += waits_.use();
  all += {.memory = bodies_.bytes()};
  all += {.memory = schedule_bodies_.bytes()};
  for (const auto& entry : sessions_) all += entry.second->use();
  CHECK(all == budget_.used());
}

// The bytes of answers at which a connection is neither read nor run. While all connections
// together hold too much, the limit is low. A connection that this limit stops is on no list and
// need not be woken when others hold less: it has answers of its own, and each time some of them
// leave it is checked again.
size_t Core::output_limit() const {
  return budget_.answers_are_scarce()
             ? std::min(options_.output_bytes_max, options_.output_little_bytes)
             : options_.output_bytes_max;
}

// Whether the next command of a connection may run. A connection that waits for bodies is checked
// again each time one of its own bodies has come.
bool Core::may_run(const BeanstalkSession& conn) const {
  const bool waits_for_reads =
      waits_.count() >= options_.reads_max && conn.replies.outbox.open_slots() > 0;
  return !waits_for_reads && conn.may_run(output_limit());
}

size_t Core::memory_bytes() const {
  return engine_.view().memory_bytes() + budget_.used().memory;
}

}  // namespace perennial::core
