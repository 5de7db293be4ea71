#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "engine/types/basic.h"
#include "store/etcd/etcd.h"

namespace perennial::support {

// Time for simulated nodes: one queue of events, in which time passes only from one event to the
// next. The same seed and the same calls give the same order of all events. Everything runs on the
// thread that calls run_one(), so the functions are not thread-safe, other than those of a real
// Executor.
class VirtualTime {
 public:
  class Node;
  // The boot time at which every run begins. It is far from 0, so that a duration cannot be taken
  // for a point in time.
  static constexpr Nanos start = 1'000'000 * nanos_per_second;
  // The time of day at boot.
  static constexpr Nanos epoch = 1'700'000'000 * nanos_per_second;
  // What is posted runs at most this much later.
  static constexpr Nanos turn_max = 20'000;

  explicit VirtualTime(uint64_t seed) : random_(seed) {}
  ~VirtualTime();
  VirtualTime(const VirtualTime&) = delete;
  VirtualTime& operator=(const VirtualTime&) = delete;

  Nanos now() const { return now_; }
  // A node that is started again is a new one. The reference is valid as long as this object.
  Node& add_node();

  // Runs the next event. Returns whether there was one.
  bool run_one();
  // Runs events until `done` returns true or the time `limit` is over. Returns whether it is done.
  bool run_until(const std::function<bool()>& done, Nanos limit);
  // Runs all events of this time, after which it is over.
  void run_for(Nanos time);

 private:
  // Events at the same time run in the order in which they were added.
  using Key = std::pair<Nanos, uint64_t>;
  struct Event {
    Node* node = nullptr;
    store::etcd::TimerId timer = 0;  // 0: the node's next post.
    std::function<void()> run = {};  // Of a timer.
  };

  Key add(Nanos due, Event event);
  // Runs the next event that is due by `limit`.
  bool run_next(Nanos limit);
  Nanos draw(Nanos max) { return static_cast<Nanos>(random_() % static_cast<uint64_t>(max + 1)); }

  Nanos now_ = start;
  uint64_t sequence_ = 0;
  std::mt19937_64 random_;
  std::map<Key, Event> events_;
  std::vector<std::unique_ptr<Node>> nodes_;
};

// The loop of one process.
class VirtualTime::Node final : public store::etcd::Executor {
 public:
  Node(VirtualTime& time, size_t number) : time_(time), number_(number) {}

  Nanos now() const override { return time_.now_; }
  Nanos wall() const override { return epoch + time_.now_ + wall_offset_; }
  // By how much the wall clock is ahead of the right time from now on.
  void set_wall_offset(Nanos offset) { wall_offset_ = offset; }
  void post(std::function<void()> run) override;
  store::etcd::TimerId after(Nanos delay, std::function<void()> run) override;
  void cancel_timer(store::etcd::TimerId timer) override;

  // From 0, in the order in which nodes were added.
  size_t number() const { return number_; }
  // As SIGSTOP and SIGCONT: posts and timers wait, and run late. Posts keep their order, and so do
  // timers, but which of the two come first is drawn.
  void pause();
  void resume();
  bool is_paused() const { return is_paused_; }
  // As SIGKILL: all posts and timers are dropped, and so are those to come. What the process owned
  // is for the caller to destroy.
  void kill();
  bool is_killed() const { return is_killed_; }

 private:
  friend class VirtualTime;

  VirtualTime& time_;
  size_t number_;
  Nanos wall_offset_ = 0;
  bool is_paused_ = false;
  bool is_killed_ = false;
  store::etcd::TimerId last_timer_ = 0;
  std::deque<std::function<void()>> posts_;
  std::map<store::etcd::TimerId, Key> timers_;
  std::vector<Event> held_;  // What became due while the node was paused.
};

}  // namespace perennial::support
