#include "tests/support/virtual_time.h"

#include <algorithm>
#include <iterator>
#include <limits>

namespace perennial::support {

using store::etcd::TimerId;

VirtualTime::~VirtualTime() {
  // What an event owns may still cancel timers when it is destroyed.
  for (const auto& node : nodes_) node->kill();
}

VirtualTime::Node& VirtualTime::add_node() {
  nodes_.push_back(std::make_unique<Node>(*this, nodes_.size()));
  return *nodes_.back();
}

bool VirtualTime::run_one() {
  return run_next(std::numeric_limits<Nanos>::max());
}

bool VirtualTime::run_until(const std::function<bool()>& done, Nanos limit) {
  const Nanos end = now_ + limit;
  while (!done()) {
    if (run_next(end)) continue;
    now_ = end;
    return done();
  }
  return true;
}

void VirtualTime::run_for(Nanos time) {
  run_until([] { return false; }, time);
}

bool VirtualTime::run_next(Nanos limit) {
  while (!events_.empty() && events_.begin()->first.first <= limit) {
    const Nanos due = events_.begin()->first.first;
    Event event = std::move(events_.extract(events_.begin()).mapped());
    now_ = std::max(now_, due);
    Node& node = *event.node;
    if (node.is_paused_) {
      node.held_.push_back(std::move(event));
      continue;
    }
    if (event.timer == 0) {
      event.run = std::move(node.posts_.front());
      node.posts_.pop_front();
    } else {
      node.timers_.erase(event.timer);
    }
    event.run();
    return true;
  }
  return false;
}

VirtualTime::Key VirtualTime::add(Nanos due, Event event) {
  const Key key{due, ++sequence_};
  events_.emplace(key, std::move(event));
  return key;
}

void VirtualTime::Node::post(std::function<void()> run) {
  if (is_killed_) return;
  posts_.push_back(std::move(run));
  time_.add(time_.now_ + time_.draw(turn_max), {.node = this});
}

TimerId VirtualTime::Node::after(Nanos delay, std::function<void()> run) {
  const TimerId timer = ++last_timer_;
  if (is_killed_) return timer;
  const Nanos due = time_.now_ + std::max<Nanos>(delay, 0);
  timers_[timer] = time_.add(due, {.node = this, .timer = timer, .run = std::move(run)});
  return timer;
}

void VirtualTime::Node::cancel_timer(TimerId timer) {
  const auto found = timers_.find(timer);
  if (found == timers_.end()) return;
  // The event may own what destroys other timers, so it is destroyed when all is in order.
  const auto event = time_.events_.extract(found->second);
  timers_.erase(found);
  const auto held = std::find_if(held_.begin(), held_.end(),
                                 [&](const Event& one) { return one.timer == timer; });
  if (held == held_.end()) return;
  const Event dropped = std::move(*held);
  held_.erase(held);
}

void VirtualTime::Node::pause() {
  is_paused_ = true;
}

void VirtualTime::Node::resume() {
  is_paused_ = false;
  std::vector<Event> held = std::exchange(held_, {});
  const auto is_post = [](const Event& event) { return event.timer == 0; };
  switch (time_.draw(2)) {
    case 0:
      std::stable_partition(held.begin(), held.end(), is_post);
      break;
    case 1:
      std::stable_partition(held.begin(), held.end(), std::not_fn(is_post));
      break;
    default:
      break;  // As they became due.
  }
  for (Event& event : held) {
    const TimerId timer = event.timer;
    const Key key = time_.add(time_.now_, std::move(event));
    if (timer != 0) timers_[timer] = key;
  }
}

void VirtualTime::Node::kill() {
  is_killed_ = true;
  std::vector<Event> dropped = std::exchange(held_, {});
  for (auto event = time_.events_.begin(); event != time_.events_.end();) {
    const auto next = std::next(event);
    if (event->second.node == this) {
      dropped.push_back(std::move(time_.events_.extract(event).mapped()));
    }
    event = next;
  }
  timers_.clear();
  const auto posts = std::exchange(posts_, {});
}

}  // namespace perennial::support
