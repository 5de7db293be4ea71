#include "store/etcd/grpc_executor.h"

#include <algorithm>
#include <chrono>

#include <grpc/support/time.h>
#include <time.h>

namespace perennial::store::etcd {
namespace {

// The queue's own clock stands still while the machine is suspended. So a timer that became due
// meanwhile is seen this late at most.
constexpr Nanos wait_max = nanos_per_second;

gpr_timespec in(Nanos delay) {
  return gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), gpr_time_from_nanos(delay, GPR_TIMESPAN));
}

}  // namespace

GrpcExecutor::GrpcExecutor() {
  woken_.run = [this](bool) { run_posts(); };
  thread_ = std::thread([this] { run(); });
}

GrpcExecutor::~GrpcExecutor() {
  stop();
  queue_.Shutdown();
  void* tag = nullptr;
  bool ok = false;
  while (queue_.Next(&tag, &ok)) static_cast<Completion*>(tag)->run(ok);
}

void GrpcExecutor::stop() {
  if (!thread_.joinable()) return;
  CHECK(std::this_thread::get_id() != thread_.get_id());
  is_stopped_ = true;
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
    wake();
  }
  thread_.join();
}

Nanos GrpcExecutor::now() const {
  timespec time{};
  CHECK(::clock_gettime(CLOCK_BOOTTIME, &time) == 0);
  return time.tv_sec * nanos_per_second + time.tv_nsec;
}

Nanos GrpcExecutor::wall() const {
  const auto time = std::chrono::system_clock::now().time_since_epoch();
  return std::max<Nanos>(std::chrono::duration_cast<std::chrono::nanoseconds>(time).count(), 0);
}

void GrpcExecutor::post(std::function<void()> run) {
  const std::lock_guard lock(mutex_);
  if (is_stopping_) return;
  posts_.push_back(std::move(run));
  wake();
}

TimerId GrpcExecutor::after(Nanos delay, std::function<void()> run) {
  const TimerId timer = next_timer_++;
  const Nanos at = now() + std::max<Nanos>(delay, 0);
  timers_.emplace(TimerKey{at, timer}, std::move(run));
  timer_times_.emplace(timer, at);
  return timer;
}

void GrpcExecutor::cancel_timer(TimerId timer) {
  const auto found = timer_times_.find(timer);
  if (found == timer_times_.end()) return;
  timers_.erase(TimerKey{found->second, timer});
  timer_times_.erase(found);
}

void GrpcExecutor::run() {
  while (!is_stopped_) {
    run_due_timers();
    run_one_completion();
  }
}

// A timer that is made here waits for the next turn, even if it is due at once.
void GrpcExecutor::run_due_timers() {
  const Nanos now = this->now();
  const TimerId made_before = next_timer_;
  for (auto first = timers_.begin(); first != timers_.end() && !is_stopped_;
       first = timers_.begin()) {
    const auto [at, timer] = first->first;
    if (at > now || timer >= made_before) return;
    const std::function<void()> due = std::move(first->second);
    timers_.erase(first);
    timer_times_.erase(timer);
    due();
  }
}

void GrpcExecutor::run_one_completion() {
  Nanos wait = wait_max;
  if (!timers_.empty()) wait = std::clamp<Nanos>(timers_.begin()->first.first - now(), 0, wait_max);
  void* tag = nullptr;
  bool ok = false;
  const auto next = queue_.AsyncNext(&tag, &ok, in(wait));
  if (next == grpc::CompletionQueue::GOT_EVENT) static_cast<Completion*>(tag)->run(ok);
}

// What these post runs in a later turn.
void GrpcExecutor::run_posts() {
  std::vector<std::function<void()>> posts;
  {
    const std::lock_guard lock(mutex_);
    is_waking_ = false;
    posts.swap(posts_);
  }
  for (const std::function<void()>& post : posts) {
    if (is_stopped_) return;
    post();
  }
}

void GrpcExecutor::wake() {
  if (is_waking_) return;
  is_waking_ = true;
  alarm_.Set(&queue_, gpr_time_0(GPR_CLOCK_MONOTONIC), &woken_);
}

}  // namespace perennial::store::etcd
