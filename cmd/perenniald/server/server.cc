#include "cmd/perenniald/server/server.h"

#include <csignal>
#include <utility>

#include <fmt/format.h>

#include "cmd/perenniald/process/failure.h"
#include "cmd/perenniald/process/log.h"
#include "cmd/perenniald/process/process.h"
#include "cmd/perenniald/server/options.h"
#include "engine/types/check.h"

// What a turn of the loop does. How the server starts and ends is in server_phases.cc.
namespace perennial::perenniald {
namespace {

template <typename Handle>
Server& server_of(Handle* handle) {
  return *static_cast<Server*>(handle->data);
}

}  // namespace

Server::Loop::Loop() {
  CHECK(uv_loop_init(this) == 0);
}
Server::Loop::~Loop() {
  CHECK(uv_loop_close(this) == 0);
}

Server::Server(const Config& config, std::vector<BoundSocket> sockets,
               const Descriptors& descriptors)
    : config_(config),
      timer_(loop_, [this] { on_timer(); }),
      process_facts_(fixed_process_facts(config.job_bytes_max)),
      descriptors_(descriptors),
      core_(make_core_options()),
      connections_(loop_, clock_, budget_,
                   {.open = [this](ConnId conn, const AcceptedSocket& socket) -> core::Session& {
                      return open_session(conn, socket);
                    },
                    .has_waiting = [this] { return core_.has_runnable(); },
                    .on_bytes = [this] { hand_over_early(); },
                    .on_closed = [this] { acceptor_.on_room(); }}),
      acceptor_(
          loop_, std::move(sockets),
          {.has_room = [this] { return connections_.count() < descriptors_.connections; },
           .accepted = [this](const AcceptedSocket& socket) { return connections_.open(socket); }}),
      body_reads_(
          loop_,
          [this](const core::BodyRead& read, Result<Body> body) { on_body(read, std::move(body)); },
          [](const Status& failed) { end_process(running_failure(failed)); }),
      checkpoints_(loop_, core_, clock_, checkpoint_settings(config, process_facts_.version)) {
  start_handles();
}

// Only clients of this machine may ask for checkpoints, unless the configuration trusts all.
core::Session& Server::open_session(ConnId conn, const AcceptedSocket& socket) {
  const bool trusted = socket.is_local || config_.checkpoint_from == CheckpointFrom::Any;
  return core_.open(conn, clock_.now(), trusted);
}

core::Options Server::make_core_options() {
  core::Options options = core_options(config_);
  options.process_facts = [this] {
    add_usage(process_facts_);
    process_facts_.uptime = clock_.uptime();
    process_facts_.loop_lag_us = static_cast<uint64_t>(clock_.lag()) / 1000;
    process_facts_.checkpoint_age_s = checkpoints_.age_s();
    return process_facts_;
  };
  options.store_facts = [this] { return store_facts_; };
  return options;
}

void Server::start_handles() {
  CHECK(uv_prepare_init(&loop_, &prepare_) == 0);
  CHECK(uv_idle_init(&loop_, &at_once_) == 0);
  CHECK(uv_timer_init(&loop_, &phase_timer_) == 0);
  const auto committed = [](uv_async_t* handle) { server_of(handle).on_committed(); };
  CHECK(uv_async_init(&loop_, &committed_, committed) == 0);
  const auto recovered = [](uv_async_t* handle) { server_of(handle).on_recovered(); };
  CHECK(uv_async_init(&loop_, &recovered_, recovered) == 0);
  prepare_.data = phase_timer_.data = committed_.data = recovered_.data = this;
  const auto prepare = [](uv_prepare_t* handle) { server_of(handle).on_prepare(); };
  CHECK(uv_prepare_start(&prepare_, prepare) == 0);
  constexpr int numbers[] = {SIGTERM, SIGINT, SIGUSR1};
  const auto signalled = [](uv_signal_t* handle, int number) {
    server_of(handle).on_signal(number);
  };
  for (size_t i = 0; i < std::size(numbers); ++i) {
    CHECK(uv_signal_init(&loop_, &signals_[i]) == 0);
    signals_[i].data = this;
    CHECK(uv_signal_start(&signals_[i], signalled, numbers[i]) == 0);
  }
}

void Server::on_prepare() {
  // Until then core and the clock belong to the recovery's thread.
  if (phase_ == Phase::Recovering || log_ == nullptr) return;
  core_.on_disk_left(store_->disk_left());
  if (phase_ == Phase::Settling && core_.settled(clock_.now())) begin_serving();
  gathering_ = gather();
  const bool all_carried = carry();
  checkpoints_.remove_given_up();
  if (phase_ == Phase::Stopping && all_carried && all_answered()) return end();
  if (all_carried && !gathering_) {
    uv_idle_stop(&at_once_);
  } else {
    CHECK(uv_idle_start(&at_once_, [](uv_idle_t*) {}) == 0);
  }
  arm_timer();
  clock_.end_turn();
}

// Once more for as long as anything changed: output that has left can let commands run that waited
// for room, and those make reads, batches and output of their own. A client that reads as fast as
// it asks could go on for ever: false when time is over first.
bool Server::carry() {
  budget_.begin_carrying();
  for (;;) {
    while (core_.has_runnable() && budget_.may_run()) {
      core_.run_next(clock_.now());
      hand_over_early();
    }
    start_reads();
    checkpoints_.order_cut(*log_);
    if (next_changed_ == changed_.size()) {
      next_changed_ = 0;
      core_.take_changed(changed_);
    }
    // What may leave does so before the loop itself writes a batch, so that clients have something
    // to do meanwhile.
    const bool after_output = writes_here_ && !core_.batch_is_large() && !changed_.empty();
    if (!after_output && !gathering_ && hand_over()) continue;
    // A checkpoint that could not be begun has been answered just now.
    if (changed_.empty() && !core_.has_changed()) return !core_.has_runnable();
    if (!serve_changed()) return false;
  }
}

// False when time was over first. Then the batch goes all the same, since the next turn may be as
// full.
bool Server::serve_changed() {
  while (next_changed_ < changed_.size()) {
    if (!budget_.may_carry()) {
      start_reads();
      if (!gathering_) hand_over();
      return false;
    }
    connections_.service(changed_[next_changed_++]);
  }
  return true;
}

// Whether to look at the sockets once more before the open batch goes. Those who were just answered
// send their next commands while the loop takes in those of others; without this they would miss
// the batch, wait for a sync of their own, and fall apart into groups that take turns. Nothing is
// waited for: it ends when all are there or a look has brought none of them.
bool Server::gather() {
  constexpr unsigned turns_max = 4;
  const size_t missing = log_->idle() ? core_.missing_company() : 0;
  const bool some_came = gathered_turns_ == 0 || missing < missing_before_;
  const bool again = missing > 0 && some_came && gathered_turns_ < turns_max;
  gathered_turns_ = again ? gathered_turns_ + 1 : 0;
  missing_before_ = missing;
  return again;
}

// Whether there was anything that the log could take now.
bool Server::hand_over() {
  if (!log_->idle()) return false;
  const Nanos now = clock_.now();
  const bool due = phase_ == Phase::Stopping ? core_.has_batch() : core_.batch_due(now);
  if (!due) return false;
  store::Batch batch = core_.take_batch(now);
  body_reads_.before_write(batch);
  writes_here_ = log_->append(std::move(batch)) == store::Appended::Done;
  if (writes_here_) on_committed();
  checkpoints_.order_cut(*log_);  // A cut that lies behind this batch follows it into the queue.
  return true;
}

// A turn that reads from many takes a while. What is too large to be written here anyway goes to
// the log at once, whose thread writes it while the loop reads on.
void Server::hand_over_early() {
  if (phase_ != Phase::Serving || !log_->idle() || !core_.batch_is_large()) return;
  start_reads();
  hand_over();
}

void Server::start_reads() {
  // What is read at once makes room for others.
  for (auto reads = core_.take_reads(); !reads.empty(); reads = core_.take_reads()) {
    for (const core::BodyRead& read : reads) body_reads_.start(*store_, read);
  }
}

void Server::on_body(const core::BodyRead& read, Result<Body> body) {
  if (!body.ok()) {
    log(Level::Error, "body.damaged",
        {{"job", fmt::format("{}", read.job)}, {"error", body.status().message()}});
  }
  core_.on_body(read.job, std::move(body), clock_.now());
}

// A timer that is armed too early is left as it is: it fires, finds nothing due, and is armed
// again. Deadlines mostly move away, so that this saves most of the arming.
void Server::arm_timer() {
  if (phase_ == Phase::Stopping) return;
  const std::optional<Nanos> next = log_->idle() ? core_.next_deadline() : core_.next_tick();
  if (!next || (armed_ && *armed_ <= *next)) return;
  armed_ = next;
  timer_.arm(*next - clock_.now() - clock_.turn_so_far());
}

void Server::on_timer() {
  armed_.reset();
  if (phase_ != Phase::Stopping) core_.on_timer(clock_.now());
}

void Server::on_committed() {
  if (log_ == nullptr) return;
  store::Log::News news = log_->collect();
  store_facts_ = std::move(news.store.facts);
  core_.on_disk_left(store_->disk_left());
  core_.on_room(news.store.room, clock_.now());
  core_.on_behind(news.store.behind, clock_.now());
  const store::LogIndices& indices = news.indices;
  core_.on_durable(indices.answerable(), indices.durable, clock_.now(), news.took);
  for (store::Batch& batch : news.batches) core_.recycle(std::move(batch));
  if (news.cut) checkpoints_.on_cut(*news.cut);
}

}  // namespace perennial::perenniald
