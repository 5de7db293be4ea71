#include "tests/support/memory_store.h"

#include <utility>

#include "engine/types/check.h"

namespace perennial::support {

void MemoryStore::write(const store::Batch& batch) {
  if (batch.index() <= current_.last_index) return;
  CHECK(batch.index() == current_.last_index + 1);
  CHECK(batch.known_durable() <= durable_.last_index);
  Written written{.jobs = {batch.jobs().begin(), batch.jobs().end()},
                  .bodies = {},
                  .metas = {batch.metas().begin(), batch.metas().end()},
                  .keys = {batch.keys().begin(), batch.keys().end()},
                  .index = batch.index(),
                  .now = batch.now()};
  for (const store::JobEffect& effect : batch.jobs()) written.bodies.emplace_back(effect.body);
  apply(current_, written);
  unsynced_.push_back(std::move(written));
}

void MemoryStore::sync() {
  for (const Written& written : unsynced_) apply(durable_, written);
  unsynced_.clear();
}

void MemoryStore::lose_unsynced() {
  unsynced_.clear();
  current_ = durable_;
}

std::optional<std::string> MemoryStore::body(JobId id) const {
  const auto found = current_.bodies.find(id);
  if (found == current_.bodies.end()) return std::nullopt;
  return found->second;
}

void MemoryStore::apply(State& state, const Written& written) {
  // The order within a batch does not matter to the real store. Here tubes are added before their
  // jobs and removed after them.
  for (const store::MetaEffect& meta : written.metas) {
    if (const auto* ended = std::get_if<TubeEnded>(&meta)) {
      CHECK(state.image.tubes.erase(ended->tube) == 1);
      state.image.pauses.erase(ended->tube);
      continue;
    }
    std::visit([&state](const auto& effect) { engine::fold(state.image, Transition(effect)); },
               meta);
  }
  for (const store::KeyEffect& key : written.keys) {
    // A key that was stored and freed in one batch was perhaps never there.
    const auto* const freed = std::get_if<KeyFreed>(&key);
    if (freed != nullptr) {
      state.image.keys.erase({freed->tube, freed->key});
    } else {
      engine::fold(state.image, std::get<KeyStored>(key));
    }
  }
  for (size_t i = 0; i < written.jobs.size(); ++i) {
    const store::JobEffect& effect = written.jobs[i];
    const auto found = state.image.jobs.find(effect.id);
    CHECK((found != state.image.jobs.end()) == effect.before.has_value());
    if (effect.before) CHECK(found->second.state == *effect.before);
    if (effect.after) {
      state.image.jobs[effect.id] = *effect.after;
      CHECK(state.image.tubes.contains(effect.after->tube));
      if (!effect.before) CHECK(state.bodies.emplace(effect.id, written.bodies[i]).second);
      CHECK(state.bodies.at(effect.id).size() == effect.after->body_bytes);
    } else if (effect.before) {
      state.image.jobs.erase(effect.id);
      CHECK(state.bodies.erase(effect.id) == 1);
    }
  }
  state.last_index = written.index;
  state.now = written.now;
}

}  // namespace perennial::support
