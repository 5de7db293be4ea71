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

}  // namespace perennial::core
