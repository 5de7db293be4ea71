#include "store/batch/batch_codec.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <variant>

#include <xxhash.h>

#include "engine/types/check.h"
#include "store/batch/batch_layout.h"
#include "store/format/bytes.h"
#include "store/format/fields.h"
#include "store/format/format.h"

namespace perennial::store {
namespace {

bool writes_nothing(const JobEffect& job) {
  return !job.before && !job.after && !job.ended;
}

bool has_fields(const JobEffect& job) {
  return job.after && job.after->fields;
}

// Whether its row is one that a program of format 1 refuses.
bool has_row_of_format_2(const JobEffect& job) {
  const bool has_ready_since = job.after && job.after->state == JobState::Ready && job.after->order;
  return has_fields(job) || has_ready_since;
}

bool counts_notes(const JobEffect& job) {
  return has_fields(job) && job.after->fields->notes != 0;
}

bool is_of_ended(const JobEffect& job) {
  return job.ended || (has_fields(job) && has_history(*job.after->fields));
}

bool is_put_by_schedule(const JobEffect& job) {
  if (job.ended) return job.ended->row.fields && job.ended->row.fields->schedule;
  return has_fields(job) && job.after->fields->schedule;
}

bool is_of_kept_jobs(const MetaEffect& effect) {
  const auto* const stored = std::get_if<SettingsStored>(&effect);
  return stored != nullptr && keeps_ended(stored->settings);
}

uint8_t code_of(std::optional<JobState> state) {
  return static_cast<uint8_t>(state ? stored_state(*state) : BatchState::None);
}
uint8_t code_after(const JobEffect& job) {
  if (job.ended) return static_cast<uint8_t>(BatchState::Ended);
  return code_of(job.after ? std::optional(job.after->state) : std::nullopt);
}

// Appends one meta effect, by its kind.
struct MetaEncoder {
  std::string& out;

  void head(BatchMeta kind, TubeId tube, size_t name_bytes = 0) const {
    Bytes<meta_at::end> head = {};
    put(head.data(), static_cast<uint8_t>(kind));
    put(head.data() + meta_at::name_bytes, static_cast<uint8_t>(name_bytes));
    put(head.data() + meta_at::tube, tube);
    out += view(head);
  }
  template <typename Number>
  void number(Number number) const {
    Bytes<sizeof number> bytes;
    put(bytes.data(), number);
    out += view(bytes);
  }

  void operator()(const TubeStored& stored) const {
    CHECK(problem(stored).empty());
    head(BatchMeta::TubeStored, stored.tube, stored.name.size());
    out += stored.name;
  }
  void operator()(const TubeEnded& ended) const { head(BatchMeta::TubeEnded, ended.tube); }
  void operator()(const TubePaused& paused) const {
    CHECK(problem(paused).empty());
    head(BatchMeta::TubePaused, paused.tube);
    number(paused.pause);
    number(paused.until);
  }
  void operator()(const PauseEnded& ended) const { head(BatchMeta::PauseEnded, ended.tube); }
  void operator()(const NextIdRaised& raised) const {
    CHECK(raised.next_id != 0);
    head(BatchMeta::NextIdRaised, 0);
    number(raised.next_id);
  }
  void operator()(const SettingsStored& stored) const {
    if (stored.settings == TubeSettings{}) {
      CHECK(tube_name_problem(stored.tube).empty());
      head(BatchMeta::SettingsRemoved, 0, stored.tube.size());
      out += stored.tube;
      return;
    }
    CHECK(problem(stored).empty());
    head(BatchMeta::SettingsStored, 0, stored.tube.size());
    out += stored.tube;
    number(static_cast<uint16_t>(fields_bytes(stored.settings)));
    add_fields(stored.settings, out);
  }
};

// Appends one key effect, by its kind.
struct KeyEncoder {
  std::string& out;

  void head(BatchKey kind, std::string_view tube, std::string_view key) const {
    Bytes<key_effect_at::end> head = {};
    put(head.data(), static_cast<uint8_t>(kind));
    put(head.data() + key_effect_at::tube_bytes, static_cast<uint8_t>(tube.size()));
    put(head.data() + key_effect_at::key_bytes, static_cast<uint8_t>(key.size()));
    out += view(head);
    out += tube;
    out += key;
  }

  void operator()(const KeyStored& stored) const {
    const Bytes<key_row_bytes> row = encode(stored);
    head(BatchKey::Stored, stored.tube, stored.key);
    out += view(row);
  }
  void operator()(const KeyFreed& freed) const {
    CHECK(problem(freed).empty());
    head(BatchKey::Freed, freed.tube, freed.key);
  }
};

// Appends one note effect, by its kind.
struct NoteEncoder {
  std::string& out;

  void head(BatchNote kind, uint32_t place_or_kept, size_t row_bytes, JobId job) const {
    Bytes<note_effect_at::end> head = {};
    put(head.data(), static_cast<uint8_t>(kind));
    put(head.data() + note_effect_at::place, static_cast<uint8_t>(place_or_kept));
    put(head.data() + note_effect_at::row_bytes, static_cast<uint16_t>(row_bytes));
    put(head.data() + note_effect_at::job, job);
    out += view(head);
  }
  void operator()(const NoteStored& stored) const {
    CHECK(problem(stored).empty());
    const std::string row = encode(stored.note);
    head(BatchNote::Stored, place_of_note(stored.note.number), row.size(), stored.job);
    out += row;
  }
  void operator()(const NotesRemoved& removed) const {
    CHECK(problem(removed).empty());
    head(BatchNote::Removed, removed.kept, 0, removed.job);
  }
};

void add_schedule(const ScheduleEffect& effect, std::string& out) {
  CHECK(schedule_name_problem(effect.name).empty());
  CHECK(effect.progress || !effect.schedule);
  const std::string definition =
      effect.schedule ? encode(*effect.schedule, effect.body) : std::string();
  const BatchSchedule kind = !effect.progress  ? BatchSchedule::Deleted
                             : effect.schedule ? BatchSchedule::Stored
                                               : BatchSchedule::Changed;
  Bytes<schedule_effect_at::end> head = {};
  put(head.data(), static_cast<uint8_t>(kind));
  put(head.data() + schedule_effect_at::name_bytes, static_cast<uint8_t>(effect.name.size()));
  put(head.data() + schedule_effect_at::definition_bytes, static_cast<uint32_t>(definition.size()));
  out += view(head);
  out += effect.name;
  if (effect.progress) out += view(encode(*effect.progress));
  out += definition;
}

void add_head(const Batch& batch, std::string& out) {
  const uint8_t format = format_of(batch);
  const auto idle = static_cast<size_t>(std::ranges::count_if(batch.jobs(), writes_nothing));
  Bytes<batch_at::end_with_schedules> head = {};
  put(head.data(), format);
  put(head.data() + batch_at::epoch, batch.epoch());
  put(head.data() + batch_at::index, batch.index());
  put(head.data() + batch_at::known_durable, batch.known_durable());
  put(head.data() + batch_at::now, batch.now());
  put(head.data() + batch_at::metas, static_cast<uint32_t>(batch.metas().size()));
  put(head.data() + batch_at::jobs, static_cast<uint32_t>(batch.jobs().size() - idle));
  put(head.data() + batch_at::keys, static_cast<uint32_t>(batch.keys().size()));
  put(head.data() + batch_at::notes, static_cast<uint32_t>(batch.notes().size()));
  put(head.data() + batch_at::gone, static_cast<uint32_t>(batch.gone().size()));
  put(head.data() + batch_at::spans, static_cast<uint32_t>(batch.spans().size()));
  put(head.data() + batch_at::schedules, static_cast<uint32_t>(batch.schedules().size()));
  out += view(head).substr(0, batch_head_bytes(format));
}

void add_job(const JobEffect& job, std::string& out) {
  Bytes<job_effect_at::end> head = {};
  put(head.data() + job_effect_at::before, code_of(job.before));
  put(head.data() + job_effect_at::after, code_after(job));
  put(head.data() + job_effect_at::id, job.id);
  const std::string ended = job.ended ? encode(*job.ended) : std::string();
  const size_t variable_bytes = has_fields(job) ? fields_bytes(*job.after->fields) : ended.size();
  put(head.data() + job_effect_at::fields_bytes, static_cast<uint16_t>(variable_bytes));
  out += view(head);
  if (!job.after && !job.ended) return;
  const JobRow& row = job.ended ? job.ended->row : *job.after;
  CHECK(row.id == job.id);
  out += job.ended ? ended : view(encode(row));
  if (job.before) return;
  CHECK(job.body.size() == row.body_bytes);
  out += job.body;
}

void add_gone(const EndedGone& gone, std::string& out) {
  CHECK(problem(gone).empty());
  Bytes<gone_effect_at::end> head = {};
  put(head.data(), static_cast<uint8_t>(gone.tube.size()));
  put(head.data() + gone_effect_at::notes, static_cast<uint8_t>(gone.notes));
  put(head.data() + gone_effect_at::job, gone.job);
  put(head.data() + gone_effect_at::place, gone.place);
  out += view(head);
  out += gone.tube;
}

void add_span(const std::string& tube, const EndedSpan& span, std::string& out) {
  CHECK(tube_name_problem(tube).empty());
  CHECK(0 < span.first);
  CHECK(span.first <= span.next);
  Bytes<span_effect_at::end> head = {};
  put(head.data(), static_cast<uint8_t>(tube.size()));
  put(head.data() + span_effect_at::first, span.first);
  put(head.data() + span_effect_at::next, span.next);
  out += view(head);
  out += tube;
}

}  // namespace

bool has_notes(const Batch& batch) {
  return !batch.notes().empty() || std::ranges::any_of(batch.jobs(), counts_notes);
}

bool has_ended(const Batch& batch) {
  return !batch.spans().empty() || std::ranges::any_of(batch.jobs(), is_of_ended) ||
         std::ranges::any_of(batch.metas(), is_of_kept_jobs);
}

bool has_schedules(const Batch& batch) {
  return !batch.schedules().empty() || std::ranges::any_of(batch.jobs(), is_put_by_schedule);
}

uint8_t format_of(const Batch& batch) {
  if (has_schedules(batch)) return batch_format_with_schedules;
  if (has_ended(batch)) return batch_format_with_ended;
  if (has_notes(batch)) return batch_format_with_notes;
  const auto is_of_settings = [](const MetaEffect& effect) {
    return std::holds_alternative<SettingsStored>(effect);
  };
  const bool has_fields = !batch.keys().empty() ||
                          std::ranges::any_of(batch.metas(), is_of_settings) ||
                          std::ranges::any_of(batch.jobs(), has_row_of_format_2);
  return has_fields ? batch_format_with_fields : batch_format;
}

void encode_batch(const Batch& batch, std::string& out) {
  CHECK(batch.index() != 0);
  CHECK(batch.now() >= 0);
  const size_t begin = out.size();
  add_head(batch, out);
  for (const MetaEffect& effect : batch.metas()) std::visit(MetaEncoder{out}, effect);
  for (const KeyEffect& effect : batch.keys()) std::visit(KeyEncoder{out}, effect);
  for (const JobEffect& job : batch.jobs()) {
    if (!writes_nothing(job)) add_job(job, out);
  }
  for (const NoteEffect& effect : batch.notes()) std::visit(NoteEncoder{out}, effect);
  for (const EndedGone& gone : batch.gone()) add_gone(gone, out);
  for (const auto& [tube, span] : batch.spans()) add_span(tube, span, out);
  for (const ScheduleEffect& effect : batch.schedules()) add_schedule(effect, out);
  Bytes<batch_hash_bytes> hash;
  put(hash.data(), XXH3_64bits(out.data() + begin, out.size() - begin));
  out += view(hash);
}

}  // namespace perennial::store
