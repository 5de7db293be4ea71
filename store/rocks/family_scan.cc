#include "store/rocks/family_scan.h"

#include <utility>

#include "store/rocks/database.h"
#include "store/types/rocks_status.h"

namespace perennial::store {
namespace {

constexpr size_t chunk_rows = 4096;
constexpr size_t chunks_max = 8;

}  // namespace

FamilyScan::FamilyScan(const Database& db, JobState state)
    : db_(db), state_(state), thread_([this] { run(); }) {}

FamilyScan::~FamilyScan() {
  {
    const std::lock_guard lock(mutex_);
    cancelled_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

const JobRow* FamilyScan::peek() {
  if (position_ == current_.size() && !take_chunk()) return nullptr;
  return &current_[position_];
}

bool FamilyScan::take_chunk() {
  taken_before_ += current_.size();
  current_.clear();
  position_ = 0;
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return done_ || !chunks_.empty(); });
  if (chunks_.empty()) {
    status_ = scanned_;
    return false;
  }
  current_ = std::move(chunks_.front());
  chunks_.pop_front();
  lock.unlock();
  changed_.notify_all();
  return true;
}

void FamilyScan::run() {
  Status scanned = scan();
  {
    const std::lock_guard lock(mutex_);
    scanned_ = std::move(scanned);
    done_ = true;
  }
  changed_.notify_all();
}

Status FamilyScan::scan() {
  rocksdb::ReadOptions options;
  options.total_order_seek = true;
  options.fill_cache = false;
  options.readahead_size = 2 << 20;
  const std::unique_ptr<rocksdb::Iterator> at(db_->NewIterator(options, db_.family(state_)));
  Chunk chunk;
  for (at->SeekToFirst(); at->Valid(); at->Next()) {
    Result<JobRow> row = decode_job(state_, view(at->key()), view(at->value()));
    if (!row.ok()) return row.take_status();
    if (chunk.empty()) chunk.reserve(chunk_rows);
    chunk.push_back(row.take());
    if (chunk.size() < chunk_rows) continue;
    if (!hand_over(std::exchange(chunk, {}))) return {};
  }
  if (!at->status().ok()) return from_rocksdb(at->status());
  if (!chunk.empty()) hand_over(std::move(chunk));
  return {};
}

bool FamilyScan::hand_over(Chunk chunk) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return cancelled_ || chunks_.size() < chunks_max; });
  if (cancelled_) return false;
  chunks_.push_back(std::move(chunk));
  lock.unlock();
  changed_.notify_all();
  return true;
}

}  // namespace perennial::store
