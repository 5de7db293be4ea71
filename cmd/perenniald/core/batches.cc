// Core's other half: batches to the log, replies out, and what the loop asks.

#include <algorithm>
#include <utility>

#include "cmd/perenniald/core/beanstalk_session.h"
#include "cmd/perenniald/core/core.h"
#include "engine/types/check.h"

namespace perennial::core {

size_t Core::missing_company() const {
  const bool may_grow = batches_.open_is_promised() && !batches_.is_large();
  return may_grow ? held_.missing() : 0;
}

store::Batch Core::take_batch(Nanos now) {
  // A read sees the database of the turn that decided its reply; this batch may delete what it
  // reads.
  CHECK(!waits_.has_begun_any());
  if (batches_.next_is_open()) held_.on_open_taken();
  return batches_.take(now);
}

void Core::on_durable(BatchIndex answerable, BatchIndex durable, Nanos now, Nanos took) {
  const BatchIndex before = batches_.answerable();
  batches_.on_durable(answerable, durable);
  if (answerable <= before) return;
  bodies_.unpin(answerable);
  held_.release(
      took, now, [this](ConnId id) { return find(id); },
      [this](BeanstalkSession& conn) { after_progress(conn); });
  resume_held_puts(now);
}

// Something of this connection has left or may leave: it may be able to go on.
void Core::after_progress(BeanstalkSession& session) {
  // Not for each body by itself: the backlog is moved every time.
  const bool more_come =
      session.replies.outbox.open_slots() > 0 && waits_.count() > options_.reads_max / 2;
  if (may_run(session) && !more_come) make_runnable(session);
  touch(session);
}

void Core::touch(BeanstalkSession& session) {
  if (session.changed || !session.has_news()) return;
  session.changed = true;
  changed_.push_back(session.id);
}

void Core::take_changed(std::vector<ConnId>& changed) {
  changed.clear();
  changed.swap(changed_);
  for (const ConnId id : changed) {
    if (BeanstalkSession* const conn = find(id)) conn->changed = false;
  }
}

std::optional<Nanos> Core::next_tick() const {
  return engine_.next_deadline(!must_hold_moves());
}

std::optional<Nanos> Core::next_deadline() const {
  const std::optional<Nanos> next = next_tick();
  const std::optional<Nanos> due = batches_.due_at(held_.wait_until());
  return next && due ? std::min(*next, *due) : (next ? next : due);
}

}  // namespace perennial::core
