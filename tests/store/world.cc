#include "tests/store/world.h"

#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "store/format/format.h"

namespace perennial::store {
namespace {

constexpr JobId id_block = 50;
constexpr TubeId tubes_max = 5;

Status misordered(std::string_view what) {
  return {StatusCode::InvalidArgument, fmt::format("{} out of order", what)};
}

// What is wrong with the body that was read for a job.
std::string body_problem(JobId id, const Status& status, std::string_view body) {
  if (!status.ok()) return fmt::format("body of job {}: {}", id, status.message());
  return body == body_of(id) ? "" : fmt::format("body of job {} is another", id);
}

// Takes what `load` gives; refuses a wrong order.
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
    image.jobs[row.id] = row;
    return Status();
  };
  Status loaded = load(LoadSink{.tube = tube, .pause = pause, .job = job});
  return loaded.ok() ? Result<Image>(std::move(image)) : Result<Image>(std::move(loaded));
}

std::string rows_difference(const Result<Image>& found, const Image& image) {
  if (!found.ok()) return found.status().message();
  if (found->tubes != image.tubes) return "the tubes differ";
  if (found->pauses != image.pauses) return "the pauses differ";
  for (const auto& [id, row] : image.jobs) {
    const auto job = found->jobs.find(id);
    if (job == found->jobs.end()) return fmt::format("job {} is missing", id);
    if (job->second != row) return fmt::format("the row of job {} differs", id);
  }
  return found->jobs.size() == image.jobs.size() ? "" : "there are jobs too many";
}

}  // namespace

std::string body_of(JobId id) {
  const size_t bytes = id % 17 == 0 ? 20'000 : (id * 37) % 300;  // Empty ones, too.
  std::string body(bytes, static_cast<char>('a' + id % 26));
  if (bytes >= 8) body.replace(0, 8, view(job_key(id)));
  return body;
}

Result<Image> read_image(Store& store) {
  return collect([&store](const LoadSink& sink) { return store.load(sink); });
}

Result<Image> read_image(const Reader& reader) {
  return collect([&reader](const LoadSink& sink) { return reader.load(sink); });
}

std::string difference(Store& store, const Image& image) {
  std::string problem = rows_difference(read_image(store), image);
  if (!problem.empty()) return problem;
  const Snapshot snapshot = store.snapshot();
  for (const auto& [id, row] : image.jobs) {
    const Result<Body> body = store.read_body(id, &snapshot);
    problem = body_problem(id, body.ok() ? Status() : body.status(),
                           body.ok() ? body->view() : std::string_view());
    if (!problem.empty()) return problem;
  }
  return "";
}

std::string difference(const Reader& reader, const Image& image) {
  std::string problem = rows_difference(read_image(reader), image);
  if (!problem.empty()) return problem;
  Reader::Bodies bodies = reader.bodies();
  for (const auto& [id, row] : image.jobs) {
    const Result<std::string_view> body = bodies.read(id);
    problem = body_problem(id, body.ok() ? Status() : body.status(),
                           body.ok() ? *body : std::string_view());
    if (!problem.empty()) return problem;
  }
  return "";
}

void World::next(Batch& batch, int transitions) {
  batch.clear();
  bodies_before_ = std::exchange(bodies_, {});
  now_ += nanos_per_ms;
  for (int i = 0; i < transitions; ++i) step(batch);
  batch.seal({.epoch = epoch_, .index = index_ + 1, .known_durable = index_, .now = now_});
  ++index_;
}

void World::reopened(const Opening& opening) {
  epoch_ = opening.epoch;
  next_id_ = mark_ = opening.next_id;
}

void World::step(Batch& batch) {
  const uint64_t kind = below(100);
  if (image_.jobs.empty() || kind < 30) return put(batch);
  if (kind < 33) return pause(batch);
  if (kind < 35) return end_pause(batch);
  // Some of the time a job of the last few, so that jobs come and go within one batch.
  const size_t count = image_.jobs.size();
  const size_t from = kind % 2 == 0 && count > 3 ? count - 3 : 0;
  auto job = std::next(image_.jobs.begin(), static_cast<long>(from + below(count - from)));
  return kind < 60 ? remove(batch, job->second) : move(batch, job->second);
}

void World::put(Batch& batch) {
  if (next_id_ == mark_) {
    mark_ += id_block;
    batch.add(NextIdRaised{.next_id = mark_});
  }
  const auto tube = static_cast<TubeId>(below(tubes_max));
  store_tube(batch, tube);
  const JobId id = next_id_++;
  bodies_.push_back(body_of(id));
  const JobRow row = {.id = id,
                      .state = JobState::Ready,
                      .tube = tube,
                      .priority = static_cast<uint32_t>(below(3)),
                      .ttr_s = 1,
                      .created = now_,
                      .body_bytes = static_cast<uint32_t>(bodies_.back().size())};
  batch.add(JobMoved{.id = id, .before = {}, .after = row, .promised = true}, bodies_.back());
  image_.jobs[id] = row;
}

void World::move(Batch& batch, JobRow row) {
  const JobState before = row.state;
  row.state = job_states[below(job_states.size())];  // Its own again, at times.
  row.priority = static_cast<uint32_t>(random_());
  row.kicks += 1;
  const bool is_ordered = row.state == JobState::Delayed || row.state == JobState::Buried;
  row.order = is_ordered ? ++order_ : 0;
  batch.add(JobMoved{.id = row.id, .before = before, .after = row, .promised = below(2) == 0});
  image_.jobs[row.id] = row;
}

void World::remove(Batch& batch, JobRow row) {
  batch.add(JobMoved{.id = row.id, .before = row.state, .after = {}, .promised = true});
  image_.jobs.erase(row.id);
  end_tube_if_unused(batch, row.tube);
}

void World::pause(Batch& batch) {
  const auto tube = static_cast<TubeId>(below(tubes_max));
  store_tube(batch, tube);
  batch.add(TubePaused{.tube = tube, .pause = nanos_per_second, .until = now_ + nanos_per_second});
  image_.pauses[tube] = now_ + nanos_per_second;
}

void World::end_pause(Batch& batch) {
  if (image_.pauses.empty()) return;
  const TubeId tube = image_.pauses.begin()->first;
  batch.add(PauseEnded{.tube = tube});
  image_.pauses.erase(tube);
  end_tube_if_unused(batch, tube);
}

void World::store_tube(Batch& batch, TubeId tube) {
  if (image_.tubes.contains(tube)) return;
  // Another name each time, so that a freed number is seen to be used again.
  const std::string name = fmt::format("tube-{}-{}", tube, index_);
  batch.add(TubeStored{.tube = tube, .name = name});
  image_.tubes[tube] = name;
}

void World::end_tube_if_unused(Batch& batch, TubeId tube) {
  for (const auto& [id, row] : image_.jobs) {
    if (row.tube == tube) return;
  }
  if (!image_.tubes.contains(tube)) return;
  // With its pause, at times.
  if (image_.pauses.contains(tube) && below(2) == 0) return;
  batch.add(TubeEnded{.tube = tube});
  image_.tubes.erase(tube);
  image_.pauses.erase(tube);
}

}  // namespace perennial::store
