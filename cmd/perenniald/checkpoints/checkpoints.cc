#include "cmd/perenniald/checkpoints/checkpoints.h"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "cmd/perenniald/checkpoints/checkpoint_dir.h"
#include "cmd/perenniald/checkpoints/checkpoint_removal.h"
#include "cmd/perenniald/process/log.h"
#include "engine/types/check.h"

namespace perennial::perenniald {
namespace {

std::string text(uint64_t number) {
  return fmt::format("{}", number);
}

uint64_t job_count(const StateCounts& jobs) {
  return jobs.ready + jobs.reserved + jobs.delayed + jobs.buried;
}

// A path that a client is told must not depend on where the server was started.
std::string absolute(const std::string& path) {
  const std::unique_ptr<char, decltype(&std::free)> real(realpath(path.c_str(), nullptr),
                                                         &std::free);
  return real != nullptr ? real.get() : path;
}

}  // namespace

Checkpoints::Checkpoints(uv_loop_t& loop, core::Core& core, TurnClock& clock, Settings settings)
    : loop_(loop),
      core_(core),
      clock_(clock),
      settings_(std::move(settings)),
      schedule_(settings_.every),
      watch_(loop, [this](const std::optional<CheckpointSeen>& next) { on_lost(next); }) {
  CHECK(uv_timer_init(&loop, &timer_) == 0);
  const auto completed = [](uv_async_t* handle) {
    static_cast<Checkpoints*>(handle->data)->on_completed();
  };
  CHECK(uv_async_init(&loop, &completed_, completed) == 0);
  timer_.data = completed_.data = this;
}

Status Checkpoints::open(const std::string& database) {
  Status prepared =
      prepare_checkpoint_dir(settings_.dir, settings_.data_dir, settings_.group_access);
  if (!prepared.ok()) {
    if (prepared.code() != StatusCode::NoSpace) return prepared;
    // If the disk is full, the server starts all the same, so that clients can delete jobs. Each
    // checkpoint tries the directory again.
    log(Level::Warning, "checkpoint_dir", {{"error", prepared.message()}});
  }
  settings_.dir = absolute(settings_.dir);
  owner_ = store::checkpoint_owner(settings_.data_dir, database, settings_.dir);
  remove_partial(settings_.dir, owner_);
  const Nanos now = clock_.now();
  if (const auto newest = newest_checkpoint(settings_.dir, owner_)) {
    schedule_.made(newest->created, now);
    watch_.watch(newest->path);
  }
  watch_.begin(settings_.dir, owner_);
  open_ = true;
  arm();
  return {};
}

void Checkpoints::arm() {
  const std::optional<Nanos> due = schedule_.due();
  if (!due || !open_) return;
  const Nanos left = *due - clock_.now();
  // libuv rounds down, and a timer that fires too early would find nothing due.
  const uint64_t left_ms = left <= 0 ? 0 : static_cast<uint64_t>(left / nanos_per_ms) + 1;
  const auto fired = [](uv_timer_t* handle) { static_cast<Checkpoints*>(handle->data)->on_due(); };
  CHECK(uv_timer_start(&timer_, fired, left_ms, 0) == 0);
}

void Checkpoints::on_due() {
  if (kept_under_way()) return;  // When a client's is made, the schedule sets its next time.
  if (core_.disk_accepts_puts()) {
    due_ = true;
    return core_.checkpoints().want();
  }
  log(Level::Error, "checkpoint.failed",
      {{"error", "the disk is short of room: see store-state in stats"}});
  schedule_.failed(clock_.now());
  arm();
}

void Checkpoints::order_checkpoint(store::Log& log) {
  if (creating_) return;  // The log creates it, or its result has not been collected.
  const Nanos now = clock_.now();
  core_.checkpoints().freeze_point(now);
  const std::optional<core::CheckpointPoint> point = core_.checkpoints().take_point();
  if (!point) return;
  Attempt attempt = begin(*point, now);
  // The directory may have been removed since the start.
  if (Status ready =
          prepare_checkpoint_dir(settings_.dir, settings_.data_dir, settings_.group_access);
      !ready.ok()) {
    return fail(attempt, ready);
  }
  creating_.emplace(std::move(attempt));
  log.checkpoint(store::partial_path(creating_->plan));
}

// Names tell milliseconds, and the log may create several checkpoints within one.
Checkpoints::Attempt Checkpoints::begin(const core::CheckpointPoint& point, Nanos now) {
  const Nanos created = std::max(now, next_created_);
  next_created_ = (created / nanos_per_ms + 1) * nanos_per_ms;
  Attempt attempt = {.plan = {.dir = settings_.dir,
                              .name = store::checkpoint_name(created),
                              .created = created,
                              .temporary = point.temporary,
                              .server_version = settings_.server_version,
                              .database = owner_.database,
                              .index = point.index,
                              .jobs = point.jobs,
                              .env = store::group_env(settings_.group_access)}};
  attempt.plan.cancelled = [this] { return cancelled_.load(std::memory_order_relaxed); };
  if (!point.temporary) attempt.scheduled = std::exchange(due_, false);
  return attempt;
}

void Checkpoints::on_checkpoint_created(const store::CheckpointCreated& created) {
  CHECK(creating_);
  Attempt attempt = *std::exchange(creating_, std::nullopt);
  if (!created.status.ok()) return fail(attempt, created.status);
  attempt.creation_took = created.took;
  if (attempt.plan.temporary) return give_temporary(attempt);
  CHECK(!verifying_);
  CHECK(!thread_.joinable());
  verifying_.emplace(std::move(attempt));
  thread_ = std::thread([this] { complete(); });
}

// A temporary checkpoint is not verified: the program that reads it finds out whether it is
// complete.
void Checkpoints::give_temporary(const Attempt& attempt) {
  auto given = std::make_unique<CheckpointMade>();
  *given = {.name = attempt.plan.name,
            .path = store::partial_path(attempt.plan),
            .commit = attempt.plan.index,
            .jobs = job_count(*attempt.plan.jobs),
            .took_ms = static_cast<uint64_t>(attempt.creation_took / nanos_per_ms)};
  log(Level::Info, "checkpoint.temporary",
      {{"name", given->name},
       {"commit", text(given->commit)},
       {"jobs", text(given->jobs)},
       {"cut_us", text(static_cast<uint64_t>(attempt.creation_took / 1000))}});
  core_.checkpoints().on_temporary_made(std::move(given));
}

void Checkpoints::remove_given_up() {
  std::vector<std::string> paths = core_.checkpoints().take_given_up();
  if (!paths.empty()) remove_in_background(loop_, std::move(paths));
}

// Runs on the thread.
void Checkpoints::complete() {
  const Nanos begun = TurnClock::steady();
  Attempt& attempt = *verifying_;
  attempt.result.emplace(store::complete_checkpoint(attempt.plan));
  attempt.took = attempt.creation_took + TurnClock::steady() - begun;
  if (attempt.result->ok() && attempt.scheduled && settings_.keep > 0) {
    attempt.pruned = store::prune_checkpoints(settings_.dir, owner_, settings_.keep);
  }
  uv_async_send(&completed_);
}

void Checkpoints::on_completed() {
  if (!thread_.joinable()) return;
  thread_.join();
  const Attempt attempt = *std::exchange(verifying_, std::nullopt);
  const Result<store::CheckpointManifest>& result = *attempt.result;
  if (!result.ok()) return fail(attempt, result.status());
  is_damaged_ = false;
  schedule_.made(attempt.plan.created, clock_.now());
  watch_.watch(settings_.dir + "/" + attempt.plan.name);
  report_pruned(attempt);
  report_success(attempt, *result);
  arm();
}

void Checkpoints::report_success(const Attempt& attempt,
                                 const store::CheckpointManifest& manifest) {
  auto made = std::make_unique<CheckpointMade>();
  *made = {.name = manifest.name,
           .path = settings_.dir + "/" + manifest.name,
           .commit = manifest.commit.index,
           .jobs = job_count(manifest.jobs),
           .bytes = manifest.bytes(),
           .took_ms = static_cast<uint64_t>(attempt.took / nanos_per_ms)};
  log(Level::Info, "checkpoint",
      {{"name", made->name},
       {"commit", text(made->commit)},
       {"jobs", text(made->jobs)},
       {"bytes", text(*made->bytes)},
       {"cut_us", text(static_cast<uint64_t>(attempt.creation_took / 1000))},
       {"took_ms", text(made->took_ms)}});
  core_.checkpoints().on_made(std::move(made));
}

void Checkpoints::report_pruned(const Attempt& attempt) const {
  const Result<std::vector<std::string>>& pruned = attempt.pruned;
  if (!pruned.ok()) {
    return log(Level::Warning, "checkpoint.removed", {{"error", pruned.status().message()}});
  }
  for (const std::string& name : *pruned) {
    log(Level::Info, "checkpoint.removed", {{"name", name}, {"why", "checkpoint_keep"}});
  }
}

void Checkpoints::fail(const Attempt& attempt, const Status& status) {
  log(Level::Error, "checkpoint.failed", {{"error", status.message()}});
  is_damaged_ = is_damaged_ || status.code() == StatusCode::Corruption;
  if (status.code() == StatusCode::Corruption && on_damage_) on_damage_();
  if (attempt.scheduled) schedule_.failed(clock_.now());
  auto failed = std::make_unique<CheckpointFailed>();
  failed->reason = status.message();
  if (attempt.plan.temporary) return core_.checkpoints().on_temporary_made(std::move(failed));
  core_.checkpoints().on_made(std::move(failed));
  arm();
}

void Checkpoints::on_lost(const std::optional<CheckpointSeen>& next) {
  log(Level::Warning, "checkpoint.lost",
      {{"newest", next ? next->path : ""}, {"why", "the newest checkpoint was removed"}});
  schedule_.lost(next ? std::optional(next->created) : std::nullopt, clock_.now());
  arm();
}

void Checkpoints::stop() {
  open_ = false;
  cancelled_ = true;
  uv_timer_stop(&timer_);
  core_.checkpoints().refuse("the server is stopping");
}

void Checkpoints::close() {
  cancelled_ = true;
  if (thread_.joinable()) thread_.join();
  core_.checkpoints().give_up_temporaries();  // Every connection ends now.
  std::vector<std::string> left = core_.checkpoints().take_given_up();
  if (creating_) left.push_back(store::partial_path(creating_->plan));
  for (const std::string& path : left) {
    ignore(store::remove_checkpoint(path), "the next start removes it");
  }
  watch_.close();
  uv_close(reinterpret_cast<uv_handle_t*>(&timer_), nullptr);
  uv_close(reinterpret_cast<uv_handle_t*>(&completed_), nullptr);
}

}  // namespace perennial::perenniald
