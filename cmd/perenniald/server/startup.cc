#include "cmd/perenniald/server/startup.h"

#include <utility>

namespace perennial::perenniald {

Startup::Startup(store::Options options, Member* member, engine::Engine& engine,
                 const TurnClock& clock, std::function<void()> done)
    : member_(member),
      engine_(engine),
      clock_(clock),
      done_(std::move(done)),
      thread_([this, given = std::move(options)] { run(given); }) {}

Startup::~Startup() {
  if (thread_.joinable()) thread_.join();
}

void Startup::cancel() {
  cancelled_ = true;
  if (member_ != nullptr) member_->cancel();
}

std::optional<Startup::Found> Startup::take() {
  if (thread_.joinable()) thread_.join();
  if (found_.store == nullptr || cancelled_) return std::nullopt;
  return std::move(found_);
}

void Startup::run(const store::Options& options) {
  Nanos start = TurnClock::steady();
  Result<std::unique_ptr<store::Store>> opened = store::Store::open(options);
  Status status = opened.ok() ? follow(**opened) : opened.take_status();
  while (!status.ok() && member_ != nullptr && member_->is_behind()) {
    opened = Status(status);  // Closes the store, in whose directory another one comes.
    status = member_->get_copy(options.data_dir);
    if (!status.ok()) break;
    opened = store::Store::open(options);
    status = opened.ok() ? follow(**opened) : opened.take_status();
  }
  if (member_ != nullptr) start = TurnClock::steady();  // It was a standby until now.
  if (status.ok()) status = load(**opened);
  if (status.ok()) {
    found_.store = opened.take();
    found_.took = TurnClock::steady() - start;
  } else if (!cancelled_) {
    failure_ = open_failure(status);
  }
  done_();
}

// Until then the node is a standby, if the server is part of a cluster.
Status Startup::follow(store::Store& store) {
  found_.opening = store.opening();
  if (member_ == nullptr) return {};
  if (Status led = member_->follow(store); !led.ok()) return std::move(led).with("cluster");
  Result<store::Opening> reached = store.reached();
  if (!reached.ok()) return reached.take_status();
  found_.opening = reached.take();
  found_.opening.epoch = member_->epoch();
  return {};
}

Status Startup::load(store::Store& store) {
  const Nanos now = clock_.if_continued_from(found_.opening.last_now);
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
