#include "store/cluster/lease.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "engine/types/check.h"
#include "store/cluster/timing.h"

namespace perennial::store::cluster {

Lease::Lease(etcd::Executor& executor, etcd::Client& client, int64_t lease_s, Events events)
    : executor_(executor), client_(client), lease_s_(lease_s), events_(std::move(events)) {}

void Lease::start() {
  CHECK(id_ == 0);
  ++generation_;
  grant();
}

void Lease::revoke(std::function<void()> done) {
  if (id_ == 0) return done();
  client_.revoke(id_, executor_.now() + call_timeout,
                 [done = std::move(done)](const auto&) { done(); });
  ++generation_;
  id_ = 0;
  held_until_ = 0;
}

void Lease::grant() {
  const Nanos asked_at = executor_.now();
  client_.grant(lease_s_, executor_.now() + call_timeout,
                [this, asked_at, generation = generation_](const auto& outcome) {
                  if (generation != generation_) return;
                  if (const auto* failure = std::get_if<etcd::Failure>(&outcome)) {
                    // etcd may have granted a lease all the same. One without keys harms nobody,
                    // and expires.
                    events_.failed(*failure);
                    return after(retry_delay, &Lease::grant);
                  }
                  const auto& granted = std::get<etcd::LeaseGranted>(outcome);
                  id_ = granted.lease;
                  renew(asked_at, granted.ttl_s);
                  after(lease_s_ * nanos_per_second / 5, &Lease::keep_alive);
                  watch_end();
                  // watch_end() may have lost it already: this process was suspended meanwhile.
                  if (generation == generation_) events_.granted(id_);
                });
}

void Lease::keep_alive() {
  const Nanos asked_at = executor_.now();
  client_.keep_alive(id_, executor_.now() + call_timeout,
                     [this, asked_at, generation = generation_](const auto& outcome) {
                       if (generation == generation_) on_kept(asked_at, outcome);
                     });
}

void Lease::on_kept(Nanos asked_at, const etcd::Outcome<etcd::LeaseKept>& outcome) {
  if (const auto* failure = std::get_if<etcd::Failure>(&outcome)) {
    if (failure->error == etcd::CallError::LeaseNotFound) return lose("etcd has ended the lease");
    events_.failed(*failure);
    return after(retry_delay, &Lease::keep_alive);
  }
  renew(asked_at, std::get<etcd::LeaseKept>(outcome).ttl_s);
  after(lease_s_ * nanos_per_second / 5, &Lease::keep_alive);
}

void Lease::renew(Nanos asked_at, int64_t ttl_s) {
  // etcd may grant a longer lease than was asked for, never a shorter one. The shorter time is the
  // safe one to count with.
  const Nanos ttl = std::min(ttl_s, lease_s_) * nanos_per_second;
  held_until_ = std::max(held_until_.load(), asked_at + ttl - ttl / 5);
}

// Its timer fires at held_until() as that was when the timer was set. If the lease was renewed
// since, the timer is set again; otherwise the lease is lost.
void Lease::watch_end() {
  const Nanos left = held_until_ - executor_.now();
  if (left <= 0)
    return lose(fmt::format("etcd has not renewed the lease of {} s in time", lease_s_));
  after(left, &Lease::watch_end);
}

void Lease::lose(std::string why) {
  ++generation_;
  id_ = 0;
  held_until_ = 0;
  events_.lost(std::move(why));
}

void Lease::after(Nanos delay, void (Lease::*step)()) {
  executor_.after(delay, [this, step, generation = generation_] {
    if (generation == generation_) (this->*step)();
  });
}

}  // namespace perennial::store::cluster
