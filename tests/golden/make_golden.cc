// Makes a golden data directory of this program's format, and its listing beside it:
//
//   ninja -C build make_golden
//   build/make_golden tests/golden/format_5
//
// For a new format only, once: what is there must never change. Another run gives the same content
// in other bytes, because RocksDB draws names for its sessions.

#include <array>
#include <cstdio>
#include <deque>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string>

#include "engine/types/check.h"
#include "store/store.h"
#include "tests/golden/batches.h"
#include "tests/golden/listing.h"

namespace perennial::golden {
namespace {

namespace fs = std::filesystem;
using store::Batch;
using store::Store;

constexpr Nanos begin = 1'700'000'000 * nanos_per_second;
constexpr JobId id_mark = 1001;  // Ids below this may be given out before the mark is raised.
constexpr JobId id_end = 28;     // The lowest id that was not given out.

// Writes batches that are the same in each run.
class Writer {
 public:
  explicit Writer(Store& store) : store_(store) {}

  void put(JobId id, TubeId tube, const std::string& body, JobRow row = {}) {
    row.id = id;
    row.tube = tube;
    if (!row.fields) row.ttr_s = 60 + static_cast<uint32_t>(id);
    row.created = begin + static_cast<Nanos>(id) * nanos_per_second;
    row.body_bytes = static_cast<uint32_t>(body.size());
    bodies_[id] = body;
    batch_.add(JobMoved{.id = id, .before = {}, .after = row, .promised = true}, bodies_[id]);
    rows_[id] = row;
  }
  void move(JobId id, JobState to, uint64_t order) {
    JobRow row = rows_[id];
    const JobState before = row.state;
    row.state = to;
    row.order = order;
    ++row.reserves;
    if (to == JobState::Buried) ++row.buries;
    if (to == JobState::Delayed) {
      ++row.releases;
      row.delay_s = 3600;
    }
    batch_.add(JobMoved{.id = id, .before = before, .after = row, .promised = true});
    rows_[id] = row;
  }
  void remove(JobId id) {
    batch_.add(JobMoved{.id = id, .before = rows_[id].state, .after = {}, .promised = true});
  }
  // The job ends in the next place of the tube, and is kept.
  void end(JobId id, const std::string& tube, JobEnd how, std::string user) {
    EndedSpan& span = spans_[tube];
    EndedJob job = {.row = rows_[id],
                    .tube = tube,
                    .place = span.next++,
                    .how = how,
                    .at = begin + static_cast<Nanos>(span.next) * nanos_per_second,
                    .user = std::move(user)};
    job.row.tube = 0;
    remove(id);
    batch_.add(JobEnded{.job = job, .span = span});
    ended_[id] = job;
  }
  // The ended job goes. `first`: the first place that is left of those of its tube.
  void go(JobId id, uint64_t first) {
    const EndedJob& job = ended_[id];
    spans_[job.tube].first = first;
    batch_.add(EndedGone{.tube = job.tube,
                         .place = job.place,
                         .job = id,
                         .notes = store::order_of(job).notes,
                         .span = spans_[job.tube]});
  }
  // Returns the number of the next note of the job, whose row counts it now.
  uint32_t count_note(JobId id) {
    JobRow row = rows_[id];
    const uint32_t number = ++row.fields.make().notes;
    batch_.add(JobMoved{.id = id, .before = row.state, .after = row, .promised = true});
    rows_[id] = row;
    return number;
  }
  void set(const Schedule& schedule, const ScheduleProgress& progress, std::string body) {
    schedule_bodies_.push_back(std::move(body));
    batch_.add(ScheduleStored{.schedule = schedule, .progress = progress}, schedule_bodies_.back());
  }
  template <typename Effect>
  void add(const Effect& effect) {
    batch_.add(effect);
  }
  void commit() {
    ++index_;
    batch_.seal({.epoch = store_.opening().epoch,
                 .index = index_,
                 .known_durable = index_ - 1,
                 .now = begin + static_cast<Nanos>(index_) * nanos_per_ms});
    CHECK(store_.write(batch_, true).ok());
    batch_.clear();
  }

 private:
  Store& store_;
  Batch batch_;
  BatchIndex index_ = 0;
  std::array<JobRow, id_end> rows_ = {};
  std::array<std::string, id_end> bodies_;
  std::deque<std::string> schedule_bodies_;
  std::map<JobId, EndedJob> ended_;
  std::map<std::string, EndedSpan> spans_;
};

// What format 2 has added: jobs with fields, keys, and settings of tubes. Job 15 has every field.
void write_fields(Writer& writer) {
  const Nanos end = begin + 5'000'000 * nanos_per_second;
  writer.put(15, 1, "every field",
             {.state = JobState::Delayed,
              .order = begin + nanos_per_second / 4,
              .fields = JobFields{.attempts = 2,
                                  .tries = tries_max,
                                  .backoff = Backoff{.first = nanos_per_ms,
                                                     .cap = 4'294'967'295 * nanos_per_second},
                                  .dead = std::string(tube_name_bytes_max, 'd'),
                                  .from = "default",
                                  .expires_at = end,
                                  .key = JobKey{.key = std::string(key_bytes_max, 'k'),
                                                .seconds = 5,
                                                .until = KeyUntil::Reserved,
                                                .given_up = true},
                                  .concurrency = ConcurrencyKey{.key = "user-7", .jobs_max = 2},
                                  .delay_rest_ns = 250 * nanos_per_ms,
                                  .ttr_rest_ns = 500 * nanos_per_ms}});
  writer.put(16, 0, "holds a key", {.ttr_s = 1, .fields = JobFields{.key = JobKey{.key = "held"}}});
  writer.put(17, 0, "holds a key for a time",
             {.ttr_s = 1,
              .fields = JobFields{
                  .key = JobKey{.key = "timed", .seconds = 5'000'000, .until = KeyUntil::Ttl}}});
  writer.put(18, 0, "will be gone",
             {.ttr_s = 1, .fields = JobFields{.key = JobKey{.key = "cooling", .seconds = 5}}});
  const std::string tube = "default";
  writer.add(KeyStored{
      .tube = tube, .key = "held", .job = 16, .until = KeyUntil::Deleted, .expires_at = 0});
  writer.add(KeyStored{
      .tube = tube, .key = "timed", .job = 17, .until = KeyUntil::Ttl, .expires_at = end});
  writer.add(KeyStored{
      .tube = tube, .key = "cooling", .job = 18, .until = KeyUntil::Deleted, .expires_at = 0});
  writer.add(KeyStored{
      .tube = "gone", .key = "freed", .job = 19, .until = KeyUntil::Deleted, .expires_at = end});
  writer.add(SettingsStored{
      .tube = "no-such-tube",
      .settings = {.tries = 3,
                   .backoff = Backoff{.first = nanos_per_second, .cap = 3600 * nanos_per_second},
                   .dead = "graveyard",
                   .expire = nanos_per_second,
                   .reserved = 4,
                   .rate = Rate{.jobs = 5, .period = nanos_per_second},
                   .drain = true}});
  writer.add(SettingsStored{.tube = "default", .settings = {.drain = false}});
  writer.add(SettingsStored{.tube = "removed", .settings = {.tries = 1}});
  writer.commit();
}

// What becomes of some of those.
void change_fields(Writer& writer) {
  writer.remove(18);
  writer.add(KeyStored{.tube = "default",
                       .key = "cooling",
                       .job = 18,
                       .until = KeyUntil::Deleted,
                       .expires_at = begin + 1});
  writer.add(KeyFreed{.tube = "gone", .key = "freed"});
  writer.add(SettingsStored{.tube = "default", .settings = {.tries = 9}});
  writer.add(SettingsStored{.tube = "removed", .settings = {}});
  writer.move(16, JobState::Buried, 5);
  writer.put(20, 0, "short", {.ttr_s = 0, .fields = JobFields{.ttr_rest_ns = 10 * nanos_per_ms}});
  writer.commit();
}

// What format 3 has added: notes. They are in the batch of the row that counts them.
void add_note(Writer& writer, JobId id, std::string user, std::string text) {
  const uint32_t number = writer.count_note(id);
  writer.add(NoteStored{.job = id,
                        .note = {.number = number,
                                 .attempt = number + 1,
                                 .time = begin + static_cast<Nanos>(number) * nanos_per_second,
                                 .user = std::move(user),
                                 .text = std::move(text)}});
}

void write_notes(Writer& writer) {
  add_note(writer, 1, "", "x");
  for (int i = 0; i < 3; ++i) add_note(writer, 2, "worker", "note " + std::to_string(i));
  add_note(writer, 3, std::string(note_user_bytes_max, 'u'), random_bytes(note_bytes_max));
  add_note(writer, 3, "ann", all_bytes());
  add_note(writer, 4, "ann", "of a job that will be gone");
  writer.commit();
  for (int i = 2; i < 4; ++i) add_note(writer, 3, "", "note\r\n" + std::to_string(i));
  writer.commit();
}

// What becomes of some of those: job 3 has had five in the end, and job 1 one.
void change_notes(Writer& writer) {
  add_note(writer, 3, "ann", "the last one");
  writer.remove(4);
  writer.add(NotesRemoved{.job = 4, .kept = 1});
  writer.commit();
}

// What format 4 has added: jobs that have ended and are kept, in two tubes.
void write_ended(Writer& writer) {
  writer.add(SettingsStored{.tube = "kept", .settings = {.keep = nanos_per_second, .keep_max = 7}});
  for (const JobId id : {21, 22, 23}) writer.put(id, 1, "will end " + std::to_string(id));
  writer.commit();
  add_note(writer, 21, "ann", "of a job that has ended");
  writer.move(22, JobState::Buried, 6);
  writer.commit();
  const std::string tube = "odd-+/;.$_()name";
  writer.end(21, tube, JobEnd::Deleted, "ann");
  writer.end(22, tube, JobEnd::Flushed, std::string(note_user_bytes_max, 'u'));
  writer.end(23, tube, JobEnd::Expired, "");
  // It is put and ends at once, and its tube is gone.
  writer.put(24, 1, all_bytes());
  writer.end(24, "gone", JobEnd::Deleted, "");
  writer.commit();
}

// What becomes of some of those: 21 goes, and 23 is restored as 25.
void change_ended(Writer& writer) {
  writer.go(21, 2);
  writer.commit();
  writer.go(23, 2);
  const JobFields fields = {.restored = 23, .put_by = "ann", .first_reserved = begin};
  writer.put(25, 1, "will end 23", {.ttr_s = 1, .fields = fields});
  writer.commit();
}

// What format 5 has added: schedules, and the jobs that they have put.
Schedule schedule_of(std::string name, ScheduleWhen when, uint32_t body_bytes) {
  Schedule out = {
      .name = std::move(name), .tube = "kept", .when = std::move(when), .put = {}, .missed_max = 0};
  out.put.body_bytes = body_bytes;
  return out;
}

void write_schedules(Writer& writer) {
  Schedule every = schedule_of("every-field", ScheduleCron{"30 2 * * 1-5", "Europe/Berlin"}, 256);
  every.put.priority = 4'294'967'295;
  every.put.delay_s = 5;
  every.put.ttr_s = 60;
  PutOptions& options = every.put.options.make();
  options.tries = TriesOption{tries_max};
  options.backoff = Backoff{.first = nanos_per_ms, .cap = nanos_per_second};
  options.dead = std::string(tube_name_bytes_max, 'd');
  options.expire.nanos = 3600 * nanos_per_second;
  options.key = KeyOption{.key = std::string(key_bytes_max, 'k'), .seconds = 5};
  options.until = KeyUntil::Reserved;
  options.concurrency = ConcurrencyKey{.key = "user-7", .jobs_max = 2};
  options.delay_rest_ns = 250 * nanos_per_ms;
  options.ttr_rest_ns = 500 * nanos_per_ms;
  every.missed_max = schedule_missed_limit;
  every.overlap = ScheduleOverlap::Skip;
  every.jitter = 300 * nanos_per_second;
  writer.set(every,
             {.planned = begin + 3600 * nanos_per_second,
              .last_planned = begin,
              .last_fired = begin + 1,
              .last_job = 26,
              .fired = 3,
              .skipped = 2,
              .missed = 1,
              .is_paused = true},
             all_bytes());
  Schedule minutely = schedule_of(std::string(schedule_name_bytes_max, 'm'),
                                  ScheduleEvery{60 * nanos_per_second, begin}, 0);
  minutely.overlap = ScheduleOverlap::Replace;
  writer.set(minutely, {.planned = begin + 60 * nanos_per_second}, "");
  writer.set(schedule_of("once", ScheduleAt{begin}, 4), {.planned = begin}, "once");
  writer.set(schedule_of("will-be-gone", ScheduleAt{begin}, 1), {.planned = begin}, "x");
  const ScheduleOrigin origin = {.name = "every-field", .planned = begin};
  writer.put(26, 0, all_bytes(), {.ttr_s = 60, .fields = JobFields{.schedule = origin}});
  writer.commit();
}

// What becomes of some of those.
void change_schedules(Writer& writer) {
  writer.add(ScheduleChanged{.name = "once",
                             .progress = {.last_planned = begin,
                                          .last_fired = begin,
                                          .last_job = 27,
                                          .fired = 1,
                                          .state = ScheduleState::Over}});
  const ScheduleOrigin origin = {.name = "once", .planned = begin};
  writer.put(27, 1, "once", {.ttr_s = 1, .fields = JobFields{.schedule = origin}});
  writer.add(ScheduleDeleted{.name = "will-be-gone"});
  writer.set(schedule_of("no-zone", ScheduleCron{"@daily", "Europe/Atlantis"}, 0),
             {.state = ScheduleState::NoZone}, "");
  writer.commit();
}

// The first half, which ends up in tables.
void write_first(Writer& writer) {
  writer.add(NextIdRaised{.next_id = id_mark});
  writer.add(TubeStored{.tube = 0, .name = "default"});
  writer.add(TubeStored{.tube = 1, .name = "odd-+/;.$_()name"});
  writer.put(1, 0, "hello");
  writer.put(2, 0, "");
  writer.put(3, 1, all_bytes(), {.priority = 4'294'967'295});
  writer.put(4, 1, random_bytes(7000), {.priority = 1024});
  writer.commit();
  for (JobId id = 5; id <= 12; ++id) writer.put(id, id % 2, "body " + std::to_string(id));
  writer.commit();
  writer.move(7, JobState::Buried, 1);
  writer.move(5, JobState::Buried, 2);
  writer.move(8, JobState::Delayed, begin + 3600 * nanos_per_second);
  writer.remove(12);
  writer.commit();
  write_fields(writer);
  write_notes(writer);
  write_ended(writer);
  write_schedules(writer);
}

// The second half, which stays in the log of a killed directory.
void write_second(Writer& writer) {
  writer.add(TubeStored{.tube = 2, .name = std::string(tube_name_bytes_max, 't')});
  writer.add(TubeStored{.tube = 3, .name = "paused"});
  writer.add(TubePaused{.tube = 3, .pause = 10 * nanos_per_second, .until = begin * 2});
  writer.put(13, 2, "late\r\nand with two lines");
  writer.put(14, 2, "delayed from the first",
             {.state = JobState::Delayed,
              .delay_s = 4'000'000'000,
              .order = begin + 4'000'000'000 * nanos_per_second});
  writer.commit();
  writer.move(6, JobState::Buried, 3);
  writer.move(9, JobState::Reserved, 0);
  writer.move(7, JobState::Ready, 0);
  writer.move(7, JobState::Buried, 4);
  writer.remove(10);
  writer.commit();
  change_fields(writer);
  change_notes(writer);
  change_ended(writer);
  change_schedules(writer);
}

void make(const std::string& path, bool is_clean) {
  Result<std::unique_ptr<Store>> store = Store::open({.data_dir = path});
  CHECK(store.ok());
  Writer writer(**store);
  write_first(writer);
  CHECK((*store)->flush().ok());
  write_second(writer);
  if (is_clean) CHECK((*store)->close(id_end).ok());
}

// RocksDB does not need the OPTIONS files to open, and they are large.
void drop_options(const std::string& path) {
  for (const auto& file : fs::directory_iterator(path + "/db")) {
    if (file.path().filename().native().starts_with("OPTIONS-")) fs::remove(file.path());
  }
}

int run(const std::string& to) {
  for (const bool is_clean : {true, false}) {
    const std::string path = to + (is_clean ? "/clean" : "/killed");
    CHECK(!fs::exists(path));
    fs::create_directories(to);
    make(path, is_clean);
    drop_options(path);
    const Result<std::string> listed = list(path);
    CHECK(listed.ok());
    std::ofstream(path + ".txt", std::ios::binary) << *listed;
    std::printf("made %s\n", path.c_str());
  }
  return 0;
}

}  // namespace
}  // namespace perennial::golden

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: make_golden DIR, which is made, for example format_5\n");
    return 2;
  }
  return perennial::golden::run(argv[1]);
}
