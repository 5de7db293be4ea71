#include "tests/simulation/model_disk.h"

#include <algorithm>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "store/format/format.h"

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
                      .settings = durable_.settings,
                      .ended = durable_.spans,
                      .schedules = durable_.schedules};
  for (const auto& family : durable_.families) {
    for (const auto& [id, row] : family) {
      if (!image.jobs.emplace(id, row).second) return damaged(fmt::format("job {} twice", id));
      if (!durable_.bodies.contains(id)) return damaged(fmt::format("job {} has no body", id));
      if (!image.tubes.contains(row.tube)) return damaged(fmt::format("job {} has no tube", id));
    }
  }
  if (Status checked = check_ended(durable_, image); !checked.ok()) return checked;
  if (durable_.bodies.size() != image.jobs.size() + durable_.ended.size())
    return damaged("a body has no job");
  if (Status checked = check_notes(durable_, image); !checked.ok()) return checked;
  return image;
}

// An ended job is no job, and is in its place, which is among those of its tube.
Status ModelDisk::check_ended(const Content& content, const engine::Image& image) {
  for (const auto& [id, job] : content.ended) {
    if (image.jobs.contains(id)) return damaged(fmt::format("job {} has ended and is there", id));
    if (!content.bodies.contains(id)) return damaged(fmt::format("ended job {} has no body", id));
    const auto order = content.ended_order.find({job.tube, job.place});
    if (order == content.ended_order.end() || order->second != id)
      return damaged(fmt::format("ended job {} is not in its place", id));
    const auto span = content.spans.find(job.tube);
    const bool is_in_span = span != content.spans.end() && span->second.first <= job.place &&
                            job.place < span->second.next;
    if (!is_in_span) return damaged(fmt::format("ended job {} is in a place that is not used", id));
  }
  if (content.ended.size() != content.ended_order.size()) return damaged("a place has no job");
  return {};
}

// A job has the notes that its row counts, and no notes are of a job that is gone.
Status ModelDisk::check_notes(const Content& content, const engine::Image& image) {
  for (const auto& [id, notes] : content.notes) {
    const auto job = image.jobs.find(id);
    const auto ended = content.ended.find(id);
    const JobRow* const row = job != image.jobs.end()        ? &job->second
                              : ended != content.ended.end() ? &ended->second.row
                                                             : nullptr;
    const uint32_t had = row != nullptr && row->fields ? row->fields->notes : 0;
    for (const auto& [place, note] : notes) {
      if (!store::is_kept(note.number, had))
        return damaged(fmt::format("note {} of job {}, which had {}", note.number, id, had));
    }
    if (notes.size() != notes_kept(had))
      return damaged(fmt::format("job {} had {} notes, and has {}", id, had, notes.size()));
  }
  for (const auto& [id, row] : image.jobs) {
    if (row.fields && row.fields->notes > 0 && !content.notes.contains(id))
      return damaged(fmt::format("job {} has no notes", id));
  }
  for (const auto& [id, job] : content.ended) {
    if (job.row.fields && job.row.fields->notes > 0 && !content.notes.contains(id))
      return damaged(fmt::format("ended job {} has no notes", id));
  }
  return {};
}

void ModelDisk::submit(store::Batch&& batch) {
  CHECK(!submitted_);
  Write write{.index = batch.index(),
              .now = batch.now(),
              .jobs = {batch.jobs().begin(), batch.jobs().end()},
              .bodies = {},
              .metas = {batch.metas().begin(), batch.metas().end()},
              .keys = {batch.keys().begin(), batch.keys().end()},
              .notes = {batch.notes().begin(), batch.notes().end()},
              .gone = {batch.gone().begin(), batch.gone().end()},
              .spans = batch.spans(),
              .schedules = {batch.schedules().begin(), batch.schedules().end()},
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

Result<std::vector<Note>> ModelDisk::notes(JobId id) {
  std::vector<Note> out;
  const auto found = written_.notes.find(id);
  if (found == written_.notes.end()) return out;
  for (const auto& [place, note] : found->second) out.push_back(note);
  std::ranges::sort(out, {}, &Note::number);
  return out;
}

store::EndedFound ModelDisk::found(const EndedJob& job, bool with_body, bool with_notes) const {
  store::EndedFound out{.job = job};
  const JobId id = job.row.id;
  const auto body = written_.bodies.find(id);
  if (with_body && body != written_.bodies.end()) out.body = Body(body->second);
  const auto notes = written_.notes.find(id);
  if (!with_notes || notes == written_.notes.end()) return out;
  for (const auto& [place, note] : notes->second) out.notes.push_back(note);
  std::ranges::sort(out.notes, {}, &Note::number);
  return out;
}

store::EndedPage ModelDisk::page(const store::EndedQuery& query) const {
  store::EndedPage page{.is_end = true};
  std::vector<const EndedJob*> jobs;
  for (const auto& [place, id] : written_.ended_order) {
    const auto job = written_.ended.find(id);
    if (place.first == query.tube && job != written_.ended.end()) jobs.push_back(&job->second);
  }
  if (query.newest_first) std::ranges::reverse(jobs);
  uint64_t bytes = 0;
  for (const EndedJob* const job : jobs) {
    const bool is_behind =
        query.newest_first ? query.from == 0 || job->place < query.from : job->place >= query.from;
    if (!is_behind || job->at < query.since) continue;
    bytes += query.with_bodies ? job->row.body_bytes : 0;
    const bool is_full = page.jobs.size() == query.jobs_max ||
                         (query.with_bodies && !page.jobs.empty() && bytes > query.bytes_max);
    page.is_end = !is_full;
    if (is_full) break;
    page.jobs.push_back(found(*job, query.with_bodies, query.with_notes));
    page.next_place = query.newest_first ? job->place : job->place + 1;
  }
  return page;
}

std::vector<core::EndedPlace> ModelDisk::places(const core::EndedPlacesRead& read) const {
  std::vector<core::EndedPlace> out;
  for (const auto& [place, id] : written_.ended_order) {
    const bool is_asked =
        place.first == read.tube && place.second >= read.first && out.size() < read.count;
    const auto job = written_.ended.find(id);
    if (!is_asked || job == written_.ended.end()) continue;
    const auto& fields = job->second.row.fields;
    out.push_back({place.second, id, job->second.at, fields ? notes_kept(fields->notes) : 0});
  }
  return out;
}

Result<core::EndedResult> ModelDisk::ended(const core::EndedRead& read) {
  if (const auto* const query = std::get_if<store::EndedQuery>(&read.what)) {
    return core::EndedResult(page(*query));
  }
  if (const auto* const span = std::get_if<core::EndedPlacesRead>(&read.what)) {
    return core::EndedResult(places(*span));
  }
  const auto job = written_.ended.find(std::get<core::EndedJobRead>(read.what).id);
  if (job == written_.ended.end()) return core::EndedResult(std::optional<store::EndedFound>());
  return core::EndedResult(std::optional(found(job->second, true, true)));
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
    const bool stays = effect.after || effect.ended;
    if (!effect.before && stays) content.bodies[effect.id] = write.bodies[i];
    if (effect.before && !stays) content.bodies.erase(effect.id);
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
  apply_notes(content, write);
  apply_ended(content, write);
  apply_schedules(content, write);
  content.index = write.index;
  content.now = write.now;
}

// Those that go first: a place may be used again in the batch.
void ModelDisk::apply_ended(Content& content, const Write& write) {
  for (const EndedGone& gone : write.gone) {
    content.ended.erase(gone.job);
    content.ended_order.erase({gone.tube, gone.place});
    content.bodies.erase(gone.job);
    content.notes.erase(gone.job);
  }
  for (const store::JobEffect& effect : write.jobs) {
    if (!effect.ended) continue;
    content.ended[effect.id] = *effect.ended;
    content.ended_order[{effect.ended->tube, effect.ended->place}] = effect.id;
  }
  for (const auto& [tube, span] : write.spans) {
    content.spans[tube] = span;
    if (span.empty()) content.spans.erase(tube);
  }
}

void ModelDisk::apply_schedules(Content& content, const Write& write) {
  for (const store::ScheduleEffect& effect : write.schedules) {
    if (!effect.progress) {
      content.schedules.erase(effect.name);
      continue;
    }
    ScheduleStored& stored = content.schedules[effect.name];
    if (effect.schedule) stored.schedule = effect.schedule;
    stored.progress = *effect.progress;
  }
}

void ModelDisk::apply_notes(Content& content, const Write& write) {
  for (const store::NoteEffect& effect : write.notes) {
    if (const auto* const stored = std::get_if<NoteStored>(&effect)) {
      content.notes[stored->job][place_of_note(stored->note.number)] = stored->note;
    } else {
      content.notes.erase(std::get<NotesRemoved>(effect).job);
    }
  }
}

}  // namespace perennial::simulation
