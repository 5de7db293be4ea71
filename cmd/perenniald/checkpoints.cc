#include "cmd/perenniald/checkpoints.h"

#include <chrono>
#include <cstdlib>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "cmd/perenniald/checkpoint_dir.h"
#include "cmd/perenniald/log.h"
#include "engine/types/check.h"

namespace perennial::perenniald {
namespace {

Nanos steady_now() {
  const auto time = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(time).count();
}

std::string text(uint64_t number) {
  return fmt::format("{}", number);
}

// What clients are told must not depend on where the server was started.
std::string absolute(const std::string& path) {
  const std::unique_ptr<char, decltype(&std::free)> real(realpath(path.c_str(), nullptr),
                                                         &std::free);
  return real != nullptr ? real.get() : path;
}

}  // namespace

Checkpoints::Checkpoints(uv_loop_t& loop, core::Core& core, TurnClock& clock, Settings settings)
    : core_(core), clock_(clock), settings_(std::move(settings)), schedule_(settings_.every) {
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
  if (const auto newest = newest_checkpoint(settings_.dir, owner_)) schedule_.made(*newest, now);
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
  if (making_) return;  // A client's. When it is made, the next is due anew.
  if (!core_.disk_has_room()) {
    return fail({StatusCode::NoSpace, "the disk is short of room: see store-state in stats"});
  }
  due_ = true;
  core_.want_checkpoint();
}

bool Checkpoints::hand_over(store::Committer& committer) {
  const Nanos now = clock_.now();
  core_.settle_cut(now);
  const std::optional<core::Cut> cut = core_.take_cut();
  if (!cut) return false;
  CHECK(!making_);
  making_.emplace(Making{.cut = {.dir = settings_.dir,
                                 .name = store::checkpoint_name(now),
                                 .created = now,
                                 .server_version = settings_.server_version,
                                 .database = owner_.database,
                                 .index = cut->index,
                                 .jobs = cut->jobs},
                         .scheduled = std::exchange(due_, false)});
  making_->cut.cancelled = [this] { return cancelled_.load(std::memory_order_relaxed); };
  // Somebody may have removed it.
  if (Status ready = prepare_checkpoint_dir(settings_.dir, settings_.data_dir); !ready.ok()) {
    fail(ready);
    return false;
  }
  committer.submit_cut(store::partial_path(making_->cut));
  return true;
}

void Checkpoints::on_cut(const store::Committer::Cut& cut) {
  if (!cut.status.ok()) {
    const std::string left = store::partial_path(making_->cut);
    ignore(store::remove_checkpoint(left), "there is a failure to report already");
    return fail(cut.status);
  }
  making_->cut_took = cut.took;
  CHECK(!thread_.joinable());
  thread_ = std::thread([this] { complete(); });
}

// On the thread.
void Checkpoints::complete() {
  const Nanos begun = steady_now();
  Making& making = *making_;
  making.result.emplace(store::complete_checkpoint(making.cut));
  making.took = making.cut_took + steady_now() - begun;
  if (making.result->ok() && making.scheduled && settings_.keep > 0) {
    making.pruned = store::prune_checkpoints(settings_.dir, owner_, settings_.keep);
  }
  uv_async_send(&completed_);
}

void Checkpoints::on_completed() {
  if (!thread_.joinable()) return;
  thread_.join();
  const Result<store::CheckpointManifest>& result = *making_->result;
  if (!result.ok()) return fail(result.status());
  schedule_.made(making_->cut.created, clock_.now());
  report_pruned();
  report_success(*result);
}

void Checkpoints::report_success(const store::CheckpointManifest& manifest) {
  auto made = std::make_unique<CheckpointMade>();
  const StateCounts& jobs = manifest.jobs;
  *made = {.name = manifest.name,
           .path = settings_.dir + "/" + manifest.name,
           .commit = manifest.commit.index,
           .jobs = jobs.ready + jobs.reserved + jobs.delayed + jobs.buried,
           .bytes = manifest.bytes(),
           .took_ms = static_cast<uint64_t>(making_->took / nanos_per_ms)};
  log(Level::Info, "checkpoint",
      {{"name", made->name},
       {"commit", text(made->commit)},
       {"jobs", text(made->jobs)},
       {"bytes", text(made->bytes)},
       {"cut_us", text(static_cast<uint64_t>(making_->cut_took / 1000))},
       {"took_ms", text(made->took_ms)}});
  end_making(std::move(made));
}

void Checkpoints::report_pruned() const {
  const Result<std::vector<std::string>>& pruned = making_->pruned;
  if (!pruned.ok()) {
    return log(Level::Warning, "checkpoint.removed", {{"error", pruned.status().message()}});
  }
  for (const std::string& name : *pruned) {
    log(Level::Info, "checkpoint.removed", {{"name", name}, {"why", "checkpoint_keep"}});
  }
}

void Checkpoints::fail(const Status& status) {
  log(Level::Error, "checkpoint.failed", {{"error", status.message()}});
  if (!making_ || making_->scheduled) schedule_.failed(clock_.now());
  auto failed = std::make_unique<CheckpointFailed>();
  failed->reason = status.message();
  end_making(std::move(failed));
}

void Checkpoints::end_making(const Reply& answer) {
  if (std::exchange(making_, std::nullopt)) core_.on_checkpoint(answer);
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
  uv_close(reinterpret_cast<uv_handle_t*>(&timer_), nullptr);
  uv_close(reinterpret_cast<uv_handle_t*>(&completed_), nullptr);
}

}  // namespace perennial::perenniald
