// The part of Core that serves the loop: batches to the log, replies to clients, and deadlines.

#include <algorithm>
#include <utility>

#include "cmd/perenniald/core/beanstalk_session.h"
#include "cmd/perenniald/core/core.h"
#include "engine/types/check.h"

namespace perennial::core {
namespace {

std::optional<Nanos> sooner(std::optional<Nanos> one, std::optional<Nanos> other) {
  return one && other ? std::min(*one, *other) : (one ? one : other);
}

}  // namespace

size_t Core::awaited_clients() const {
  const bool may_grow = batches_.open_is_promised() && !batches_.is_large();
  return may_grow ? held_.awaited() : 0;
}

store::Batch Core::take_batch(Nanos now) {
  // A read must begin before this batch is written, because the batch may change what is read.
  CHECK(!waits_.has_begun_any());
  CHECK(!notes_.has_wanted());
  if (batches_.next_is_open()) held_.on_open_taken();
  return batches_.take(now);
}

void Core::on_committed(BatchIndex committed, BatchIndex durable, Nanos now, Nanos took) {
  const BatchIndex before = batches_.committed();
  batches_.on_committed(committed, durable);
  if (committed <= before) return;
  bodies_.unpin(committed);
  notes_.on_written(committed);
  ended_.on_written(committed);
  schedule_bodies_.on_written(committed);
  held_.release(
      took, now, [this](ConnId id) { return find(id); },
      [this](BeanstalkSession& conn) { after_progress(conn); });
  resume_held_puts(now);
}

// Output of this connection has left or may leave, so its next command may be able to run.
void Core::after_progress(BeanstalkSession& session) {
  // With many reads under way a session is not resumed after each body: it would move its backlog
  // each time. It is resumed when its last body has come.
  const bool more_come =
      session.replies.outbox.open_slots() > 0 && waits_.count() > options_.reads_max / 2;
  if (may_run(session) && !more_come) make_runnable(session);
  touch(session);
}

void Core::touch(BeanstalkSession& session) {
  if (session.changed || !session.needs_visit()) return;
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
  const std::optional<Nanos> tick = engine_.next_deadline(!must_hold_transitions());
  return sooner(sooner(tick, next_look_at_wall()), sooner(sign_in_deadline(), ended_.next_look()));
}

std::optional<Nanos> Core::next_deadline() const {
  const std::optional<Nanos> next = next_tick();
  const std::optional<Nanos> due = batches_.due_at(held_.wait_until());
  return sooner(next, due);
}

}  // namespace perennial::core
