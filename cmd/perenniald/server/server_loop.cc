#include "cmd/perenniald/server/server_loop.h"

#include <csignal>
#include <iterator>

#include "engine/types/check.h"

namespace perennial::perenniald {
namespace {

template <typename Handle>
ServerLoop::Owner& owner_of(Handle* handle) {
  return *static_cast<ServerLoop::Owner*>(handle->data);
}

}  // namespace

ServerLoop::ServerLoop(Owner& owner) : owner_(owner) {
  CHECK(uv_loop_init(&loop_) == 0);
}

ServerLoop::~ServerLoop() {
  CHECK(uv_loop_close(&loop_) == 0);
}

void ServerLoop::open(bool reads_hangup) {
  CHECK(uv_prepare_init(&loop_, &prepare_) == 0);
  CHECK(uv_idle_init(&loop_, &at_once_) == 0);
  CHECK(uv_timer_init(&loop_, &phase_timer_) == 0);
  CHECK(uv_timer_init(&loop_, &second_timer_) == 0);
  const auto log_news = [](uv_async_t* handle) { owner_of(handle).on_log_news(); };
  CHECK(uv_async_init(&loop_, &log_news_, log_news) == 0);
  const auto loaded = [](uv_async_t* handle) { owner_of(handle).on_loaded(); };
  CHECK(uv_async_init(&loop_, &loaded_, loaded) == 0);
  prepare_.data = phase_timer_.data = second_timer_.data = &owner_;
  log_news_.data = loaded_.data = &owner_;
  const auto prepare = [](uv_prepare_t* handle) { owner_of(handle).before_poll(); };
  CHECK(uv_prepare_start(&prepare_, prepare) == 0);
  constexpr int numbers[] = {SIGTERM, SIGINT, SIGUSR1, SIGHUP};
  const auto signalled = [](uv_signal_t* handle, int number) {
    owner_of(handle).on_signal(number);
  };
  for (size_t i = 0; i < std::size(numbers); ++i) {
    CHECK(uv_signal_init(&loop_, &signals_[i]) == 0);
    signals_[i].data = &owner_;
    if (numbers[i] == SIGHUP && !reads_hangup) continue;
    CHECK(uv_signal_start(&signals_[i], signalled, numbers[i]) == 0);
  }
}

void ServerLoop::make_pool() {
  CHECK(uv_queue_work(
            &loop_, &first_work_, [](uv_work_t*) {}, nullptr) == 0);
}

void ServerLoop::run() {
  uv_run(&loop_, UV_RUN_DEFAULT);
}

void ServerLoop::close() {
  const auto close = [](auto& handle) {
    uv_close(reinterpret_cast<uv_handle_t*>(&handle), nullptr);
  };
  close(prepare_);
  close(at_once_);
  close(phase_timer_);
  close(second_timer_);
  close(log_news_);
  close(loaded_);
  for (uv_signal_t& signal : signals_) close(signal);
}

void ServerLoop::start_phase_timer(uint64_t first_ms, uint64_t every_ms) {
  const auto fired = [](uv_timer_t* handle) { owner_of(handle).on_phase_time(); };
  CHECK(uv_timer_start(&phase_timer_, fired, first_ms, every_ms) == 0);
}

void ServerLoop::start_seconds() {
  constexpr uint64_t second_ms = 1000;
  const auto fired = [](uv_timer_t* handle) { owner_of(handle).on_second(); };
  CHECK(uv_timer_start(&second_timer_, fired, second_ms, second_ms) == 0);
}

void ServerLoop::block_unless(bool at_once) {
  if (at_once) {
    CHECK(uv_idle_start(&at_once_, [](uv_idle_t*) {}) == 0);
  } else {
    uv_idle_stop(&at_once_);
  }
}

}  // namespace perennial::perenniald
