#include "store/commit/local_log.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <variant>

#include "engine/types/check.h"

namespace perennial::store {
namespace {

// How often the durable mark is synced.
constexpr Nanos mark_interval = nanos_per_second;
// The loop's thread does not write a batch with more bytes itself.
constexpr size_t quick_bytes_max = 64 << 10;

// Counts up at the beginning and at the end of a piece of work, for the watchdog.
class WorkMarker {
 public:
  explicit WorkMarker(std::atomic<uint64_t>& progress) : progress_(progress) { ++progress_; }
  ~WorkMarker() { ++progress_; }
  WorkMarker(const WorkMarker&) = delete;
  WorkMarker& operator=(const WorkMarker&) = delete;

 private:
  std::atomic<uint64_t>& progress_;
};

}  // namespace

LocalLog::LocalLog(Store& store, std::function<void()> wake)
    : store_(store),
      wake_(std::move(wake)),
      state_(store.options(), store.opening().last_index),
      stats_(store.options()),
      watch_(store),
      housekeeper_(store) {
  refresh_stats(store.options().steady_clock());
  stats_.set_state(watch_.seen().state);
  update_.indices = state_.indices();
  update_.store = {.facts = stats_.facts(),
                   .accepts_puts = watch_.seen().accepts_puts,
                   .write_stalled = watch_.seen().write_stalled};
  housekeeper_.start();
  thread_ = std::thread([this] { run(); });
}

Appended LocalLog::append(Batch&& batch) {
  CHECK(batch.index() != 0);
  CHECK(idle());
  if (commit_here(batch)) return Appended::Done;
  queue_.push(std::move(batch));
  return Appended::UnderWay;
}

void LocalLog::checkpoint(std::string dir) {
  queue_.push(LogQueue::CheckpointItem{std::move(dir)});
}

bool LocalLog::commit_here(Batch& batch) {
  const size_t operations_max =
      std::min(small_batch_operations_max, store_.options().caller_operations_max);
  if (batch.bytes() > quick_bytes_max || batch.operations() > operations_max) return false;
  // The lock is only tried: the committer may be polling the disk, and the loop must not wait for
  // it.
  const std::unique_lock writing(writing_, std::try_to_lock);
  if (!writing.owns_lock() || !quick_commits_.may_wait() || watch_.is_due()) return false;
  // In a mode that syncs few batches, how long the others took says nothing of this one.
  if (state_.must_sync(batch) != state_.always_syncs()) return false;
  // From the first batch after a sync the committer learns when the next sync is due.
  if (state_.begins_interval()) return false;
  commit(batch);
  if (store_.failed()) queue_.block();
  return true;
}

Log::Update LocalLog::collect() {
  const std::lock_guard lock(mutex_);
  return {.indices = update_.indices,
          .took = update_.took,
          .batches = std::exchange(update_.batches, {}),
          .checkpoint = std::exchange(update_.checkpoint, std::nullopt),
          .store = update_.store};
}

void LocalLog::end() {
  queue_.stop();
  if (thread_.joinable()) thread_.join();
  housekeeper_.stop();
}

void LocalLog::run() {
  while (!store_.failed() && !queue_.ended()) {
    if (std::optional<LogQueue::Item> item = queue_.take(wait_max())) work(*item);
    sync_and_poll();
  }
  const std::lock_guard writing(writing_);
  if (!state_.is_synced()) sync();
}

void LocalLog::sync_and_poll() {
  const std::lock_guard writing(writing_);
  if (state_.is_due(store_.options().steady_clock())) sync();
  if (watch_.is_due()) poll_disk_state();
  if (store_.options().steady_clock() >= mark_due_) sync_durable_mark();
}

void LocalLog::work(LogQueue::Item& item) {
  {
    const std::lock_guard writing(writing_);
    if (auto* const batch = std::get_if<Batch>(&item)) {
      commit(*batch);
    } else {
      create_checkpoint(std::get<LogQueue::CheckpointItem>(item).dir);
    }
  }
  if (store_.failed()) return;  // The log reports nothing more and is never idle again.
  queue_.done();
  wake_();
}

Nanos LocalLog::wait_max() {
  const std::lock_guard writing(writing_);
  return state_.left(store_.options().steady_clock(), watch_.interval());
}

void LocalLog::commit(Batch& batch) {
  const WorkMarker marker(progress_);
  const Nanos begun = store_.options().steady_clock();
  const bool with_sync = state_.must_sync(batch);
  if (!store_.write(batch, with_sync).ok()) return;  // The store has reported it.
  const Nanos ended = store_.options().steady_clock();
  state_.on_written(batch.index(), ended);
  if (with_sync) {
    state_.on_synced();
    stats_.on_sync(ended - begun);
  }
  quick_commits_.add(ended - begun);
  stats_.on_batch(batch);
  if (stats_.is_due(ended)) refresh_stats(ended);
  if (DiskWatch::is_much(batch.bytes())) poll_disk_state();
  publish(batch, with_sync ? ended - begun : 0);
}

// The log is synced first, so that a checkpoint never holds a batch that a power cut could still
// remove from the store.
void LocalLog::create_checkpoint(const std::string& dir) {
  if (!state_.is_synced()) sync();
  if (store_.failed()) return;  // The store has reported it.
  const WorkMarker marker(progress_);
  const Nanos begun = store_.options().steady_clock();
  CheckpointCreated created = {.status = store_.create_checkpoint(dir)};
  created.took = store_.options().steady_clock() - begun;
  const std::lock_guard lock(mutex_);
  if (store_.failed()) return;
  update_.checkpoint = std::move(created);
}

void LocalLog::sync() {
  const WorkMarker marker(progress_);
  const Nanos begun = store_.options().steady_clock();
  if (!store_.sync().ok()) return;  // The store has reported it.
  state_.on_synced();
  stats_.on_sync(store_.options().steady_clock() - begun);
  const std::lock_guard lock(mutex_);
  update_.indices.durable = state_.indices().durable;
  update_.store.facts.batches.syncs = stats_.facts().batches.syncs;
}

void LocalLog::poll_disk_state() {
  const WorkMarker marker(progress_);
  if (!watch_.poll()) return;
  const DiskSeen& seen = watch_.seen();
  stats_.set_state(seen.state);
  {
    const std::lock_guard lock(mutex_);
    update_.store.facts.state = seen.state;
    update_.store.accepts_puts = seen.accepts_puts;
    update_.store.write_stalled = seen.write_stalled;
  }
  wake_();
}

void LocalLog::sync_durable_mark() {
  const WorkMarker marker(progress_);
  mark_due_ = store_.options().steady_clock() + mark_interval;
  // A failure ends the process, and the store has reported it.
  if (store_.note_durable().ok()) ignore(store_.sync_durable_mark(), "the store has reported it");
}

void LocalLog::publish(Batch& batch, Nanos took) {
  const std::lock_guard lock(mutex_);
  // RocksDB may have failed in the background meanwhile. No reply may leave then.
  if (store_.failed()) return;
  update_.indices = state_.indices();
  update_.took = took;
  update_.store.facts = stats_.facts();
  update_.batches.push_back(std::move(batch));
}

void LocalLog::refresh_stats(Nanos now) {
  stats_.refresh(now, {.oldest_index = housekeeper_.log_oldest_index(),
                       .newest_index = housekeeper_.log_newest_index()});
}

}  // namespace perennial::store
