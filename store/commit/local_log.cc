#include "store/commit/local_log.h"

#include <optional>
#include <utility>
#include <variant>

#include "engine/types/check.h"

namespace perennial::store {
namespace {

// How often the file that says how far the log is synced is synced itself.
constexpr Nanos mark_interval = nanos_per_second;
// A batch of more bytes is not written in no time.
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
      state_(store.options(), store.opening().last_index),
      stats_(store.options()),
      watch_(store),
      housekeeper_(store) {
  refresh_stats(store.options().steady_clock());
  stats_.set_state(watch_.seen().state);
  news_.indices = state_.indices();
  news_.store = {
      .facts = stats_.facts(), .room = watch_.seen().room, .behind = watch_.seen().behind};
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

void LocalLog::cut(std::string dir) {
  queue_.push(LogQueue::Cut{std::move(dir)});
}

bool LocalLog::commit_here(Batch& batch) {
  if (!state_.always_syncs()) return false;
  if (batch.bytes() > quick_bytes_max || batch.operations() > small_batch_operations_max)
    return false;
  const std::unique_lock writing(writing_, std::try_to_lock);  // It may be looking at the room.
  if (!writing.owns_lock() || !quick_syncs_.may_wait() || watch_.is_due()) return false;
  commit(batch);
  if (store_.failed()) queue_.block();
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
  queue_.stop();
  if (thread_.joinable()) thread_.join();
  housekeeper_.stop();
}

void LocalLog::run() {
  while (!store_.failed() && !queue_.ended()) {
    if (std::optional<LogQueue::Item> item = queue_.take(wait_max())) work(*item);
    sync_and_look();
  }
  const std::lock_guard writing(writing_);
  if (!state_.is_synced()) sync();
}

void LocalLog::sync_and_look() {
  const std::lock_guard writing(writing_);
  if (state_.is_due(store_.options().steady_clock())) sync();
  if (watch_.is_due()) look_around();
  if (store_.options().steady_clock() >= mark_due_) sync_durable_mark();
}

void LocalLog::work(LogQueue::Item& item) {
  {
    const std::lock_guard writing(writing_);
    if (auto* const batch = std::get_if<Batch>(&item)) {
      commit(*batch);
    } else {
      make_cut(std::get<LogQueue::Cut>(item).dir);
    }
  }
  if (store_.failed()) return;  // Then nothing more is said, and it is never idle again.
  queue_.done();
  wake_();
}

Nanos LocalLog::wait_max() const {
  // In the mode in which a sync falls due the thread is alone with these figures.
  return state_.left(store_.options().steady_clock(), watch_.interval());
}

void LocalLog::commit(Batch& batch) {
  const Working working(progress_);
  const Nanos begun = store_.options().steady_clock();
  const bool with_sync = state_.must_sync(batch);
  if (!store_.write(batch, with_sync).ok()) return;  // The store has reported it.
  const Nanos ended = store_.options().steady_clock();
  state_.on_written(batch.index(), ended);
  if (with_sync) {
    state_.on_synced();
    note_sync(ended - begun);
  }
  stats_.on_batch(batch);
  if (stats_.is_due(ended)) refresh_stats(ended);
  if (DiskWatch::is_much(batch.bytes())) look_around();
  publish(batch, with_sync ? ended - begun : 0);
}

void LocalLog::make_cut(const std::string& dir) {
  if (!state_.is_synced()) sync();
  if (store_.failed()) return;  // The store has reported it.
  const Working working(progress_);
  const Nanos begun = store_.options().steady_clock();
  CutDone cut = {.status = store_.cut_checkpoint(dir)};
  cut.took = store_.options().steady_clock() - begun;
  const std::lock_guard lock(mutex_);
  if (store_.failed()) return;
  news_.cut = std::move(cut);
}

void LocalLog::sync() {
  const Working working(progress_);
  const Nanos begun = store_.options().steady_clock();
  if (!store_.sync().ok()) return;  // The store has reported it.
  state_.on_synced();
  note_sync(store_.options().steady_clock() - begun);
  const std::lock_guard lock(mutex_);
  news_.indices.durable = state_.indices().durable;
}

void LocalLog::look_around() {
  const Working working(progress_);
  if (!watch_.look()) return;
  const DiskSeen& seen = watch_.seen();
  stats_.set_state(seen.state);
  {
    const std::lock_guard lock(mutex_);
    news_.store.facts.state = seen.state;
    news_.store.room = seen.room;
    news_.store.behind = seen.behind;
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
  stats_.on_sync(took);
  quick_syncs_.add(took);
}

void LocalLog::publish(Batch& batch, Nanos took) {
  const std::lock_guard lock(mutex_);
  if (store_.failed()) return;  // In the background, meanwhile: then nothing may be answered.
  news_.indices = state_.indices();
  news_.took = took;
  news_.store.facts = stats_.facts();
  news_.batches.push_back(std::move(batch));
}

void LocalLog::refresh_stats(Nanos now) {
  stats_.refresh(now, {.oldest_index = housekeeper_.log_oldest_index(),
                       .newest_index = housekeeper_.log_newest_index()});
}

}  // namespace perennial::store
