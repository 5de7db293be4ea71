#include "cmd/perenniald/core/beanstalk_session.h"

#include <algorithm>

#include "wire/parser.h"

namespace perennial::core {
namespace {

constexpr size_t bytes_per_cost = 32;

}  // namespace

// ---- What happened.

void Core::BeanstalkSession::on_bytes(std::span<const char> bytes, Nanos now, bool later) {
  core_.catch_up(now);
  const bool waits = later || runnable;
  if (!waits && backlog.empty()) {
    const size_t taken = run(bytes, now);
    if (taken < bytes.size() && !quitting) backlog.keep(bytes.subspan(taken));
    return end_run();
  }
  backlog.keep(bytes);
  if (!waits) return run_backlog(now);
  core_.make_runnable(*this);
  core_.touch(*this);
}

void Core::BeanstalkSession::on_half_close(Nanos now) {
  core_.catch_up(now);
  core_.apply({.now = now, .conn = id, .room = core_.room_.any(), .event = engine::HalfClosed{}},
              {});
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
  const uint64_t enough = core_.spent_ + core_.options_.run_cost_max;
  size_t taken = 0;
  while (taken < bytes.size() && core_.spent_ < enough && core_.may_run(*this)) {
    wire::Step step =
        parser.feed(bytes.subspan(taken), core_.room_.body_bytes_max(parser.held_bytes()));
    recount();
    taken += step.consumed;
    core_.spent_ += command_cost + step.consumed / bytes_per_cost;
    if (step.stranger) refuse(*step.stranger);
    if (step.command) core_.handle(*this, std::move(step), now);
  }
  return taken;
}

// What it had no time for waits for its next turn, behind those who wait already.
void Core::BeanstalkSession::end_run() {
  if (core_.may_run(*this)) core_.make_runnable(*this);
  core_.touch(*this);
}

void Core::BeanstalkSession::run_backlog(Nanos now) {
  // The parser is given the backlog itself.
  Backlog::Taken taken = backlog.take();
  taken.at += run(std::span(taken.bytes).subspan(taken.at), now);
  if (!quitting) backlog.put_back(std::move(taken));
  end_run();
}

void Core::BeanstalkSession::refuse(wire::Stranger speaks) {
  stranger = speaks;
  quitting = true;
  ++core_.connections_refused_;
}

void Core::BeanstalkSession::hold_put(const Put& put, Body&& body) {
  held_put.emplace(put, std::move(body));
  recount();
}

std::pair<Put, Body> Core::BeanstalkSession::take_held_put() {
  std::pair<Put, Body> held = *std::exchange(held_put, std::nullopt);
  recount();
  return held;
}

// ---- What to do.

// A visit to each connection after each command, and after each answer, would cost the loop a
// fiftieth of its time.
bool Core::BeanstalkSession::has_news() const {
  return !replies.outbox.ready().empty() || wants_reading() != told_to_read || finished();
}

bool Core::BeanstalkSession::reading() {
  told_to_read = wants_reading();
  return told_to_read;
}

bool Core::BeanstalkSession::wants_reading() const {
  if (at_end || quitting || held_put) return false;
  // Behind an unanswered command a little is read on, so that a client that vanished is noticed.
  // Of one that waits for its turn less, so that the turns of all are short.
  constexpr size_t runnable_bytes_max = 4 << 10;
  const size_t pipeline_bytes_max = core_.options_.pipeline_bytes_max;
  const size_t backlog_max =
      runnable ? std::min(runnable_bytes_max, pipeline_bytes_max) : pipeline_bytes_max;
  return backlog.size() < backlog_max && output_bytes() < core_.output_limit();
}

bool Core::BeanstalkSession::finished() const {
  const bool all_run = quitting || (at_end && backlog.empty());
  return all_run && !unanswered && replies.outbox.empty();
}

std::string_view Core::BeanstalkSession::speaks() const {
  return stranger ? wire::stranger_name(*stranger) : std::string_view();
}

}  // namespace perennial::core
