#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>

#include <uv.h>

#include "cmd/perenniald/http/workers.h"
#include "engine/types/basic.h"

namespace perennial::perenniald {

// The thread that makes long texts of HTTP. It yields to all other threads where processors are
// short (its nice value is 10 higher): texts can wait, and clients of the queue should not.
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
  void run(Work work) override;
  // Waits for the step that is being done, and forgets all work: nobody hears of it. This is the
  // last call.
  void close();

  // Processor time of the thread. None: it was not started.
  std::optional<Nanos> cpu_time() const;

 private:
  using Queue = std::deque<Work>;

  Queue& next_queue();
  void do_work();
  void on_news();

  uv_loop_t& loop_;
  uv_async_t news_{};                 // Open while the thread is there.
  std::mutex mutex_;                  // Guards what follows.
  std::condition_variable has_work_;  // Or the end.
  Queue for_monitors_;
  Queue others_;
  bool was_for_monitor_ = false;  // The last step.
  Queue ended_;
  bool is_closing_ = false;
  std::thread thread_;  // Last, so that it ends before what it uses.
};

}  // namespace perennial::perenniald
