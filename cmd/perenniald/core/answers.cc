// The part of Core that makes large answers: bodies, from memory or from disk, and listings.

#include <algorithm>
#include <utility>

#include "cmd/perenniald/core/beanstalk_session.h"
#include "cmd/perenniald/core/core.h"
#include "engine/types/check.h"

namespace perennial::core {
namespace {

// A body of this size or more is shared, not copied. Below it a copy is cheaper than the
// bookkeeping of a shared body.
constexpr size_t shared_bytes_min = 16 << 10;

}  // namespace

void Core::push_scratch(BeanstalkSession& conn, BatchIndex after) {
  run_budget_.spend_on_answer(scratch_.size());
  if (waits_.is_large(scratch_.size())) {
    conn.replies.outbox.push(after, {}, shared_bodies_.share_text(Body(scratch_)), {});
  } else {
    conn.replies.outbox.push(after, scratch_);
  }
  // The capacity that a large answer needed is not kept.
  if (scratch_.capacity() > scratch_bytes_max) scratch_ = {};
  held_.hold(conn.id, conn.replies, after);
}

// ---- Bodies.

bool Core::is_shared(size_t body_bytes) const {
  return body_bytes >= shared_bytes_min || waits_.is_large(body_bytes);
}

// The line of a batch waits for nothing: an entry that has to wait holds those behind it.
void Core::answer_jobs(BeanstalkSession& conn, const JobsReserved& reply) {
  scratch_.clear();
  wire::append_batch_head(scratch_, reply);
  push_scratch(conn, reply.jobs.empty() ? held_.after_all(conn.replies)
                                        : held_.after(reply.jobs.front(), conn.replies));
  for (const JobReply& job : reply.jobs) answer_job(conn, job, {});
}

void Core::answer_job(BeanstalkSession& conn, const JobReply& reply,
                      const std::optional<CommandTimes::Start>& command) {
  const BatchIndex after = held_.after(reply, conn.replies);
  scratch_.clear();
  wire::append_job_head(scratch_, reply);
  const Body* const cached = bodies_.find(reply.id);
  CHECK(cached == nullptr || cached->size() == reply.body_bytes);
  ++(cached != nullptr ? answer_counts_.bodies_found : answer_counts_.bodies_missed);
  if (cached != nullptr && !is_shared(reply.body_bytes)) {
    conn.replies.outbox.push(after, scratch_, *cached, wire::job_tail);
  } else if (SharedBodies::SharedBody shared = find_shared(reply)) {
    conn.replies.outbox.push(after, scratch_, std::move(shared), wire::job_tail);
  } else {
    constexpr size_t head_bytes = 64;
    const uint64_t slot = conn.replies.outbox.open_slot(after, reply.body_bytes + head_bytes);
    if (waits_.add({conn.id, slot, reply, command})) {
      large_answers_.add({.bytes = reply.body_bytes, .job = reply.id});
    }
    if (waits_.is_large(reply.body_bytes) && waits_.is_waiting(reply.id)) ++conn.queued_answers;
  }
  held_.hold(conn.id, conn.replies, after);
}

// Returns a body that is in memory as a shared body, if this answer may be made now.
// A large answer may not overtake large answers that wait for memory. If it could, clients that ask
// for bodies in memory would use up each byte that becomes free, and the answers that wait would
// starve.
SharedBodies::SharedBody Core::find_shared(const JobReply& reply) {
  const bool is_large = waits_.is_large(reply.body_bytes);
  if (is_large && !large_answers_.empty()) return {};  // Answers that wait go first.
  if (SharedBodies::SharedBody shared = shared_bodies_.find(reply.id)) return shared;
  const Body* const cached = bodies_.find(reply.id);
  if (cached == nullptr || large_answers_.must_wait(reply.body_bytes)) return {};
  return shared_bodies_.share(reply.id, cached->share(), true);
}

// `body`: null if it is damaged.
void Core::fill_slot(const BodyWaiter& waiter, const Body* body) {
  BeanstalkSession* const conn = find(waiter.conn);
  if (conn == nullptr) return;
  scratch_.clear();
  if (body == nullptr) {
    answer_counts_.on_word(Word::InternalError, CommandKind::Other);
    wire::append_reply(scratch_, Word::InternalError);
    conn->replies.outbox.fill_slot(waiter.slot, scratch_, Body(), {});
  } else {
    wire::append_job_head(scratch_, waiter.reply);
    if (SharedBodies::SharedBody shared = shared_bodies_.find(waiter.reply.id)) {
      conn->replies.outbox.fill_slot(waiter.slot, scratch_, std::move(shared), wire::job_tail);
    } else {
      conn->replies.outbox.fill_slot(waiter.slot, scratch_, *body, wire::job_tail);
    }
  }
  if (waiter.command) held_.count(conn->replies, *waiter.command);
  conn->replies.outbox.release(batches_.committed());
  after_progress(*conn);
}

void Core::on_body(JobId job, Result<Body> body, Nanos now) {
  const std::vector<BodyWaiter> waiters = waits_.end(job);
  const bool is_whole = body.ok() && body->size() == waiters.front().reply.body_bytes;
  if (!is_whole) {
    for (const BodyWaiter& waiter : waiters) fill_slot(waiter, nullptr);
    on_lost_body(job, now);
  } else if (is_shared(body->size())) {
    const SharedBodies::SharedBody shared = shared_bodies_.share(job, body.take(), false);
    for (const BodyWaiter& waiter : waiters) fill_slot(waiter, &shared.body());
  } else {
    for (const BodyWaiter& waiter : waiters) fill_slot(waiter, &*body);
  }
}

// ---- Notes.

void Core::answer_notes(BeanstalkSession& conn, const NotesOf& reply) {
  const BatchIndex after = held_.after_all(conn.replies);
  if (reply.had == 0) {
    scratch_.clear();
    wire::append_reply(scratch_, std::make_unique<NoteList>());
    return push_scratch(conn, after);
  }
  constexpr size_t one_bytes = note_bytes_max + note_user_bytes_max;
  const uint64_t slot =
      conn.replies.outbox.open_slot(after, size_t{notes_kept(reply.had)} * one_bytes);
  notes_.add({.conn = conn.id, .slot = slot, .command = conn.command, .had = reply.had}, reply.job);
  held_.hold(conn.id, conn.replies, after);
}

void Core::on_notes(uint64_t ticket, Result<std::vector<Note>> notes) {
  NoteWaiter waiter = notes_.end(ticket);
  BeanstalkSession* const conn = find(waiter.conn);
  if (conn == nullptr) return;
  scratch_.clear();
  if (notes.ok()) {
    auto list = std::make_unique<NoteList>();
    list->notes = merge_notes(notes.take(), std::move(waiter.unwritten), waiter.had);
    wire::append_reply(scratch_, std::move(list));
  } else {
    answer_counts_.on_word(Word::InternalError, CommandKind::Other);
    wire::append_reply(scratch_, Word::InternalError);
  }
  conn->replies.outbox.fill_slot(waiter.slot, scratch_, Body(), {});
  held_.count(conn->replies, waiter.command);
  conn->replies.outbox.release(batches_.committed());
  after_progress(*conn);
}

void Core::on_lost_body(JobId job, Nanos now) {
  apply({.now = now, .accepts_puts = admission_.accepts_any(), .event = engine::Damaged{job}});
}

// Gives a body that is in memory to the replies that wait for it, or else begins to read it.
void Core::begin_body(JobId job) {
  const std::vector<BodyWaiter>& waiters = waits_.waiters(job);
  const bool is_large = waits_.is_large(waiters.front().reply.body_bytes);
  for (const BodyWaiter& waiter : waiters) {
    if (is_large) --find(waiter.conn)->queued_answers;
  }
  SharedBodies::SharedBody shared = shared_bodies_.find(job);
  const Body* const cached = bodies_.find(job);
  if (!shared && cached != nullptr) shared = shared_bodies_.share(job, cached->share(), true);
  if (shared) {
    for (const BodyWaiter& waiter : waits_.end(job)) fill_slot(waiter, &shared.body());
    return;
  }
  waits_.begin(job);
  for (const BodyWaiter& waiter : waiters) {
    if (BeanstalkSession* const conn = find(waiter.conn)) after_progress(*conn);
  }
}

// A job is deleted: its body can be read only until the open batch is written. So a reply that
// waits for this body gets it now or its read begins now, even if the memory budget does not admit
// it. The alternative, to delay the deletion, would make one client's delete wait for another
// client's answer.
void Core::rescue_body(JobId job) {
  if (waits_.count() == 0 || !waits_.is_waiting(job)) return;
  large_answers_.drop_body(job);
  begin_body(job);
}

void Core::make_large_answer(Nanos now) {
  LargeAnswers::Answer next = large_answers_.take();
  if (!next.command) return begin_body(next.job);
  --find(next.conn)->queued_answers;
  apply({.now = now,
         .conn = next.conn,
         .accepts_puts = admission_.accepts_any(),
         .event = std::move(*next.command)});
}

}  // namespace perennial::core
