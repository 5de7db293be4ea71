#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include <grpcpp/alarm.h>
#include <grpcpp/completion_queue.h>

#include "store/etcd/etcd.h"

namespace perennial::store::etcd {

// The tag of a gRPC operation: the executor's thread calls `run` when the operation has ended. `ok`
// is gRPC's, and its meaning depends on the operation. A Completion must live until then, and may
// be destroyed from inside `run`.
struct Completion {
  std::function<void(bool ok)> run;
};

// An executor whose thread also completes the operations of gRPC.
//
// Each turn calls the timers that are due, then at most one completion or the functions posted so
// far. So neither timers nor completions nor posts can keep the others waiting for ever.
class GrpcExecutor final : public Executor {
 public:
  GrpcExecutor();
  // Waits for operations that clients have abandoned. REQUIRES: all clients are destroyed.
  ~GrpcExecutor() override;
  GrpcExecutor(const GrpcExecutor&) = delete;
  GrpcExecutor& operator=(const GrpcExecutor&) = delete;

  // Ends the thread. Functions that were posted and have not begun are dropped, and so are later
  // ones. A remaining client may then be destroyed on any thread. Does nothing the second time. Not
  // called on the executor's thread.
  void stop();

  Nanos now() const override;
  Nanos wall() const override;
  void post(std::function<void()> run) override;
  TimerId after(Nanos delay, std::function<void()> run) override;
  void cancel_timer(TimerId timer) override;

  // Operations may be started on it on the executor's thread only. Their tags are Completions.
  grpc::CompletionQueue& queue() { return queue_; }

 private:
  // Timers that are due at the same time fire in the order in which they were set.
  using TimerKey = std::pair<Nanos, TimerId>;

  void run();
  void run_due_timers();
  void run_one_completion();
  void run_posts();
  void wake();  // REQUIRES: mutex_ is held.

  grpc::CompletionQueue queue_;
  std::map<TimerKey, std::function<void()>> timers_;
  std::unordered_map<TimerId, Nanos> timer_times_;
  TimerId next_timer_ = 1;

  // Guards the members below, which any thread uses.
  std::mutex mutex_;
  std::vector<std::function<void()>> posts_;
  bool is_stopping_ = false;
  // The alarm is set and has not completed. It cannot be set again before.
  bool is_waking_ = false;
  grpc::Alarm alarm_;
  Completion woken_;

  std::atomic<bool> is_stopped_ = false;
  std::thread thread_;  // Last, so that it finds all other members.
};

}  // namespace perennial::store::etcd
