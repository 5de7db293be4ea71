#include "store/cluster/cluster_log.h"

#include <algorithm>
#include <future>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "engine/types/check.h"
#include "store/batch/batch_codec.h"

namespace perennial::store::cluster {
namespace {

// How often the local log is asked what it has synced, which it does not report by itself.
constexpr Nanos refresh_interval = 100 * nanos_per_ms;

}  // namespace

ClusterLog::ClusterLog(Store& store, etcd::Executor& executor, Links links)
    : store_(store),
      executor_(executor),
      links_(std::move(links)),
      added_(store.opening().last_index),
      given_(store.opening().last_index),
      local_(store, [this] { executor_.post([this] { on_local(); }); }) {
  CHECK(store.options().durability == Durability::Interval);
  update_ = local_.collect();
  executor_.post([this] { refresh_later(); });
}

ClusterLog::~ClusterLog() = default;

void ClusterLog::add_entry(BatchIndex index, std::string bytes) {
  if (is_damaged_) return;
  Step step = {.batch = {}, .entry = std::move(bytes), .checkpoint = {}};
  // The batch points into step.entry, and `step` is moved below. That is safe: moving a string
  // moves no bytes unless it is short enough to be stored inside, and an entry never is.
  Result<Batch> batch = decode_batch(step.entry);
  const Status good = batch.ok() ? check(*batch, index) : batch.take_status();
  if (!good.ok()) {
    is_damaged_ = true;
    return links_.damaged(Status(good).with(fmt::format("entry {} of the log in etcd", index)));
  }
  epoch_ = batch->epoch();
  added_ = index;
  links_.heard(batch->now(), batch->epoch());
  step.batch = batch.take();
  step.index = index;
  add_step(std::move(step));
  pump();
}

// `step` has a batch. Checkpoints that wait for this batch follow it.
void ClusterLog::add_step(Step step) {
  const BatchIndex index = step.index;
  steps_.push_back(std::move(step));
  for (auto at = awaited_.begin(); at != awaited_.end();) {
    if (at->index != index) {
      ++at;
      continue;
    }
    steps_.push_back({.batch = {},
                      .entry = {},
                      .checkpoint = std::move(at->dir),
                      .done = std::move(at->done),
                      .index = index});
    at = awaited_.erase(at);
  }
}

Status ClusterLog::check(const Batch& batch, BatchIndex index) const {
  if (batch.index() != index) {
    return {StatusCode::Corruption, fmt::format("it holds batch {}", batch.index())};
  }
  if (index != added_ + 1) {
    return {StatusCode::Corruption, fmt::format("the batch before it is {}", added_)};
  }
  if (batch.epoch() < epoch_) {
    return {
        StatusCode::Corruption,
        fmt::format("its epoch is {}, and that of the entry before it {}", batch.epoch(), epoch_)};
  }
  return {};
}

Appended ClusterLog::append(Batch&& batch) {
  CHECK(batch.index() != 0);
  CHECK(idle());
  under_way_.fetch_add(1, std::memory_order_relaxed);
  std::string bytes;
  bytes.reserve(batch.bytes());
  encode_batch(batch, bytes);
  executor_.post([this, sent = std::move(batch), encoded = std::move(bytes)]() mutable {
    CHECK(!sent_);
    const BatchIndex index = sent.index();
    sent_ = std::move(sent);
    sent_at_ = executor_.now();
    links_.append(index, std::move(encoded));
  });
  return Appended::UnderWay;
}

void ClusterLog::on_committed(BatchIndex index) {
  CHECK(sent_ && sent_->index() == index);
  CHECK(index == added_ + 1);
  added_ = index;
  add_step({.batch = std::move(*sent_), .entry = {}, .checkpoint = {}, .index = index});
  sent_.reset();
  if (!checkpoint_after_sent_.empty()) {
    steps_.push_back({.batch = {},
                      .entry = {},
                      .checkpoint = std::exchange(checkpoint_after_sent_, {}),
                      .index = index});
  }
  {
    const std::lock_guard lock(mutex_);
    update_.indices.committed = index;
    update_.took = executor_.now() - sent_at_;
  }
  under_way_.fetch_sub(1, std::memory_order_release);
  pump();
  links_.wake();
}

void ClusterLog::set_puts(Puts puts) {
  {
    const std::lock_guard lock(mutex_);
    puts_ = puts;
  }
  links_.wake();
}

void ClusterLog::set_waits(bool waits) {
  {
    const std::lock_guard lock(mutex_);
    waits_ = waits;
  }
  links_.wake();
}

void ClusterLog::checkpoint(std::string dir) {
  under_way_.fetch_add(1, std::memory_order_relaxed);
  executor_.post([this, dir = std::move(dir)]() mutable {
    if (sent_) {
      checkpoint_after_sent_ = std::move(dir);
    } else {
      steps_.push_back({.batch = {}, .entry = {}, .checkpoint = std::move(dir), .index = added_});
      pump();
    }
  });
}

void ClusterLog::checkpoint_at(BatchIndex index, std::string dir, CheckpointDone done) {
  executor_.post([this, index, dir = std::move(dir), done = std::move(done)]() mutable {
    const BatchIndex at = index == 0 ? added_ : index;
    place_checkpoint({.index = at, .dir = std::move(dir), .done = std::move(done)});
  });
}

void ClusterLog::place_checkpoint(Awaited checkpoint) {
  const BatchIndex index = checkpoint.index;
  if (index > added_) return awaited_.push_back(std::move(checkpoint));
  if (index < given_) {
    return checkpoint.done(
        Status(StatusCode::InvalidArgument,
               fmt::format("batch {} has passed: the newest applied is {}", index, given_)));
  }
  // Its place is before the first batch that must not be in it.
  const auto place = std::ranges::find_if(
      steps_, [&](const Step& step) { return step.checkpoint.empty() && step.index > index; });
  steps_.insert(place, {.batch = {},
                        .entry = {},
                        .checkpoint = std::move(checkpoint.dir),
                        .done = std::move(checkpoint.done),
                        .index = index});
  pump();
}

Log::Update ClusterLog::collect() {
  const std::lock_guard lock(mutex_);
  Update out = {.indices = update_.indices,
                .took = update_.took,
                .batches = std::exchange(update_.batches, {}),
                .checkpoint = std::exchange(update_.checkpoint, std::nullopt),
                .store = update_.store};
  if (puts_ == Puts::Refused) out.store.accepts_puts = false;
  if (puts_ == Puts::Held) out.store.write_stalled = true;
  const bool is_behind = puts_ == Puts::Held || waits_;
  if (is_behind && out.store.facts.state == "ok") out.store.facts.state = "behind";
  return out;
}

// Hands the next step to the local log, which takes one at a time. The result of a checkpoint is
// taken before anything follows it.
void ClusterLog::pump() {
  if (steps_.empty() || !local_.idle()) return;
  if (!applying_.empty() && !applying_.back().checkpoint.empty()) return;  // Not collected yet.
  applying_.push_back(std::move(steps_.front()));
  steps_.pop_front();
  Step& step = applying_.back();
  if (!step.checkpoint.empty()) return local_.checkpoint(step.checkpoint);
  BatchPlace place = step.batch.place();
  place.epoch = store_.opening().epoch;
  place.known_durable = std::min(update_.indices.durable, place.index - 1);
  step.batch.reseal(place);
  given_ = step.index;
  const Appended appended = local_.append(std::move(step.batch));
  if (appended == Appended::Done) executor_.post([this] { on_local(); });
}

void ClusterLog::on_local() {
  take_progress();
  pump();
  links_.wake();
  if (on_drained_ && is_drained()) std::exchange(on_drained_, nullptr)();
}

void ClusterLog::take_progress() {
  std::optional<CheckpointCreated> created;
  Update seen = local_.collect();
  const LogIndices indices = seen.indices;
  {
    const std::lock_guard lock(mutex_);
    update_.indices.applied = indices.applied;
    update_.indices.durable = indices.durable;
    update_.indices.committed = std::max(update_.indices.committed, indices.applied);
    update_.store = seen.store;
    for (Batch& batch : seen.batches) {
      CHECK(!applying_.empty());
      CHECK(applying_.front().checkpoint.empty());
      // The server takes back its own batches only.
      if (applying_.front().entry.empty()) update_.batches.push_back(std::move(batch));
      applying_.pop_front();
    }
    created = std::move(seen.checkpoint);
  }
  if (created) finish_checkpoint(*std::move(created));
  links_.progress(indices.applied, indices.durable);
  links_.space(seen.store.accepts_puts);
  if (disk_is_damaged_) return;
  const std::string damage = store_.damage();
  disk_is_damaged_ = !damage.empty();
  if (disk_is_damaged_) links_.disk_damaged(damage);
}

void ClusterLog::finish_checkpoint(CheckpointCreated created) {
  CHECK(!applying_.empty());
  CHECK(!applying_.front().checkpoint.empty());
  const Step step = std::move(applying_.front());
  applying_.pop_front();
  if (step.done == nullptr) {
    const std::lock_guard lock(mutex_);
    update_.checkpoint = std::move(created);
    under_way_.fetch_sub(1, std::memory_order_release);
    return;
  }
  if (created.status.ok()) return step.done(step.index);
  step.done(std::move(created.status));
}

void ClusterLog::refresh_later() {
  executor_.after(refresh_interval, [this] {
    take_progress();
    refresh_later();
  });
}

void ClusterLog::stop() {
  run_and_wait([this](std::function<void()> done) {
    for (Awaited& checkpoint : std::exchange(awaited_, {})) {
      checkpoint.done(Status(StatusCode::Io, "the log ends before the batch"));
    }
    if (is_drained()) return done();
    on_drained_ = std::move(done);
  });
  local_.stop();
  run_and_wait([this](const std::function<void()>& done) {
    take_progress();
    done();
  });
}

// Waits until `work`, on the executor's thread, calls what it is given.
void ClusterLog::run_and_wait(const std::function<void(std::function<void()>)>& work) {
  std::promise<void> done;
  executor_.post([&] { work([&done] { done.set_value(); }); });
  done.get_future().wait();
}

}  // namespace perennial::store::cluster
