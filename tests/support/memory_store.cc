#include "tests/support/memory_store.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <utility>

#include "engine/types/check.h"
#include "store/format/format.h"

namespace perennial::support {

void MemoryStore::write(const store::Batch& batch) {
  if (batch.index() <= current_.last_index) return;
  CHECK(batch.index() == current_.last_index + 1);
  CHECK(batch.known_durable() <= durable_.last_index);
  Written written{.jobs = {batch.jobs().begin(), batch.jobs().end()},
                  .bodies = {},
                  .metas = {batch.metas().begin(), batch.metas().end()},
                  .keys = {batch.keys().begin(), batch.keys().end()},
                  .notes = {batch.notes().begin(), batch.notes().end()},
                  .gone = {batch.gone().begin(), batch.gone().end()},
                  .spans = batch.spans(),
                  .schedules = {batch.schedules().begin(), batch.schedules().end()},
                  .schedule_bodies = {},
                  .index = batch.index(),
                  .now = batch.now()};
  for (const store::JobEffect& effect : batch.jobs()) written.bodies.emplace_back(effect.body);
  for (const store::ScheduleEffect& effect : batch.schedules()) {
    written.schedule_bodies.emplace_back(effect.body);
  }
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

std::vector<Note> MemoryStore::notes(JobId id) const {
  std::vector<Note> notes;
  const auto found = current_.notes.find(id);
  if (found == current_.notes.end()) return notes;
  for (const auto& [place, note] : found->second) notes.push_back(note);
  std::ranges::sort(notes, {}, &Note::number);
  return notes;
}

void MemoryStore::apply_gone(State& state, const Written& written) {
  for (const EndedGone& gone : written.gone) {
    const EndedJob& job = state.ended.at(gone.job);
    CHECK(job.tube == gone.tube);
    CHECK(job.place == gone.place);
    CHECK(gone.notes == notes_kept(job.row.fields ? job.row.fields->notes : 0));
    CHECK((state.notes.erase(gone.job) == 1) == (gone.notes > 0));
    CHECK(state.bodies.erase(gone.job) == 1);
    CHECK(state.ended_order.erase({gone.tube, gone.place}) == 1);
    state.ended.erase(gone.job);
  }
}

void MemoryStore::apply_ended(State& state, const EndedJob& job) {
  CHECK(job.row.tube == 0);
  CHECK(state.bodies.at(job.row.id).size() == job.row.body_bytes);
  CHECK(state.ended_order.emplace(std::pair(job.tube, job.place), job.row.id).second);
  CHECK(state.ended.emplace(job.row.id, job).second);
}

void MemoryStore::apply_spans(State& state, const Written& written) {
  for (const auto& [tube, span] : written.spans) {
    if (span.empty()) {
      state.image.ended.erase(tube);
    } else {
      state.image.ended[tube] = span;
    }
    // All of them are in the span.
    const auto first = state.ended_order.lower_bound({tube, 0});
    const auto end = state.ended_order.upper_bound({tube, UINT64_MAX});
    if (first == end) continue;
    CHECK(first->first.second >= span.first);
    CHECK(std::prev(end)->first.second < span.next);
  }
}

// A schedule that was set and deleted in one batch was perhaps never there.
void MemoryStore::apply_schedules(State& state, const Written& written) {
  for (size_t i = 0; i < written.schedules.size(); ++i) {
    const store::ScheduleEffect& effect = written.schedules[i];
    if (!effect.progress) {
      state.image.schedules.erase(effect.name);
      state.schedule_bodies.erase(effect.name);
      continue;
    }
    CHECK(store::problem(*effect.progress).empty());
    if (effect.schedule) {
      CHECK(store::problem(*effect.schedule).empty());
      CHECK(effect.schedule->put.body_bytes == written.schedule_bodies[i].size());
      state.image.schedules[effect.name].schedule = effect.schedule;
      state.schedule_bodies[effect.name] = written.schedule_bodies[i];
    }
    state.image.schedules.at(effect.name).progress = *effect.progress;
  }
}

// The row of a job counts its notes, and a job that is gone has none.
void MemoryStore::apply_notes(State& state, const Written& written) {
  for (const store::NoteEffect& effect : written.notes) {
    if (const auto* const stored = std::get_if<NoteStored>(&effect)) {
      state.notes[stored->job][place_of_note(stored->note.number)] = stored->note;
    } else {
      const auto& removed = std::get<NotesRemoved>(effect);
      const auto found = state.notes.find(removed.job);
      if (found == state.notes.end()) continue;  // They were stored in the same batch.
      CHECK(found->second.size() <= removed.kept);
      state.notes.erase(found);
    }
  }
  for (const store::JobEffect& effect : written.jobs) {
    const JobRow* const row = effect.ended   ? &effect.ended->row
                              : effect.after ? &*effect.after
                                             : nullptr;
    const uint32_t had = row != nullptr && row->fields ? row->fields->notes : 0;
    const auto found = state.notes.find(effect.id);
    CHECK((found != state.notes.end()) == (had > 0));
    if (had == 0) continue;
    CHECK(found->second.size() == notes_kept(had));
    for (const auto& [place, note] : found->second)
      CHECK(note.number <= had && had - note.number < notes_max);
  }
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
  apply_gone(state, written);
  for (size_t i = 0; i < written.jobs.size(); ++i) {
    const store::JobEffect& effect = written.jobs[i];
    const auto found = state.image.jobs.find(effect.id);
    CHECK((found != state.image.jobs.end()) == effect.before.has_value());
    if (effect.before) CHECK(found->second.state == *effect.before);
    if (effect.ended) {
      CHECK(!effect.after);
      if (!effect.before) CHECK(state.bodies.emplace(effect.id, written.bodies[i]).second);
      state.image.jobs.erase(effect.id);
      apply_ended(state, *effect.ended);
    } else if (effect.after) {
      state.image.jobs[effect.id] = *effect.after;
      CHECK(state.image.tubes.contains(effect.after->tube));
      if (!effect.before) CHECK(state.bodies.emplace(effect.id, written.bodies[i]).second);
      CHECK(state.bodies.at(effect.id).size() == effect.after->body_bytes);
    } else if (effect.before) {
      state.image.jobs.erase(effect.id);
      CHECK(state.bodies.erase(effect.id) == 1);
    }
  }
  apply_notes(state, written);
  apply_spans(state, written);
  apply_schedules(state, written);
  state.last_index = written.index;
  state.now = written.now;
}

}  // namespace perennial::support
