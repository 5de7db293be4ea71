#include "store/batch/batch.h"

#include <type_traits>
#include <utility>

#include "engine/types/check.h"
#include "store/format/fields.h"

namespace perennial::store {
namespace {

// Estimates of the bytes of a row, a key and RocksDB's framing together.
constexpr size_t job_effect_bytes = 128;
constexpr size_t meta_effect_bytes = 64;
constexpr size_t key_effect_bytes = 64;
constexpr size_t note_effect_bytes = 64;
constexpr size_t ended_effect_bytes = 192;  // Two rows.
constexpr size_t gone_effect_bytes = 192;   // Three deletions.
constexpr size_t span_effect_bytes = 64;
constexpr size_t schedule_effect_bytes = 128;  // The progress, or two deletions.

size_t bytes_of_fields(const std::optional<JobRow>& row) {
  return row && row->fields ? fields_bytes(*row->fields) : 0;
}

size_t bytes_of(const NoteStored& stored) {
  return note_effect_bytes + stored.note.user.size() + stored.note.text.size();
}

// REQUIRES: the batch sets the schedule.
size_t bytes_of_definition(const ScheduleEffect& effect) {
  return effect.name.size() + fields_bytes(*effect.schedule) + effect.body.size();
}

// Whether a variant has this alternative.
template <typename Type, typename Variant>
constexpr bool is_one_of = false;
template <typename Type, typename... Types>
constexpr bool is_one_of<Type, std::variant<Types...>> = (std::is_same_v<Type, Types> || ...);

}  // namespace

void Batch::add(const Transition& transition, std::string_view body) {
  ++transitions_;
  promised_ = promised_ || is_promised(transition);
  if (const auto* moved = std::get_if<JobMoved>(&transition)) return add_job(*moved, body);
  if (const auto* stored = std::get_if<ScheduleStored>(&transition)) {
    return add_schedule(*stored, body);
  }
  CHECK(body.empty());
  std::visit(
      [this](const auto& effect) {
        using Effect = std::decay_t<decltype(effect)>;
        if constexpr (is_one_of<Effect, KeyEffect>) {
          add_key(effect.tube, effect.key, effect);
        } else if constexpr (is_one_of<Effect, NoteEffect>) {
          add_note(effect);
        } else if constexpr (std::is_same_v<Effect, JobEnded>) {
          add_ended(effect);
        } else if constexpr (std::is_same_v<Effect, EndedGone>) {
          add_gone(effect);
        } else if constexpr (std::is_same_v<Effect, EndedTrimmed>) {
          set_span(effect.tube, effect.span);
        } else if constexpr (std::is_same_v<Effect, ScheduleChanged> ||
                             std::is_same_v<Effect, ScheduleDeleted>) {
          add_schedule(effect);
        } else if constexpr (is_one_of<Effect, MetaEffect>) {
          add_meta(effect);
        }
      },
      transition);
}

const Batch::Rare& Batch::no_rare() {
  static const Rare none;
  return none;
}

void Batch::add_meta(MetaEffect effect) {
  bytes_ += meta_effect_bytes;
  if (const auto* stored = std::get_if<SettingsStored>(&effect)) {
    bytes_ += stored->tube.size() + fields_bytes(stored->settings);
  }
  must_sync_ = must_sync_ || std::holds_alternative<NextIdRaised>(effect);
  metas_.push_back(std::move(effect));
}

void Batch::add_key(const std::string& tube, const std::string& key, KeyEffect effect) {
  Rare& rare = rare_.make();
  const auto [position, is_first] =
      rare.key_position.try_emplace({tube, key}, static_cast<uint32_t>(rare.keys.size()));
  if (!is_first) {
    rare.keys[position->second] = std::move(effect);
    return;
  }
  bytes_ += key_effect_bytes + tube.size() + key.size();
  rare.keys.push_back(std::move(effect));
}

void Batch::add_note(const NoteStored& stored) {
  CHECK(stored.note.number > 0);
  Rare& rare = rare_.make();
  const uint32_t place = place_of_note(stored.note.number);
  bytes_ += bytes_of(stored);
  const auto [position, is_first] =
      rare.note_position.try_emplace({stored.job, place}, static_cast<uint32_t>(rare.notes.size()));
  if (is_first) {
    ++rare.note_operations;
    rare.notes.emplace_back(stored);
    return;
  }
  NoteEffect& before = rare.notes[position->second];
  bytes_ -= bytes_of(std::get<NoteStored>(before));
  before = stored;
}

// The id of the job is never used again, so nothing is stored for it behind this.
void Batch::add_note(const NotesRemoved& removed) {
  CHECK(0 < removed.kept && removed.kept <= notes_max);
  Rare& rare = rare_.make();
  for (uint32_t place = 0; place < notes_max; ++place) drop_note(removed.job, place);
  const auto job = position_.find(removed.job);
  if (job != position_.end() && !jobs_[job->second].before) return;  // None reached the disk.
  bytes_ += removed.kept * note_effect_bytes;
  rare.note_operations += removed.kept;
  rare.notes.emplace_back(removed);
}

// The last effect takes the place of the one that goes.
void Batch::drop_note(JobId job, uint32_t place) {
  Rare& rare = *rare_;
  const auto found = rare.note_position.find({job, place});
  if (found == rare.note_position.end()) return;
  const uint32_t position = found->second;
  rare.note_position.erase(found);
  --rare.note_operations;
  bytes_ -= bytes_of(std::get<NoteStored>(rare.notes[position]));
  if (position + 1 != rare.notes.size()) {
    rare.notes[position] = std::move(rare.notes.back());
    const auto* const moved = std::get_if<NoteStored>(&rare.notes[position]);
    if (moved != nullptr) {
      rare.note_position[{moved->job, place_of_note(moved->note.number)}] = position;
    }
  }
  rare.notes.pop_back();
}

// Keeps only the first `before` and the last `after` of each job. Writing each transition instead
// would cost a delete and a put for every step of a job.
void Batch::add_job(const JobMoved& moved, std::string_view body) {
  CHECK(moved.before || moved.after);
  const auto [position, is_first] =
      position_.try_emplace(moved.id, static_cast<uint32_t>(jobs_.size()));
  if (is_first) {
    jobs_.push_back(
        {.id = moved.id, .before = moved.before, .after = moved.after, .ended = {}, .body = body});
    bytes_ += job_effect_bytes + bytes_of_fields(moved.after) + body.size();
    return;
  }
  JobEffect& effect = jobs_[position->second];
  // A transition starts in the state in which the one before ended, and an id is never used again.
  CHECK(effect.after.has_value());
  CHECK(moved.before == effect.after->state);
  bytes_ += bytes_of_fields(moved.after);
  bytes_ -= bytes_of_fields(effect.after);
  effect.after = moved.after;
}

// A job that was put in this batch keeps its body in the effect.
void Batch::add_ended(const JobEnded& ended) {
  const auto position = position_.find(ended.job->row.id);
  CHECK(position != position_.end());
  JobEffect& effect = jobs_[position->second];
  CHECK(!effect.after);
  CHECK(!effect.ended);
  CHECK(effect.before || effect.body.size() == ended.job->row.body_bytes);
  bytes_ += ended_effect_bytes + 2 * ended.job->tube.size() + ended.job->user.size();
  if (ended.job->row.fields) bytes_ += fields_bytes(*ended.job->row.fields);
  effect.ended = ended.job;
  set_span(ended.job->tube, ended.span);
}

void Batch::add_gone(const EndedGone& gone) {
  CHECK(gone.notes <= notes_max);
  CHECK(!position_.contains(gone.job));
  Rare& rare = rare_.make();
  bytes_ += gone_effect_bytes + gone.tube.size() + gone.notes * note_effect_bytes;
  rare.note_operations += gone.notes;
  rare.gone.push_back(gone);
  rare.gone.back().span = {};
  set_span(gone.tube, gone.span);
}

void Batch::set_span(const std::string& tube, const EndedSpan& span) {
  const bool is_first = rare_.make().spans.insert_or_assign(tube, span).second;
  if (is_first) bytes_ += span_effect_bytes + tube.size();
}

ScheduleEffect& Batch::schedule_of(const std::string& name) {
  Rare& rare = rare_.make();
  const auto [position, is_first] =
      rare.schedule_position.try_emplace(name, static_cast<uint32_t>(rare.schedules.size()));
  if (is_first) {
    bytes_ += schedule_effect_bytes + name.size();
    rare.schedules.push_back({.name = name});
  }
  return rare.schedules[position->second];
}

void Batch::drop_definition(ScheduleEffect& effect) {
  if (effect.schedule) bytes_ -= bytes_of_definition(effect);
  effect.schedule.reset();
  effect.body = {};
}

void Batch::add_schedule(const ScheduleStored& stored, std::string_view body) {
  CHECK(stored.schedule);
  CHECK(body.size() == stored.schedule->put.body_bytes);
  ScheduleEffect& effect = schedule_of(stored.schedule->name);
  drop_definition(effect);
  effect.schedule = stored.schedule;
  effect.progress = stored.progress;
  effect.body = body;
  bytes_ += bytes_of_definition(effect);
}

// A definition that the batch has stays. A schedule that was deleted is not there to change.
void Batch::add_schedule(const ScheduleChanged& changed) {
  const size_t before = schedules().size();
  ScheduleEffect& effect = schedule_of(changed.name);
  CHECK(effect.progress || schedules().size() > before);
  effect.progress = changed.progress;
}

void Batch::add_schedule(const ScheduleDeleted& deleted) {
  ScheduleEffect& effect = schedule_of(deleted.name);
  drop_definition(effect);
  effect.progress.reset();
}

void Batch::seal(const BatchPlace& place) {
  CHECK(place_.index == 0);
  CHECK(place.epoch > 0);
  CHECK(place.known_durable < place.index);
  place_ = place;
}

void Batch::reseal(const BatchPlace& place) {
  CHECK(place_.index != 0);
  CHECK(place.index == place_.index);
  CHECK(place.epoch > 0);
  CHECK(place.known_durable < place.index);
  place_ = place;
}

void Batch::Rare::clear() {
  key_position.clear();
  keys.clear();
  note_position.clear();
  notes.clear();
  note_operations = 0;
  gone.clear();
  spans.clear();
  schedule_position.clear();
  schedules.clear();
}

void Batch::clear() {
  position_.clear();
  jobs_.clear();
  metas_.clear();
  if (rare_) rare_->clear();
  transitions_ = 0;
  bytes_ = 0;
  promised_ = false;
  must_sync_ = false;
  place_ = {};
}

size_t Batch::operations() const {
  // Each job has at most three: one row deleted, one row put, and one body put or deleted; or, if
  // it is kept, one row deleted or a body put, and two rows put. So has one that goes: two rows and
  // a body. A schedule has two rows.
  const Rare& rare = this->rare();
  return 3 * (jobs_.size() + rare.gone.size()) + metas_.size() + rare.keys.size() +
         rare.note_operations + rare.spans.size() + 2 * rare.schedules.size();
}

}  // namespace perennial::store
