#include "cmd/perenniald/core/core.h"

#include <algorithm>
#include <utility>

#include "cmd/perenniald/core/beanstalk_session.h"
#include "engine/types/check.h"

namespace perennial::core {
Core::Core(Options options)
    : options_(std::move(options)),
      engine_(options_.engine),
      budget_({.memory_bytes_max = options_.memory_bytes_max,
               .answers_bytes_max = options_.output_total_bytes_max}),
      loans_(budget_, options_.output_little_bytes),
      bodies_(options_.body_cache_bytes, budget_, loans_),
      waits_(budget_, options_.output_little_bytes, options_.reads_max),
      batches_({.bytes_max = options_.batch_bytes_max, .idle = options_.sync_idle}),
      held_(batches_),
      room_(engine_, budget_, batches_, options_.pending_bytes_max),
      checkpoints_(options_.temporary_checkpoints_max) {}

Core::~Core() = default;

void Core::resume(uint64_t epoch, BatchIndex last_index, JobId next_id, Nanos now) {
  batches_.resume(epoch, last_index);
  bodies_.unpin(last_index);
  output_.clear();
  const Status restored = engine_.finish_restore(next_id, output_);
  CHECK(restored.ok());
  absorb_transitions({}, now);
}

bool Core::settled(Nanos now) const {
  const std::optional<Nanos> next = engine_.next_deadline();
  return !next || *next > now;
}

Core::BeanstalkSession* Core::find(ConnId conn) const {
  const auto found = sessions_.find(conn);
  return found != sessions_.end() ? found->second.get() : nullptr;
}

// What is due happens before what is asked, as in beanstalkd: a timer may be a little late.
void Core::catch_up(Nanos now) {
  if (now == caught_up_) return;
  caught_up_ = now;
  if (!settled(now)) tick(now);
}

void Core::tick(Nanos now) {
  const engine::Tick tick = {.go_on = !must_hold_moves()};
  apply({.now = now, .room = room_.any(), .event = tick}, {});
  if (!tick.go_on) return;
  const std::optional<Nanos> next = engine_.next_deadline();
  if (next && *next <= now) moves_left_in_ = batches_.open_index();
}

Session& Core::open(ConnId conn, Nanos now, bool may_checkpoint) {
  catch_up(now);
  auto opened = std::make_unique<BeanstalkSession>(*this, conn, may_checkpoint);
  Session& session = *opened;
  CHECK(sessions_.emplace(conn, std::move(opened)).second);
  apply({.now = now, .conn = conn, .room = room_.any(), .event = engine::Opened{}}, {});
  return session;
}

Session* Core::session(ConnId conn) const {
  return find(conn);
}

void Core::end_session(BeanstalkSession& session, Nanos now) {
  const ConnId conn = session.id;
  catch_up(now);
  drop_large_answers(session);
  sessions_.erase(conn);
  checkpoints_.on_close(conn);
  apply({.now = now, .conn = conn, .room = room_.any(), .event = engine::Closed{}}, {});
}

void Core::on_timer(Nanos now) {
  caught_up_ = now;
  tick(now);
}

void Core::on_drain(Nanos now) {
  apply({.now = now, .room = room_.any(), .event = engine::Drain{}}, {});
}

void Core::on_room(bool room, Nanos now) {
  room_.on_disk_room(room);
  resume_held_puts(now);
}

void Core::on_behind(bool behind, Nanos now) {
  room_.on_behind(behind);
  resume_held_puts(now);
}

uint64_t Core::jobs_damaged() const {
  return engine_.jobs_damaged();
}

void Core::make_runnable(BeanstalkSession& conn) {
  if (conn.runnable || conn.backlog.empty()) return;
  conn.runnable = true;
  runnable_.push_back(conn.id);
}

void Core::run_next(Nanos now) {
  CHECK(has_runnable());
  catch_up(now);
  if (may_resume_puts()) return resume_held_puts(now);
  if (may_make_large_answer()) return make_large_answer(now);
  if (runnable_.empty()) return;  // What was due has taken the room.
  BeanstalkSession* const conn = find(runnable_.front());
  runnable_.pop_front();
  if (conn == nullptr) return;
  conn->runnable = false;
  conn->run_backlog(now);
}

void Core::handle(BeanstalkSession& conn, wire::Step&& step, Nanos now) {
  if (std::holds_alternative<Quit>(*step.command)) {
    conn.quitting = true;
    return;
  }
  conn.unanswered = true;
  if (const auto* const asked = std::get_if<Checkpoint>(&*step.command)) {
    return on_checkpoint_asked(conn, *asked, now);
  }
  const size_t listed_bytes = engine_.listed_bytes(conn.id, *step.command);
  if (must_queue(listed_bytes)) {
    ++conn.queued_answers;
    large_answers_.push_back(
        {.bytes = listed_bytes, .conn = conn.id, .command = std::move(step.command)});
    return;
  }
  const Put* const put = std::get_if<Put>(&*step.command);
  const bool has_room = !step.no_room && room_.has(step.body);
  // One that is refused adds nothing to what is to be written.
  if (put != nullptr && has_room && room_.must_wait()) {
    conn.hold_put(*put, std::move(step.body));
    held_puts_.push_back(conn.id);
    return;
  }
  apply({.now = now, .conn = conn.id, .room = has_room, .event = std::move(*step.command)},
        std::move(step.body));
}

// A kick may have millions of jobs to move, and so may the end of a connection or of a delay that
// they share. When the disk does not keep up with that, they wait for it, and not everybody's
// answers for them: until it has all but a few of the batches up to the one that the last turn of
// moves went into, whatever else those hold. At the start there is nobody who waits.
bool Core::must_hold_moves() const {
  constexpr BatchIndex batches_ahead_max = 2;
  return !sessions_.empty() && moves_left_in_ > batches_.answerable() + batches_ahead_max;
}

// Without room on the disk they need not wait: they are refused.
bool Core::may_resume_puts() const {
  return !held_puts_.empty() && (!room_.must_wait() || !room_.disk_has_room());
}

// Some of them: the others when it is run_next()'s turn.
void Core::resume_held_puts(Nanos now) {
  const uint64_t enough = spent_ + options_.run_cost_max;
  while (may_resume_puts() && spent_ < enough) {
    spent_ += command_cost;
    BeanstalkSession* const conn = find(held_puts_.front());
    held_puts_.pop_front();
    if (conn == nullptr) continue;
    auto [put, body] = conn->take_held_put();
    const bool has_room = room_.has(body);
    apply({.now = now, .conn = conn->id, .room = has_room, .event = Command{put}}, std::move(body));
  }
}

// ---- Commands to batches and replies.

void Core::apply(engine::Input&& input, Body&& body) {
  output_.clear();
  engine_.apply(input, output_);
  spent_ += output_.cost;
  absorb_transitions(std::move(body), input.now);
  absorb_replies();
  if (!output_.names_parts.empty()) absorb_names_parts();
}

void Core::absorb_transitions(Body&& body, Nanos now) {
  if (output_.transitions.empty()) return;
  batches_.begin_input(body.size(), now);
  for (const Transition& transition : output_.transitions) {
    std::string_view view;
    if (const auto* const moved = std::get_if<JobMoved>(&transition)) {
      // At most one job comes with an input, and the body is its.
      if (!moved->before) {
        view = bodies_.insert(moved->id, std::exchange(body, Body()), batches_.open_index());
      }
      if (!moved->after) {
        rescue_body(moved->id);
        bodies_.erase(moved->id, batches_.open_index());
      }
      if (moved->after && moved->promised) held_.on_promise(moved->id);
    }
    batches_.add(transition, view);
  }
}

void Core::absorb_replies() {
  for (const engine::ConnReply& reply : output_.replies) {
    BeanstalkSession* const conn = find(reply.conn);
    CHECK(conn != nullptr);
    reply_to(*conn, reply.reply);
  }
}

void Core::reply_to(BeanstalkSession& conn, const Reply& reply) {
  conn.unanswered = false;
  answer(conn, reply);
  make_runnable(conn);
  touch(conn);
}

void Core::answer(BeanstalkSession& conn, const Reply& reply) {
  const BatchIndex after = held_.after(reply, conn.replies);
  if (const auto* const job = std::get_if<JobReply>(&reply)) return answer_job(conn, *job, after);
  scratch_.clear();
  if (const auto* const stats = std::get_if<std::unique_ptr<EngineStats>>(&reply)) {
    ProcessFacts process = options_.process_facts();
    process.connections_refused = connections_refused_;
    wire::append_stats(scratch_, **stats, process, options_.store_facts());
  } else {
    wire::append_reply(scratch_, reply);
  }
  push_scratch(conn, after);
}

}  // namespace perennial::core
