#include "store/committer.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "engine/types/check.h"

namespace perennial::store {
namespace {

// How often the costlier figures are worked out anew.
constexpr Nanos facts_interval = nanos_per_second;

}  // namespace

Committer::Committer(Store& store, std::function<void()> wake)
    : store_(store),
      wake_(std::move(wake)),
      written_(store.opening().last_index),
      synced_(store.opening().last_index),
      housekeeper_(store) {
  facts_.log_bytes_max = store.options().log_bytes_max;
  facts_.durability = durability_name(store.options().durability);
  facts_.state = "ok";
  done_.answerable = done_.durable = written_;
  refresh_facts();
  done_.facts = facts_;
  housekeeper_.start();
  thread_ = std::thread([this] { run(); });
}

void Committer::submit(Batch&& batch) {
  CHECK(idle());
  CHECK(batch.index() != 0);
  idle_.store(false, std::memory_order_release);
  {
    const std::lock_guard lock(mutex_);
    CHECK(!stopping_);
    submitted_.emplace(std::move(batch));
  }
  changed_.notify_one();
}

Committer::Done Committer::collect() {
  const std::lock_guard lock(mutex_);
  Done news = {.answerable = done_.answerable,
               .durable = done_.durable,
               .batches = std::exchange(done_.batches, {}),
               .facts = done_.facts};
  return news;
}

void Committer::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_one();
  if (thread_.joinable()) thread_.join();
  housekeeper_.stop();
}

void Committer::run() {
  std::unique_lock lock(mutex_);
  while (!store_.failed()) {
    if (submitted_) {
      Batch batch = *std::exchange(submitted_, std::nullopt);
      lock.unlock();
      commit(std::move(batch));
      lock.lock();
    } else if (stopping_) {
      break;
    } else if (written_ == synced_ || store_.options().durability != Durability::Interval) {
      changed_.wait(lock, [this] { return submitted_ || stopping_; });
    } else {
      const Nanos left = std::max<Nanos>(sync_due_ - store_.options().steady_clock(), 0);
      changed_.wait_for(lock, std::chrono::nanoseconds(left),
                        [this] { return submitted_ || stopping_; });
    }
    if (sync_is_due()) {
      lock.unlock();
      sync();
      lock.lock();
    }
  }
  lock.unlock();
  if (written_ > synced_) sync();
}

bool Committer::must_sync(const Batch& batch) const {
  return batch.must_sync() || store_.options().durability == Durability::Commit;
}

void Committer::commit(Batch batch) {
  const Nanos begun = store_.options().steady_clock();
  const bool with_sync = must_sync(batch);
  if (!store_.write(batch, with_sync).ok()) return;  // The store has reported it.
  const Nanos ended = store_.options().steady_clock();
  if (written_ == synced_) sync_due_ = ended + store_.options().sync_interval_ms * nanos_per_ms;
  written_ = std::max(written_, batch.index());
  if (with_sync) {
    synced_ = written_;
    sync_us_.add(static_cast<uint64_t>(ended - begun) / 1000);
  }
  batch_jobs_.add(batch.jobs().size());
  facts_.records_written += batch.transitions();
  if (ended >= facts_due_) refresh_facts();
  publish(std::move(batch));
}

bool Committer::sync_is_due() const {
  return store_.options().durability == Durability::Interval && written_ > synced_ &&
         store_.options().steady_clock() >= sync_due_;
}

void Committer::sync() {
  const Nanos begun = store_.options().steady_clock();
  if (!store_.sync().ok()) return;  // The store has reported it.
  synced_ = written_;
  sync_us_.add(static_cast<uint64_t>(store_.options().steady_clock() - begun) / 1000);
  const std::lock_guard lock(mutex_);
  done_.durable = synced_;
}

void Committer::publish(Batch batch) {
  {
    const std::lock_guard lock(mutex_);
    if (store_.failed()) return;  // In the background, meanwhile: then nothing may be answered.
    done_.answerable = written_;
    done_.durable = synced_;
    done_.facts = facts_;
    done_.batches.push_back(std::move(batch));
  }
  idle_.store(true, std::memory_order_release);
  wake_();
}

void Committer::refresh_facts() {
  facts_due_ = store_.options().steady_clock() + facts_interval;
  facts_.log_oldest_index = housekeeper_.log_oldest_index();
  facts_.log_current_index = housekeeper_.log_newest_index();
  facts_.sync_us_p99 = sync_us_.p99();
  facts_.batch_jobs_mean = batch_jobs_.mean();
}

}  // namespace perennial::store
