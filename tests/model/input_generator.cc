#include "tests/model/input_generator.h"

#include <algorithm>
#include <vector>

#include "engine/types/later.h"
#include "engine/types/option_values.h"

namespace perennial::model {
namespace {

// The indices in weights_ of the events that are not commands.
constexpr size_t opened = 0;
constexpr size_t closed = 1;
constexpr size_t half_closed = 2;
constexpr size_t tick = 3;
constexpr size_t drain = 4;
constexpr size_t damaged = 5;
constexpr size_t wait_aborted = 6;
constexpr size_t restored = 7;
constexpr size_t ended_over = 8;
constexpr size_t first_command = 9;

}  // namespace

InputGenerator::InputGenerator(uint64_t seed, Nanos start, Times times, Schedules schedules)
    : random_(seed), times_(times), now_(start), wall_(start) {
  for (uint32_t& weight : weights_) weight = chance(6) ? 0 : 1 + below(12);
  features_ = {.attempts = chance(2),
               .expire = chance(2),
               .unique = chance(2),
               .milliseconds = chance(2),
               .limits = chance(2),
               .concurrency = chance(2),
               .ended = chance(2)};
  features_.schedules = schedules == Schedules::Yes && chance(2);
  weights_[opened] = 2;
  weights_[tick] = 6 + below(10);
  weights_[drain] = 0;
  weights_[half_closed] = std::min(weights_[half_closed], 1u);
  weights_[closed] = std::min(weights_[closed], 2u);
  // Of flushes only a few, or there are hardly any jobs.
  weights_[first_command + 29] = std::min(weights_[first_command + 29], 1u);
  // Put and reserve always have a high weight, because most other commands need their jobs.
  weights_[first_command] = 10 + below(20);
  weights_[first_command + 4] = 5 + below(20);
}

engine::Input InputGenerator::next(const ModelEngine& model) {
  const Nanos before = now_;
  pass_time(model);
  pass_wall(now_ - before);
  engine::Input input{.now = now_,
                      .wall = wall_,
                      .conn = 0,
                      .accepts_puts = !chance(40),
                      .keeps_ended = !chance(40),
                      .event = engine::Tick{},
                      .user = chance(2) ? "ann" : ""};
  std::discrete_distribution<size_t> kinds(weights_.begin(), weights_.end());
  const size_t kind = chance(2000) ? drain : kinds(random_);
  if (model.conns().empty() || (kind == opened && model.conns().size() < 6)) {
    input.conn = ++last_conn_;
    input.event = engine::Opened{};
    return input;
  }
  if (features_.schedules && chance(8)) {
    if (const std::optional<ConnId> conn = ready_conn(model)) {
      input.conn = *conn;
      input.event = some_schedule_command();
      return input;
    }
  }
  input.event = event(kind, model);
  if (std::holds_alternative<Command>(input.event)) {
    const std::optional<ConnId> conn = ready_conn(model);
    if (!conn) input.event = engine::Tick{};
    input.conn = conn.value_or(0);
  }
  if (std::holds_alternative<engine::Closed>(input.event) ||
      std::holds_alternative<engine::EndedAsked>(input.event) ||
      std::holds_alternative<engine::WaitAborted>(input.event) ||
      std::holds_alternative<engine::HalfClosed>(input.event)) {
    auto conn = model.conns().begin();
    std::advance(conn, below(static_cast<uint32_t>(model.conns().size())));
    input.conn = *conn;
  }
  return input;
}

std::optional<ConnId> InputGenerator::ready_conn(const ModelEngine& model) {
  std::vector<ConnId> ready;
  for (const ConnId conn : model.conns()) {
    if (!model.unanswered(conn)) ready.push_back(conn);
  }
  if (ready.empty()) return std::nullopt;
  return ready[below(static_cast<uint32_t>(ready.size()))];
}

engine::Event InputGenerator::event(size_t kind, const ModelEngine& model) {
  switch (kind) {
    case opened:
    case tick:
      return engine::Tick{};
    case closed:
      return engine::Closed{.after_quit = chance(3)};
    case half_closed:
      return engine::HalfClosed{};
    case drain:
      return engine::DrainSignal{};
    case damaged:
      if (!chance(10)) return engine::Tick{};
      return engine::Damaged{some_id(model)};
    case wait_aborted:
      return engine::WaitAborted{};
    case restored:
      return some_restore(model);
    case ended_over:
      if (chance(4)) return some_ended_asked();
      return some_ended_over(model);
    default:
      return command(kind - first_command, model);
  }
}

Command InputGenerator::command(size_t kind, const ModelEngine& model) {
  switch (kind) {
    case 0:
      return some_put();
    case 1:
      return Use{some_tube()};
    case 2:
      return some_watch();
    case 3:
      return Ignore{some_tube()};
    case 4:
      return Reserve{some_reserve_options()};
    case 5:
      return ReserveWithTimeout{some_seconds(4), some_reserve_options()};
    case 6:
      return ReserveJob{some_id(model), some_facts()};
    case 7:
      return Delete{some_id(model), chance(4)};
    case 8:
      return Release{some_id(model),
                     some_priority(),
                     chance(2) ? some_seconds(3) : 0,
                     chance(8) ? 250'000'000u : 0u,
                     {chance(4)}};
    case 9:
      return Bury{some_id(model), some_priority()};
    case 10:
      return Touch{some_id(model), some_ttr()};
    case 11:
      return Peek{some_id(model), some_facts()};
    case 12:
      return PeekReady{some_facts()};
    case 13:
      return PeekDelayed{some_facts()};
    case 14:
      return PeekBuried{some_facts()};
    case 15:
      return Kick{chance(4) ? 1000 : below(4)};
    case 16:
      return KickJob{some_id(model)};
    case 17:
      return StatsJob{some_id(model)};
    case 18:
      return StatsTube{some_tube()};
    case 19:
      return Stats{};
    case 20:
      return ListTubes{};
    case 21:
      return ListTubesWatched{};
    case 22:
      return PauseTube{some_tube(), some_seconds(4), chance(6) ? 500'000'000u : 0u};
    case 23:
      return ListTubeUsed{};
    case 24:
      return PeekReserved{some_facts()};
    case 25:
      return some_put_batch();
    case 26:
      return ReserveBatch{
          {1 + below(5)}, {some_time(below(3), nanos_per_second / 2)}, some_reserve_options()};
    case 27:
      return DeleteBatch{some_ids(model)};
    case 28:
      return TouchBatch{some_ids(model), some_ttr()};
    case 29:
      if (chance(3)) return some_kick_tube();
      return FlushTube{some_tube(), chance(2) ? std::optional<StateSet>() : some_states(),
                       some_match()};
    case 30:
      return ListJobs{chance(3) ? "" : some_tube(),
                      {some_states()},
                      chance(2) ? some_id(model) : 0,
                      {1 + below(10)},
                      ""};
    case 31:
      return some_set_job(model);
    case 32:
      return some_move();
    case 33:
      if (chance(4)) return Drain{};
      return Undrain{};
    case 34:
      return some_set_tube();
    case 35:
      return SetReserveMode{chance(3) ? ReserveMode::Fifo : ReserveMode::Weighted};
    case 36:
      if (chance(3)) return ListNotes{some_id(model)};
      return NoteJob{.id = some_id(model), .bytes = 1, .text = "x", .only_held = chance(4)};
    default:
      if (chance(4)) return PutBatchRefused{static_cast<PutBatchRefused::Why>(below(3))};
      if (chance(4)) return ScheduleRefused{static_cast<ScheduleRefused::Why>(below(3))};
      if (chance(4)) return NoteRefused{static_cast<NoteRefused::Why>(below(3))};
      if (chance(2)) return PutNoCrlf{};
      if (chance(2)) return PutTooBig{};
      if (chance(2)) return PutTrailingJunk{};
      if (chance(2)) return Malformed{Malformed::Kind::BadPauseTube};
      return Malformed{chance(2) ? Malformed::Kind::BadFormat : Malformed::Kind::UnknownCommand};
  }
}

Put InputGenerator::some_put() {
  Put put{chance(8) ? 1024 + below(2) : below(3), chance(3) ? some_seconds(4) : 0, some_seconds(5),
          below(100)};
  if (chance(5)) put.options.make().tube = some_tube();
  if (chance(2)) add_options(put);
  return put;
}

void InputGenerator::add_options(Put& put) {
  PutOptions& options = put.options.make();
  if (features_.attempts) {
    if (chance(3)) options.tries.emplace().value = 1 + below(3);
    if (chance(4)) options.backoff = some_backoff();
    if (chance(4)) options.dead = some_tube();
  }
  if (features_.expire && chance(3)) {
    options.expire.nanos = some_time(1 + below(4), nanos_per_second);
  }
  if (features_.unique && chance(2)) {
    options.key = KeyOption{chance(2) ? "k" : "l", some_seconds(4)};
    if (chance(2)) options.until = static_cast<KeyUntil>(below(3));
    const bool needs_seconds = options.until == KeyUntil::Ttl;
    if (needs_seconds && options.key->seconds == 0) options.key->seconds = 1;
  }
  if (features_.concurrency && chance(2)) {
    options.concurrency = ConcurrencyKey{chance(2) ? "u" : "v", 1 + below(3) / 2};
  }
  if (features_.milliseconds) {
    if (chance(4)) options.delay_rest_ns = 250'000'000;
    if (chance(4)) options.ttr_rest_ns = 500'000'000;
  }
}

Watch InputGenerator::some_watch() {
  Watch watch{some_tube()};
  if (chance(3)) watch.weight.emplace().value = 1 + below(4);
  return watch;
}

Backoff InputGenerator::some_backoff() {
  const Nanos first = (1 + below(3)) * nanos_per_second / 2;
  return {.first = first, .cap = std::max(first, some_time(below(8), nanos_per_second))};
}

SetTube InputGenerator::some_set_tube() {
  SetTube set{.tube = some_tube()};
  const auto change = [this](auto& field, auto value) {
    if (!chance(3)) return;
    field.given = true;
    if (chance(2)) field.value.emplace(value);
  };
  if (features_.attempts) {
    change(set.tries, TriesOption{1 + below(3)});
    change(set.backoff, some_backoff());
    change(set.dead, some_tube());
  }
  if (features_.expire) {
    change(set.expire, PositiveDuration{{some_time(1 + below(4), nanos_per_second)}});
  }
  if (features_.limits) {
    change(set.reserved, CountOption{1 + below(2)});
    change(set.rate, Rate{1 + below(3), some_time(1 + below(3), nanos_per_second)});
  }
  if (features_.ended) {
    change(set.keep, PositiveDuration{{some_time(1 + below(9), nanos_per_second)}});
    change(set.keep_max, CountOption{1 + below(9)});
  }
  if (chance(6)) set.drain = {.given = true, .value = YesOrNo{chance(3)}};
  return set;
}

PutBatch InputGenerator::some_put_batch() {
  PutBatch batch;
  if (chance(4)) batch.tube = some_tube();
  batch.items.resize(1 + below(4));
  for (Put& item : batch.items) item = some_put();
  return batch;
}

JobFacts InputGenerator::some_facts() {
  JobFacts facts;
  if (!chance(4)) return facts;
  for (uint32_t left = 1 + below(4); left > 0; --left) {
    facts.add(job_fact_rows[below(job_fact_rows.size())].fact);
  }
  return facts;
}

Boxed<ReserveOptions> InputGenerator::some_reserve_options() {
  Boxed<ReserveOptions> options;
  if (chance(4)) options.make().with = some_facts();
  return options;
}

PriorityOrKeep InputGenerator::some_priority() {
  return chance(4) ? PriorityOrKeep() : PriorityOrKeep(below(3));
}

TouchTime InputGenerator::some_ttr() {
  TouchTime ttr;
  if (chance(3)) ttr.nanos = some_time(10 + below(5000), nanos_per_ms);
  return ttr;
}

// The tubes that have ended jobs. Without any, time passes.
engine::Event InputGenerator::some_restore(const ModelEngine& model) {
  if (model.ended().empty()) return engine::Tick{};
  auto tube = model.ended().begin();
  std::advance(tube, below(static_cast<uint32_t>(model.ended().size())));
  const auto& jobs = tube->second.jobs;
  if (jobs.empty()) return engine::Tick{};
  auto job = jobs.begin();
  std::advance(job, below(static_cast<uint32_t>(jobs.size())));
  engine::Restore restore = {.job = job->second};
  const uint32_t had = restore.job.row.fields ? restore.job.row.fields->notes : 0;
  for (uint32_t number = had - notes_kept(had) + 1; number <= had; ++number) {
    restore.notes.push_back({.number = number, .text = "x"});
  }
  return restore;
}

engine::Event InputGenerator::some_ended_asked() {
  if (chance(2)) return engine::EndedAsked{ListNotes{}};
  return engine::EndedAsked{ListJobs{}};
}

// The oldest ones, up to all; or the empty places before the first.
engine::Event InputGenerator::some_ended_over(const ModelEngine& model) {
  if (model.ended().empty()) return engine::Tick{};
  auto tube = model.ended().begin();
  std::advance(tube, below(static_cast<uint32_t>(model.ended().size())));
  engine::EndedOver over = {.tube = tube->first, .jobs = {}, .first = tube->second.span.next};
  uint32_t left = below(4);
  for (const auto& [place, job] : tube->second.jobs) {
    if (left-- == 0) {
      over.first = place;
      break;
    }
    const uint32_t had = job.row.fields ? job.row.fields->notes : 0;
    over.jobs.push_back({.place = place, .job = job.row.id, .notes = notes_kept(had)});
  }
  return over;
}

ScheduleWhen InputGenerator::some_when() {
  const std::string zone = chance(3) ? "Gone" : "UTC";
  switch (below(6)) {
    case 0:
      return ScheduleEvery{nanos_per_second / 2 * 3};
    case 1:
      return ScheduleEvery{60 * nanos_per_second};
    case 2:
      return ScheduleEvery{10 * nanos_per_second, usual_start};
    case 3:
      return ScheduleCron{"minute", zone};
    case 4:
      return ScheduleCron{chance(3) ? "early" : "odd", zone};
    default:
      return ScheduleAt{wall_ + (below(200) - Nanos{100}) * nanos_per_second};
  }
}

// Often the same times, so that a schedule goes on where it is. Many missed times are made up for
// only where there are not so many that the model takes long.
Schedule InputGenerator::some_schedule() {
  Schedule schedule = {.name = chance(3)   ? "s"
                               : chance(2) ? "t"
                                           : "u",
                       .tube = some_tube(),
                       .when = some_when(),
                       .put = some_put()};
  if (schedule.put.options) schedule.put.options->tube.clear();
  if (schedule.put.options && *schedule.put.options == PutOptions()) schedule.put.options.reset();
  constexpr std::array<uint32_t, 4> missed = {0, 1, 2, 5};
  schedule.missed_max = missed[below(missed.size())];
  const auto* const every = std::get_if<ScheduleEvery>(&schedule.when);
  const auto* const cron = std::get_if<ScheduleCron>(&schedule.when);
  const bool is_rare = (every != nullptr && every->period >= 60 * nanos_per_second) ||
                       (cron != nullptr && cron->expression == "minute");
  if (is_rare && chance(2)) schedule.missed_max = schedule_missed_limit;
  if (chance(2)) schedule.overlap = static_cast<ScheduleOverlap>(below(3));
  if (chance(3)) schedule.jitter = (1 + below(90)) * nanos_per_second;
  return schedule;
}

Command InputGenerator::some_schedule_command() {
  const std::string name = chance(3) ? "s" : chance(2) ? "t" : "u";
  switch (below(8)) {
    case 0:
      return DeleteSchedule{name};
    case 1:
      return PauseSchedule{name, No{!chance(2)}};
    case 2:
      return PauseSchedule{name, No{true}};
    case 3:
      return RunSchedule{name};
    default:
      return set_schedule(some_schedule(),
                          chance(6) ? std::optional<bool>(chance(2)) : std::optional<bool>());
  }
}

StateSet InputGenerator::some_states() {
  StateSet states;
  for (const JobState state :
       {JobState::Ready, JobState::Reserved, JobState::Delayed, JobState::Buried}) {
    if (chance(2)) states.add(state);
  }
  return states.empty() ? StateSet::all() : states;
}

SetJob InputGenerator::some_set_job(const ModelEngine& model) {
  SetJob set{.id = some_id(model)};
  if (chance(2)) set.tube = some_tube();
  if (chance(2)) set.priority = below(3);
  if (chance(2)) set.delay = Duration{some_time(below(6), nanos_per_second / 2)};
  if (chance(2)) set.ttr = TtrOption{{some_time(1 + below(10), nanos_per_second / 2)}};
  if (features_.expire && chance(3)) {
    set.expire.given = true;
    if (chance(2)) {
      set.expire.value = PositiveDuration{{some_time(1 + below(3), nanos_per_second)}};
    }
  }
  if (features_.attempts && chance(3)) {
    set.tries = {.given = true, .value = TriesOption{1 + below(3)}};
    set.dead = {.given = true, .value = {}};
    set.backoff = {.given = chance(2), .value = some_backoff()};
  }
  return set;
}

MoveTube InputGenerator::some_move() {
  MoveTube move{.from = some_tube(), .to = some_tube()};
  while (move.to == move.from) move.to = some_tube();
  if (chance(2)) move.states = {JobState::Buried};
  if (chance(2)) move.count.value = 1 + below(5);
  move.match = some_match();
  return move;
}

KickTube InputGenerator::some_kick_tube() {
  KickTube kick{.tube = some_tube(), .match = some_match()};
  if (chance(2)) kick.states = chance(2) ? StateSet{JobState::Buried} : StateSet{JobState::Delayed};
  return kick;
}

// Mostly none.
JobMatch InputGenerator::some_match() {
  JobMatch match;
  if (chance(3)) {
    for (const JobNumberRow& row : job_number_rows) {
      if (chance(3)) match.of(row.number) = {.min = below(3), .max = 1 + below(3)};
    }
  }
  return match;
}

std::vector<JobId> InputGenerator::some_ids(const ModelEngine& model) {
  std::vector<JobId> ids(1 + below(5));
  for (JobId& id : ids) id = some_id(model);
  return ids;
}

// Usually one of the newest ids.
JobId InputGenerator::some_id(const ModelEngine& model) {
  const auto newest = model.next_id();
  const JobId back = chance(4) ? below(60) : below(10);
  return newest > back ? newest - back : 1;
}

std::string InputGenerator::some_tube() {
  static const std::array<std::string, 4> names = {"default", "a", "b", "c"};
  return names[below(names.size())];
}

uint32_t InputGenerator::some_seconds(uint32_t bound) {
  if (times_ == Times::Longest && chance(4)) return duration_seconds_max;
  return below(bound);
}

Nanos InputGenerator::some_time(uint32_t count, Nanos unit) {
  if (times_ == Times::Longest && chance(4)) return Nanos{duration_seconds_max} * nanos_per_second;
  return count * unit;
}

// Now and then somebody sets the clock, by up to an hour.
void InputGenerator::pass_wall(Nanos time) {
  wall_ += time;
  if (!features_.schedules || !chance(25)) return;
  const Nanos jump = Nanos{below(chance(4) ? 3600 : 60)} * nanos_per_second;
  wall_ += chance(2) ? jump : -jump;
}

void InputGenerator::pass_time(const ModelEngine& model) {
  switch (below(8)) {
    case 0:
      now_ = later(now_, below(1000) * nanos_per_ms);
      return;
    case 1:
      now_ = later(now_, nanos_per_second);
      return;
    case 2:
      now_ = std::max(now_, model.next_deadline().value_or(now_));
      return;
    case 3:
      now_ = later(now_, 1);
      return;
    default:
      return;
  }
}

}  // namespace perennial::model
