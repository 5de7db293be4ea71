#include "tests/simulation/store_disk.h"

#include <utility>

namespace perennial::simulation {

Result<Disk::Found> StoreDisk::open() {
  Result<std::unique_ptr<store::Store>> opened = store::Store::open(options_);
  if (!opened.ok()) return opened.take_status();
  store_ = opened.take();
  Found found{.opening = store_->opening(), .image = {}};
  engine::Image& image = found.image;
  store::LoadSink sink;
  sink.tube = [&image](TubeId id, std::string_view name) {
    image.tubes[id] = std::string(name);
    return Status();
  };
  sink.pause = [&image](const TubePaused& pause) {
    image.pauses[pause.tube] = {pause.pause, pause.until};
    return Status();
  };
  sink.job = [&image](const JobRow& row) {
    image.jobs[row.id] = row;
    return Status();
  };
  if (Status loaded = store_->load(sink); !loaded.ok()) return loaded;
  committer_ = std::make_unique<store::Committer>(*store_, [this] { wake(); });
  return found;
}

void StoreDisk::wake() {
  const std::lock_guard lock(mutex_);
  is_awake_ = true;
  woken_.notify_one();
}

void StoreDisk::submit(store::Batch&& batch) {
  {
    const std::lock_guard lock(mutex_);
    is_awake_ = false;
  }
  committer_->submit(std::move(batch));
}

Disk::Done StoreDisk::finish() {
  {
    std::unique_lock lock(mutex_);
    woken_.wait(lock, [this] { return is_awake_ && committer_->idle(); });
  }
  return look();
}

Disk::Done StoreDisk::look() {
  store::Committer::Done done = committer_->collect();
  return {
      .answerable = done.answerable, .durable = done.durable, .batches = std::move(done.batches)};
}

Result<Body> StoreDisk::body(JobId id) {
  return store_->read_body(id);
}

Status StoreDisk::close(JobId next_id) {
  committer_->stop();
  committer_.reset();
  return store_->close(next_id);
}

}  // namespace perennial::simulation
