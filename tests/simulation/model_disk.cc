#include "tests/simulation/model_disk.h"

#include <utility>

#include <fmt/format.h>

namespace perennial::simulation {
namespace {

Status damaged(std::string what) {
  return {StatusCode::Corruption, std::move(what)};
}

}  // namespace

Result<Disk::Found> ModelDisk::open() {
  sync();  // Recovery does the same.
  Result<engine::Image> image = check_and_read();
  if (!image.ok()) return image.take_status();
  return Found{.opening = {.epoch = 1,
                           .last_index = durable_.index,
                           .last_now = durable_.now,
                           .next_id = durable_.next_id},
               .image = image.take()};
}

Result<engine::Image> ModelDisk::check_and_read() const {
  engine::Image image{.jobs = {},
                      .tubes = durable_.tubes,
                      .pauses = durable_.pauses,
                      .keys = durable_.keys,
                      .settings = durable_.settings};
  for (const auto& family : durable_.families) {
    for (const auto& [id, row] : family) {
      if (!image.jobs.emplace(id, row).second) return damaged(fmt::format("job {} twice", id));
      if (!durable_.bodies.contains(id)) return damaged(fmt::format("job {} has no body", id));
      if (!image.tubes.contains(row.tube)) return damaged(fmt::format("job {} has no tube", id));
    }
  }
  if (durable_.bodies.size() != image.jobs.size()) return damaged("a body has no job");
  return image;
}

void ModelDisk::submit(store::Batch&& batch) {
  CHECK(!submitted_);
  Write write{.index = batch.index(),
              .now = batch.now(),
              .jobs = {batch.jobs().begin(), batch.jobs().end()},
              .bodies = {},
              .metas = {batch.metas().begin(), batch.metas().end()},
              .keys = {batch.keys().begin(), batch.keys().end()},
              .must_sync = batch.must_sync()};
  for (const store::JobEffect& effect : batch.jobs()) write.bodies.emplace_back(effect.body);
  writing_.emplace(std::move(write));
  submitted_.emplace(std::move(batch));
}

Disk::Done ModelDisk::finish() {
  Done done;
  if (submitted_) {
    apply(written_, *writing_);
    const bool must_sync = writing_->must_sync || durability_ == store::Durability::Commit;
    unsynced_.push_back(std::move(*std::exchange(writing_, std::nullopt)));
    if (must_sync) sync();
    done.batches.push_back(std::move(*submitted_));
    submitted_.reset();
  }
  done.reply_index = written_.index;
  done.durable = durable_.index;
  return done;
}

Disk::Done ModelDisk::look() {
  if (durability_ == store::Durability::Interval && random_() % 4 == 0) sync();
  return {.reply_index = written_.index, .durable = durable_.index};
}

Result<Body> ModelDisk::body(JobId id) {
  const auto found = written_.bodies.find(id);
  if (found == written_.bodies.end()) return Status(StatusCode::NotFound, "no such body");
  return Body(found->second);
}

Status ModelDisk::close(JobId next_id) {
  CHECK(!submitted_);
  written_.next_id = next_id;
  unsynced_.clear();
  durable_ = written_;
  return {};
}

void ModelDisk::kill() {
  if (writing_ && random_() % 2 == 0) {
    apply(written_, *writing_);
    unsynced_.push_back(std::move(*writing_));
  }
  writing_.reset();
  submitted_.reset();
}

void ModelDisk::cut_power() {
  kill();
  const size_t kept = random_() % (unsynced_.size() + 1);
  unsynced_.resize(kept);
  written_ = durable_;
  for (const Write& write : unsynced_) apply(written_, write);
}

void ModelDisk::sync() {
  for (const Write& write : unsynced_) apply(durable_, write);
  unsynced_.clear();
}

void ModelDisk::apply(Content& content, const Write& write) {
  for (size_t i = 0; i < write.jobs.size(); ++i) {
    const store::JobEffect& effect = write.jobs[i];
    const auto family = [&](JobState state) -> auto& {
      return content.families[static_cast<size_t>(state)];
    };
    if (effect.before) family(*effect.before).erase(effect.id);
    if (effect.after) family(effect.after->state).insert_or_assign(effect.id, *effect.after);
    if (!effect.before && effect.after) content.bodies[effect.id] = write.bodies[i];
    if (effect.before && !effect.after) content.bodies.erase(effect.id);
  }
  struct Meta {
    Content& content;

    void operator()(const TubeStored& tube) const { content.tubes[tube.tube] = tube.name; }
    void operator()(const TubeEnded& tube) const {
      content.tubes.erase(tube.tube);
      content.pauses.erase(tube.tube);
    }
    void operator()(const TubePaused& paused) const {
      content.pauses[paused.tube] = {paused.pause, paused.until};
    }
    void operator()(const PauseEnded& ended) const { content.pauses.erase(ended.tube); }
    void operator()(const NextIdRaised& raised) const { content.next_id = raised.next_id; }
    void operator()(const SettingsStored& stored) const {
      content.settings[stored.tube] = stored.settings;
      if (stored.settings == TubeSettings{}) content.settings.erase(stored.tube);
    }
  };
  struct Key {
    Content& content;

    void operator()(const KeyStored& key) const { content.keys[{key.tube, key.key}] = key; }
    void operator()(const KeyFreed& key) const { content.keys.erase({key.tube, key.key}); }
  };
  for (const store::MetaEffect& meta : write.metas) std::visit(Meta{content}, meta);
  for (const store::KeyEffect& key : write.keys) std::visit(Key{content}, key);
  content.index = write.index;
  content.now = write.now;
}

}  // namespace perennial::simulation
