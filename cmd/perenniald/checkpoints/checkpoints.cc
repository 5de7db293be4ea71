#include "cmd/perenniald/checkpoints/checkpoints.h"

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

// What clients are told must not depend on where the server was started.
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
  Status prepared = prepare_checkpoint_dir(settings_.dir, settings_.data_dir);
  if (!prepared.ok()) {
    if (prepared.code() != StatusCode::NoSpace) return prepared;
    // Whoever lacks room needs the server, to delete jobs. Each checkpoint tries again.
    log(Level::Warning, "checkpoint_dir", {{"error", prepared.message()}});
  }
  settings_.dir = absolute(settings_.dir);
  owner_ = store::checkpoint_owner(settings_.data_dir, database, settings_.dir);
  remove_half_made(settings_.dir, owner_);
  const Nanos now = clock_.now();
  if (const auto newest = newest_checkpoint(settings_.dir, owner_)) {
    schedule_.made(newest->cut, now);
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
  // libuv rounds down, and what fires too early would find nothing due.
  const uint64_t left_ms = left <= 0 ? 0 : static_cast<uint64_t>(left / nanos_per_ms) + 1;
  const auto fired = [](uv_timer_t* handle) { static_cast<Checkpoints*>(handle->data)->on_due(); };
  CHECK(uv_timer_start(&timer_, fired, left_ms, 0) == 0);
}

void Checkpoints::on_due() {
  if (kept_under_way()) return;  // A client's. When it is made, the next is due anew.
  if (core_.disk_has_room()) {
    due_ = true;
    return core_.want_checkpoint();
  }
  log(Level::Error, "checkpoint.failed",
      {{"error", "the disk is short of room: see store-state in stats"}});
  schedule_.failed(clock_.now());
  arm();
}

void Checkpoints::order_cut(store::Log& log) {
  if (cutting_) return;  // It is with the log, or is cut and that has not been collected yet.
  const Nanos now = clock_.now();
  core_.settle_cut(now);
  const std::optional<core::Cut> cut = core_.take_cut();
  if (!cut) return;
  Making making = begin(*cut, now);
  // Somebody may have removed it.
  if (Status ready = prepare_checkpoint_dir(settings_.dir, settings_.data_dir); !ready.ok()) {
    return fail(making, ready);
  }
  cutting_.emplace(std::move(making));
  log.cut(store::partial_path(cutting_->cut));
}

Checkpoints::Making Checkpoints::begin(const core::Cut& cut, Nanos now) {
  Making making = {.cut = {.dir = settings_.dir,
                           .name = store::checkpoint_name(now),
                           .created = now,
                           .temporary = cut.temporary,
                           .server_version = settings_.server_version,
                           .database = owner_.database,
                           .index = cut.index,
                           .jobs = cut.jobs}};
  making.cut.cancelled = [this] { return cancelled_.load(std::memory_order_relaxed); };
  if (!cut.temporary) making.scheduled = std::exchange(due_, false);
  return making;
}

void Checkpoints::on_cut(const store::CutDone& cut) {
  CHECK(cutting_);
  Making making = *std::exchange(cutting_, std::nullopt);
  if (!cut.status.ok()) {
    const std::string left = store::partial_path(making.cut);
    ignore(store::remove_checkpoint(left), "there is a failure to report already");
    return fail(making, cut.status);
  }
  making.cut_took = cut.took;
  if (making.cut.temporary) return give_temporary(making);
  CHECK(!making_);
  CHECK(!thread_.joinable());
  making_.emplace(std::move(making));
  thread_ = std::thread([this] { complete(); });
}

// Whoever reads it finds out whether it is whole.
void Checkpoints::give_temporary(const Making& made) {
  auto given = std::make_unique<CheckpointMade>();
  *given = {.name = made.cut.name,
            .path = store::partial_path(made.cut),
            .commit = made.cut.index,
            .jobs = job_count(*made.cut.jobs),
            .took_ms = static_cast<uint64_t>(made.cut_took / nanos_per_ms)};
  log(Level::Info, "checkpoint.temporary",
      {{"name", given->name},
       {"commit", text(given->commit)},
       {"jobs", text(given->jobs)},
       {"cut_us", text(static_cast<uint64_t>(made.cut_took / 1000))}});
  core_.on_temporary_checkpoint(std::move(given));
}

void Checkpoints::remove_given_up() {
  std::vector<std::string> paths = core_.take_given_up();
  if (!paths.empty()) remove_in_background(loop_, std::move(paths));
}

// On the thread.
void Checkpoints::complete() {
  const Nanos begun = TurnClock::steady();
  Making& making = *making_;
  making.result.emplace(store::complete_checkpoint(making.cut));
  making.took = making.cut_took + TurnClock::steady() - begun;
  if (making.result->ok() && making.scheduled && settings_.keep > 0) {
    making.pruned = store::prune_checkpoints(settings_.dir, owner_, settings_.keep);
  }
  uv_async_send(&completed_);
}

void Checkpoints::on_completed() {
  if (!thread_.joinable()) return;
  thread_.join();
  const Making made = *std::exchange(making_, std::nullopt);
  const Result<store::CheckpointManifest>& result = *made.result;
  if (!result.ok()) return fail(made, result.status());
  schedule_.made(made.cut.created, clock_.now());
  watch_.watch(settings_.dir + "/" + made.cut.name);
  report_pruned(made);
  report_success(made, *result);
  arm();
}

void Checkpoints::report_success(const Making& done, const store::CheckpointManifest& manifest) {
  auto made = std::make_unique<CheckpointMade>();
  *made = {.name = manifest.name,
           .path = settings_.dir + "/" + manifest.name,
           .commit = manifest.commit.index,
           .jobs = job_count(manifest.jobs),
           .bytes = manifest.bytes(),
           .took_ms = static_cast<uint64_t>(done.took / nanos_per_ms)};
  log(Level::Info, "checkpoint",
      {{"name", made->name},
       {"commit", text(made->commit)},
       {"jobs", text(made->jobs)},
       {"bytes", text(*made->bytes)},
       {"cut_us", text(static_cast<uint64_t>(done.cut_took / 1000))},
       {"took_ms", text(made->took_ms)}});
  core_.on_checkpoint(std::move(made));
}

void Checkpoints::report_pruned(const Making& made) const {
  const Result<std::vector<std::string>>& pruned = made.pruned;
  if (!pruned.ok()) {
    return log(Level::Warning, "checkpoint.removed", {{"error", pruned.status().message()}});
  }
  for (const std::string& name : *pruned) {
    log(Level::Info, "checkpoint.removed", {{"name", name}, {"why", "checkpoint_keep"}});
  }
}

void Checkpoints::fail(const Making& making, const Status& status) {
  log(Level::Error, "checkpoint.failed", {{"error", status.message()}});
  if (making.scheduled) schedule_.failed(clock_.now());
  auto failed = std::make_unique<CheckpointFailed>();
  failed->reason = status.message();
  if (making.cut.temporary) return core_.on_temporary_checkpoint(std::move(failed));
  core_.on_checkpoint(std::move(failed));
  arm();
}

void Checkpoints::on_lost(const std::optional<CheckpointSeen>& next) {
  log(Level::Warning, "checkpoint.lost",
      {{"newest", next ? next->path : ""}, {"why", "the newest checkpoint was removed"}});
  schedule_.lost(next ? std::optional(next->cut) : std::nullopt, clock_.now());
  arm();
}

void Checkpoints::stop() {
  open_ = false;
  cancelled_ = true;
  uv_timer_stop(&timer_);
  core_.refuse_checkpoints("the server is stopping");
}

void Checkpoints::close() {
  cancelled_ = true;
  if (thread_.joinable()) thread_.join();
  core_.give_up_temporaries();  // All clients go now.
  std::vector<std::string> left = core_.take_given_up();
  if (cutting_) left.push_back(store::partial_path(cutting_->cut));
  for (const std::string& path : left) {
    ignore(store::remove_checkpoint(path), "the next start removes it");
  }
  watch_.close();
  uv_close(reinterpret_cast<uv_handle_t*>(&timer_), nullptr);
  uv_close(reinterpret_cast<uv_handle_t*>(&completed_), nullptr);
}

}  // namespace perennial::perenniald
