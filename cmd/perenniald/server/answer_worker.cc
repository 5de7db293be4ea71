#include "cmd/perenniald/server/answer_worker.h"

#include <utility>

#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include "cmd/perenniald/loop/thread_time.h"
#include "engine/types/check.h"

namespace perennial::perenniald {
namespace {

// setpriority(2): on Linux this is one thread. Where it is forbidden, the thread is one like all.
void yield_to_others() {
  constexpr int nicer_by = 10;
  const auto self = static_cast<id_t>(::gettid());
  ::setpriority(PRIO_PROCESS, self, ::getpriority(PRIO_PROCESS, self) + nicer_by);
}

}  // namespace

AnswerWorker::~AnswerWorker() {
  CHECK(!thread_.joinable());
}

void AnswerWorker::start() {
  const auto on_news = [](uv_async_t* news) { static_cast<AnswerWorker*>(news->data)->on_news(); };
  CHECK(uv_async_init(&loop_, &news_, on_news) == 0);
  news_.data = this;
  thread_ = std::thread([this] {
    ::pthread_setname_np(::pthread_self(), "perennial-http");
    yield_to_others();
    do_work();
  });
}

void AnswerWorker::run(Work work) {
  CHECK(thread_.joinable());
  const std::lock_guard lock(mutex_);
  (work.is_for_monitor ? for_monitors_ : others_).push_back(std::move(work));
  has_work_.notify_one();
}

void AnswerWorker::close() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    is_closing_ = true;
    for_monitors_.clear();
    others_.clear();
    has_work_.notify_one();
  }
  thread_.join();
  ended_.clear();
  uv_close(reinterpret_cast<uv_handle_t*>(&news_), nullptr);
}

std::optional<Nanos> AnswerWorker::cpu_time() const {
  if (!thread_.joinable()) return std::nullopt;
  return thread_cpu_time(const_cast<std::thread&>(thread_).native_handle());
}

// REQUIRES: one of them is not empty.
AnswerWorker::Queue& AnswerWorker::next_queue() {
  if (for_monitors_.empty()) return others_;
  return others_.empty() || !was_for_monitor_ ? for_monitors_ : others_;
}

void AnswerWorker::do_work() {
  const auto has_work = [this] { return !for_monitors_.empty() || !others_.empty(); };
  std::unique_lock lock(mutex_);
  for (;;) {
    has_work_.wait(lock, [&] { return is_closing_ || has_work(); });
    if (is_closing_) return;
    Queue& queue = next_queue();
    Work work = std::move(queue.front());
    queue.pop_front();
    was_for_monitor_ = work.is_for_monitor;
    lock.unlock();
    const bool is_done = work.step();
    if (is_done) work.step = nullptr;
    lock.lock();
    if (is_closing_) return;
    if (!is_done) {
      queue.push_front(std::move(work));
      continue;
    }
    if (!work.on_done) continue;
    ended_.push_back(std::move(work));
    uv_async_send(&news_);
  }
}

void AnswerWorker::on_news() {
  Queue ended;
  {
    const std::lock_guard lock(mutex_);
    ended.swap(ended_);
  }
  for (const Work& work : ended) work.on_done();
}

}  // namespace perennial::perenniald
