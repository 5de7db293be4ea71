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
  constexpr int nice = 10;
  ::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), nice);
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

void AnswerWorker::run(std::function<void()> work, std::function<void()> done) {
  CHECK(thread_.joinable());
  const std::lock_guard lock(mutex_);
  waiting_.push_back({.on_thread = std::move(work), .on_loop = std::move(done)});
  has_work_.notify_one();
}

void AnswerWorker::close() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    is_closing_ = true;
    waiting_.clear();
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

void AnswerWorker::do_work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    has_work_.wait(lock, [this] { return is_closing_ || !waiting_.empty(); });
    if (is_closing_) return;
    Work work = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    work.on_thread();
    work.on_thread = nullptr;
    lock.lock();
    if (is_closing_) return;
    ended_.push_back(std::move(work));
    uv_async_send(&news_);
  }
}

void AnswerWorker::on_news() {
  std::deque<Work> ended;
  {
    const std::lock_guard lock(mutex_);
    ended.swap(ended_);
  }
  for (const Work& work : ended) work.on_loop();
}

}  // namespace perennial::perenniald
