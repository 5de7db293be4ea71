// Core's other half: batches to the committer, replies out, and what the loop asks.

#include <algorithm>
#include <utility>

#include "cmd/perenniald/core/connection.h"
#include "cmd/perenniald/core/core.h"
#include "engine/types/check.h"

namespace perennial::core {
namespace {

// A batch is written whole or not at all, and replayed whole at a start: past this many operations
// it closes.
constexpr size_t batch_operations_max = 20'000;

}  // namespace

bool Core::open_is_full() const {
  return open_.bytes() >= options_.batch_bytes_max || open_.operations() >= batch_operations_max;
}

void Core::seal_open(Nanos now) {
  open_.seal(open_index_, durable_, now);
  pending_sizes_.emplace_back(open_index_, open_.bytes());
  sealed_.push_back(std::move(open_));
  ++open_index_;
  if (spare_.empty()) {
    open_ = store::Batch();
  } else {
    open_ = std::move(spare_.back());
    spare_.pop_back();
  }
}

bool Core::has_batch() const {
  return !sealed_.empty() || !open_.empty();
}

bool Core::batch_due(Nanos now) const {
  if (!sealed_.empty()) return true;
  if (open_.empty()) return false;
  if (open_is_full() || now - open_since_ >= options_.sync_idle) return true;
  return open_.promised() && now >= company_.until();
}

bool Core::batch_is_large() const {
  return !sealed_.empty() ||
         (open_.promised() && open_.operations() > store::small_batch_operations_max);
}

size_t Core::missing_company() const {
  const bool may_grow = open_.promised() && !batch_is_large();
  return may_grow ? company_.missing() : 0;
}

store::Batch Core::take_batch(Nanos now) {
  CHECK(has_batch());
  // A read sees the database of the turn that decided its reply; this batch may delete what it
  // reads.
  CHECK(!waits_.has_begun_any());
  if (sealed_.empty()) {
    company_.on_taken();
    seal_open(now);
  }
  store::Batch batch = std::move(sealed_.front());
  sealed_.pop_front();
  return batch;
}

void Core::recycle(store::Batch&& batch) {
  constexpr size_t spare_max = 4;
  if (spare_.size() == spare_max) return;
  batch.clear();
  spare_.push_back(std::move(batch));
}

void Core::on_durable(BatchIndex answerable, BatchIndex durable, Nanos now, Nanos took) {
  CHECK(durable <= answerable);
  CHECK(answerable < open_index_);
  durable_ = std::max(durable_, durable);
  if (answerable <= answerable_) return;
  answerable_ = answerable;
  bodies_.unpin(answerable);
  while (!pending_sizes_.empty() && pending_sizes_.front().first <= answerable) {
    pending_bytes_ -= pending_sizes_.front().second;
    pending_sizes_.pop_front();
  }
  release_holders(now, took);
  resume_held_puts(now);
}

void Core::release_holders(Nanos now, Nanos took) {
  size_t expected = 0;
  const uint64_t round = company_.round() + 1;
  while (!holders_.empty() && holders_.front().after <= answerable_) {
    for (const ConnId id : holders_.front().conns) {
      Connection* const conn = find(id);
      if (conn == nullptr) continue;
      conn->outbox.release(answerable_);
      if (conn->listed_for != open_index_ && conn->answered_in != round) ++expected;
      conn->answered_in = round;
      after_progress(*conn);
    }
    holders_.pop_front();
  }
  company_.expect(expected, took, now);
}

void Core::on_written(ConnId id, size_t bytes) {
  Connection* const conn = find(id);
  CHECK(conn != nullptr);
  conn->outbox.consume(bytes);
  after_progress(*conn);
}

// Something of this connection has left or may leave: it may be able to go on.
void Core::after_progress(Connection& conn) {
  count(conn);
  // Not for each body by itself: the backlog is moved every time.
  const bool more_come = conn.outbox.open_slots() > 0 && waits_.count() > options_.reads_max / 2;
  if (may_run(conn) && !more_come) make_runnable(conn);
  list_if_news(conn);
}

void Core::touch(Connection& conn) {
  count(conn);
  list_if_news(conn);
}

void Core::list_if_news(Connection& conn) {
  if (conn.changed || !has_news(conn)) return;
  conn.changed = true;
  changed_.push_back(conn.id);
}

// A visit to each connection after each command, and after each answer, would cost the loop a
// fiftieth of its time.
bool Core::has_news(const Connection& conn) const {
  return !conn.outbox.ready().empty() || wants_reading(conn) != conn.told_to_read ||
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
  return conn != nullptr ? conn->outbox.ready() : std::string_view();
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
  return conn.backlog_bytes() < backlog_max && conn.output_bytes() < output_limit();
}

bool Core::finished(ConnId id) const {
  const Connection* const conn = find(id);
  return conn != nullptr && is_finished(*conn);
}

bool Core::is_finished(const Connection& conn) const {
  const bool all_run = conn.quitting || (conn.at_end && conn.backlog_bytes() == 0);
  return all_run && !conn.unanswered && conn.outbox.empty();
}

std::optional<Nanos> Core::next_tick() const {
  return engine_.next_deadline(!must_hold_moves());
}

std::optional<Nanos> Core::next_deadline() const {
  std::optional<Nanos> next = next_tick();
  if (!open_.empty()) {
    Nanos due = open_since_ + options_.sync_idle;
    if (open_.promised() && company_.until() > 0) due = std::min(due, company_.until());
    next = next ? std::min(*next, due) : due;
  }
  return next;
}

bool Core::quiet() const {
  return !has_batch() && answerable_ + 1 == open_index_;
}

}  // namespace perennial::core
