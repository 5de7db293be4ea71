#include "store/commit/housekeeper.h"

#include <chrono>

namespace perennial::store {
namespace {

constexpr std::chrono::seconds check_interval{1};
constexpr Nanos quiet_min = 5 * nanos_per_second;
// At most this many bytes written in quiet_min count as quiet.
constexpr uint64_t quiet_bytes_max = 1 << 20;
// A log of at most this many bytes is not flushed.
constexpr uint64_t log_bytes_kept = 8 << 20;

}  // namespace

Housekeeper::Housekeeper(Store& store)
    : store_(store), quiet_since_(store.options().steady_clock()) {
  tidied_at_ = quiet_since_;
  note_logs(store_.log_files());
}

void Housekeeper::start() {
  thread_ = std::thread([this] { run(); });
}

void Housekeeper::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  cancelled_ = true;
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Housekeeper::run() {
  std::unique_lock lock(mutex_);
  do {
    lock.unlock();
    poll(store_.options().steady_clock());
    lock.lock();
  } while (!changed_.wait_for(lock, check_interval, [this] { return stopping_; }));
}

void Housekeeper::poll(Nanos now) {
  const LogFiles logs = store_.log_files();
  note_logs(logs);
  store_.make_ballast();
  if (!store_.failed()) {
    store_.scrub(now);
    store_.repair_damage(cancelled_);
  }
  const uint64_t written = store_.bytes_written();
  if (!is_time(now, written)) return;
  // While disk space is scarce this repeats without new writes, because the last compaction may
  // have waited for free space.
  const bool is_needed = written != tidied_bytes_ || store_.is_scarce();
  if (is_needed && !store_.failed()) tidy(logs);
  quiet_since_ = tidied_at_ = now;
  quiet_from_bytes_ = tidied_bytes_ = written;
}

void Housekeeper::note_logs(const LogFiles& logs) {
  oldest_index_.store(logs.oldest_index, std::memory_order_relaxed);
  newest_index_.store(logs.newest_index, std::memory_order_relaxed);
}

// It is time when few bytes were written for quiet_min. While disk space is scarce, only the time
// counts.
bool Housekeeper::is_time(Nanos now, uint64_t written) {
  if (written - quiet_from_bytes_ > quiet_bytes_max) {
    quiet_since_ = now;
    quiet_from_bytes_ = written;
  }
  return now - (store_.is_scarce() ? tidied_at_ : quiet_since_) >= quiet_min;
}

// The store has already reported a failure of these calls, as for any background error.
void Housekeeper::tidy(const LogFiles& logs) {
  // A delete frees no space before its tombstone is in a table, so even a short log is flushed
  // while disk space is scarce. During a write stall there is no flush, because tables that wait
  // for compaction must not accumulate.
  const bool is_due = store_.is_scarce() || logs.bytes > log_bytes_kept;
  if (is_due && !store_.write_stalled() && !store_.flush().ok()) return;
  // This also runs with a short log, because RocksDB may just have flushed it.
  ignore(store_.compact_tombstones(cancelled_), "the store has reported it");
}

}  // namespace perennial::store
