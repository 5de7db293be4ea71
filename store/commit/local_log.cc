#include "store/commit/local_log.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "engine/types/check.h"

namespace perennial::store {
namespace {

// How often the costlier figures are worked out anew.
constexpr Nanos facts_interval = nanos_per_second;
// How often the free room and what is to be flushed are read, at least; after how much that was
// written; and how often while puts wait for it.
constexpr Nanos look_interval = nanos_per_second;
constexpr uint64_t look_bytes = 4 << 20;
constexpr Nanos look_interval_behind = 10 * nanos_per_ms;
// How often the file that says how far the log is synced is synced itself.
constexpr Nanos mark_interval = nanos_per_second;
// A loop may wait for a sync itself after so many in a row that took no longer than this, with a
// batch that is written in no time.
constexpr Nanos quick_sync = nanos_per_ms;
constexpr unsigned quick_syncs_min = 16;
constexpr size_t quick_bytes_max = 64 << 10;

// Counts up at both ends of a piece of work.
class Working {
 public:
  explicit Working(std::atomic<uint64_t>& progress) : progress_(progress) { ++progress_; }
  ~Working() { ++progress_; }
  Working(const Working&) = delete;
  Working& operator=(const Working&) = delete;

 private:
  std::atomic<uint64_t>& progress_;
};

}  // namespace

LocalLog::LocalLog(Store& store, std::function<void()> wake)
    : store_(store),
      wake_(std::move(wake)),
      written_(store.opening().last_index),
      synced_(store.opening().last_index),
      housekeeper_(store) {
  facts_.log_bytes_max = store.options().log_bytes_max;
  facts_.durability = durability_name(store.options().durability);
  facts_.state = room_state_name(store.room());
  news_.indices = {.committed = written_, .applied = written_, .durable = written_};
  refresh_facts();
  news_.store = {.facts = facts_, .room = store.room() == RoomState::Ok};
  housekeeper_.start();
  thread_ = std::thread([this] { run(); });
}

Appended LocalLog::append(Batch&& batch) {
  CHECK(batch.index() != 0);
  CHECK(idle());
  if (commit_here(batch)) return Appended::Done;
  submit(submitted_, std::move(batch));
  return Appended::UnderWay;
}

void LocalLog::cut(std::string dir) {
  submit(cut_dir_, std::move(dir));
}

template <typename Work>
void LocalLog::submit(std::optional<Work>& place, Work work) {
  CHECK(idle());
  idle_.store(false, std::memory_order_release);
  {
    const std::lock_guard lock(mutex_);
    CHECK(!stopping_);
    place.emplace(std::move(work));
  }
  changed_.notify_one();
}

bool LocalLog::commit_here(Batch& batch) {
  if (store_.options().durability != Durability::Commit) return false;
  if (batch.bytes() > quick_bytes_max || batch.operations() > small_batch_operations_max)
    return false;
  const std::unique_lock writing(writing_, std::try_to_lock);  // It may be looking at the room.
  if (!writing.owns_lock() || quick_syncs_ < quick_syncs_min || look_is_due()) return false;
  commit(std::move(batch));
  if (store_.failed()) idle_.store(false, std::memory_order_release);
  return true;
}

Log::News LocalLog::collect() {
  const std::lock_guard lock(mutex_);
  return {.indices = news_.indices,
          .took = news_.took,
          .batches = std::exchange(news_.batches, {}),
          .cut = std::exchange(news_.cut, std::nullopt),
          .store = news_.store};
}

void LocalLog::end() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_one();
  if (thread_.joinable()) thread_.join();
  housekeeper_.stop();
}

void LocalLog::run() {
  std::unique_lock lock(mutex_);
  while (!store_.failed() && (submitted_ || cut_dir_ || !stopping_)) {
    if (submitted_ || cut_dir_) {
      work(lock);
    } else {
      wait(lock);
    }
    lock.unlock();
    sync_and_look();
    lock.lock();
  }
  lock.unlock();
  const std::lock_guard writing(writing_);
  if (written_ > synced_) sync();
}

void LocalLog::sync_and_look() {
  const std::lock_guard writing(writing_);
  if (sync_is_due()) sync();
  if (look_is_due()) look_around();
  if (store_.options().steady_clock() >= mark_due_) sync_durable_mark();
}

void LocalLog::work(std::unique_lock<std::mutex>& lock) {
  std::optional<Batch> batch = std::exchange(submitted_, std::nullopt);
  const std::optional<std::string> dir = std::exchange(cut_dir_, std::nullopt);
  lock.unlock();
  {
    const std::lock_guard writing(writing_);
    if (batch) commit(std::move(*batch));
    if (dir) make_cut(*dir);
  }
  if (!store_.failed()) {  // Else nothing more is said, and it is never idle again.
    idle_.store(true, std::memory_order_release);
    wake_();
  }
  lock.lock();
}

void LocalLog::wait(std::unique_lock<std::mutex>& lock) {
  Nanos left = store_.behind() ? look_interval_behind : look_interval;
  // Only in this mode is the thread alone with these figures.
  if (store_.options().durability == Durability::Interval && written_ > synced_) {
    left = std::clamp<Nanos>(sync_due_ - store_.options().steady_clock(), 0, left);
  }
  changed_.wait_for(lock, std::chrono::nanoseconds(left),
                    [this] { return submitted_ || cut_dir_ || stopping_; });
}

bool LocalLog::must_sync(const Batch& batch) const {
  return batch.must_sync() || store_.options().durability == Durability::Commit;
}

void LocalLog::commit(Batch batch) {
  const Working working(progress_);
  const Nanos begun = store_.options().steady_clock();
  const bool with_sync = must_sync(batch);
  if (!store_.write(batch, with_sync).ok()) return;  // The store has reported it.
  const Nanos ended = store_.options().steady_clock();
  if (written_ == synced_) sync_due_ = ended + store_.options().sync_interval_ms * nanos_per_ms;
  written_ = std::max(written_, batch.index());
  if (with_sync) {
    synced_ = written_;
    note_sync(ended - begun);
  }
  batch_jobs_.add(batch.jobs().size());
  facts_.records_written += batch.transitions();
  if (ended >= facts_due_) refresh_facts();
  // Before anybody is told that it is written: what it took is no longer on its way then.
  if (batch.bytes() >= look_bytes) look_around();
  publish(std::move(batch), with_sync ? ended - begun : 0);
}

void LocalLog::make_cut(const std::string& dir) {
  if (written_ > synced_) sync();
  if (store_.failed()) return;  // The store has reported it.
  const Working working(progress_);
  const Nanos begun = store_.options().steady_clock();
  CutDone cut = {.status = store_.cut_checkpoint(dir)};
  cut.took = store_.options().steady_clock() - begun;
  const std::lock_guard lock(mutex_);
  if (store_.failed()) return;
  news_.cut = std::move(cut);
}

bool LocalLog::sync_is_due() const {
  return store_.options().durability == Durability::Interval && written_ > synced_ &&
         store_.options().steady_clock() >= sync_due_;
}

void LocalLog::sync() {
  const Working working(progress_);
  const Nanos begun = store_.options().steady_clock();
  if (!store_.sync().ok()) return;  // The store has reported it.
  synced_ = written_;
  note_sync(store_.options().steady_clock() - begun);
  const std::lock_guard lock(mutex_);
  news_.indices.durable = synced_;
}

// On a small disk after less, so that the low-water mark is not overrun.
bool LocalLog::look_is_due() const {
  const Options& options = store_.options();
  const uint64_t bytes =
      options.low_water_bytes == 0 ? look_bytes : std::min(look_bytes, options.low_water_bytes / 8);
  return options.steady_clock() >= look_due_ || store_.bytes_written() - looked_at_bytes_ >= bytes;
}

void LocalLog::look_around() {
  const Working working(progress_);
  const auto state = [this] { return std::pair(store_.room(), store_.behind()); };
  const auto before = state();
  if (!store_.look_at_room().ok()) return;
  store_.look_at_debt();
  const bool behind = store_.behind();
  look_due_ = store_.options().steady_clock() + (behind ? look_interval_behind : look_interval);
  looked_at_bytes_ = store_.bytes_written();
  if (state() == before) return;
  const bool room = store_.room() == RoomState::Ok;
  facts_.state = room && behind ? "behind" : room_state_name(store_.room());
  {
    const std::lock_guard lock(mutex_);
    news_.store.facts.state = facts_.state;
    news_.store.room = room;
    news_.store.behind = behind;
  }
  wake_();
}

void LocalLog::sync_durable_mark() {
  const Working working(progress_);
  mark_due_ = store_.options().steady_clock() + mark_interval;
  // A failure ends the process: the store has reported it.
  if (store_.note_durable().ok()) ignore(store_.sync_durable_mark(), "the store has reported it");
}

void LocalLog::note_sync(Nanos took) {
  sync_us_.add(static_cast<uint64_t>(took) / 1000);
  quick_syncs_ = took <= quick_sync ? quick_syncs_ + 1 : 0;
}

void LocalLog::publish(Batch batch, Nanos took) {
  const std::lock_guard lock(mutex_);
  if (store_.failed()) return;  // In the background, meanwhile: then nothing may be answered.
  news_.indices = {.committed = written_, .applied = written_, .durable = synced_};
  news_.took = took;
  news_.store.facts = facts_;
  news_.batches.push_back(std::move(batch));
}

void LocalLog::refresh_facts() {
  facts_due_ = store_.options().steady_clock() + facts_interval;
  facts_.log_oldest_index = housekeeper_.log_oldest_index();
  facts_.log_current_index = housekeeper_.log_newest_index();
  facts_.sync_us_p99 = sync_us_.p99();
  facts_.batch_jobs_mean = batch_jobs_.mean();
}

}  // namespace perennial::store
