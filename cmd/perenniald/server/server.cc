#include "cmd/perenniald/server/server.h"

#include <csignal>
#include <utility>

#include <fmt/format.h>

#include "cmd/perenniald/process/failure.h"
#include "cmd/perenniald/process/log.h"
#include "cmd/perenniald/process/process.h"
#include "cmd/perenniald/server/options.h"
#include "engine/types/check.h"

// The wiring of the parts. How the server starts and ends is in server_phases.cc, what a turn of
// the loop does is in turn.cc.
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
      timer_(loop_, [this] { turn_->on_timer(); }),
      process_facts_(fixed_process_facts(config.job_bytes_max)),
      descriptors_(descriptors),
      core_(make_core_options()),
      connections_(loop_, clock_, budget_,
                   {.open = [this](ConnId conn, const AcceptedSocket& socket) -> core::Session& {
                      return open_session(conn, socket);
                    },
                    .has_waiting = [this] { return core_.has_runnable(); },
                    .on_bytes = [this] { turn_->hand_over_early(); },
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
  options.store_facts = [this] { return turn_->store_facts(); };
  return options;
}

void Server::start_handles() {
  CHECK(uv_prepare_init(&loop_, &prepare_) == 0);
  CHECK(uv_idle_init(&loop_, &at_once_) == 0);
  CHECK(uv_timer_init(&loop_, &phase_timer_) == 0);
  const auto committed = [](uv_async_t* handle) { server_of(handle).turn_->on_news(); };
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

// Before the loop blocks.
void Server::on_prepare() {
  if (!turn_) return;  // Until then core and the clock belong to the recovery's thread.
  if (phase_ == Phase::Settling && core_.settled(clock_.now())) begin_serving();
  const Turn::Carried carried = turn_->carry();
  checkpoints_.remove_given_up();
  if (phase_ == Phase::Stopping && carried.all && all_answered()) return end();
  if (carried.at_once) {
    CHECK(uv_idle_start(&at_once_, [](uv_idle_t*) {}) == 0);
  } else {
    uv_idle_stop(&at_once_);
  }
  clock_.end_turn();
}

// What a turn needs of the others.
Turn::Around Server::around_turn() {
  return {.serve = [this](ConnId conn) { connections_.service(conn); },
          .read_body = [this](const core::BodyRead& read) { body_reads_.start(*store_, read); },
          .before_append = [this](const store::Batch& batch) { body_reads_.before_write(batch); },
          .order_cut = [this] { checkpoints_.order_cut(*log_); },
          .on_cut = [this](const store::CutDone& cut) { checkpoints_.on_cut(cut); },
          .disk_left = [this] { return store_->disk_left(); },
          .arm_timer = [this](Nanos left) { timer_.arm(left); }};
}

void Server::on_body(const core::BodyRead& read, Result<Body> body) {
  if (!body.ok()) {
    log(Level::Error, "body.damaged",
        {{"job", fmt::format("{}", read.job)}, {"error", body.status().message()}});
  }
  core_.on_body(read.job, std::move(body), clock_.now());
}

}  // namespace perennial::perenniald
