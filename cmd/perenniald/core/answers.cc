// Core's answers that hold much: bodies, at hand or to be read, and listings.

#include <algorithm>
#include <utility>

#include "cmd/perenniald/core/beanstalk_session.h"
#include "cmd/perenniald/core/core.h"
#include "engine/types/check.h"

namespace perennial::core {
namespace {

// From this size on a body is not copied.
constexpr size_t shared_bytes_min = 16 << 10;

}  // namespace

void Core::push_scratch(BeanstalkSession& conn, BatchIndex after) {
  spent_ += scratch_.size();
  if (waits_.is_large(scratch_.size())) {
    conn.replies.outbox.push(after, {}, loans_.lend_text(Body(scratch_)), {});
  } else {
    conn.replies.outbox.push(after, scratch_);
  }
  // The room of a great answer is not kept.
  if (scratch_.capacity() > scratch_bytes_max) scratch_ = {};
  held_.hold(conn.id, conn.replies, after);
}

// ---- Bodies.

bool Core::is_shared(size_t body_bytes) const {
  return body_bytes >= shared_bytes_min || waits_.is_large(body_bytes);
}

void Core::answer_job(BeanstalkSession& conn, const JobReply& reply, BatchIndex after) {
  scratch_.clear();
  wire::append_job_head(scratch_, reply);
  const Body* const cached = bodies_.find(reply.id);
  CHECK(cached == nullptr || cached->size() == reply.body_bytes);
  if (cached != nullptr && !is_shared(reply.body_bytes)) {
    conn.replies.outbox.push(after, scratch_, *cached, wire::job_tail);
  } else if (BodyLoans::Loan loan = borrow(reply)) {
    conn.replies.outbox.push(after, scratch_, std::move(loan), wire::job_tail);
  } else {
    constexpr size_t head_bytes = 64;
    const uint64_t slot = conn.replies.outbox.open_slot(after, reply.body_bytes + head_bytes);
    if (waits_.add({conn.id, slot, reply})) {
      large_answers_.push_back({.bytes = reply.body_bytes, .job = reply.id});
    }
    if (waits_.is_large(reply.body_bytes) && waits_.is_waiting(reply.id)) ++conn.queued_answers;
  }
  held_.hold(conn.id, conn.replies, after);
}

// A body that is in memory, if this answer may have it now.
BodyLoans::Loan Core::borrow(const JobReply& reply) {
  const bool is_large = waits_.is_large(reply.body_bytes);
  if (is_large && !large_answers_.empty()) return {};  // They have asked before.
  if (BodyLoans::Loan loan = loans_.borrow(reply.id)) return loan;
  const Body* const cached = bodies_.find(reply.id);
  if (cached == nullptr || must_queue(reply.body_bytes)) return {};
  return loans_.lend(reply.id, cached->share(), true);
}

// No body: it is damaged.
void Core::fill_slot(const BodyWaiter& waiter, const Body* body) {
  BeanstalkSession* const conn = find(waiter.conn);
  if (conn == nullptr) return;
  scratch_.clear();
  if (body == nullptr) {
    wire::append_reply(scratch_, Word::InternalError);
    conn->replies.outbox.fill_slot(waiter.slot, scratch_, Body(), {});
  } else {
    wire::append_job_head(scratch_, waiter.reply);
    if (BodyLoans::Loan loan = loans_.borrow(waiter.reply.id)) {
      conn->replies.outbox.fill_slot(waiter.slot, scratch_, std::move(loan), wire::job_tail);
    } else {
      conn->replies.outbox.fill_slot(waiter.slot, scratch_, *body, wire::job_tail);
    }
  }
  conn->replies.outbox.release(batches_.answerable());
  after_progress(*conn);
}

void Core::on_body(JobId job, Result<Body> body, Nanos now) {
  const std::vector<BodyWaiter> waiters = waits_.end(job);
  const bool is_whole = body.ok() && body->size() == waiters.front().reply.body_bytes;
  if (!is_whole) {
    for (const BodyWaiter& waiter : waiters) fill_slot(waiter, nullptr);
    apply({.now = now, .room = room_.any(), .event = engine::Damaged{job}}, {});
  } else if (is_shared(body->size())) {
    const BodyLoans::Loan loan = loans_.lend(job, body.take(), false);
    for (const BodyWaiter& waiter : waiters) fill_slot(waiter, &loan.body());
  } else {
    for (const BodyWaiter& waiter : waiters) fill_slot(waiter, &*body);
  }
}

// Gives a body to those who wait for it, if it is in memory, or else begins to read it.
void Core::begin_body(JobId job) {
  const std::vector<BodyWaiter>& waiters = waits_.waiters(job);
  const bool is_large = waits_.is_large(waiters.front().reply.body_bytes);
  for (const BodyWaiter& waiter : waiters) {
    if (is_large) --find(waiter.conn)->queued_answers;
  }
  BodyLoans::Loan loan = loans_.borrow(job);
  const Body* const cached = bodies_.find(job);
  if (!loan && cached != nullptr) loan = loans_.lend(job, cached->share(), true);
  if (loan) {
    for (const BodyWaiter& waiter : waits_.end(job)) fill_slot(waiter, &loan.body());
    return;
  }
  waits_.begin(job);
  for (const BodyWaiter& waiter : waiters) {
    if (BeanstalkSession* const conn = find(waiter.conn)) after_progress(*conn);
  }
}

// A job is deleted: its body is there until the open batch is written, and no longer.
void Core::rescue_body(JobId job) {
  if (waits_.count() == 0 || !waits_.is_waiting(job)) return;
  std::erase_if(large_answers_, [job](const LargeAnswer& answer) { return answer.job == job; });
  begin_body(job);
}

// ---- Large answers. Each may be as large as the budget, so it asks before it is made, and waits
// for those who have asked before.

bool Core::must_queue(size_t answer_bytes) const {
  if (!waits_.is_large(answer_bytes)) return false;
  return !large_answers_.empty() || !budget_.admits(answer_bytes, engine_.memory_bytes());
}

bool Core::may_make_large_answer() const {
  if (large_answers_.empty()) return false;
  const LargeAnswer& next = large_answers_.front();
  return loans_.is_lent(next.job) || budget_.admits(next.bytes, engine_.memory_bytes());
}

void Core::make_large_answer(Nanos now) {
  LargeAnswer next = std::move(large_answers_.front());
  large_answers_.pop_front();
  if (!next.command) return begin_body(next.job);
  --find(next.conn)->queued_answers;
  apply({.now = now, .conn = next.conn, .room = room_.any(), .event = std::move(*next.command)},
        {});
}

void Core::drop_large_answers(const BeanstalkSession& conn) {
  if (conn.queued_answers == 0) return;
  std::erase_if(large_answers_, [&](const LargeAnswer& answer) {
    return answer.command ? answer.conn == conn.id : waits_.drop(answer.job, conn.id);
  });
}

}  // namespace perennial::core
