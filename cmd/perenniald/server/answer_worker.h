#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

#include <uv.h>

#include "cmd/perenniald/http/workers.h"
#include "engine/types/basic.h"

namespace perennial::perenniald {

// The thread that makes long texts of HTTP. It yields to all other threads where processors are
// short (nice 10): texts can wait, and clients of the queue should not.
class AnswerWorker final : public http::Workers {
 public:
  // `loop` outlives this.
  explicit AnswerWorker(uv_loop_t& loop) : loop_(loop) {}
  // REQUIRES: it was not started, or close() was called.
  ~AnswerWorker() override;
  AnswerWorker(const AnswerWorker&) = delete;
  AnswerWorker& operator=(const AnswerWorker&) = delete;

  // Called at most once. Throws std::system_error if there can be no thread.
  void start();
  // REQUIRES: it was started.
  void run(std::function<void()> work, std::function<void()> done) override;
  // Waits for the work that is being done, and forgets all other: nobody hears of either. This is
  // the last call.
  void close();

  // Processor time of the thread. None: it was not started.
  std::optional<Nanos> cpu_time() const;

 private:
  struct Work {
    std::function<void()> on_thread = {};
    std::function<void()> on_loop = {};
  };
  void do_work();
  void on_news();

  uv_loop_t& loop_;
  uv_async_t news_{};                 // Open while the thread is there.
  std::mutex mutex_;                  // Guards what follows.
  std::condition_variable has_work_;  // Or the end.
  std::deque<Work> waiting_;
  std::deque<Work> ended_;
  bool is_closing_ = false;
  std::thread thread_;  // Last, so that it ends before what it uses.
};

}  // namespace perennial::perenniald
