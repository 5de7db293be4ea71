#include "tests/store/checkpoint/checkpoint_maker.h"

#include <filesystem>

#include "engine/types/check.h"

namespace perennial::store {

CheckpointMaker::CheckpointMaker(uint64_t seed, rocksdb::Env* env) : model_(seed), env_(env) {
  std::filesystem::create_directory(checkpoints());
  Result<std::unique_ptr<Store>> store = Store::open({.data_dir = data_dir(), .env = env});
  CHECK(store.ok());
  store_ = store.take();
}

void CheckpointMaker::write(int batches, bool flushed, int transitions) {
  for (int i = 0; i < batches; ++i) {
    Batch batch;
    model_.next(batch, transitions);
    CHECK(store_->write(batch, true).ok());
    if (flushed && i == batches / 2) CHECK(store_->flush().ok());
  }
}

Result<CheckpointPlan> CheckpointMaker::create() {
  const Nanos created = checkpoint_time + made_++ * nanos_per_second;
  last_ = {.dir = checkpoints(),
           .name = checkpoint_name(created),
           .created = created,
           .server_version = "0.1.0",
           .database = store_->identity(),
           .index = model_.index(),
           .jobs = count_states(model_.image()),
           .env = env_};
  if (Status done = store_->create_checkpoint(partial_path(last_)); !done.ok()) return done;
  return last_;
}

Result<CheckpointManifest> CheckpointMaker::make() {
  const Result<CheckpointPlan> plan = this->create();
  if (!plan.ok()) return plan.status();
  return complete_checkpoint(*plan);
}

void CheckpointMaker::close() {
  CHECK(store_->close(model_.next_id()).ok());
  store_.reset();
}

StateCounts count_states(const Image& image) {
  StateCounts out;
  for (const auto& [id, row] : image.jobs) {
    if (row.state == JobState::Ready) ++out.ready;
    if (row.state == JobState::Reserved) ++out.reserved;
    if (row.state == JobState::Delayed) ++out.delayed;
    if (row.state == JobState::Buried) ++out.buried;
  }
  return out;
}

}  // namespace perennial::store
