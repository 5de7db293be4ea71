#include "tests/store/store_model.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "store/format/format.h"
#include "tests/store/random_fields.h"

namespace perennial::store {
namespace {

constexpr JobId id_block = 50;
constexpr TubeId tubes_max = 5;
constexpr uint64_t keys_max = 4;

Status misordered(std::string_view what) {
  return {StatusCode::InvalidArgument, fmt::format("{} out of order", what)};
}

// Returns what is wrong with the body that was read for a job; empty if nothing is.
std::string body_problem(JobId id, const Status& status, std::string_view body) {
  if (!status.ok()) return fmt::format("body of job {}: {}", id, status.message());
  return body == body_of(id) ? "" : fmt::format("body of job {} is another", id);
}

// Whether the note was written under this number, or one with the same content under another. Two
// numbers have the same attempt.
bool is_written(JobId id, const Note& note, HasNotes has_notes) {
  if (note == note_of(id, note.number)) return true;
  if (has_notes != HasNotes::CountedAgain) return false;
  for (const uint32_t number : {2 * note.attempt, 2 * note.attempt + 1}) {
    Note written = note_of(id, number);
    written.number = note.number;
    if (note == written) return true;
  }
  return false;
}

// Returns what is wrong with the notes that were read for a job; empty if nothing is.
std::string notes_problem(const JobRow& row, const Result<std::vector<Note>>& notes,
                          HasNotes has_notes = HasNotes::All) {
  if (!notes.ok()) return fmt::format("notes of job {}: {}", row.id, notes.status().message());
  const uint32_t had = row.fields ? row.fields->notes : 0;
  if (has_notes != HasNotes::MayLack && notes->size() != notes_kept(had)) {
    return fmt::format("job {} had {} notes, and has {}", row.id, had, notes->size());
  }
  for (const Note& note : *notes) {
    if (note.number == 0 || !is_kept(note.number, had) || !is_written(row.id, note, has_notes)) {
      return fmt::format("note {} of job {}, which had {}, is another", note.number, row.id, had);
    }
  }
  return "";
}

// Collects what `load` passes to its sink. The sink refuses a wrong order.
template <typename Load>
Result<Image> collect(const Load& load) {
  Image image;
  const auto tube = [&](TubeId id, std::string_view name) {
    if (!image.tubes.empty() && image.tubes.rbegin()->first >= id) return misordered("tube");
    image.tubes[id] = std::string(name);
    return Status();
  };
  const auto pause = [&](const TubePaused& paused) {
    if (!image.jobs.empty()) return misordered("pause");
    image.pauses[paused.tube] = paused.until;
    return Status();
  };
  const auto job = [&](const JobRow& row) {
    if (!image.jobs.empty() && image.jobs.rbegin()->first >= row.id) return misordered("job");
    if (!image.keys.empty()) return misordered("job");
    image.jobs[row.id] = row;
    return Status();
  };
  const auto settings = [&](const SettingsStored& stored) {
    if (!image.tubes.empty() || !image.jobs.empty()) return misordered("settings");
    const bool is_later = image.settings.empty() || image.settings.rbegin()->first < stored.tube;
    image.settings[stored.tube] = stored.settings;
    return is_later ? Status() : misordered("settings");
  };
  std::string last_key;
  const auto key = [&](const KeyStored& stored) {
    const std::string at = key_row_key(stored.tube, stored.key);
    if (at <= std::exchange(last_key, at)) return misordered("key");
    image.keys[{stored.tube, stored.key}] = stored;
    return Status();
  };
  const auto ended = [&](const std::string& name, const EndedSpan& span) {
    if (!image.settings.empty() || !image.tubes.empty()) return misordered("ended jobs");
    const bool is_later = image.ended_spans.empty() || image.ended_spans.rbegin()->first < name;
    image.ended_spans[name] = span;
    return is_later ? Status() : misordered("ended jobs");
  };
  const auto schedule = [&](const ScheduleStored& stored, std::string_view body) {
    const std::string& name = stored.schedule->name;
    if (!image.jobs.empty()) return misordered("schedule");
    const bool is_later = image.schedules.empty() || image.schedules.rbegin()->first < name;
    image.schedules[name] = {stored, std::string(body)};
    return is_later ? Status() : misordered("schedule");
  };
  Status loaded = load(LoadSink{.tube = tube,
                                .pause = pause,
                                .settings = settings,
                                .job = job,
                                .key = key,
                                .ended = ended,
                                .schedule = schedule});
  return loaded.ok() ? Result<Image>(std::move(image)) : Result<Image>(std::move(loaded));
}

std::string rows_difference(const Result<Image>& found, const Image& image) {
  if (!found.ok()) return found.status().message();
  if (found->tubes != image.tubes) return "the tubes differ";
  if (found->pauses != image.pauses) return "the pauses differ";
  if (found->settings != image.settings) return "the settings differ";
  if (found->keys != image.keys) return "the keys differ";
  if (found->schedules != image.schedules) return "the schedules differ";
  if (found->ended_spans != image.ended_spans) return "the places of ended jobs differ";
  for (const auto& [id, row] : image.jobs) {
    const auto job = found->jobs.find(id);
    if (job == found->jobs.end()) return fmt::format("job {} is missing", id);
    if (job->second != row) return fmt::format("the row of job {} differs", id);
  }
  return found->jobs.size() == image.jobs.size() ? "" : "there are jobs too many";
}

std::string ended_problem(const EndedJob& wanted, const EndedFound& found) {
  const JobId id = wanted.row.id;
  if (found.job != wanted) return fmt::format("the row of ended job {} differs", id);
  if (!found.body) return fmt::format("the body of ended job {} is missing", id);
  const std::string problem = body_problem(id, {}, found.body->view());
  return problem.empty() ? notes_problem(wanted.row, found.notes) : problem;
}

// Compares the ended jobs of one tube with a page of the store, in one direction and the other.
std::string ended_page_problem(const Store& store, const std::string& tube,
                               const std::map<uint64_t, const EndedJob*>& wanted) {
  for (const bool newest_first : {false, true}) {
    std::vector<EndedFound> found;
    EndedQuery query = {.tube = tube,
                        .newest_first = newest_first,
                        .jobs_max = 3,
                        .bytes_max = 30'000,
                        .with_bodies = true,
                        .with_notes = true};
    for (bool is_end = false; !is_end;) {
      Result<EndedPage> page = store.read_ended(query);
      if (!page.ok()) return page.status().message();
      is_end = page->is_end;
      query.from = page->next_place;
      std::ranges::move(page->jobs, std::back_inserter(found));
      if (found.size() > wanted.size()) return "there are ended jobs too many in " + tube;
    }
    if (newest_first) std::ranges::reverse(found);
    if (found.size() != wanted.size()) return "ended jobs are missing in " + tube;
    auto want = wanted.begin();
    for (const EndedFound& one : found) {
      std::string problem = ended_problem(*(want++)->second, one);
      if (!problem.empty()) return problem;
    }
  }
  return "";
}

std::string ended_difference(const Store& store, const Image& image, HasNotes has) {
  std::map<std::string, std::map<uint64_t, const EndedJob*>> by_place;
  for (const auto& [id, job] : image.ended) {
    const Result<std::optional<EndedFound>> found = store.read_ended(id, true);
    if (!found.ok()) return found.status().message();
    if (!*found && has == HasNotes::MayLack) continue;
    if (!*found) return fmt::format("ended job {} is missing", id);
    if (has == HasNotes::All) {
      const std::string problem = ended_problem(job, **found);
      if (!problem.empty()) return problem;
    } else if ((*found)->job != job) {
      return fmt::format("the row of ended job {} differs", id);
    }
    by_place[job.tube][job.place] = &job;
  }
  if (has == HasNotes::MayLack) return "";
  for (const auto& [tube, span] : image.ended_spans) {
    std::string problem = ended_page_problem(store, tube, by_place[tube]);
    if (!problem.empty()) return problem;
    const auto order = store.read_ended_order(tube, span.first, image.ended.size() + 1);
    if (!order.ok()) return order.status().message();
    std::vector<EndedOrder> wanted;
    for (const auto& [place, job] : by_place[tube]) wanted.push_back(order_of(*job));
    if (*order != wanted) return "the order of the ended jobs differs in " + tube;
  }
  return "";
}

std::string ended_difference(const Reader& reader, const Image& image) {
  Reader::Bodies bodies = reader.bodies();
  Reader::Notes notes = reader.notes();
  std::string problem;
  size_t count = 0;
  const Status read = reader.ended([&](const EndedJob& job) {
    ++count;
    const auto wanted = image.ended.find(job.row.id);
    if (wanted == image.ended.end()) {
      problem = fmt::format("ended job {} is too many", job.row.id);
      return Status();
    }
    EndedFound found = {.job = job};
    if (const auto body = bodies.read(job.row.id); body.ok()) found.body = Body(*body);
    const uint32_t had = job.row.fields ? job.row.fields->notes : 0;
    Result<std::vector<Note>> found_notes = notes.read(job.row.id, had);
    if (found_notes.ok()) found.notes = found_notes.take();
    if (problem.empty()) problem = ended_problem(wanted->second, found);
    return Status();
  });
  if (!read.ok()) return read.message();
  if (problem.empty() && count != image.ended.size()) problem = "ended jobs are missing";
  return problem;
}

}  // namespace

std::string body_of(JobId id) {
  const size_t bytes = id % 17 == 0 ? 20'000 : (id * 37) % 300;  // Some are empty.
  std::string body(bytes, static_cast<char>('a' + id % 26));
  if (bytes >= 8) body.replace(0, 8, view(job_key(id)));
  return body;
}

Note note_of(JobId id, uint32_t number) {
  return {.number = number,
          .attempt = number / 2,
          .time = static_cast<Nanos>(id) * nanos_per_ms,
          .user = id % 2 == 0 ? "mailer" : "",
          .text = std::string(1 + id * number * 53 % 400, static_cast<char>('a' + number % 26))};
}

// No load passes ended jobs.
Result<Image> read_image(Store& store) {
  Result<Image> image = collect([&store](const LoadSink& sink) { return store.load(sink); });
  if (!image.ok()) return image;
  for (const auto& [tube, span] : image->ended_spans) {
    const auto order = store.read_ended_order(tube, span.first, span.next - span.first);
    if (!order.ok()) return order.status();
    for (const EndedOrder& each : *order) {
      Result<std::optional<EndedFound>> found = store.read_ended(each.job, false);
      if (!found.ok()) return found.take_status();
      if (*found) image->ended.emplace(each.job, std::move((*found)->job));
    }
  }
  return image;
}

Result<Image> read_image(const Reader& reader) {
  Status missing;
  Result<Image> image = read_image(reader, missing);
  return missing.ok() ? std::move(image) : Result<Image>(std::move(missing));
}

Result<Image> read_image(const Reader& reader, Status& missing) {
  Result<Image> image = collect([&reader](const LoadSink& sink) { return reader.load(sink); });
  if (!image.ok()) return image;
  missing = reader.ended([&](const EndedJob& job) {
    image->ended.emplace(job.row.id, job);
    return Status();
  });
  return image;
}

std::string difference(Store& store, const Image& image, HasNotes has_notes) {
  std::string problem = rows_difference(read_image(store), image);
  if (!problem.empty()) return problem;
  const Snapshot snapshot = store.snapshot();
  for (const auto& [id, row] : image.jobs) {
    const Result<Body> body = store.read_body(id, &snapshot);
    problem = body_problem(id, body.ok() ? Status() : body.status(),
                           body.ok() ? body->view() : std::string_view());
    if (problem.empty()) problem = notes_problem(row, store.read_notes(id, &snapshot), has_notes);
    if (!problem.empty()) return problem;
  }
  return ended_difference(store, image, has_notes);
}

std::string difference(const Reader& reader, const Image& image) {
  std::string problem = rows_difference(read_image(reader), image);
  if (!problem.empty()) return problem;
  Reader::Bodies bodies = reader.bodies();
  Reader::Notes notes = reader.notes();
  for (const auto& [id, row] : image.jobs) {
    const Result<std::string_view> body = bodies.read(id);
    problem = body_problem(id, body.ok() ? Status() : body.status(),
                           body.ok() ? *body : std::string_view());
    const uint32_t had = row.fields ? row.fields->notes : 0;
    if (problem.empty()) problem = notes_problem(row, notes.read(id, had));
    if (!problem.empty()) return problem;
  }
  return ended_difference(reader, image);
}

void StoreModel::next(Batch& batch, int transitions) {
  batch.clear();
  bodies_before_ = std::exchange(bodies_, {});
  ended_in_batch_.clear();
  now_ += nanos_per_ms;
  for (int i = 0; i < transitions; ++i) step(batch);
  // A history of two batches has a note, so that the family is there.
  if (index_ == 1 && !image_.jobs.empty()) note(batch, image_.jobs.begin()->second);
  // One of three has a job that has ended.
  if (index_ == 2 && !image_.jobs.empty()) {
    keeps_ = true;
    remove(batch, image_.jobs.begin()->second);
  }
  // One of four has a schedule.
  if (index_ == 3) set_schedule(batch);
  batch.seal({.epoch = epoch_, .index = index_ + 1, .known_durable = index_, .now = now_});
  ++index_;
}

void StoreModel::reopened(const Opening& opening) {
  epoch_ = opening.epoch;
  next_id_ = mark_ = opening.next_id;
}

void StoreModel::begin_with(Image image, const Opening& opening) {
  image_ = std::move(image);
  reopened(opening);
  index_ = opening.last_index;
  now_ = std::max(now_, opening.last_now);
  for (const auto& [id, row] : image_.jobs) order_ = std::max(order_, row.order);
}

void StoreModel::step(Batch& batch) {
  const uint64_t kind = below(100);
  if (image_.jobs.empty() || kind < 30) return put(batch);
  if (kind < 33) return pause(batch);
  if (kind < 35) return end_pause(batch);
  if (kind < 37) return set_tube(batch);
  if (kind < 40) return end_key(batch);
  if (kind < 42) return restore(batch);
  if (kind < 45) return let_go(batch);
  if (kind < 46) return set_schedule(batch);
  if (kind < 48) return change_schedule(batch);
  // Half of the time one of the last three jobs, so that some are put and deleted in one batch.
  const size_t count = image_.jobs.size();
  const size_t from = kind % 2 == 0 && count > 3 ? count - 3 : 0;
  auto job = std::next(image_.jobs.begin(), static_cast<long>(from + below(count - from)));
  if (kind < 65) return remove(batch, job->second);
  return kind < 70 ? note(batch, job->second) : move(batch, job->second);
}

JobId StoreModel::new_id(Batch& batch) {
  if (next_id_ == mark_) {
    mark_ += id_block;
    batch.add(NextIdRaised{.next_id = mark_});
  }
  return next_id_++;
}

void StoreModel::put(Batch& batch) {
  const auto tube = static_cast<TubeId>(below(tubes_max));
  store_tube(batch, tube);
  const JobId id = new_id(batch);
  bodies_.push_back(body_of(id));
  JobRow row = {.id = id,
                .state = JobState::Ready,
                .tube = tube,
                .priority = static_cast<uint32_t>(below(3)),
                .ttr_s = 1,
                .created = now_,
                .body_bytes = static_cast<uint32_t>(bodies_.back().size())};
  if (below(3) == 0) add_fields(batch, row);
  batch.add(JobMoved{.id = id, .before = {}, .after = row, .promised = true}, bodies_.back());
  image_.jobs[id] = row;
}

void StoreModel::move(Batch& batch, JobRow row) {
  const JobState before = row.state;
  row.state = job_states[below(job_states.size())];  // Sometimes the same state.
  row.priority = static_cast<uint32_t>(random_());
  row.kicks += 1;
  const bool is_ordered =
      row.state != JobState::Reserved && (row.state != JobState::Ready || below(2) == 0);
  row.order = is_ordered ? ++order_ : 0;
  if (row.fields && below(4) == 0) give_up_key(batch, row);
  if (below(8) == 0) row.fields.make().attempts = 1 + static_cast<uint32_t>(below(5));
  batch.add(JobMoved{.id = row.id, .before = before, .after = row, .promised = below(2) == 0});
  image_.jobs[row.id] = row;
}

void StoreModel::remove(Batch& batch, JobRow row) {
  if (row.fields) give_up_key(batch, row);
  batch.add(JobMoved{.id = row.id, .before = row.state, .after = {}, .promised = true});
  const uint32_t notes = row.fields ? row.fields->notes : 0;
  // Most histories begin without any job that is kept.
  if (index_ > 1 && (std::exchange(keeps_, false) || below(3) == 0)) {
    end(batch, row, image_.tubes.at(row.tube));
  } else if (notes > 0) {
    batch.add(NotesRemoved{.job = row.id, .kept = notes_kept(notes)});
  }
  image_.jobs.erase(row.id);
  end_tube_if_unused(batch, row.tube);
}

void StoreModel::end(Batch& batch, const JobRow& row, const std::string& tube) {
  EndedSpan span;
  const auto known = image_.ended_spans.find(tube);
  if (known != image_.ended_spans.end()) span = known->second;
  EndedJob job = {.row = row,
                  .tube = tube,
                  .place = span.next++,
                  .how = static_cast<JobEnd>(below(job_end_rows.size())),
                  .at = now_,
                  .user = below(2) == 0 ? "" : "mailer"};
  job.row.tube = 0;
  batch.add(JobEnded{.job = job, .span = span});
  image_.ended_spans[tube] = span;
  ended_in_batch_.insert(row.id);
  image_.ended.emplace(row.id, std::move(job));
}

// A random job comes back under another id, with the body of that.
void StoreModel::restore(Batch& batch) {
  if (image_.ended.empty()) return;
  const auto found = std::next(image_.ended.begin(), static_cast<long>(below(image_.ended.size())));
  if (ended_in_batch_.contains(found->first)) return;
  const EndedJob job = found->second;
  forget(batch, job);
  const auto tube = static_cast<TubeId>(below(tubes_max));
  store_tube(batch, tube);
  JobRow row = job.row;
  row.id = new_id(batch);
  row.state = JobState::Ready;
  row.order = 0;
  row.tube = tube;
  JobFields& fields = row.fields.make();
  fields.restored = job.row.id;
  fields.notes = 0;
  fields.key.reset();
  bodies_.push_back(body_of(row.id));
  row.body_bytes = static_cast<uint32_t>(bodies_.back().size());
  batch.add(JobMoved{.id = row.id, .before = {}, .after = row, .promised = true}, bodies_.back());
  image_.jobs[row.id] = row;
}

// The oldest jobs of a tube go.
void StoreModel::let_go(Batch& batch) {
  if (image_.ended.empty()) return;
  const auto found = std::next(image_.ended.begin(), static_cast<long>(below(image_.ended.size())));
  const std::string tube = found->second.tube;
  std::map<uint64_t, EndedJob> in_order;
  for (const auto& [id, job] : image_.ended) {
    if (job.tube == tube) in_order.emplace(job.place, job);
  }
  uint64_t count = 1 + below(3);
  for (const auto& [place, job] : in_order) {
    if (count-- == 0 || ended_in_batch_.contains(job.row.id)) return;
    forget(batch, job);
  }
}

void StoreModel::forget(Batch& batch, const EndedJob& job) {
  EndedSpan& span = image_.ended_spans.at(job.tube);
  image_.ended.erase(job.row.id);
  // Those before it may have been restored.
  if (job.place == span.first || below(2) == 0) {
    uint64_t first = span.next;
    for (const auto& [id, other] : image_.ended) {
      if (other.tube == job.tube) first = std::min(first, other.place);
    }
    span.first = first;
  }
  batch.add(EndedGone{.tube = job.tube,
                      .place = job.place,
                      .job = job.row.id,
                      .notes = order_of(job).notes,
                      .span = span});
  if (span.empty()) image_.ended_spans.erase(job.tube);
}

void StoreModel::note(Batch& batch, JobRow row) {
  const uint32_t number = ++row.fields.make().notes;
  batch.add(JobMoved{.id = row.id, .before = row.state, .after = row, .promised = true});
  batch.add(NoteStored{.job = row.id, .note = note_of(row.id, number)});
  image_.jobs[row.id] = row;
}

void StoreModel::pause(Batch& batch) {
  const auto tube = static_cast<TubeId>(below(tubes_max));
  store_tube(batch, tube);
  batch.add(TubePaused{.tube = tube, .pause = nanos_per_second, .until = now_ + nanos_per_second});
  image_.pauses[tube] = now_ + nanos_per_second;
}

void StoreModel::end_pause(Batch& batch) {
  if (image_.pauses.empty()) return;
  const TubeId tube = image_.pauses.begin()->first;
  batch.add(PauseEnded{.tube = tube});
  image_.pauses.erase(tube);
  end_tube_if_unused(batch, tube);
}

void StoreModel::set_tube(Batch& batch) {
  const std::string tube = fmt::format("set-{}", below(3));
  const TubeSettings settings = random_settings(random_);
  batch.add(SettingsStored{.tube = tube, .settings = settings});
  if (settings == TubeSettings{}) {
    image_.settings.erase(tube);
  } else {
    image_.settings[tube] = settings;
  }
}

void StoreModel::set_schedule(Batch& batch) {
  Schedule schedule = random_schedule(random_, fmt::format("schedule-{}", below(4)));
  bodies_.emplace_back(below(2) == 0 ? below(300) : below(20'000), 's');
  const std::string& body = bodies_.back();
  schedule.put.body_bytes = static_cast<uint32_t>(body.size());
  ScheduleStored stored = {.schedule = schedule, .progress = random_progress(random_)};
  stored.progress.last_job = next_id_ - 1;
  batch.add(stored, body);
  image_.schedules[schedule.name] = {stored, body};
}

void StoreModel::change_schedule(Batch& batch) {
  if (image_.schedules.empty()) return;
  const auto found =
      std::next(image_.schedules.begin(), static_cast<long>(below(image_.schedules.size())));
  if (below(4) == 0) {
    batch.add(ScheduleDeleted{found->first});
    image_.schedules.erase(found);
    return;
  }
  ScheduleProgress& progress = found->second.first.progress;
  progress = random_progress(random_);
  progress.last_job = next_id_ - 1;
  batch.add(ScheduleChanged{.name = found->first, .progress = progress});
}

void StoreModel::add_fields(Batch& batch, JobRow& row) {
  JobFields fields = random_fields(random_);
  const std::string& tube = image_.tubes[row.tube];
  const std::string name = fmt::format("key-{}", below(keys_max));
  if (below(2) == 0 && !image_.keys.contains({tube, name})) {
    const JobKey key = random_key(random_, name);
    const Nanos end = now_ + Nanos{key.seconds} * nanos_per_second;
    store_key(batch, {.tube = tube,
                      .key = name,
                      .job = row.id,
                      .until = key.until,
                      .expires_at = key.until == KeyUntil::Ttl ? end : 0});
    fields.key = key;
  }
  row.fields = fields;
}

void StoreModel::give_up_key(Batch& batch, JobRow& row) {
  Boxed<JobKey>& key = row.fields->key;
  if (!key || key->given_up) return;
  key->given_up = true;
  KeyStored stored = image_.keys.at({image_.tubes.at(row.tube), key->key});
  if (key->until == KeyUntil::Ttl) return;
  if (key->seconds == 0) return free_key(batch, stored);
  stored.expires_at = now_ + Nanos{key->seconds} * nanos_per_second;
  store_key(batch, stored);
}

void StoreModel::end_key(Batch& batch) {
  if (image_.keys.empty()) return;
  const auto key = std::next(image_.keys.begin(), static_cast<long>(below(image_.keys.size())));
  const KeyStored stored = key->second;
  const auto job = image_.jobs.find(stored.job);
  if (job == image_.jobs.end() || job->second.fields->key->given_up) free_key(batch, stored);
}

void StoreModel::store_key(Batch& batch, const KeyStored& key) {
  batch.add(key);
  image_.keys[{key.tube, key.key}] = key;
}

void StoreModel::free_key(Batch& batch, const KeyStored& key) {
  batch.add(KeyFreed{.tube = key.tube, .key = key.key});
  image_.keys.erase({key.tube, key.key});
}

void StoreModel::store_tube(Batch& batch, TubeId tube) {
  if (image_.tubes.contains(tube)) return;
  // Each tube gets a new name, so that a test notices when a freed tube id is used again.
  const std::string name = fmt::format("tube-{}-{}", tube, index_);
  batch.add(TubeStored{.tube = tube, .name = name});
  image_.tubes[tube] = name;
}

void StoreModel::end_tube_if_unused(Batch& batch, TubeId tube) {
  for (const auto& [id, row] : image_.jobs) {
    if (row.tube == tube) return;
  }
  if (!image_.tubes.contains(tube)) return;
  // A paused tube ends together with its pause half of the time.
  if (image_.pauses.contains(tube) && below(2) == 0) return;
  batch.add(TubeEnded{.tube = tube});
  image_.tubes.erase(tube);
  image_.pauses.erase(tube);
}

}  // namespace perennial::store
