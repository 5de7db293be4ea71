#include "cmd/perenniald/server/startup.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "cmd/common/calendar/zone.h"
#include "cmd/common/exit_codes.h"
#include "cmd/perenniald/process/log.h"

namespace perennial::perenniald {
namespace {

Status stopped() {
  return {StatusCode::InvalidArgument, "asked to stop"};
}

Failure clock_failure(const ClockCheck& check, const ClockBounds& bounds) {
  return {common::exit_system, "clock", check.refusal(bounds)};
}

}  // namespace

Startup::Startup(store::Options options, store::GroupAccess group_access, NodeRunner* runner,
                 std::atomic<bool>& is_written, engine::Engine& engine, const TurnClock& clock,
                 const ClockBounds& bounds, std::function<void()> done)
    : group_access_(group_access),
      runner_(runner),
      is_written_(is_written),
      engine_(engine),
      clock_(clock),
      bounds_(bounds),
      done_(std::move(done)),
      thread_([this, given = std::move(options)] { run(given); }) {}

Startup::~Startup() {
  if (thread_.joinable()) thread_.join();
}

void Startup::cancel() {
  cancelled_ = true;
  if (runner_ != nullptr) runner_->cancel();
}

std::optional<Startup::Found> Startup::take() {
  if (thread_.joinable()) thread_.join();
  if (found_.store == nullptr) return std::nullopt;
  if (!cancelled_) return std::move(found_);
  // Asked to stop after it was loaded. The log of the node uses the store until it is given up.
  if (runner_ != nullptr) runner_->give_up();
  found_.store.reset();
  return std::nullopt;
}

void Startup::run(const store::Options& options) {
  Nanos start = TurnClock::steady();
  Status status;
  if (runner_ != nullptr) status = runner_->get_wanted_copy(options.data_dir);
  Result<std::unique_ptr<store::Store>> opened = status.ok() ? open(options) : Status(status);
  if (runner_ != nullptr && !opened.ok() && is_damage(opened.status())) {
    status = runner_->replace_damaged(options.data_dir, opened.status());
    opened = status.ok() ? open(options) : Status(status);
  }
  status = opened.ok() ? follow(**opened) : opened.take_status();
  while (!status.ok() && runner_ != nullptr && runner_->is_behind()) {
    opened = Status(status);  // Closes the store, in whose directory another one comes.
    status = runner_->get_copy(options.data_dir);
    if (!status.ok()) break;
    opened = open(options);
    status = opened.ok() ? follow(**opened) : opened.take_status();
  }
  if (runner_ != nullptr) start = TurnClock::steady();  // It was a standby until now.
  found_.measured_at = TurnClock::steady();
  ClockCheck check(found_.opening.last_now, time(status.ok()));
  const bool leads = status.ok() && runner_ != nullptr;
  if (status.ok()) status = load(**opened, check);
  if (!status.ok()) {
    if (!cancelled_ && !failure_) failure_ = open_failure(status, options.data_dir);
  } else if (accept(check)) {
    found_.store = opened.take();
    found_.took = TurnClock::steady() - start;
  }
  if (leads && found_.store == nullptr) give_up(status, options.data_dir);
  done_();
}

// Before the store ends, which the log of the node uses.
void Startup::give_up(const Status& loaded, const std::string& data_dir) {
  runner_->give_up();
  if (cancelled_) return;
  if (std::optional<Failure> wants_copy = NodeRunner::want_copy(data_dir, loaded))
    failure_ = *wants_copy;
}

// The cluster's if it leads one, else that of the wall clock.
Nanos Startup::time(bool leads) {
  if (runner_ == nullptr || !leads) return clock_.at_this_moment();
  // What a former leader has handed on is right, however long ago the newest batch was.
  if (runner_->is_time_handed_on()) bounds_.is_accepted = true;
  return runner_->time();
}

// What was made without the setting, or by tools, gets its modes here.
Result<std::unique_ptr<store::Store>> Startup::open(const store::Options& options) {
  is_written_ = false;  // Also where a copy has replaced a store that was written to.
  store::StartReview review;
  // A node of a cluster does not know before it leads which time will count.
  if (runner_ == nullptr) {
    review = [this](Nanos newest, const auto& load) { return this->review(newest, load); };
  }
  Result<std::unique_ptr<store::Store>> opened = store::Store::open(options, review);
  if (!opened.ok() || group_access_ == store::GroupAccess::None) return opened;
  Status given = store::give_group_access(options.data_dir, group_access_);
  if (given.ok()) return opened;
  return given;
}

// Reads the rows only where they decide.
Status Startup::review(Nanos newest, const std::function<Status(const store::LoadSink&)>& load) {
  ClockCheck check(newest, time(false));
  if (!check.needs_rows(bounds_)) return {};
  std::map<std::string, TubeSettings> set;
  std::vector<std::pair<std::string, EndedSpan>> ended;
  Status read = load({.tube = [](TubeId, std::string_view) { return Status(); },
                      .pause =
                          [&](const TubePaused& pause) {
                            check.pause(pause);
                            return Status();
                          },
                      .settings =
                          [&](const SettingsStored& stored) {
                            set[stored.tube] = stored.settings;
                            return Status();
                          },
                      .job =
                          [&](const JobRow& row) {
                            check.job(row);
                            return cancelled_ ? stopped() : Status();
                          },
                      .key =
                          [&](const KeyStored& key) {
                            check.key(key);
                            return Status();
                          },
                      .ended =
                          [&](const std::string& tube, const EndedSpan& span) {
                            ended.emplace_back(tube, span);
                            return Status();
                          }});
  for (const auto& [tube, span] : ended) {
    // The engine has only the defaults yet.
    const std::optional<Nanos> keep = set[tube].keep;
    check.ended(span.next - span.first, keep ? keep : engine_.view().settings_of(tube).keep);
  }
  if (!read.ok() || check.verdict(bounds_) != ClockCheck::Verdict::Refused) return read;
  failure_ = clock_failure(check, bounds_);
  return {StatusCode::InvalidArgument, failure_->message};
}

// Until then the node is a standby, if the server is part of a cluster.
Status Startup::follow(store::Store& store) {
  found_.opening = store.opening();
  if (runner_ == nullptr) return {};
  is_written_ = true;
  if (Status led = runner_->follow(store); !led.ok()) return std::move(led).with("cluster");
  Result<store::Opening> reached = store.reached();
  if (!reached.ok()) return reached.take_status();
  found_.opening = reached.take();
  found_.opening.epoch = runner_->epoch();
  return {};
}

Status Startup::load(store::Store& store, ClockCheck& check) {
  const Nanos now = found_.now = std::max(check.clock(), check.last());
  store::LoadSink sink;
  sink.tube = [&](TubeId tube, std::string_view name) {
    ++found_.tubes;
    return engine_.restore_tube(tube, name);
  };
  sink.pause = [&](const TubePaused& pause) {
    check.pause(pause);
    return engine_.restore_pause(pause, now);
  };
  sink.settings = [&](const SettingsStored& stored) { return engine_.restore_settings(stored); };
  std::vector<std::pair<std::string, EndedSpan>> ended;
  sink.ended = [&](const std::string& tube, const EndedSpan& span) {
    ended.emplace_back(tube, span);
    return engine_.restore_ended(tube, span);
  };
  sink.schedule = [&](const ScheduleStored& stored, std::string_view body) {
    found_.schedule_bodies.emplace_back(stored.schedule->name, Body(body));
    const auto* const cron = std::get_if<ScheduleCron>(&stored.schedule->when);
    if (cron != nullptr) ++found_.unknown_zones[cron->zone];
    return engine_.restore_schedule(stored);
  };
  sink.job = [&](const JobRow& row) {
    check.job(row);
    return restore(row);
  };
  sink.key = [&](const KeyStored& key) {
    check.key(key);
    return engine_.restore_key(key, now);
  };
  Status loaded = store.load(sink);
  std::erase_if(found_.unknown_zones,
                [](const auto& zone) { return calendar::find_zone(zone.first).ok(); });
  for (const auto& [tube, span] : ended) {
    check.ended(span.next - span.first, engine_.view().settings_of(tube).keep);
  }
  return loaded;
}

bool Startup::accept(const ClockCheck& check) {
  using Verdict = ClockCheck::Verdict;
  const auto seconds = [](Nanos time) { return fmt::format("{}", time / nanos_per_second); };
  const std::string newest = date_text(check.last());
  const std::string clock = date_text(check.clock());
  switch (check.verdict(bounds_)) {
    case Verdict::Fits:
      return true;
    case Verdict::Behind:
      log(Level::Warning, "clock",
          {{"newest_batch", newest},
           {"clock", clock},
           {"behind_s", seconds(check.last() - check.clock())},
           {"effect",
            "time goes on from the newest batch; until the clock has caught up, the time without a "
            "server does not count"}});
      return true;
    case Verdict::Ahead:
      log(Level::Warning, "clock",
          {{"newest_batch", newest},
           {"clock", clock},
           {"ahead_s", seconds(check.clock() - check.last())},
           {"effect", check.ends_text()}});
      return true;
    case Verdict::Refused:
      failure_ = clock_failure(check, bounds_);
      return false;
  }
  return false;
}

Status Startup::restore(const JobRow& row) {
  if (cancelled_) return stopped();
  ++count_of(found_.jobs, row.state);
  return engine_.restore_job(row, found_.now);
}

}  // namespace perennial::perenniald
