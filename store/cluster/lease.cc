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
  ++life_;
  grant();
}

void Lease::revoke(std::function<void()> done) {
  if (id_ == 0) return done();
  client_.revoke(id_, executor_.now() + call_timeout,
                 [done = std::move(done)](const auto&) { done(); });
  ++life_;
  id_ = 0;
  held_until_ = 0;
}

void Lease::grant() {
  const Nanos asked_at = executor_.now();
  client_.grant(lease_s_, executor_.now() + call_timeout,
                [this, asked_at, life = life_](const auto& outcome) {
                  if (life != life_) return;
                  if (const auto* failure = std::get_if<etcd::Failure>(&outcome)) {
                    // The grant may have happened. A lease without keys harms nobody, and ends by
                    // itself.
                    events_.failed(*failure);
                    return after(retry_delay, &Lease::grant);
                  }
                  const auto& granted = std::get<etcd::LeaseGranted>(outcome);
                  id_ = granted.lease;
                  renew(asked_at, granted.ttl_s);
                  after(lease_s_ * nanos_per_second / 5, &Lease::keep_alive);
                  watch_end();
                  // It is over already, if this process was stopped meanwhile.
                  if (life == life_) events_.granted(id_);
                });
}

void Lease::keep_alive() {
  const Nanos asked_at = executor_.now();
  client_.keep_alive(id_, executor_.now() + call_timeout,
                     [this, asked_at, life = life_](const auto& outcome) {
                       if (life == life_) on_kept(asked_at, outcome);
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
  // etcd may grant more than was asked for, and never counts with less.
  const Nanos ttl = std::min(ttl_s, lease_s_) * nanos_per_second;
  held_until_ = std::max(held_until_.load(), asked_at + ttl - ttl / 5);
}

// Fires when the lease would be over if nothing had renewed it since.
void Lease::watch_end() {
  const Nanos left = held_until_ - executor_.now();
  if (left <= 0)
    return lose(fmt::format("etcd has not renewed the lease of {} s in time", lease_s_));
  after(left, &Lease::watch_end);
}

void Lease::lose(std::string why) {
  ++life_;
  id_ = 0;
  held_until_ = 0;
  events_.lost(std::move(why));
}

void Lease::after(Nanos delay, void (Lease::*step)()) {
  executor_.after(delay, [this, step, life = life_] {
    if (life == life_) (this->*step)();
  });
}

}  // namespace perennial::store::cluster
