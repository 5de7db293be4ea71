#include "store/commit/housekeeper.h"

#include <chrono>

namespace perennial::store {
namespace {

constexpr std::chrono::seconds look_interval{1};
constexpr Nanos quiet_min = 5 * nanos_per_second;
// Less than this in quiet_min counts as quiet.
constexpr uint64_t quiet_bytes_max = 1 << 20;
// A log that is no longer than this may stay.
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
    look(store_.options().steady_clock());
    lock.lock();
  } while (!changed_.wait_for(lock, look_interval, [this] { return stopping_; }));
}

void Housekeeper::look(Nanos now) {
  const LogFiles logs = store_.log_files();
  note_logs(logs);
  store_.make_ballast();
  const uint64_t written = store_.bytes_written();
  if (!is_time(now, written)) return;
  // While room is scarce again and again, because a compaction may have had to wait for room.
  const bool is_needed = written != tidied_bytes_ || store_.is_scarce();
  if (is_needed && !store_.failed()) tidy(logs);
  quiet_since_ = tidied_at_ = now;
  quiet_from_bytes_ = tidied_bytes_ = written;
}

void Housekeeper::note_logs(const LogFiles& logs) {
  oldest_index_.store(logs.oldest_index, std::memory_order_relaxed);
  newest_index_.store(logs.newest_index, std::memory_order_relaxed);
}

// When little is written; while room is scarce, however much is.
bool Housekeeper::is_time(Nanos now, uint64_t written) {
  if (written - quiet_from_bytes_ > quiet_bytes_max) {
    quiet_since_ = now;
    quiet_from_bytes_ = written;
  }
  return now - (store_.is_scarce() ? tidied_at_ : quiet_since_) >= quiet_min;
}

// What fails here has been reported by the store: it is a background error like any other.
void Housekeeper::tidy(const LogFiles& logs) {
  // While room is scarce every delete counts: it frees nothing before its tombstone is in a table.
  // But tables that cannot be compacted for now must not pile up.
  const bool is_due = store_.is_scarce() || logs.bytes > log_bytes_kept;
  if (is_due && !store_.behind() && !store_.flush().ok()) return;
  // Also when the log is short because RocksDB has flushed it by itself just before.
  ignore(store_.compact_tombstones(cancelled_), "the store has reported it");
}

}  // namespace perennial::store
