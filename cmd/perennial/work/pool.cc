#include "cmd/perennial/work/pool.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <limits>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include <poll.h>
#include <sys/eventfd.h>

#include "cmd/common/exit_codes.h"
#include "cmd/perennial/work/blocked_signals.h"
#include "cmd/perennial/work/multiplexer.h"
#include "cmd/perennial/work/runner.h"
#include "cmd/perennial/work/shared.h"
#include "cmd/perennial/work/standard_error/relay.h"

namespace perennial::tool::work {
namespace {

class Pool {
 public:
  // `multiplexer` and `relay` may be null.
  Pool(const Settings& settings, const BlockedSignals& signals, Shared& shared,
       Multiplexer* multiplexer, Relay* relay, common::Socket ended)
      : settings_(settings),
        signals_(signals),
        shared_(shared),
        multiplexer_(multiplexer),
        relay_(relay),
        ended_(std::move(ended)) {}

  Result<int> run() {
    const uint64_t wanted =
        std::min<uint64_t>(settings_.runners, settings_.jobs_max.value_or(settings_.runners));
    results_.assign(wanted, 0);
    std::vector<std::thread> threads;
    for (Result<int>& result : results_) {
      threads.emplace_back([this, &result] { run_one(result); });
    }
    wait_for_runners();
    for (std::thread& thread : threads) thread.join();
    for (Result<int>& result : results_)
      if (!result.ok() || *result != common::exit_clean) return std::move(result);
    return common::exit_clean;
  }

 private:
  using Clock = std::chrono::steady_clock;

  void run_one(Result<int>& result) {
    result = run_runner();
    if (!result.ok() || *result != common::exit_clean) shared_.stop().finish();
    CHECK(::eventfd_write(ended_.fd(), 1) == 0);
  }

  Result<int> run_runner() {
    std::optional<Inlet> inlet;
    if (relay_ != nullptr) {
      Result<Inlet> made = Inlet::make(*relay_);
      if (!made.ok()) return made.take_status();
      inlet.emplace(made.take());
    }
    return Runner(settings_, shared_, multiplexer_, signals_.before(), std::move(inlet)).run();
  }

  void wait_for_runners() {
    for (uint64_t ended = 0; ended < results_.size();) {
      std::array<pollfd, 2> events = {{{.fd = signals_.fd(), .events = POLLIN, .revents = 0},
                                       {.fd = ended_.fd(), .events = POLLIN, .revents = 0}}};
      CHECK(::poll(events.data(), events.size(), grace_left_ms()) >= 0);
      if (events[0].revents != 0) stop(signals_.take());
      if (events[1].revents != 0) {
        eventfd_t count = 0;
        CHECK(::eventfd_read(ended_.fd(), &count) == 0);
        ended += count;
      }
      if (kill_at_ && Clock::now() >= *kill_at_) kill_commands();
    }
  }

  void stop(int signal) {
    shared_.log({{"level", "info"},
                 {"at", "work.stopping"},
                 {"signal", static_cast<uint64_t>(signal)},
                 {"grace", static_cast<uint64_t>(settings_.grace.count())}});
    if (stopping_) return kill_commands();
    stopping_ = true;
    kill_at_ = Clock::now() + settings_.grace;
    shared_.stop().finish();
  }

  void kill_commands() {
    kill_at_.reset();
    shared_.stop().kill_commands();
  }

  int grace_left_ms() const {
    if (!kill_at_) return -1;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(*kill_at_ - Clock::now());
    return static_cast<int>(std::clamp<int64_t>(left.count(), 0, std::numeric_limits<int>::max()));
  }

  const Settings& settings_;
  const BlockedSignals& signals_;
  Shared& shared_;
  Multiplexer* const multiplexer_;
  Relay* const relay_;
  const common::Socket ended_;        // An eventfd that counts the runners that have ended.
  std::vector<Result<int>> results_;  // One for each runner, written by its thread before it ends.
  bool stopping_ = false;
  std::optional<Clock::time_point> kill_at_;
};

}  // namespace

Result<int> run_pool(const Settings& settings, LogFormat format) {
  const Result<BlockedSignals> signals = BlockedSignals::make();
  if (!signals.ok()) return signals.status();
  Result<StopRequest> stop = StopRequest::make();
  if (!stop.ok()) return stop.take_status();
  common::Socket ended(::eventfd(0, EFD_CLOEXEC));
  if (ended.fd() < 0) return common::system_error("make an event");
  Shared shared(stop.take(), format, settings.jobs_max);
  std::unique_ptr<Multiplexer> multiplexer;
  if (settings.runners > 1) {
    Result<std::unique_ptr<Multiplexer>> made = Multiplexer::make(settings);
    if (!made.ok()) return made.take_status();
    multiplexer = made.take();
  }
  std::optional<Relay> relay;
  if (settings.notes) relay.emplace();
  return Pool(settings, *signals, shared, multiplexer.get(), relay ? &*relay : nullptr,
              std::move(ended))
      .run();
}

}  // namespace perennial::tool::work
