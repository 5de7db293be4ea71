#include "store/etcd/access.h"

#include <utility>

namespace perennial::store::etcd {

Access::Access(Executor& executor, bool has_user, std::function<void()> fetch)
    : executor_(executor), has_user_(has_user), fetch_(std::move(fetch)), is_ready_(!has_user) {}

Access::~Access() {
  for (const auto& [id, waiting] : waiting_) executor_.cancel_timer(waiting.timer);
}

Access::WaitId Access::when_ready(Nanos deadline, Go go) {
  const WaitId wait = next_wait_++;
  if (is_ready_) {
    go(std::nullopt);
    return wait;
  }
  const TimerId timer = executor_.after(deadline - executor_.now(), [this, wait] {
    release(wait, Failure{.error = CallError::Unknown, .message = "no token of etcd in time"});
  });
  waiting_.emplace(wait, Waiting{.timer = timer, .go = std::move(go)});
  if (!std::exchange(is_fetching_, true)) fetch_();
  return wait;
}

void Access::cancel(WaitId wait) {
  const auto found = waiting_.find(wait);
  if (found == waiting_.end()) return;
  executor_.cancel_timer(found->second.timer);
  waiting_.erase(found);
}

void Access::set(std::string token) {
  is_fetching_ = false;
  is_ready_ = true;
  token_ = std::move(token);
  release_all(std::nullopt);
}

void Access::fail(const Failure& failure) {
  is_fetching_ = false;
  release_all(failure);
}

void Access::forget(const std::string& token) {
  if (!has_user_ || !is_ready_ || token != token_) return;
  is_ready_ = false;
  token_.clear();
}

// If the new settings have no user, waiting calls continue at once. Otherwise they continue when
// the new user's token arrives.
void Access::change_user(bool has_user) {
  has_user_ = has_user;
  is_ready_ = !has_user;
  token_.clear();
  if (is_ready_) release_all(std::nullopt);
}

// Each runs from a timer of its own and not from this loop, because any of them may destroy the
// client.
void Access::release_all(const std::optional<Failure>& failure) {
  for (auto& [id, waiting] : waiting_) {
    executor_.cancel_timer(waiting.timer);
    waiting.timer = executor_.after(0, [this, wait = id, failure] { release(wait, failure); });
  }
}

void Access::release(WaitId wait, std::optional<Failure> failure) {
  const auto found = waiting_.find(wait);
  CHECK(found != waiting_.end());
  const Go go = std::move(found->second.go);
  waiting_.erase(found);
  go(std::move(failure));
}

}  // namespace perennial::store::etcd
