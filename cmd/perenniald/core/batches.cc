// Core's other half: batches to the committer, replies out, and what the loop asks.

#include <algorithm>
#include <utility>

#include "cmd/perenniald/core/connection.h"
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
      [this](Connection& conn) { after_progress(conn); });
  resume_held_puts(now);
}

void Core::on_written(ConnId id, size_t bytes) {
  Connection* const conn = find(id);
  CHECK(conn != nullptr);
  conn->replies.outbox.consume(bytes);
  after_progress(*conn);
}

// Something of this connection has left or may leave: it may be able to go on.
void Core::after_progress(Connection& conn) {
  // Not for each body by itself: the backlog is moved every time.
  const bool more_come =
      conn.replies.outbox.open_slots() > 0 && waits_.count() > options_.reads_max / 2;
  if (may_run(conn) && !more_come) make_runnable(conn);
  touch(conn);
}

void Core::touch(Connection& conn) {
  if (conn.changed || !has_news(conn)) return;
  conn.changed = true;
  changed_.push_back(conn.id);
}

// A visit to each connection after each command, and after each answer, would cost the loop a
// fiftieth of its time.
bool Core::has_news(const Connection& conn) const {
  return !conn.replies.outbox.ready().empty() || wants_reading(conn) != conn.told_to_read ||
         is_finished(conn);
}

void Core::take_changed(std::vector<ConnId>& changed) {
  changed.clear();
  changed.swap(changed_);
  for (const ConnId id : changed) {
    if (Connection* const conn = find(id)) conn->changed = false;
  }
}

std::string_view Core::output(ConnId id) const {
  const Connection* const conn = find(id);
  return conn != nullptr ? conn->replies.outbox.ready() : std::string_view();
}

bool Core::reading(ConnId id) {
  Connection* const conn = find(id);
  if (conn == nullptr) return false;
  conn->told_to_read = wants_reading(*conn);
  return conn->told_to_read;
}

bool Core::wants_reading(const Connection& conn) const {
  if (conn.at_end || conn.quitting || conn.held_put) return false;
  // Behind an unanswered command a little is read on, so that a client that vanished is noticed.
  // Of one that waits for its turn less, so that the turns of all are short.
  constexpr size_t runnable_bytes_max = 4 << 10;
  const size_t backlog_max = conn.runnable
                                 ? std::min(runnable_bytes_max, options_.pipeline_bytes_max)
                                 : options_.pipeline_bytes_max;
  return conn.backlog.size() < backlog_max && conn.output_bytes() < output_limit();
}

bool Core::finished(ConnId id) const {
  const Connection* const conn = find(id);
  return conn != nullptr && is_finished(*conn);
}

bool Core::is_finished(const Connection& conn) const {
  const bool all_run = conn.quitting || (conn.at_end && conn.backlog.empty());
  return all_run && !conn.unanswered && conn.replies.outbox.empty();
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
