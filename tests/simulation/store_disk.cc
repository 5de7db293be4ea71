#include "tests/simulation/store_disk.h"

#include <utility>
#include <variant>
#include <vector>

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
  sink.settings = [&image](const SettingsStored& stored) {
    image.settings[stored.tube] = stored.settings;
    return Status();
  };
  sink.key = [&image](const KeyStored& key) {
    image.keys[{key.tube, key.key}] = key;
    return Status();
  };
  sink.ended = [&image](const std::string& tube, const EndedSpan& span) {
    image.ended[tube] = span;
    return Status();
  };
  sink.schedule = [&found](const ScheduleStored& stored, std::string_view body) {
    found.image.schedules[stored.schedule->name] = stored;
    found.schedule_bodies[stored.schedule->name] = std::string(body);
    return Status();
  };
  sink.job = [&image](const JobRow& row) {
    image.jobs[row.id] = row;
    return Status();
  };
  if (Status loaded = store_->load(sink); !loaded.ok()) return loaded;
  log_ = std::make_unique<store::LocalLog>(*store_, [this] { wake(); });
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
  if (log_->append(std::move(batch)) == store::Appended::Done) wake();
}

Disk::Done StoreDisk::finish() {
  {
    std::unique_lock lock(mutex_);
    woken_.wait(lock, [this] { return is_awake_ && log_->idle(); });
  }
  return look();
}

Disk::Done StoreDisk::look() {
  store::Log::Update done = log_->collect();
  return {.reply_index = done.indices.reply_index(),
          .durable = done.indices.durable,
          .batches = std::move(done.batches)};
}

Result<Body> StoreDisk::body(JobId id) {
  return store_->read_body(id);
}

Result<std::vector<Note>> StoreDisk::notes(JobId id) {
  return store_->read_notes(id);
}

Result<core::EndedResult> StoreDisk::ended(const core::EndedRead& read) {
  if (const auto* const job = std::get_if<core::EndedJobRead>(&read.what)) {
    auto found = store_->read_ended(job->id, true);
    if (!found.ok()) return found.take_status();
    return core::EndedResult(found.take());
  }
  if (const auto* const query = std::get_if<store::EndedQuery>(&read.what)) {
    auto page = store_->read_ended(*query);
    if (!page.ok()) return page.take_status();
    return core::EndedResult(page.take());
  }
  const auto& span = std::get<core::EndedPlacesRead>(read.what);
  const auto rows = store_->read_ended_order(span.tube, span.first, span.count);
  if (!rows.ok()) return rows.status();
  std::vector<core::EndedPlace> places;
  for (const auto& row : *rows) places.push_back({row.place, row.job, row.at, row.notes});
  return core::EndedResult(std::move(places));
}

Status StoreDisk::close(JobId next_id) {
  log_->stop();
  log_.reset();
  return store_->close(next_id);
}

}  // namespace perennial::simulation
