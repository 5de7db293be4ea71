#include "tests/golden/batches.h"

#include <cstdint>
#include <optional>
#include <utility>

namespace perennial::golden {
namespace {

constexpr Nanos begin = 1'700'000'000 * nanos_per_second;

JobRow row_of(JobId id, JobState state) {
  const bool is_ordered = state == JobState::Delayed || state == JobState::Buried;
  const auto number = static_cast<uint32_t>(id);
  return {.id = id,
          .state = state,
          .tube = 7,
          .priority = UINT32_MAX - number,
          .delay_s = 3600,
          .ttr_s = 60 + number,
          .created = begin + static_cast<Nanos>(id),
          .order = is_ordered ? static_cast<uint64_t>(begin) + id : 0,
          .reserves = 1,
          .timeouts = 2,
          .releases = 3,
          .buries = 4,
          .kicks = 5};
}

void put(NamedBatch& into, JobId id, std::string body) {
  into.bodies.push_back(std::move(body));
  JobRow row = row_of(id, JobState::Ready);
  row.body_bytes = static_cast<uint32_t>(into.bodies.back().size());
  into.batch.add(JobMoved{.id = id, .before = {}, .after = row, .promised = true},
                 into.bodies.back());
}

void move(NamedBatch& into, JobId id, JobState from, std::optional<JobState> to) {
  std::optional<JobRow> after;
  if (to) after = row_of(id, *to);
  into.batch.add(JobMoved{.id = id, .before = from, .after = after, .promised = true});
}

// Every kind of effect that format 1 knows.
void add_every_kind(NamedBatch& out) {
  out.batch.add(NextIdRaised{.next_id = 1001});
  out.batch.add(TubeStored{.tube = 7, .name = "odd-+/;.$_()name"});
  out.batch.add(TubeStored{.tube = 8, .name = std::string(tube_name_bytes_max, 't')});
  out.batch.add(
      TubePaused{.tube = 7, .pause = 10 * nanos_per_second, .until = begin + nanos_per_second});
  out.batch.add(PauseEnded{.tube = 3});
  out.batch.add(TubeEnded{.tube = 4});
  put(out, 501, all_bytes());
  put(out, 502, "");
  move(out, 11, JobState::Ready, JobState::Reserved);
  move(out, 12, JobState::Reserved, JobState::Delayed);
  move(out, 13, JobState::Delayed, JobState::Buried);
  move(out, 14, JobState::Buried, JobState::Ready);
  move(out, 15, JobState::Ready, JobState::Ready);
  move(out, 16, JobState::Ready, {});
  move(out, 17, JobState::Reserved, {});
  move(out, 18, JobState::Delayed, {});
  move(out, 19, JobState::Buried, {});
  // This job is put and deleted in the same batch, so it leaves no trace.
  put(out, 503, "never seen");
  move(out, 503, JobState::Ready, {});
}

NamedBatch every_kind() {
  NamedBatch out = {.format = 1, .name = "every_kind", .batch = {}, .bodies = {}};
  add_every_kind(out);
  out.batch.seal({.epoch = 3, .index = 42, .known_durable = 41, .now = begin});
  return out;
}

JobFields all_fields() {
  return {.attempts = 2,
          .tries = tries_max,
          .backoff = Backoff{.first = nanos_per_ms, .cap = 3600 * nanos_per_second},
          .dead = std::string(tube_name_bytes_max, 'd'),
          .from = "f",
          .expires_at = begin + 1,
          .key = JobKey{.key = std::string(key_bytes_max, 'k'),
                        .seconds = UINT32_MAX,
                        .until = KeyUntil::Reserved,
                        .given_up = true},
          .concurrency = ConcurrencyKey{.key = "c", .jobs_max = 3},
          .delay_rest_ns = 999 * nanos_per_ms,
          .ttr_rest_ns = nanos_per_ms};
}

TubeSettings all_settings() {
  return {.tries = 1,
          .backoff = Backoff{.first = nanos_per_second, .cap = nanos_per_second},
          .dead = "d",
          .expire = nanos_per_second,
          .reserved = 4,
          .rate = Rate{.jobs = 5, .period = 6},
          .drain = true};
}

void put(NamedBatch& into, JobId id, JobFields fields) {
  JobRow row = row_of(id, JobState::Ready);
  row.fields = std::move(fields);
  into.batch.add(JobMoved{.id = id, .before = {}, .after = row, .promised = true});
}

NamedBatch every_kind_of_format_2() {
  NamedBatch out = {.format = 2, .name = "every_kind", .batch = {}, .bodies = {}};
  add_every_kind(out);
  put(out, 601, all_fields());
  put(out, 602, {.attempts = 1});
  put(out, 603, {.key = JobKey{.key = "of a kind", .seconds = 1, .until = KeyUntil::Ttl}});
  out.batch.add(SettingsStored{.tube = "mail", .settings = all_settings()});
  out.batch.add(SettingsStored{.tube = "one", .settings = {.drain = false}});
  out.batch.add(SettingsStored{.tube = "none", .settings = {}});
  out.batch.add(KeyStored{
      .tube = "mail", .key = "held", .job = 601, .until = KeyUntil::Deleted, .expires_at = 0});
  out.batch.add(KeyStored{.tube = std::string(tube_name_bytes_max, 't'),
                          .key = std::string(key_bytes_max, 'k'),
                          .job = 4,
                          .until = KeyUntil::Ttl,
                          .expires_at = INT64_MAX});
  out.batch.add(KeyFreed{.tube = "mail", .key = "free"});
  out.batch.seal({.epoch = 3, .index = 43, .known_durable = 42, .now = begin});
  return out;
}

NamedBatch one_key() {
  NamedBatch out = {.format = 2, .name = "one_key", .batch = {}, .bodies = {}};
  out.batch.add(KeyFreed{.tube = "t", .key = "k"});
  out.batch.seal({.epoch = 1, .index = 1, .known_durable = 0, .now = 0});
  return out;
}

NoteStored note_of(JobId job, uint32_t number, std::string user, std::string text) {
  return {.job = job,
          .note = {.number = number,
                   .attempt = number + 1,
                   .time = begin + static_cast<Nanos>(number),
                   .user = std::move(user),
                   .text = std::move(text)}};
}

NamedBatch every_kind_of_format_4() {
  NamedBatch out = {.format = 4, .name = "every_kind", .batch = {}, .bodies = {}};
  add_every_kind(out);
  put(out, 701, JobFields{.attempts = 1, .notes = 5});
  put(out, 702, JobFields{.notes = 1});
  put(out, 703, JobFields{.notes = UINT32_MAX});  // Its notes are in earlier batches.
  out.batch.add(KeyFreed{.tube = "mail", .key = "free"});
  out.batch.add(note_of(701, 3, "", "x"));
  out.batch.add(note_of(701, 4, "worker", all_bytes()));
  out.batch.add(note_of(701, 5, std::string(note_user_bytes_max, 'u'), random_bytes(4096)));
  out.batch.add(note_of(702, 1, "", "never seen"));
  out.batch.add(note_of(702, 1, "ann", "exit status 1\nNo such file"));
  out.batch.add(NotesRemoved{.job = 16, .kept = 3});
  out.batch.add(NotesRemoved{.job = 17, .kept = 1});
  out.batch.seal({.epoch = 3, .index = 44, .known_durable = 43, .now = begin});
  return out;
}

NamedBatch counted_notes() {
  NamedBatch out = {.format = 4, .name = "counted_notes", .batch = {}, .bodies = {}};
  JobRow row = row_of(1, JobState::Reserved);
  row.fields = JobFields{.notes = 2};
  out.batch.add(JobMoved{.id = 1, .before = JobState::Ready, .after = row, .promised = true});
  out.batch.seal({.epoch = 1, .index = 1, .known_durable = 0, .now = 0});
  return out;
}

EndedJob ended_job(JobId id, JobState state, uint64_t place, JobEnd how) {
  EndedJob job = {.row = row_of(id, state),
                  .tube = "mail",
                  .place = place,
                  .how = how,
                  .at = begin + static_cast<Nanos>(place),
                  .user = {}};
  job.row.tube = 0;
  return job;
}

void end(NamedBatch& into, const EndedJob& job) {
  into.batch.add(
      JobMoved{.id = job.row.id, .before = job.row.state, .after = {}, .promised = true});
  into.batch.add(JobEnded{.job = job, .span = {.first = 2, .next = job.place + 1}});
}

NamedBatch every_kind_of_format_5() {
  NamedBatch out = {.format = 5, .name = "every_kind", .batch = {}, .bodies = {}};
  add_every_kind(out);
  out.batch.add(SettingsStored{.tube = "mail", .settings = {.keep = 1, .keep_max = UINT32_MAX}});
  put(out, 801, JobFields{.restored = UINT64_MAX, .put_by = "ann", .first_reserved = begin});
  EndedJob noted = ended_job(21, JobState::Buried, 7, JobEnd::Flushed);
  noted.row.fields = all_fields();
  noted.row.fields->notes = 2;
  noted.user = std::string(note_user_bytes_max, 'u');
  end(out, noted);
  out.batch.add(note_of(21, 2, "ann", "of an ended job"));
  end(out, ended_job(22, JobState::Reserved, 8, JobEnd::Deleted));
  // This job is put and ends in the same batch.
  put(out, 504, "kept");
  EndedJob put_here = ended_job(504, JobState::Ready, 9, JobEnd::Expired);
  put_here.row.body_bytes = 4;
  put_here.user = "ann";
  end(out, put_here);
  const std::string tube(tube_name_bytes_max, 't');
  out.batch.add(EndedGone{.tube = tube,
                          .place = UINT64_MAX - 1,
                          .job = UINT64_MAX,
                          .notes = 3,
                          .span = {.first = UINT64_MAX, .next = UINT64_MAX}});
  out.batch.add(EndedGone{
      .tube = "mail", .place = 2, .job = 23, .notes = 0, .span = {.first = 3, .next = 10}});
  out.batch.seal({.epoch = 3, .index = 45, .known_durable = 44, .now = begin});
  return out;
}

NamedBatch one_gone() {
  NamedBatch out = {.format = 5, .name = "one_gone", .batch = {}, .bodies = {}};
  out.batch.add(
      EndedGone{.tube = "t", .place = 1, .job = 1, .notes = 1, .span = {.first = 2, .next = 2}});
  out.batch.seal({.epoch = 1, .index = 1, .known_durable = 0, .now = 0});
  return out;
}

Schedule schedule_of(std::string name, ScheduleWhen when) {
  return {.name = std::move(name), .tube = "mail", .when = std::move(when), .put = {}};
}

void set(NamedBatch& into, Schedule schedule, const ScheduleProgress& progress, std::string body) {
  into.bodies.push_back(std::move(body));
  schedule.put.body_bytes = static_cast<uint32_t>(into.bodies.back().size());
  into.batch.add(ScheduleStored{.schedule = std::move(schedule), .progress = progress},
                 into.bodies.back());
}

NamedBatch every_kind_of_format_6() {
  NamedBatch out = {.format = 6, .name = "every_kind", .batch = {}, .bodies = {}};
  add_every_kind(out);
  out.batch.add(SettingsStored{.tube = "mail", .settings = {.keep = 1}});
  end(out, ended_job(22, JobState::Reserved, 8, JobEnd::Deleted));
  put(out, 901, JobFields{.schedule = ScheduleOrigin{.name = "nightly", .planned = begin}});
  Schedule nightly = schedule_of("nightly", ScheduleCron{"30 2 * * *", "Europe/Berlin"});
  nightly.put = {UINT32_MAX, 3600, 60, 0};
  PutOptions& options = nightly.put.options.make();
  options.tries = TriesOption{3};
  options.backoff = Backoff{.first = nanos_per_second, .cap = 60 * nanos_per_second};
  options.dead = "dead";
  options.expire.nanos = 3600 * nanos_per_second;
  options.key = KeyOption{.key = "nightly", .seconds = 60};
  options.until = KeyUntil::Reserved;
  options.concurrency = ConcurrencyKey{.key = "one", .jobs_max = 1};
  options.delay_rest_ns = 250 * nanos_per_ms;
  nightly.missed_max = schedule_missed_limit;
  nightly.overlap = ScheduleOverlap::Skip;
  nightly.jitter = 300 * nanos_per_second;
  set(out, nightly,
      {.planned = begin + nanos_per_second,
       .last_planned = begin,
       .last_fired = begin + 1,
       .last_job = 901,
       .fired = 7,
       .skipped = 2,
       .missed = 1,
       .is_paused = true},
      all_bytes());
  Schedule minutely =
      schedule_of(std::string(schedule_name_bytes_max, 'm'), ScheduleEvery{60, begin});
  minutely.missed_max = 0;
  minutely.overlap = ScheduleOverlap::Replace;
  set(out, minutely, {.planned = begin}, "");
  set(out, schedule_of("once", ScheduleAt{begin}), {.state = ScheduleState::Over}, "once");
  out.batch.add(ScheduleChanged{.name = "moved", .progress = {.state = ScheduleState::NoZone}});
  out.batch.add(ScheduleDeleted{.name = "gone"});
  out.batch.seal({.epoch = 3, .index = 46, .known_durable = 45, .now = begin});
  return out;
}

NamedBatch one_schedule() {
  NamedBatch out = {.format = 6, .name = "one_schedule", .batch = {}, .bodies = {}};
  out.batch.add(ScheduleChanged{.name = "s", .progress = {.planned = 1}});
  out.batch.seal({.epoch = 1, .index = 1, .known_durable = 0, .now = 0});
  return out;
}

NamedBatch empty() {
  NamedBatch out = {.format = 1, .name = "empty", .batch = {}, .bodies = {}};
  out.batch.seal({.epoch = 1, .index = 1, .known_durable = 0, .now = 0});
  return out;
}

NamedBatch large_body() {
  NamedBatch out = {.format = 1, .name = "large_body", .batch = {}, .bodies = {}};
  put(out, 0x0102030405060708, random_bytes(70'000));
  out.batch.seal({.epoch = 0x1112131415161718,
                  .index = 0x2122232425262728,
                  .known_durable = 0x2122232425262700,
                  .now = INT64_MAX});
  return out;
}

}  // namespace

std::string all_bytes() {
  std::string out;
  for (int byte = 0; byte < 256; ++byte) out += static_cast<char>(byte);
  return out;
}

std::string random_bytes(size_t count) {
  std::string out;
  uint32_t state = 1;
  while (out.size() < count) {
    state = state * 1664525 + 1013904223;
    out += static_cast<char>(state >> 24);
  }
  return out;
}

std::vector<NamedBatch> all_batches() {
  std::vector<NamedBatch> out;
  out.reserve(11);  // A copy would refer to the bodies of the original.
  out.push_back(every_kind());
  out.push_back(empty());
  out.push_back(large_body());
  out.push_back(every_kind_of_format_2());
  out.push_back(one_key());
  out.push_back(every_kind_of_format_4());
  out.push_back(counted_notes());
  out.push_back(every_kind_of_format_5());
  out.push_back(one_gone());
  out.push_back(every_kind_of_format_6());
  out.push_back(one_schedule());
  return out;
}

}  // namespace perennial::golden
