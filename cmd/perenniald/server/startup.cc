#include "cmd/perenniald/server/startup.h"

#include <utility>

namespace perennial::perenniald {

Startup::Startup(store::Options options, engine::Engine& engine, TurnClock& clock,
                 std::function<void()> done)
    : engine_(engine),
      clock_(clock),
      done_(std::move(done)),
      thread_([this, given = std::move(options)] { run(given); }) {}

Startup::~Startup() {
  if (thread_.joinable()) thread_.join();
}

std::optional<Startup::Found> Startup::take() {
  if (thread_.joinable()) thread_.join();
  if (found_.store == nullptr || cancelled_) return std::nullopt;
  return std::move(found_);
}

void Startup::run(store::Options options) {
  const Nanos start = TurnClock::steady();
  Result<std::unique_ptr<store::Store>> opened = store::Store::open(std::move(options));
  Status status = opened.ok() ? load(**opened) : opened.take_status();
  if (status.ok()) {
    found_.store = opened.take();
    found_.took = TurnClock::steady() - start;
  } else if (!cancelled_) {
    failure_ = open_failure(status);
  }
  done_();
}

Status Startup::load(store::Store& store) {
  const Nanos now = clock_.start_from(store.opening().last_now);
  store::LoadSink sink;
  sink.tube = [&](TubeId tube, std::string_view name) {
    ++found_.tubes;
    return engine_.restore_tube(tube, name);
  };
  sink.pause = [&](const TubePaused& pause) { return engine_.restore_pause(pause, now); };
  sink.settings = [&](const SettingsStored& stored) { return engine_.restore_settings(stored); };
  sink.job = [&](const JobRow& row) { return restore(row, now); };
  sink.key = [&](const KeyStored& key) { return engine_.restore_key(key, now); };
  return store.load(sink);
}

Status Startup::restore(const JobRow& row, Nanos now) {
  if (cancelled_) return {StatusCode::InvalidArgument, "asked to stop"};
  ++count_of(found_.jobs, row.state);
  return engine_.restore_job(row, now);
}

}  // namespace perennial::perenniald
