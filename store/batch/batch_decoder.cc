#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <xxhash.h>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "store/batch/batch_codec.h"
#include "store/batch/batch_layout.h"
#include "store/format/bytes.h"
#include "store/format/fields.h"
#include "store/format/format.h"

namespace perennial::store {
namespace {

bool is_known(uint8_t format) {
  return format == batch_format || format == batch_format_with_fields ||
         format == batch_format_with_notes || format == batch_format_with_ended ||
         format == batch_format_with_schedules;
}

// Checks what is true of every format: the first byte is the format, and the last eight are the
// hash of all bytes before them.
Status check_whole(std::string_view bytes) {
  const auto damaged = [](std::string_view what) {
    return Status(StatusCode::Corruption, fmt::format("a batch as bytes: {}", what));
  };
  if (bytes.size() <= batch_hash_bytes) return damaged("it is too short");
  const size_t hashed = bytes.size() - batch_hash_bytes;
  if (get<uint64_t>(bytes, hashed) != XXH3_64bits(bytes.data(), hashed)) {
    return damaged("the hash does not fit");
  }
  const auto format = static_cast<uint8_t>(bytes[0]);
  if (format > newest_batch_format) {
    return {StatusCode::Unsupported, fmt::format("a batch as bytes: its format is {}, which only a "
                                                 "newer program reads: this one knows {}",
                                                 format, newest_batch_format)};
  }
  if (!is_known(format)) return damaged("unknown format");
  if (hashed < batch_head_bytes(format)) return damaged("it is too short");
  return {};
}

// Decodes bytes whose hash is right, from front to back. It stops at the first error. The hash does
// not make the other checks superfluous: a mistake in an encoder has the right hash, too.
class Decoder {
 public:
  explicit Decoder(std::string_view bytes)
      : bytes_(bytes), format_(static_cast<uint8_t>(bytes[0])) {}

  Result<Batch> decode();

 private:
  bool take_head();
  void take_meta();
  void add_meta(uint8_t kind, TubeId tube, std::string name);
  void take_settings(SettingsStored stored);
  void take_key();
  void take_key_row(std::string_view tube, std::string_view key);
  void take_job();
  void take_note();
  void add_stored_note(JobId job, std::string_view head, std::string_view row);
  void add_removed_notes(const NotesRemoved& removed, std::string_view row);
  void add_job(std::optional<JobState> before, std::optional<JobState> after, std::string_view key,
               size_t fields_bytes);
  void take_ended(std::optional<JobState> before, std::string_view key, size_t bytes);
  void take_gone();
  void take_span();
  void take_schedule();
  void add_schedule(BatchSchedule kind, const std::string& name, std::string_view progress,
                    std::string_view definition);
  // Adds the ended jobs and those that go, whose spans come last.
  void add_ended();
  std::optional<JobState> state_of(char code);
  // Returns the next `count` bytes. If there are fewer, returns none and fails.
  std::string_view take(size_t count);
  template <typename Number>
  Number take_number() {
    const std::string_view bytes = take(sizeof(Number));
    return bytes.empty() ? Number{} : get<Number>(bytes, 0);
  }
  void fail(std::string_view what);
  bool failed() const { return !problem_.empty(); }

  const std::string_view bytes_;  // Without the hash.
  const uint8_t format_;
  size_t at_ = 0;
  size_t part_ = 0;  // The offset of the part that is being decoded, for messages.
  uint32_t metas_ = 0;
  uint32_t jobs_ = 0;
  uint32_t keys_ = 0;
  uint32_t notes_ = 0;
  uint32_t gone_count_ = 0;
  uint32_t spans_count_ = 0;
  uint32_t schedules_ = 0;
  std::vector<EndedJob> ended_;
  std::vector<EndedGone> gone_;
  std::map<std::string, EndedSpan> spans_;
  absl::flat_hash_set<std::string> schedule_names_;
  BatchPlace place_;
  Batch batch_;
  absl::flat_hash_set<JobId> without_notes_;
  // How many notes each job counts. None: the batch deletes it.
  absl::flat_hash_map<JobId, std::optional<uint32_t>> seen_;
  std::string problem_;
};

void Decoder::fail(std::string_view what) {
  if (failed()) return;
  problem_ = fmt::format("a batch as bytes, {} of epoch {}, byte {}: {}", place_.index,
                         place_.epoch, part_, what);
}

std::string_view Decoder::take(size_t count) {
  if (failed()) return {};
  if (count > bytes_.size() - at_) {
    fail("it goes beyond the end");
    return {};
  }
  const std::string_view out = bytes_.substr(at_, count);
  at_ += count;
  return out;
}

bool Decoder::take_head() {
  const std::string_view head = take(batch_head_bytes(format_));
  place_ = {.epoch = get<uint64_t>(head, batch_at::epoch),
            .index = get<BatchIndex>(head, batch_at::index),
            .known_durable = get<BatchIndex>(head, batch_at::known_durable),
            .now = get<Nanos>(head, batch_at::now)};
  metas_ = get<uint32_t>(head, batch_at::metas);
  jobs_ = get<uint32_t>(head, batch_at::jobs);
  if (!all_zero(head.substr(1, batch_at::epoch - 1))) fail("unused bytes are not zero");
  if (format_ != batch_format) {
    keys_ = get<uint32_t>(head, batch_at::keys);
    notes_ = get<uint32_t>(head, batch_at::notes);
    if (notes_ != 0 && format_ < batch_format_with_notes) fail("unused bytes are not zero");
  }
  if (format_ >= batch_format_with_ended) {
    gone_count_ = get<uint32_t>(head, batch_at::gone);
    spans_count_ = get<uint32_t>(head, batch_at::spans);
  }
  if (format_ >= batch_format_with_schedules) {
    schedules_ = get<uint32_t>(head, batch_at::schedules);
    if (!all_zero(head.substr(batch_at::unused))) fail("unused bytes are not zero");
  }
  if (place_.epoch == 0) fail("its epoch is 0");
  if (place_.index == 0) fail("its index is 0");
  if (place_.known_durable >= place_.index) fail("it was known to be durable before it was made");
  if (place_.now < 0) fail("time before the epoch");
  // A wrong count is found here and not after a loop of up to four billion steps.
  const uint64_t least =
      uint64_t{metas_} * meta_at::end + uint64_t{jobs_} * job_effect_at::end +
      uint64_t{keys_} * key_effect_at::end + uint64_t{notes_} * note_effect_at::end +
      uint64_t{gone_count_} * gone_effect_at::end + uint64_t{spans_count_} * span_effect_at::end +
      uint64_t{schedules_} * schedule_effect_at::end;
  if (least > bytes_.size() - at_) fail("it counts more effects than it has room for");
  return !failed();
}

void Decoder::take_meta() {
  part_ = at_;
  const std::string_view head = take(meta_at::end);
  if (failed()) return;
  if (!all_zero(head.substr(meta_at::unused, meta_at::tube - meta_at::unused))) {
    return fail("unused bytes are not zero");
  }
  const std::string_view name = take(static_cast<uint8_t>(head[meta_at::name_bytes]));
  if (failed()) return;
  const auto kind = static_cast<uint8_t>(head[0]);
  const auto tube = get<TubeId>(head, meta_at::tube);
  const bool is_of_settings = kind == static_cast<uint8_t>(BatchMeta::SettingsStored) ||
                              kind == static_cast<uint8_t>(BatchMeta::SettingsRemoved);
  if (is_of_settings && format_ == batch_format) return fail("settings in a batch of format 1");
  if (is_of_settings && tube != 0) return fail("a tube's number where none belongs");
  if (!name.empty() && !is_of_settings && kind != static_cast<uint8_t>(BatchMeta::TubeStored)) {
    return fail("a name where none belongs");
  }
  add_meta(kind, tube, std::string(name));
}

void Decoder::add_meta(uint8_t kind, TubeId tube, std::string name) {
  const auto add = [this](const auto& effect, std::string_view wrong) {
    if (!wrong.empty()) fail(wrong);
    if (!failed()) batch_.add(effect);
  };
  switch (static_cast<BatchMeta>(kind)) {
    case BatchMeta::TubeStored: {
      const TubeStored stored = {.tube = tube, .name = std::move(name)};
      return add(stored, problem(stored));
    }
    case BatchMeta::TubeEnded:
      return add(TubeEnded{.tube = tube}, {});
    case BatchMeta::TubePaused: {
      TubePaused paused = {.tube = tube, .pause = take_number<Nanos>(), .until = 0};
      paused.until = take_number<Nanos>();
      return add(paused, problem(paused));
    }
    case BatchMeta::PauseEnded:
      return add(PauseEnded{.tube = tube}, {});
    case BatchMeta::NextIdRaised: {
      const NextIdRaised raised = {.next_id = take_number<JobId>()};
      if (tube != 0) return fail("a tube where none belongs");
      return add(raised, raised.next_id == 0 ? "next id is 0" : "");
    }
    case BatchMeta::SettingsStored:
      return take_settings({.tube = std::move(name), .settings = {}});
    case BatchMeta::SettingsRemoved: {
      const SettingsStored removed = {.tube = std::move(name), .settings = {}};
      return add(removed, tube_name_problem(removed.tube));
    }
  }
  fail("an effect of an unknown kind");
}

void Decoder::take_settings(SettingsStored stored) {
  const std::string_view fields = take(take_number<uint16_t>());
  if (failed()) return;
  const std::string wrong = decode_fields(fields, stored.settings);
  if (!wrong.empty()) return fail(wrong);
  const std::string_view problem_of_name = tube_name_problem(stored.tube);
  if (!problem_of_name.empty()) return fail(problem_of_name);
  batch_.add(stored);
}

void Decoder::take_key() {
  part_ = at_;
  const std::string_view head = take(key_effect_at::end);
  if (failed()) return;
  if (!all_zero(head.substr(key_effect_at::unused))) return fail("unused bytes are not zero");
  const std::string_view tube = take(static_cast<uint8_t>(head[key_effect_at::tube_bytes]));
  const std::string_view key = take(static_cast<uint8_t>(head[key_effect_at::key_bytes]));
  if (failed()) return;
  const KeyFreed freed = {.tube = std::string(tube), .key = std::string(key)};
  const std::string_view wrong = problem(freed);
  if (!wrong.empty()) return fail(wrong);
  const size_t before = batch_.keys().size();
  switch (static_cast<BatchKey>(head[0])) {
    case BatchKey::Stored:
      take_key_row(tube, key);
      break;
    case BatchKey::Freed:
      batch_.add(freed);
      break;
    default:
      return fail("a key effect of an unknown kind");
  }
  // The batch keeps one effect for each key, so a second one has replaced the first.
  if (batch_.keys().size() == before) fail("a key twice");
}

void Decoder::take_key_row(std::string_view tube, std::string_view key) {
  const std::string_view row = take(key_row_bytes);
  if (failed()) return;
  const Result<KeyStored> stored = decode_key(key_row_key(tube, key), row);
  if (!stored.ok()) return fail(stored.status().message());
  batch_.add(*stored);
}

std::optional<JobState> Decoder::state_of(char code) {
  const auto number = static_cast<uint8_t>(code);
  const std::optional<JobState> state = decode_state(number);
  if (!state && number != static_cast<uint8_t>(BatchState::None)) fail("a job in an unknown state");
  return state;
}

void Decoder::take_job() {
  part_ = at_;
  const std::string_view head = take(job_effect_at::end);
  if (failed()) return;
  const std::optional<JobState> before = state_of(head[job_effect_at::before]);
  const bool has_ended = head[job_effect_at::after] == static_cast<char>(BatchState::Ended) &&
                         format_ >= batch_format_with_ended;
  const std::optional<JobState> after =
      has_ended ? std::nullopt : state_of(head[job_effect_at::after]);
  const auto id = get<JobId>(head, job_effect_at::id);
  const auto fields_bytes = get<uint16_t>(head, job_effect_at::fields_bytes);
  if (fields_bytes != 0 && format_ == batch_format) return fail("unused bytes are not zero");
  if (fields_bytes != 0 && !after && !has_ended) return fail("fields of a job without a row");
  if (!all_zero(head.substr(job_effect_at::unused, job_effect_at::id - job_effect_at::unused))) {
    return fail("unused bytes are not zero");
  }
  if (id == 0) return fail("job id is 0");
  if (!before && !after && !has_ended) return fail("a job that was not there and is not");
  if (!seen_.try_emplace(id).second) return fail("a job twice");
  const Bytes<8> key = job_key(id);
  if (has_ended) return take_ended(before, view(key), fields_bytes);
  add_job(before, after, view(key), fields_bytes);
}

// A job that was put in the batch, too, is put and taken away again, so that the batch has its
// body.
void Decoder::take_ended(std::optional<JobState> before, std::string_view key, size_t bytes) {
  Result<EndedJob> ended = decode_ended(key, take(bytes));
  if (failed()) return;
  if (!ended.ok()) return fail(ended.status().message());
  const JobRow& row = ended->row;
  seen_[row.id] = row.fields ? row.fields->notes : 0;
  if (!before) {
    const std::string_view body = take(row.body_bytes);
    if (failed()) return;
    batch_.add(JobMoved{.id = row.id, .before = {}, .after = row, .promised = true}, body);
  }
  batch_.add(
      JobMoved{.id = row.id, .before = before ? before : row.state, .after = {}, .promised = true});
  ended_.push_back(ended.take());
}

void Decoder::add_job(std::optional<JobState> before, std::optional<JobState> after,
                      std::string_view key, size_t fields_bytes) {
  JobMoved moved = {
      .id = get_big_endian<JobId>(key), .before = before, .after = {}, .promised = true};
  std::string_view body;
  if (after) {
    const std::string_view bytes = take(batch_row_bytes + fields_bytes);
    if (failed()) return;
    Result<JobRow> row = decode_job(*after, key, bytes);
    if (!row.ok()) return fail(row.status().message());
    moved.after = row.take();
    seen_[moved.id] = moved.after->fields ? moved.after->fields->notes : 0;
    if (!before) body = take(moved.after->body_bytes);
  }
  if (!failed()) batch_.add(moved, body);
}

void Decoder::take_note() {
  part_ = at_;
  const std::string_view head = take(note_effect_at::end);
  const std::string_view row =
      failed() ? std::string_view() : take(get<uint16_t>(head, note_effect_at::row_bytes));
  if (failed()) return;
  if (!all_zero(head.substr(note_effect_at::unused, note_effect_at::job - note_effect_at::unused)))
    return fail("unused bytes are not zero");
  const auto job = get<JobId>(head, note_effect_at::job);
  const size_t before = batch_.notes().size();
  switch (static_cast<BatchNote>(head[0])) {
    case BatchNote::Stored:
      add_stored_note(job, head, row);
      break;
    case BatchNote::Removed:
      add_removed_notes({.job = job, .kept = static_cast<uint8_t>(head[note_effect_at::place])},
                        row);
      break;
    default:
      return fail("a note effect of an unknown kind");
  }
  if (!failed() && batch_.notes().size() == before) fail("a note twice");
}

void Decoder::add_stored_note(JobId job, std::string_view head, std::string_view row) {
  const auto place = static_cast<uint8_t>(head[note_effect_at::place]);
  if (place >= notes_max) return fail("a note in no place");
  const Result<NoteStored> stored = decode_note(view(note_key(job, place)), row);
  if (!stored.ok()) return fail(stored.status().message());
  const auto seen = seen_.find(job);
  if (seen == seen_.end() || !seen->second) return fail("a note of a job that is not stored");
  if (!is_kept(stored->note.number, *seen->second))
    return fail("a note that its job does not keep");
  batch_.add(*stored);
}

void Decoder::add_removed_notes(const NotesRemoved& removed, std::string_view row) {
  if (const std::string_view wrong = problem(removed); !wrong.empty()) return fail(wrong);
  if (!row.empty()) return fail("a note where none belongs");
  const auto seen = seen_.find(removed.job);
  if (seen == seen_.end() || seen->second) return fail("the notes of a job that is not deleted");
  if (!without_notes_.insert(removed.job).second) return fail("notes removed twice");
  batch_.add(removed);
}

void Decoder::take_gone() {
  part_ = at_;
  const std::string_view head = take(gone_effect_at::end);
  if (failed()) return;
  const size_t unused_bytes = gone_effect_at::job - gone_effect_at::unused;
  if (!all_zero(head.substr(gone_effect_at::unused, unused_bytes))) {
    return fail("unused bytes are not zero");
  }
  const std::string_view tube = take(static_cast<uint8_t>(head[0]));
  if (failed()) return;
  EndedGone gone = {.tube = std::string(tube),
                    .place = get<uint64_t>(head, gone_effect_at::place),
                    .job = get<JobId>(head, gone_effect_at::job),
                    .notes = static_cast<uint8_t>(head[gone_effect_at::notes]),
                    .span = {}};
  if (const std::string_view wrong = problem(gone); !wrong.empty()) return fail(wrong);
  if (!seen_.try_emplace(gone.job).second)
    return fail("an ended job that goes, and is in the batch");
  gone_.push_back(std::move(gone));
}

void Decoder::take_span() {
  part_ = at_;
  const std::string_view head = take(span_effect_at::end);
  if (failed()) return;
  if (!all_zero(head.substr(span_effect_at::unused, span_effect_at::first - 1))) {
    return fail("unused bytes are not zero");
  }
  std::string tube(take(static_cast<uint8_t>(head[0])));
  const EndedSpan span = {.first = get<uint64_t>(head, span_effect_at::first),
                          .next = get<uint64_t>(head, span_effect_at::next)};
  if (failed()) return;
  if (const std::string_view wrong = tube_name_problem(tube); !wrong.empty()) return fail(wrong);
  if (span.first == 0 || span.next < span.first) return fail("a span of ended jobs out of range");
  if (!spans_.empty() && tube <= spans_.rbegin()->first) {
    return fail("a span of ended jobs out of order");
  }
  spans_.emplace(std::move(tube), span);
}

void Decoder::take_schedule() {
  part_ = at_;
  const std::string_view head = take(schedule_effect_at::end);
  if (failed()) return;
  const size_t unused_bytes = schedule_effect_at::definition_bytes - schedule_effect_at::unused;
  if (!all_zero(head.substr(schedule_effect_at::unused, unused_bytes))) {
    return fail("unused bytes are not zero");
  }
  const auto kind = static_cast<BatchSchedule>(head[0]);
  if (kind < BatchSchedule::Stored || kind > BatchSchedule::Deleted) {
    return fail("a schedule effect of an unknown kind");
  }
  const std::string name(take(static_cast<uint8_t>(head[schedule_effect_at::name_bytes])));
  const std::string_view progress =
      take(kind == BatchSchedule::Deleted ? 0 : schedule_progress_bytes);
  const std::string_view definition =
      take(get<uint32_t>(head, schedule_effect_at::definition_bytes));
  if (failed()) return;
  if (const std::string_view wrong = schedule_name_problem(name); !wrong.empty()) {
    return fail(wrong);
  }
  if (definition.empty() != (kind != BatchSchedule::Stored)) {
    return fail("a schedule without its definition, or one where none belongs");
  }
  if (!schedule_names_.insert(name).second) return fail("a schedule twice");
  add_schedule(kind, name, progress, definition);
}

void Decoder::add_schedule(BatchSchedule kind, const std::string& name, std::string_view progress,
                           std::string_view definition) {
  if (kind == BatchSchedule::Deleted) return batch_.add(ScheduleDeleted{name});
  const Result<ScheduleProgress> now =
      decode_schedule_progress(schedule_key(ScheduleTag::Progress, name), progress);
  if (!now.ok()) return fail(now.status().message());
  if (kind == BatchSchedule::Changed) return batch_.add(ScheduleChanged{name, *now});
  Result<StoredSchedule> stored =
      decode_schedule(schedule_key(ScheduleTag::Definition, name), definition);
  if (!stored.ok()) return fail(stored.status().message());
  const std::string_view body = stored->body;
  batch_.add(ScheduleStored{std::move(stored->schedule), *now}, body);
}

void Decoder::add_ended() {
  for (EndedJob& job : ended_) {
    const auto span = spans_.find(job.tube);
    if (span == spans_.end()) return fail("an ended job without the span of its tube");
    if (job.place < span->second.first || job.place >= span->second.next) {
      return fail("an ended job outside of the span of its tube");
    }
    batch_.add(JobEnded{.job = std::move(job), .span = span->second});
  }
  for (EndedGone& gone : gone_) {
    const auto span = spans_.find(gone.tube);
    if (span == spans_.end()) return fail("an ended job that goes, without the span of its tube");
    gone.span = span->second;
    batch_.add(gone);
  }
  // Of the other tubes only empty places have gone: jobs were restored from there.
  for (const auto& [tube, span] : spans_) {
    if (!batch_.spans().contains(tube)) batch_.add(EndedTrimmed{tube, span});
  }
}

Result<Batch> Decoder::decode() {
  if (take_head()) {
    for (uint32_t i = 0; i < metas_ && !failed(); ++i) take_meta();
    for (uint32_t i = 0; i < keys_ && !failed(); ++i) take_key();
    for (uint32_t i = 0; i < jobs_ && !failed(); ++i) take_job();
    for (uint32_t i = 0; i < notes_ && !failed(); ++i) take_note();
    for (uint32_t i = 0; i < gone_count_ && !failed(); ++i) take_gone();
    for (uint32_t i = 0; i < spans_count_ && !failed(); ++i) take_span();
    for (uint32_t i = 0; i < schedules_ && !failed(); ++i) take_schedule();
    part_ = at_;
    if (!failed()) add_ended();
    if (!failed() && at_ != bytes_.size()) fail("there is more than it counts");
    // The same batch always has the same bytes.
    const uint8_t needed = failed() ? format_ : format_of(batch_);
    if (format_ > needed) fail("nothing in it needs its format");
    if (format_ < needed) fail(fmt::format("it needs format {}", needed));
  }
  if (failed()) return Status(StatusCode::Corruption, problem_);
  batch_.seal(place_);
  return std::move(batch_);
}

}  // namespace

Result<Batch> decode_batch(std::string_view bytes) {
  if (Status whole = check_whole(bytes); !whole.ok()) return whole;
  return Decoder(bytes.substr(0, bytes.size() - batch_hash_bytes)).decode();
}

}  // namespace perennial::store
