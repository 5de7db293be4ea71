#include "cmd/perennial/work/attempt.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <limits>
#include <utility>

#include <poll.h>

#include "cmd/common/tool/requests.h"
#include "cmd/perennial/work/program.h"

namespace perennial::tool::work {
namespace {

using std::chrono::milliseconds;

constexpr auto never = std::chrono::steady_clock::time_point::max();
// From SIGTERM to SIGKILL.
constexpr auto patience = std::chrono::seconds(5);

milliseconds touch_interval(const Settings& settings, const Job& job) {
  if (settings.touch) return *settings.touch;
  return milliseconds(uint64_t{job.ttr_s} * 1000 / 3);
}

// For poll(): rounded up, so that the clock has passed `until` when it returns.
int poll_ms(std::chrono::steady_clock::time_point until) {
  if (until == never) return -1;
  const auto left = std::chrono::ceil<milliseconds>(until - std::chrono::steady_clock::now());
  return static_cast<int>(std::clamp<int64_t>(left.count(), 0, std::numeric_limits<int>::max()));
}

Ending not_started_ending(const std::vector<std::string>& command, const Status& failure) {
  const int status = status_of(failure);
  const bool is_for_all = status != 0 && !is_named_by_job(command);
  return {.cause = is_for_all ? Cause::NoProgram : Cause::NotStarted,
          .status = status == 0 ? status_not_executable : status,
          .error = failure.message()};
}

}  // namespace

Attempt::Attempt(const Settings& settings, const StopRequest& stop, const sigset_t& child_signals,
                 ServerConnection& server, const Job& job, Inlet* inlet)
    : settings_(settings),
      stop_(stop),
      child_signals_(child_signals),
      server_(server),
      job_(job),
      inlet_(inlet),
      touch_at_(Clock::now() + touch_interval(settings, job)),
      held_until_(Clock::now() + std::chrono::seconds(job.ttr_s)),
      timeout_at_(settings.timeout ? Clock::now() + *settings.timeout : never),
      sigkill_at_(never) {}

Ending Attempt::run() {
  Result<Child> child = Child::start({.command = command_for(settings_.command, job_.id),
                                      .environment = environment_of(job_),
                                      .input = job_.body,
                                      .signals = child_signals_,
                                      .has_error_pipe = inlet_ != nullptr});
  if (!child.ok()) return not_started_ending(settings_.command, child.status());
  if (inlet_ != nullptr) errors_.emplace(child->take_error_pipe(), *inlet_);
  watch(*child);
  // What the command has started may go on after it, unless the command was killed.
  if (cause_ != Cause::Exited) child->signal(SIGKILL);
  const Child::End end = child->reap();
  if (!server_lost_ && touch_sent_at_) take_reply();
  if (lost_) cause_ = Cause::Lost;
  return {.cause = cause_,
          .status = end.status,
          .signal = end.signal,
          .error = error_,
          .last_errors = errors_ ? errors_->end() : std::string()};
}

void Attempt::watch(Child& child) {
  for (;;) {
    wait_for_event(child);
    if (reply_arrived_) take_reply();
    if (errors_arrived_) errors_->on_event();
    if (child_ended_) return;
    if (lost_) kill(child, Cause::Lost);
    if (stop_asked_) kill(child, Cause::Stopped);
    look_at_clock(child);
  }
}

void Attempt::wait_for_event(const Child& child) {
  // poll() passes over negative descriptors.
  std::array<pollfd, 4> events = {
      {{.fd = child.fd(), .events = POLLIN, .revents = 0},
       {.fd = lost_ ? -1 : server_.fd(), .events = POLLIN, .revents = 0},
       {.fd = stop_asked_ ? -1 : stop_.kill_fd(), .events = POLLIN, .revents = 0},
       {.fd = errors_ ? errors_->fd() : -1, .events = POLLIN, .revents = 0}}};
  const auto next = std::min({touch_at_, held_until_, timeout_at_, sigkill_at_});
  const int count = ::poll(events.data(), events.size(), poll_ms(next));
  CHECK(count >= 0 || errno == EINTR);
  if (count <= 0) events = {};
  child_ended_ = events[0].revents != 0;
  reply_arrived_ = events[1].revents != 0;
  if (events[2].revents != 0) stop_asked_ = true;
  errors_arrived_ = events[3].revents != 0;
}

void Attempt::look_at_clock(Child& child) {
  const auto now = Clock::now();
  if (now >= sigkill_at_) {
    child.signal(SIGKILL);
    sigkill_at_ = never;
  }
  if (now >= timeout_at_) {
    timeout_at_ = never;
    kill(child, Cause::TimedOut);
  }
  if (!lost_ && now >= held_until_) {
    lose("the ttr has passed, and the server has not answered a touch", true);
    kill(child, Cause::Lost);
  }
  if (!lost_ && now >= touch_at_) touch();
}

void Attempt::touch() {
  touch_at_ = never;
  touch_sent_at_ = Clock::now();
  server_.add(Touch{job_.id});
  if (const Status sent = server_.send(); !sent.ok()) lose(sent.message(), true);
}

// Without a touch nothing is due from the server: what is readable then is the connection's end.
void Attempt::take_reply() {
  const Result<wire::ClientReply> reply = server_.receive();
  if (!reply.ok()) return lose(reply.status().message(), true);
  const auto sent_at = std::exchange(touch_sent_at_, std::nullopt);
  if (sent_at && reply->is(Word::NotFound))
    return lose("the server says that the job is not reserved by this worker", false);
  if (!sent_at || !reply->is(Word::Touched))
    return lose(unexpected(*reply, "touch").message(), true);
  touch_at_ = *sent_at + touch_interval(settings_, job_);
  held_until_ = *sent_at + std::chrono::seconds(job_.ttr_s);
}

void Attempt::lose(std::string error, bool server_lost) {
  lost_ = true;
  server_lost_ = server_lost;
  error_ = std::move(error);
  touch_at_ = never;
  held_until_ = never;
}

// A second reason sends no second signal. The loss of the job counts more than any other, because
// the server must not be told of a job that is lost.
void Attempt::kill(Child& child, Cause cause) {
  const bool first = cause_ == Cause::Exited;
  if (first || cause == Cause::Lost) cause_ = cause;
  if (!first) return;
  child.signal(SIGTERM);
  sigkill_at_ = Clock::now() + patience;
}

}  // namespace perennial::tool::work
