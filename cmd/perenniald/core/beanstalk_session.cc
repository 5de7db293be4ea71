#include "cmd/perenniald/core/beanstalk_session.h"

#include <algorithm>

#include "cmd/common/secret.h"
#include "wire/parser.h"

namespace perennial::core {
// ---- What happened.

void Core::BeanstalkSession::on_bytes(std::span<const char> bytes, Nanos now, bool later) {
  core_.catch_up(now);
  const bool waits = later || runnable;
  if (!waits && backlog.empty()) {
    const size_t taken = run(bytes, now);
    if (taken < bytes.size() && !quitting) backlog.keep(bytes.subspan(taken));
    abort_wait(now);
    return end_run();
  }
  backlog.keep(bytes);
  abort_wait(now);
  if (!waits) return run_backlog(now);
  core_.make_runnable(*this);
  core_.touch(*this);
}

void Core::BeanstalkSession::on_half_close(Nanos now) {
  core_.catch_up(now);
  core_.apply({.now = now,
               .conn = id,
               .accepts_puts = core_.admission_.accepts_any(),
               .event = engine::HalfClosed{}});
}

void Core::BeanstalkSession::on_eof(Nanos now) {
  core_.catch_up(now);
  at_end = true;
  core_.touch(*this);
  on_half_close(now);
}

void Core::BeanstalkSession::on_written(size_t bytes) {
  replies.outbox.consume(bytes);
  core_.after_progress(*this);
}

void Core::BeanstalkSession::on_close(Nanos now) {
  core_.end_session(*this, now);
}

// ---- Bytes to commands.

size_t Core::BeanstalkSession::run(std::span<const char> bytes, Nanos now) {
  const RunBudget::Run run(core_.run_budget_);
  size_t taken = 0;
  while (taken < bytes.size() && run.may_go_on() && core_.may_run(*this)) {
    // A body of somebody who has not shown who that is is dropped as it arrives.
    const bool is_known = !access || access->user != nullptr;
    const bool is_secret = may_hear_secret();
    const size_t body_bytes_max =
        is_known ? core_.admission_.body_bytes_max(parser.held_bytes()) : 0;
    wire::Step step = parser.feed(bytes.subspan(taken), body_bytes_max);
    recount();
    taken += step.consumed;
    core_.run_budget_.spend_on_command(step.consumed);
    if (step.foreign_protocol) refuse(*step.foreign_protocol);
    const bool is_command = step.command.has_value();
    if (is_command) core_.handle(*this, std::move(step), now);
    if (is_secret && is_command) parser.wipe_line();
  }
  return taken;
}

// Commands that exceeded the run budget wait for the session's next turn, behind sessions that
// already wait.
void Core::BeanstalkSession::end_run() {
  if (core_.may_run(*this)) core_.make_runnable(*this);
  core_.touch(*this);
}

void Core::BeanstalkSession::run_backlog(Nanos now) {
  // The parser reads from the backlog's own bytes, so they are not copied.
  Backlog::Taken taken = backlog.take();
  const std::span<char> rest = std::span(taken.bytes).subspan(taken.at);
  const bool is_secret = may_hear_secret();
  const size_t run_bytes = run(rest, now);
  if (is_secret) common::wipe(rest.first(run_bytes));
  taken.at += run_bytes;
  if (!quitting) backlog.put_back(std::move(taken));
  abort_wait(now);
  end_run();
}

void Core::BeanstalkSession::abort_wait(Nanos now) {
  if (!wait_may_be_aborted || !unanswered || !backlog.holds_line()) return;
  wait_may_be_aborted = false;
  core_.apply({.now = now,
               .conn = id,
               .accepts_puts = core_.admission_.accepts_any(),
               .event = engine::WaitAborted{}});
}

void Core::BeanstalkSession::refuse(wire::ForeignProtocol speaks) {
  foreign_protocol = speaks;
  quitting = true;
  ++core_.connections_refused_;
}

void Core::BeanstalkSession::hold_put(HeldPut&& put) {
  held_put = std::make_unique<HeldPut>(std::move(put));
  recount();
}

HeldPut Core::BeanstalkSession::take_held_put() {
  HeldPut held = std::move(*std::exchange(held_put, nullptr));
  recount();
  return held;
}

// ---- What to do.

// The result decides whether the connection is listed in changed_. If each command and each answer
// listed it, the loop would spend two percent of its time on visits that do nothing.
bool Core::BeanstalkSession::needs_visit() const {
  return !replies.outbox.ready().empty() || wants_reading() != was_reading || finished();
}

bool Core::BeanstalkSession::reading() {
  note_reading(wants_reading());
  return was_reading == Reading::Yes;
}

void Core::BeanstalkSession::note_reading(Reading reading) {
  --core_.reading_counts_[static_cast<size_t>(was_reading)];
  was_reading = reading;
  ++core_.reading_counts_[static_cast<size_t>(was_reading)];
}

Core::Reading Core::BeanstalkSession::wants_reading() const {
  if (at_end || quitting || is_cut) return Reading::Ended;
  if (held_put) return Reading::Pending;
  // While a command is unanswered, a little more is read, so that the end of a connection is
  // noticed. A session that waits for its turn reads less, so that the turn of each session is
  // short.
  constexpr size_t runnable_bytes_max = 4 << 10;
  const size_t pipeline_bytes_max = core_.options_.pipeline_bytes_max;
  const size_t backlog_max =
      runnable ? std::min(runnable_bytes_max, pipeline_bytes_max) : pipeline_bytes_max;
  if (output_bytes() >= core_.output_limit()) return Reading::Output;
  return backlog.size() < backlog_max ? Reading::Yes : Reading::Backlog;
}

bool Core::BeanstalkSession::finished() const {
  if (is_cut) return true;
  const bool all_run = quitting || (at_end && backlog.empty());
  return all_run && !unanswered && replies.outbox.empty();
}

std::string_view Core::BeanstalkSession::speaks() const {
  return foreign_protocol ? wire::protocol_name(*foreign_protocol) : std::string_view();
}

}  // namespace perennial::core
