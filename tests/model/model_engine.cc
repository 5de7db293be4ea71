#include "tests/model/model_engine.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "engine/types/check.h"
#include "engine/types/later.h"

namespace perennial::model {
namespace {

constexpr Nanos second = nanos_per_second;
constexpr Nanos day = 86'400 * second;

template <typename T>
bool contains(const std::vector<T>& values, const T& value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

bool is_over(std::optional<Nanos> at, Nanos now) {
  return at && *at <= now;
}

}  // namespace

struct ModelEngine::Apply {
  ModelEngine& n;
  ConnId id;

  Conn& conn() const { return n.conns_.at(id); }
  void say(Reply reply) const { n.answer(id, std::move(reply)); }
  Job* find(JobId job) const {
    const auto found = n.jobs_.find(job);
    return found != n.jobs_.end() ? &found->second : nullptr;
  }
  Job* mine(JobId job) const {
    Job* const found = find(job);
    return found != nullptr && found->holder == id ? found : nullptr;
  }

  void operator()(const engine::Opened&) const {
    n.conns_[id].id = id;
    n.conn_ids_.insert(id);
    ++n.total_conns_;
  }
  void operator()(const engine::Closed& closed) const {
    const Conn gone = conn();
    n.conns_.erase(id);
    n.conn_ids_.erase(id);
    // beanstalkd leaves the first watched tube, then the others from the last, then the used one.
    n.end_if_unused(gone.watched.front());
    for (size_t i = gone.watched.size(); i > 1; --i) n.end_if_unused(gone.watched[i - 1]);
    n.end_if_unused(gone.used);
    for (Job* job : n.held_by(id)) {
      Nanos delay = 0;
      const Outcome outcome = n.end_attempt(*job, !closed.after_quit, delay);
      n.give_back(*job, outcome, delay);
    }
  }
  void operator()(const engine::HalfClosed&) const {
    conn().half_closed = true;
    (*this)(engine::WaitAborted{});
  }
  void operator()(const engine::WaitAborted&) const {
    if (!conn().waiting) return;
    conn().waiting = false;
    n.answer_no_job(id, conn().batch > 0);
  }
  void operator()(const engine::Tick&) const { n.tick(); }
  void operator()(const engine::DrainSignal&) const { n.draining_ = true; }
  void operator()(const engine::Damaged& damaged) const {
    Job* const job = find(damaged.id);
    if (job == nullptr || job->row.state == JobState::Buried) return;
    ++n.damaged_;
    n.bury(*job);
  }
  void operator()(const engine::Restore& event) const { n.restored_ = n.restore(event.job); }
  void operator()(const engine::EndedOver& over) const { n.end_kept(over); }
  void operator()(const engine::EndedAsked& asked) const {
    std::visit([this]<typename C>(const C& /*command*/) { ++n.commands_.of<C>(); }, asked.command);
  }
  void operator()(const Command& command) const { std::visit(*this, command); }

  void operator()(const SetSchedule& set) const {
    ++n.commands_.of<SetSchedule>();
    const perennial::Schedule wanted = schedule_of(set, conn().used);
    if (!n.accepts_puts_) return say(Word::OutOfMemory);
    n.pass_due(wanted.name);
    Schedule* const old = n.find_schedule(wanted.name);
    Schedule now = {.stored = {.schedule = wanted, .progress = {}}};
    ScheduleProgress& progress = now.stored.progress;
    auto* const every = std::get_if<ScheduleEvery>(&now.stored.schedule->when);
    if (every != nullptr && !every->anchor) {
      every->anchor = n.wall_ - n.wall_ % nanos_per_second;
      const auto* const before =
          old != nullptr ? std::get_if<ScheduleEvery>(&old->stored.schedule->when) : nullptr;
      if (before != nullptr && before->period == every->period) every->anchor = before->anchor;
    }
    if (old != nullptr) progress = old->stored.progress;
    const bool was_paused = progress.is_paused;
    if (set.options->paused) progress.is_paused = set.options->paused->value;
    const bool is_other = old == nullptr || old->stored.schedule->when != now.stored.schedule->when;
    if (is_other) {
      progress.planned.reset();
      progress.state = ScheduleState::Active;
      const auto* const at = std::get_if<ScheduleAt>(&wanted.when);
      if (at != nullptr) {
        progress.planned = at->time;
      } else {
        Nanos after = n.wall_;
        if (old != nullptr) after = n.new_times_begin(*old);
        n.plan(progress, now.stored.schedule->when, after);
      }
    } else if ((was_paused && !progress.is_paused) || progress.state == ScheduleState::NoZone) {
      n.plan_anew(progress, *now.stored.schedule);
    }
    if (old != nullptr && old->stored.progress.planned == progress.planned) {
      now.refused = old->refused;
    }
    n.schedules_[wanted.name] = now;
    say(Word::Set);
  }
  void operator()(const ScheduleRefused& refused) const {
    ++n.commands_.of<SetSchedule>();
    switch (refused.why) {
      case ScheduleRefused::Why::BadFormat:
        return say(Word::BadFormat);
      case ScheduleRefused::Why::TooBig:
        return say(Word::JobTooBig);
      case ScheduleRefused::Why::ExpectedCrlf:
        return say(Word::ExpectedCrlf);
    }
  }
  void operator()(const DeleteSchedule& command) const {
    ++n.commands_.of<DeleteSchedule>();
    say(n.schedules_.erase(command.name) == 1 ? Word::Deleted : Word::NotFound);
  }
  void operator()(const PauseSchedule& command) const {
    ++n.commands_.of<PauseSchedule>();
    const bool is_paused = !command.paused.given;
    n.pass_due(command.name);
    Schedule* const schedule = n.find_schedule(command.name);
    if (schedule == nullptr) return say(Word::NotFound);
    ScheduleProgress progress = schedule->stored.progress;
    if (progress.is_paused != is_paused) {
      progress.is_paused = is_paused;
      if (!is_paused) n.plan_anew(progress, *schedule->stored.schedule);
      n.set_progress(*schedule, progress, 0);
    }
    say(is_paused ? Word::Paused : Word::Set);
  }
  void operator()(const RunSchedule& command) const {
    ++n.commands_.of<RunSchedule>();
    Schedule* const schedule = n.find_schedule(command.name);
    if (schedule == nullptr) return say(n.draining_ ? Word::Draining : Word::NotFound);
    say(n.fire(*schedule, n.wall_, schedule->stored.progress, schedule->made_up));
  }
  std::string tube_for(const Put& put, const std::string& batch_tube) const {
    if (put.options && !put.options->tube.empty()) return put.options->tube;
    return batch_tube.empty() ? conn().used : batch_tube;
  }
  void operator()(const Put& put) const {
    ++n.commands_.of<Put>();
    conn().producer = true;
    const std::string tube = tube_for(put, "");
    if (const auto duplicate = n.find_duplicate(tube, put)) return say(*duplicate);
    const JobId job_id = n.next_id_;
    const bool is_draining = n.draining_ || n.is_draining(tube);
    if (is_draining || !n.accepts_puts_) {
      ++n.next_id_;
      return say(is_draining ? Word::Draining : Word::OutOfMemory);
    }
    n.add_job(put, tube);
    say(NumberReply{Word::Inserted, job_id});
    n.serve(n.find_tube(tube)->id);
  }
  void operator()(const PutBatch& batch) const {
    ++n.commands_.of<PutBatch>();
    conn().producer = true;
    const auto is_new = [&](const Put& item) {
      const bool has_key = item.options && item.options->key;
      return !has_key || n.taken_key(tube_for(item, batch.tube), item.options->key->key) == nullptr;
    };
    const bool has_new = std::ranges::any_of(batch.items, is_new);
    if (n.draining_ && has_new) return say(Word::Draining);
    std::set<std::string> tubes;
    for (const Put& item : batch.items) {
      if (!is_new(item)) continue;
      if (n.is_draining(tube_for(item, batch.tube))) return refuse_batch(tubes, Word::Draining);
      if (!n.accepts_puts_) return refuse_batch(tubes, Word::OutOfMemory);
      tubes.insert(tube_for(item, batch.tube));
      // Tubes are made before the first job is put.
      n.find_or_make_tube(tube_for(item, batch.tube));
    }
    auto inserted = std::make_unique<BatchInserted>();
    for (const Put& item : batch.items) {
      const std::string tube = tube_for(item, batch.tube);
      if (const auto duplicate = n.find_duplicate(tube, item)) {
        inserted->items.push_back({duplicate->id, true, duplicate->state});
        continue;
      }
      inserted->items.push_back({n.next_id_});
      n.add_job(item, tube);
    }
    say(std::move(inserted));
    for (const Put& item : batch.items) {
      const Tube* const tube = n.find_tube(tube_for(item, batch.tube));
      if (tube != nullptr && tubes.contains(tube->name)) n.serve(tube->id);
    }
    end_tubes(tubes);
  }
  void refuse_batch(const std::set<std::string>& tubes, Word word) const {
    say(word);
    end_tubes(tubes);
  }
  // In the order in which they were made: the order in which tubes end is visible.
  void end_tubes(const std::set<std::string>& tubes) const {
    std::vector<TubeId> ids;
    for (const std::string& tube : tubes) ids.push_back(n.find_tube(tube)->id);
    std::ranges::sort(ids);
    for (const TubeId tube_id : ids) {
      const auto is_it = [&](const Tube& tube) { return tube.id == tube_id; };
      n.end_if_unused(std::ranges::find_if(n.tubes_, is_it)->name);
    }
  }
  void operator()(const PutBatchRefused& batch) const {
    ++n.commands_.of<PutBatch>();
    switch (batch.why) {
      case PutBatchRefused::Why::BadFormat:
        return say(Word::BadFormat);
      case PutBatchRefused::Why::JobTooBig:
        return say(Word::JobTooBig);
      case PutBatchRefused::Why::ExpectedCrlf:
        return say(Word::ExpectedCrlf);
    }
  }
  void operator()(const PutTooBig&) const {
    ++n.commands_.of<Put>();
    say(Word::JobTooBig);
  }
  void operator()(const PutTrailingJunk&) const {
    ++n.commands_.of<Put>();
    say(Word::BadFormat);
  }
  void operator()(const PutNoCrlf&) const {
    ++n.commands_.of<Put>();
    conn().producer = true;
    ++n.next_id_;
    say(Word::ExpectedCrlf);
  }
  void operator()(const Use& use) const {
    ++n.commands_.of<Use>();
    n.find_or_make_tube(use.tube);
    const std::string old = std::exchange(conn().used, use.tube);
    n.end_if_unused(old);
    say(Using{use.tube});
  }
  static JobFacts facts_of(const auto& command) {
    return command.options ? command.options->with : JobFacts();
  }
  void operator()(const Reserve& command) const {
    ++n.commands_.of<Reserve>();
    reserve(std::nullopt, facts_of(command), 0);
  }
  void operator()(const ReserveWithTimeout& command) const {
    ++n.commands_.of<ReserveWithTimeout>();
    reserve(command.timeout_s * second + command.timeout_rest_ns, facts_of(command), 0);
  }
  void operator()(const ReserveBatch& command) const {
    ++n.commands_.of<ReserveBatch>();
    const auto count = static_cast<uint32_t>(command.count.value);
    reserve(command.wait.nanos, facts_of(command), count);
  }
  void reserve(std::optional<Nanos> timeout, const JobFacts& with, uint32_t batch) const {
    conn().worker = true;
    Job* const job = n.best(conn());
    if (job != nullptr && batch > 0) return n.reserve_batch(conn(), batch, with);
    if (job != nullptr) {
      n.count_share(conn(), *job);
      n.reserve(conn(), *job);
      return say(n.job_reply(Word::Reserved, *job, with));
    }
    if (n.deadline_soon(id)) return say(Word::DeadlineSoon);
    if (conn().half_closed || timeout == 0) return n.answer_no_job(id, batch > 0);
    conn().waiting = true;
    conn().waiting_since = n.next_wait_++;
    conn().with = with;
    conn().batch = batch;
    conn().until.reset();
    if (timeout) conn().until = later(n.now_, *timeout);
  }
  void operator()(const ReserveJob& command) const {
    Job* const job = find(command.id);
    if (job == nullptr || job->row.state == JobState::Reserved) return say(Word::NotFound);
    if (is_over(expiry_of(*job), n.now_)) return say(Word::NotFound);
    if (n.is_parked(*job)) return say(Word::NotFound);
    conn().worker = true;
    n.reserve(conn(), *job);
    say(n.job_reply(Word::Reserved, *job, command.with));
  }
  void operator()(const Delete& command) const {
    ++n.commands_.of<Delete>();
    const bool may = !command.only_held || mine(command.id) != nullptr;
    say(may && n.remove(id, command.id) ? Word::Deleted : Word::NotFound);
  }
  template <typename Does>
  void say_done(Word word, const std::vector<JobId>& ids, Does does) const {
    auto done = std::make_unique<BatchDone>(BatchDone{.word = word});
    for (const JobId job : ids) {
      if (does(job)) {
        ++done->done;
      } else {
        done->missing.push_back(job);
      }
    }
    say(std::move(done));
  }
  void operator()(const DeleteBatch& command) const {
    ++n.commands_.of<DeleteBatch>();
    say_done(Word::DeletedBatch, command.ids, [&](JobId job) {
      return std::ranges::find(command.hidden, job) == command.hidden.end() && n.remove(id, job);
    });
  }
  bool touch(JobId job_id, Nanos left) const {
    Job* const job = mine(job_id);
    if (job == nullptr) return false;
    job->deadline = later(n.now_, left > 0 ? left : n.ttr_of(*job));
    return true;
  }
  void operator()(const TouchBatch& command) const {
    ++n.commands_.of<TouchBatch>();
    std::set<JobId> seen;
    say_done(Word::TouchedBatch, command.ids,
             [&](JobId job) { return seen.insert(job).second && touch(job, command.ttr.nanos); });
  }
  // The ids of the jobs of a tube in these states.
  std::vector<JobId> ids_of(const std::string& tube, StateSet states, const JobMatch& match) const {
    std::vector<JobId> ids;
    for (const auto& [job_id, job] : n.jobs_) {
      const auto age = static_cast<uint64_t>((n.now_ - job.row.created) / nanos_per_second);
      const bool is_in = n.tube_of(job).name == tube && states.holds(job.row.state) &&
                         match.of(JobNumber::Age).admits(age) &&
                         match.of(JobNumber::Priority).admits(job.row.priority) &&
                         match.of(JobNumber::Reserves).admits(job.row.reserves) &&
                         match.of(JobNumber::Timeouts).admits(job.row.timeouts);
      if (is_in) ids.push_back(job_id);
    }
    return ids;
  }
  void operator()(const FlushTube& command) const {
    ++n.commands_.of<FlushTube>();
    const bool has_cooldown = std::ranges::any_of(n.keys_, [&](const auto& key) {
      return key.first.first == command.tube && key.second.expires_at > 0;
    });
    if (n.find_tube(command.tube) == nullptr && !has_cooldown) return say(Word::NotFound);
    const std::vector<JobId> ids =
        ids_of(command.tube, command.states.value_or(StateSet::all()), command.match);
    if (!ids.empty()) n.find_tube(command.tube)->deletes += ids.size();
    for (const JobId job : ids) {
      n.leaves(n.jobs_.at(job));
      n.end_key(n.jobs_.at(job), true);
      n.end(job, JobEnd::Flushed);
    }
    n.end_if_unused(command.tube);
    if (!command.states && command.match == JobMatch()) {
      std::erase_if(n.keys_, [&](const auto& key) {
        return key.first.first == command.tube && key.second.expires_at > 0;
      });
    }
    say(NumberReply{Word::Flushed, ids.size()});
  }
  void operator()(const MoveTube& command) const {
    ++n.commands_.of<MoveTube>();
    if (n.find_tube(command.from) == nullptr) return say(Word::NotFound);
    uint64_t moved = 0;
    for (const JobId job_id : ids_of(command.from, command.states, command.match)) {
      if (moved == command.count.value) break;
      ++moved;
      Job& job = n.jobs_.at(job_id);
      if (job.row.fields) {
        job.row.fields->attempts = 0;
        job.row.fields->expires_at = 0;
      }
      n.leaves(job);
      n.put_into(job, command.to);
      // A job that was ready before has been so without a break.
      if (job.row.state != JobState::Ready) n.now_is_ready(job);
      n.end_if_unused(command.from);
      n.serve(job.row.tube);
    }
    say(NumberReply{Word::Moved, moved});
  }
  void operator()(const KickTube& command) const {
    ++n.commands_.of<KickTube>();
    if (n.find_tube(command.tube) == nullptr) return say(Word::NotFound);
    const std::vector<JobId> ids = ids_of(command.tube, command.states, command.match);
    for (const JobId job_id : ids) {
      n.kicked(n.jobs_.at(job_id));
      n.make_ready(n.jobs_.at(job_id));
    }
    say(NumberReply{Word::KickedCount, ids.size()});
  }
  void operator()(const ListJobs& command) const {
    ++n.commands_.of<ListJobs>();
    const bool is_there = command.tube.empty() || n.find_tube(command.tube) != nullptr;
    if (!is_there) return say(Word::NotFound);
    auto list = std::make_unique<JobList>();
    if (!command.key.empty()) {
      const KeyStored* const taken = n.taken_key(command.tube, command.key);
      const Job* const job = taken != nullptr ? find(taken->job) : nullptr;
      const bool holds = job != nullptr && job->row.fields && job->row.fields->key &&
                         !job->row.fields->key->given_up && job->row.id > command.after &&
                         command.states.states.holds(job->row.state);
      if (holds) list->jobs.push_back(n.stats_of(*job));
      return say(std::move(list));
    }
    for (auto job = n.jobs_.upper_bound(command.after);; ++job) {
      if (job == n.jobs_.end()) {
        list->cursor = 0;
        break;
      }
      if (list->jobs.size() == command.count.value) break;
      list->cursor = job->first;
      const bool is_in = command.tube.empty() || n.tube_of(job->second).name == command.tube;
      if (is_in && command.states.states.holds(job->second.row.state)) {
        list->jobs.push_back(n.stats_of(job->second));
      }
    }
    say(std::move(list));
  }
  void operator()(const SetJob& command) const {
    ++n.commands_.of<SetJob>();
    Job* const job = find(command.id);
    if (job == nullptr || (job->holder != 0 && job->holder != id)) return say(Word::NotFound);
    JobRow& row = job->row;
    const bool may_delay = row.state == JobState::Ready || row.state == JobState::Delayed;
    if (command.delay && !may_delay) return say(Word::NotFound);
    const std::string from = n.tube_of(*job).name;
    n.leaves(*job);
    if (!command.tube.empty()) n.put_into(*job, command.tube);
    if (command.priority) row.priority = *command.priority;
    if (command.ttr) set_ttr(*job, command.ttr->nanos);
    if (command.delay) {
      set_delay(*job, command.delay->nanos);
      if (command.delay->nanos == 0 && row.state != JobState::Ready) n.now_is_ready(*job);
      if (command.delay->nanos > 0) row.state = JobState::Delayed;
      job->deadline = later(n.now_, command.delay->nanos);
    }
    JobFields& fields = row.fields.make();
    if (command.expire.given) {
      fields.expires_at = command.expire.value ? later(n.now_, command.expire.value->nanos) : 0;
    }
    if (command.tries.given) {
      fields.tries = command.tries.value ? static_cast<uint32_t>(command.tries.value->value) : 0;
    }
    if (command.backoff.given) fields.backoff = command.backoff.value;
    if (command.dead.given) fields.dead = command.dead.value.value_or("");
    drop_empty_fields(*job);
    const TubeId now_in = row.tube;
    say(Word::Set);
    n.serve(now_in);
    n.end_if_unused(from);
  }
  void operator()(const NoteJob& command) const {
    ++n.commands_.of<NoteJob>();
    Job* const job = command.only_held ? mine(command.id) : find(command.id);
    if (job == nullptr) return say(Word::NotFound);
    if (!n.accepts_puts_) return say(Word::OutOfMemory);
    ++job->row.fields.make().notes;
    say(Word::Noted);
  }
  void operator()(const NoteRefused& command) const {
    ++n.commands_.of<NoteJob>();
    constexpr std::array words = {Word::BadFormat, Word::JobTooBig, Word::ExpectedCrlf};
    say(words[static_cast<size_t>(command.why)]);
  }
  void operator()(const ListNotes& command) const {
    ++n.commands_.of<ListNotes>();
    const Job* const job = find(command.id);
    if (job == nullptr) return say(Word::NotFound);
    say(NotesOf{command.id, job->row.fields ? job->row.fields->notes : 0});
  }
  void operator()(const SetTube& command) const {
    ++n.commands_.of<SetTube>();
    TubeSettings& settings = n.settings_[command.tube];
    const std::optional<Rate> rate = n.settings_of(command.tube).rate;
    change_settings(settings, command);
    if (settings == TubeSettings()) n.settings_.erase(command.tube);
    say(Word::Set);
    Tube* const tube = n.find_tube(command.tube);
    const bool has_new_bucket = n.settings_of(command.tube).rate != rate;
    if (has_new_bucket) n.rates_full_at_.erase(command.tube);
    if (tube == nullptr) return;
    if (has_new_bucket) tube->rate_spent = false;
    n.serve(tube->id);
  }
  void operator()(const Drain&) const {
    n.draining_ = true;
    say(Word::Draining);
  }
  void operator()(const Undrain&) const {
    n.draining_ = false;
    say(Word::NotDraining);
  }
  void operator()(const Release& command) const {
    ++n.commands_.of<Release>();
    Job* const job = mine(command.id);
    if (job == nullptr) return say(Word::NotFound);
    if (command.priority.priority) job->row.priority = *command.priority.priority;
    Nanos delay = command.delay_s * second + command.delay_rest_ns;
    set_delay(*job, delay);
    ++job->row.releases;
    const Outcome outcome = n.end_attempt(*job, !command.count.given, delay);
    say(outcome == Outcome::Dead ? Word::Buried : Word::Released);
    n.give_back(*job, outcome, delay);
  }
  void operator()(const Bury& command) const {
    ++n.commands_.of<Bury>();
    Job* const job = mine(command.id);
    if (job == nullptr) return say(Word::NotFound);
    if (command.priority.priority) job->row.priority = *command.priority.priority;
    n.bury(*job);
    say(Word::Buried);
  }
  void operator()(const Touch& command) const {
    ++n.commands_.of<Touch>();
    say(touch(command.id, command.ttr.nanos) ? Word::Touched : Word::NotFound);
  }
  void operator()(const Watch& command) const {
    ++n.commands_.of<Watch>();
    n.find_or_make_tube(command.tube);
    if (!contains(conn().watched, command.tube)) conn().watched.push_back(command.tube);
    if (command.weight) {
      conn().weights[command.tube] = static_cast<uint32_t>(command.weight->value);
    }
    say(NumberReply{Word::Watching, conn().watched.size()});
  }
  void operator()(const SetReserveMode& command) const {
    ++n.commands_.of<SetReserveMode>();
    conn().is_weighted = command.mode == ReserveMode::Weighted;
    say(Using{conn().is_weighted ? "weighted" : "fifo"});
  }
  void operator()(const Ignore& command) const {
    ++n.commands_.of<Ignore>();
    auto& watched = conn().watched;
    if (contains(watched, command.tube)) {
      if (watched.size() == 1) return say(Word::NotIgnored);
      *std::find(watched.begin(), watched.end(), command.tube) = watched.back();
      watched.pop_back();
      conn().weights.erase(command.tube);
      conn().passes.erase(command.tube);
      n.end_if_unused(command.tube);
    }
    say(NumberReply{Word::Watching, watched.size()});
  }
  void peek(const Job* job, const JobFacts& with) const {
    if (job == nullptr) return say(Word::NotFound);
    say(n.job_reply(Word::Found, *job, with));
  }
  void peek_first(JobState state, const JobFacts& with) const {
    std::vector<Job*> jobs = n.jobs_in(conn().used, state);
    if (state == JobState::Ready) {
      const std::vector<Job*> next = n.servable_in(conn().used);
      if (!next.empty()) jobs = next;
    }
    peek(jobs.empty() ? nullptr : jobs.front(), with);
  }
  void operator()(const Peek& command) const {
    ++n.commands_.of<Peek>();
    peek(find(command.id), command.with);
  }
  void operator()(const PeekReady& command) const {
    ++n.commands_.of<PeekReady>();
    peek_first(JobState::Ready, command.with);
  }
  void operator()(const PeekDelayed& command) const {
    ++n.commands_.of<PeekDelayed>();
    peek_first(JobState::Delayed, command.with);
  }
  void operator()(const PeekBuried& command) const {
    ++n.commands_.of<PeekBuried>();
    peek_first(JobState::Buried, command.with);
  }
  void operator()(const PeekReserved& command) const {
    ++n.commands_.of<PeekReserved>();
    const std::vector<Job*> jobs = n.jobs_in(conn().used, JobState::Reserved);
    const auto least = std::min_element(
        jobs.begin(), jobs.end(), [](const Job* a, const Job* b) { return a->row.id < b->row.id; });
    peek(least == jobs.end() ? nullptr : *least, command.with);
  }
  void operator()(const Kick& command) const {
    ++n.commands_.of<Kick>();
    std::vector<Job*> jobs = n.jobs_in(conn().used, JobState::Buried);
    if (jobs.empty()) jobs = n.jobs_in(conn().used, JobState::Delayed);
    if (jobs.size() > command.bound) jobs.resize(command.bound);
    for (Job* job : jobs) {
      n.kicked(*job);
      n.make_ready(*job);
    }
    say(NumberReply{Word::KickedCount, jobs.size()});
  }
  void operator()(const KickJob& command) const {
    Job* const job = find(command.id);
    const bool kickable = job != nullptr && (job->row.state == JobState::Buried ||
                                             job->row.state == JobState::Delayed);
    if (!kickable) return say(Word::NotFound);
    n.kicked(*job);
    say(Word::Kicked);
    n.make_ready(*job);
  }
  void operator()(const PauseTube& command) const {
    ++n.commands_.of<PauseTube>();
    Tube* const tube = n.find_tube(command.tube);
    if (tube == nullptr) return say(Word::NotFound);
    tube->stored = true;
    ++tube->pauses;
    const Nanos pause = command.delay_s * second + command.delay_rest_ns;
    tube->pause = std::max<Nanos>(1, pause);
    tube->pause_until = later(n.now_, pause);
    say(Word::Paused);
    if (pause == 0) n.tick_pauses();
  }
  void operator()(const StatsJob& command) const {
    ++n.commands_.of<StatsJob>();
    const Job* const job = find(command.id);
    if (job == nullptr) return say(Word::NotFound);
    say(std::make_unique<JobStats>(n.stats_of(*job)));
  }
  void operator()(const StatsTube& command) const {
    ++n.commands_.of<StatsTube>();
    const Tube* const tube = n.find_tube(command.tube);
    auto stats = std::make_unique<TubeStats>();
    stats->name = command.tube;
    stats->more.make().settings = n.settings_of(command.tube);
    if (tube == nullptr) {
      if (!n.settings_.contains(command.tube)) return say(Word::NotFound);
      return say(std::move(stats));
    }
    stats->more->jobs_parked = n.count_parked(&tube->name);
    stats->more->jobs_duplicate = tube->duplicates;
    stats->more->jobs_dead = tube->dead;
    stats->more->jobs_expired = tube->expired;
    stats->jobs = n.count(&tube->name);
    stats->total_jobs = tube->total;
    for (const auto& [conn_id, other] : n.conns_) {
      const bool watches = contains(other.watched, tube->name);
      stats->using_count += other.used == tube->name;
      stats->watching_count += watches;
      stats->waiting_count += watches && other.waiting;
    }
    stats->cmd_delete = tube->deletes;
    stats->cmd_pause_tube = tube->pauses;
    stats->pause = tube->pause;
    stats->pause_time_left = tube->pause > 0 ? std::max<Nanos>(tube->pause_until - n.now_, 0) : 0;
    for (const Job* const job : n.jobs_in(tube->name, JobState::Ready)) {
      stats->oldest_ready_age = std::max(stats->oldest_ready_age, n.now_ - job->ready_since);
    }
    say(std::move(stats));
  }
  void operator()(const Stats&) const {
    ++n.commands_.of<Stats>();
    auto stats = std::make_unique<EngineStats>();
    stats->jobs = n.count(nullptr);
    stats->commands = n.commands_;
    stats->job_timeouts = n.timeouts_;
    stats->total_jobs = n.total_jobs_;
    stats->tubes = n.tubes_.size();
    stats->connections = n.conns_.size();
    for (const auto& [conn_id, other] : n.conns_) {
      stats->producers += other.producer;
      stats->workers += other.worker;
      stats->waiting += other.waiting;
    }
    stats->total_connections = n.total_conns_;
    stats->jobs_damaged = n.damaged_;
    stats->draining = n.draining_;
    stats->jobs_parked = n.count_parked(nullptr);
    stats->keys = n.keys_.size();
    stats->jobs_duplicate = n.duplicates_;
    stats->jobs_dead = n.dead_;
    stats->jobs_expired = n.expired_;
    stats->schedules = n.schedule_counts();
    say(std::move(stats));
  }
  void operator()(const ListTubes&) const {
    ++n.commands_.of<ListTubes>();
    auto names = std::make_unique<TubeNames>();
    for (const Tube& tube : n.tubes_) names->names.push_back(tube.name);
    say(std::move(names));
  }
  void operator()(const ListTubeUsed&) const {
    ++n.commands_.of<ListTubeUsed>();
    say(Using{conn().used});
  }
  void operator()(const ListTubesWatched&) const {
    ++n.commands_.of<ListTubesWatched>();
    auto names = std::make_unique<TubeNames>();
    names->names = conn().watched;
    say(std::move(names));
  }
  // Quit and Checkpoint, which core runs, and commands that the model does not implement.
  template <typename C>
  void operator()(const C& /*command*/) const {
    CHECK(!"the model does not know this command");
  }
  void operator()(const Malformed& malformed) const {
    switch (malformed.kind) {
      case Malformed::Kind::BadPauseTube:
        ++n.commands_.of<PauseTube>();
        return say(Word::BadFormat);
      case Malformed::Kind::BadFormat:
        return say(Word::BadFormat);
      case Malformed::Kind::UnknownCommand:
        return say(Word::UnknownCommand);
    }
  }
};

ModelEngine::ModelEngine(std::shared_ptr<const Calendar> calendar)
    : calendar_(std::move(calendar)) {
  tubes_.push_back({.id = 0, .name = "default"});
}

std::vector<engine::ConnReply> ModelEngine::apply(const engine::Input& input) {
  now_ = input.now;
  wall_ = input.wall;
  accepts_puts_ = input.accepts_puts;
  keeps_ended_ = input.keeps_ended;
  user_ = input.user;
  replies_.clear();
  restored_.reset();
  std::visit(Apply{*this, input.conn}, input.event);
  for (size_t i = 0; i < freed_slots_.size(); ++i) {
    if (const Tube* const tube = find_tube(std::string(freed_slots_[i]))) serve(tube->id);
  }
  freed_slots_.clear();
  return std::move(replies_);
}

ModelEngine::Tube* ModelEngine::find_tube(const std::string& name) {
  for (Tube& tube : tubes_) {
    if (tube.name == name) return &tube;
  }
  return nullptr;
}

const ModelEngine::Tube& ModelEngine::tube_of(const Job& job) const {
  return *std::find_if(tubes_.begin(), tubes_.end(),
                       [&job](const Tube& tube) { return tube.id == job.row.tube; });
}

ModelEngine::Tube& ModelEngine::find_or_make_tube(const std::string& name) {
  if (Tube* const tube = find_tube(name)) return *tube;
  TubeId id = 0;
  const auto taken = [this](TubeId wanted) {
    return std::any_of(tubes_.begin(), tubes_.end(),
                       [wanted](const Tube& tube) { return tube.id == wanted; });
  };
  while (taken(id)) ++id;
  tubes_.push_back({.id = id, .name = name});
  tubes_.back().rate_spent = next_token_at(name) > now_;
  return tubes_.back();
}

bool ModelEngine::is_unused(const Tube& tube) const {
  if (tube.id == 0) return false;
  for (const auto& [id, job] : jobs_) {
    if (job.row.tube == tube.id) return false;
  }
  for (const auto& [id, conn] : conns_) {
    if (conn.used == tube.name || contains(conn.watched, tube.name)) return false;
  }
  return true;
}

// The last tube in the list takes the place of one that ends, so the order in which tubes end is
// visible.
void ModelEngine::end_if_unused(const std::string& name) {
  Tube* const tube = find_tube(name);
  if (tube == nullptr || !is_unused(*tube)) return;
  *tube = tubes_.back();
  tubes_.pop_back();
}

std::vector<ModelEngine::Job*> ModelEngine::jobs_in(const std::string& tube, JobState state) {
  std::vector<Job*> jobs;
  for (auto& [id, job] : jobs_) {
    if (job.row.state == state && tube_of(job).name == tube) jobs.push_back(&job);
  }
  const auto rank = [](const Job* job) {
    const uint64_t ready = job->row.priority;
    const uint64_t order =
        job->row.state == JobState::Delayed ? static_cast<uint64_t>(job->deadline) : job->row.order;
    return std::tuple(job->row.state == JobState::Ready ? ready : order, job->row.id);
  };
  std::sort(jobs.begin(), jobs.end(),
            [&rank](const Job* a, const Job* b) { return rank(a) < rank(b); });
  return jobs;
}

std::vector<ModelEngine::Job*> ModelEngine::held_by(ConnId conn) {
  std::vector<Job*> jobs;
  for (auto& [id, job] : jobs_) {
    if (job.row.state == JobState::Reserved && job.holder == conn) jobs.push_back(&job);
  }
  std::stable_sort(jobs.begin(), jobs.end(),
                   [](const Job* a, const Job* b) { return a->deadline < b->deadline; });
  return jobs;
}

ModelEngine::Job* ModelEngine::best(Conn& conn) {
  Job* best = nullptr;
  if (conn.is_weighted) begin_choice(conn);
  for (const std::string& name : conn.watched) {
    if (find_tube(name)->pause > 0) continue;
    if (!is_servable(*find_tube(name))) continue;
    const std::vector<Job*> jobs = servable_in(name);
    if (jobs.empty()) continue;
    Job* const job = jobs.front();
    const auto rank = [&conn, this](const Job* each) {
      const uint64_t pass = conn.is_weighted ? conn.passes[tube_of(*each).name] : 0;
      const uint64_t priority = conn.is_weighted ? 0 : each->row.priority;
      return std::tuple(pass, priority, conn.is_weighted ? 0 : each->row.id);
    };
    if (best == nullptr || rank(job) < rank(best)) best = job;
  }
  return best;
}

// A tube that had no jobs when others were served starts where the last of the others is.
void ModelEngine::begin_choice(Conn& conn) {
  std::vector<std::string> ready;
  for (const std::string& name : conn.watched) {
    const Tube& tube = *find_tube(name);
    if (tube.pause == 0 && is_servable(tube) && !servable_in(name).empty()) ready.push_back(name);
  }
  std::optional<uint64_t> least;
  for (const std::string& name : ready) {
    const uint64_t pass = conn.passes[name];
    if (pass >= conn.reached) least = std::min(least.value_or(pass), pass);
  }
  for (const std::string& name : ready) {
    uint64_t& pass = conn.passes[name];
    if (pass < conn.reached) pass = least.value_or(conn.reached);
  }
}

void ModelEngine::count_share(Conn& conn, const Job& job) {
  if (!conn.is_weighted) return;
  const std::string& tube = tube_of(job).name;
  conn.reached = std::max(conn.reached, conn.passes[tube]);
  const auto weight = conn.weights.find(tube);
  constexpr uint64_t whole = 16'777'216;
  conn.passes[tube] = conn.reached + whole / (weight == conn.weights.end() ? 1 : weight->second);
}

const ConcurrencyKey* ModelEngine::concurrency_of(const Job& job) {
  return job.row.fields && job.row.fields->concurrency ? &*job.row.fields->concurrency : nullptr;
}

size_t ModelEngine::running(TubeId tube, const std::string& key) const {
  return static_cast<size_t>(std::ranges::count_if(jobs_, [&](const auto& each) {
    const Job& job = each.second;
    return job.row.tube == tube && job.row.state == JobState::Reserved &&
           concurrency_of(job) != nullptr && concurrency_of(job)->key == key;
  }));
}

bool ModelEngine::is_parked(const Job& job) const {
  const ConcurrencyKey* const key = concurrency_of(job);
  return key != nullptr && job.row.state == JobState::Ready &&
         running(job.row.tube, key->key) >= key->jobs_max;
}

uint64_t ModelEngine::count_parked(const std::string* tube) const {
  return static_cast<uint64_t>(std::ranges::count_if(jobs_, [&](const auto& job) {
    return (tube == nullptr || tube_of(job.second).name == *tube) && is_parked(job.second);
  }));
}

std::vector<ModelEngine::Job*> ModelEngine::servable_in(const std::string& tube) {
  std::vector<Job*> servable;
  std::set<std::string> seen;
  for (Job* const job : jobs_in(tube, JobState::Ready)) {
    const ConcurrencyKey* const key = concurrency_of(*job);
    if (key != nullptr && (!seen.insert(key->key).second || is_parked(*job))) continue;
    servable.push_back(job);
  }
  return servable;
}

bool ModelEngine::deadline_soon(ConnId conn) {
  const std::vector<Job*> held = held_by(conn);
  return !held.empty() && now_ >= held.front()->deadline - margin(ttr_of(*held.front()));
}

void ModelEngine::now_is_ready(Job& job) const {
  job.row.state = JobState::Ready;
  job.row.order = 0;  // image() makes it from ready_since.
  job.ready_since = now_;
}

void ModelEngine::make_ready(Job& job) {
  leaves(job);
  now_is_ready(job);
  job.holder = 0;
  serve(job.row.tube);
}

void ModelEngine::serve(TubeId id) {
  for (Tube& tube : tubes_) {
    if (tube.id == id && tube.pause == 0) return serve_waiting(tube);
  }
}

void ModelEngine::serve_waiting(Tube& tube) {
  const std::vector<Job*> ready = servable_in(tube.name);
  Conn* longest = nullptr;
  for (auto& [id, conn] : conns_) {
    if (!conn.waiting || !contains(conn.watched, tube.name)) continue;
    if (longest == nullptr || conn.waiting_since < longest->waiting_since) longest = &conn;
  }
  if (ready.empty() || longest == nullptr || !is_servable(tube)) return;
  longest->waiting = false;
  if (longest->batch > 0) {
    reserve_batch(*longest, longest->batch, longest->with);
  } else {
    count_share(*longest, *ready.front());
    reserve(*longest, *ready.front());
    answer(longest->id, job_reply(Word::Reserved, *ready.front(), longest->with));
  }
  serve_waiting(tube);
}

void ModelEngine::reserve(Conn& conn, Job& job) {
  ++job.row.reserves;
  if (job.row.fields && job.row.fields->key && job.row.fields->key->until == KeyUntil::Reserved &&
      !job.row.fields->key->given_up) {
    end_key(job, false);
    job.row.fields->key->given_up = true;
  }
  leaves(job);
  job.row.state = JobState::Reserved;
  job.row.order = 0;
  job.holder = conn.id;
  job.deadline = later(now_, ttr_of(job));
  const bool is_first = job.row.reserves == 1;
  if (is_first && keeps_ended_ && keeps_ended(settings_of(tube_of(job).name))) {
    job.row.fields.make().first_reserved = now_;
  }
  take_from_rate(tube_of(job).name);
}

void ModelEngine::reserve_batch(Conn& conn, uint32_t count, const JobFacts& with) {
  auto batch = std::make_unique<JobsReserved>();
  while (batch->jobs.size() < count) {
    Job* const job = best(conn);
    if (job == nullptr) break;
    count_share(conn, *job);
    reserve(conn, *job);
    batch->jobs.push_back(job_reply(Word::Reserved, *job, with));
  }
  answer(conn.id, std::move(batch));
}

void ModelEngine::answer_no_job(ConnId conn, bool is_batch) {
  if (is_batch) return answer(conn, std::make_unique<JobsReserved>());
  answer(conn, Word::TimedOut);
}

void ModelEngine::add_job(const Put& put, const std::string& name, const ScheduleOrigin* origin) {
  Tube& tube = find_or_make_tube(name);
  tube.stored = true;
  ++tube.total;
  ++total_jobs_;
  const JobId id = next_id_++;
  Job& job = jobs_[id];
  job.row = {.id = id,
             .tube = tube.id,
             .priority = put.priority,
             .created = now_,
             .body_bytes = put.body_bytes};
  const PutOptions options = put.options ? *put.options : PutOptions();
  const Nanos delay = put.delay_s * second + options.delay_rest_ns;
  const Nanos ttr = put.ttr_s * second + options.ttr_rest_ns;
  set_delay(job, delay);
  set_ttr(job, ttr == 0 ? second : ttr);
  if (delay == 0) now_is_ready(job);
  if (delay > 0) job.row.state = JobState::Delayed;
  job.deadline = later(now_, delay);
  JobFields& fields = job.row.fields.make();
  if (options.tries) fields.tries = static_cast<uint32_t>(options.tries->value);
  fields.backoff = options.backoff;
  fields.dead = options.dead;
  fields.concurrency = options.concurrency;
  if (origin != nullptr) fields.schedule = *origin;
  if (keeps_ended_ && keeps_ended(settings_of(name))) fields.put_by = user_;
  const Nanos expire =
      options.expire.nanos > 0 ? options.expire.nanos : settings_of(name).expire.value_or(0);
  if (expire > 0) fields.expires_at = later(later(now_, delay), expire);
  if (options.key) {
    const KeyUntil until = options.until.value_or(KeyUntil::Deleted);
    const Nanos seconds = options.key->seconds * second;
    fields.key = JobKey{options.key->key, options.key->seconds, until};
    keys_[{name, options.key->key}] = {name, options.key->key, id, until,
                                       until == KeyUntil::Ttl ? later(now_, seconds) : 0};
  }
  drop_empty_fields(job);
}

bool ModelEngine::remove(ConnId conn, JobId id) {
  const auto found = jobs_.find(id);
  if (found == jobs_.end()) return false;
  if (found->second.holder != 0 && found->second.holder != conn) return false;
  const std::string tube = tube_of(found->second).name;
  ++find_tube(tube)->deletes;
  leaves(found->second);
  end_key(found->second, false);
  end(id, JobEnd::Deleted);
  end_if_unused(tube);
  return true;
}

JobReply ModelEngine::job_reply(Word word, const Job& job, const JobFacts& with) const {
  JobReply reply = {.word = word, .id = job.row.id, .body_bytes = job.row.body_bytes};
  if (!with.empty()) reply.facts = JobReply::Facts{.asked = with, .stats = stats_of(job)};
  return reply;
}

JobStats ModelEngine::stats_of(const Job& job) const {
  const JobRow& row = job.row;
  const bool timed = row.state == JobState::Reserved || row.state == JobState::Delayed;
  const TubeSettings settings = settings_of(tube_of(job).name);
  const JobFields fields = row.fields ? *row.fields : JobFields();
  JobStats::More more = {
      .attempts = fields.attempts,
      .tries = fields.tries > 0 ? fields.tries : settings.tries.value_or(0),
      .backoff = fields.backoff ? *fields.backoff : settings.backoff.value_or(Backoff()),
      .dead = fields.dead.empty() ? settings.dead.value_or("") : fields.dead.str(),
      .from = fields.from,
      .expire_left = fields.expires_at > 0 ? std::max<Nanos>(fields.expires_at - now_, 0) : 0,
      .key = fields.key ? fields.key->key : "",
      .key_seconds = fields.key ? fields.key->seconds : 0,
      .concurrency = fields.concurrency.copy(),
      .parked = is_parked(job),
      .notes = fields.notes,
      .restored = fields.restored,
      .put_at = row.created,
      .put_by = fields.put_by,
      .first_reserved = fields.first_reserved,
      .schedule = fields.schedule ? fields.schedule->name : "",
      .planned = fields.schedule ? fields.schedule->planned : 0};
  return {row.id,
          tube_of(job).name,
          row.state,
          row.priority,
          now_ - row.created,
          delay_of(job),
          ttr_of(job),
          timed ? std::max<Nanos>(job.deadline - now_, 0) : 0,
          row.reserves,
          row.timeouts,
          row.releases,
          row.buries,
          row.kicks,
          row.body_bytes,
          job.holder,
          more,
          {}};
}

void ModelEngine::bury(Job& job) {
  leaves(job);
  ++job.row.buries;
  job.row.state = JobState::Buried;
  job.row.order = std::max(next_bury_, static_cast<uint64_t>(now_));
  next_bury_ = job.row.order + 1;
  job.holder = 0;
}

std::optional<Nanos> ModelEngine::conn_deadline(const Conn& conn) const {
  std::optional<Nanos> at;
  const Job* first = nullptr;
  for (const auto& [id, job] : jobs_) {
    if (job.row.state != JobState::Reserved || job.holder != conn.id) continue;
    if (!first || job.deadline < first->deadline) first = &job;
  }
  if (first != nullptr) at = first->deadline - (conn.waiting ? margin(ttr_of(*first)) : 0);
  if (conn.waiting && conn.until && (!at || *conn.until < *at)) at = conn.until;
  return at;
}

std::optional<Nanos> ModelEngine::next_deadline() const {
  std::optional<Nanos> next;
  const auto consider = [&next](std::optional<Nanos> at) {
    if (at && (!next || *at < *next)) next = at;
  };
  for (const auto& [id, job] : jobs_) {
    if (job.row.state == JobState::Delayed) consider(job.deadline);
    consider(expiry_of(job));
  }
  for (const auto& [name, key] : keys_) {
    if (key.expires_at > 0) consider(key.expires_at);
  }
  for (const Tube& tube : tubes_) {
    if (tube.pause > 0) consider(tube.pause_until);
    if (!tube.rate_spent) continue;
    consider(next_token_at(tube.name));
  }
  for (const auto& [id, conn] : conns_) consider(conn_deadline(conn));
  for (const auto& [name, schedule] : schedules_) {
    const bool is_of_zone = std::holds_alternative<ScheduleCron>(schedule.stored.schedule->when);
    const bool is_over = schedule.stored.progress.state == ScheduleState::Over;
    if (looks_for_zones_ && is_of_zone && !is_over) consider(now_);
    const std::optional<Nanos> due = due_of(schedule);
    if (!due) continue;
    consider(schedule.retry_at > 0 ? schedule.retry_at : now_ + std::max<Nanos>(*due - wall_, 0));
  }
  return next;
}

void ModelEngine::tick() {
  tick_expiries();
  tick_keys();
  for (;;) {
    Job* due = nullptr;
    for (auto& [id, job] : jobs_) {
      if (job.row.state != JobState::Delayed || job.deadline > now_) continue;
      if (due == nullptr || job.deadline < due->deadline) due = &job;
    }
    if (due == nullptr) break;
    make_ready(*due);
  }
  tick_schedules();
  tick_pauses();
  tick_rates();
  for (;;) {
    Conn* due = nullptr;
    Nanos due_at = 0;
    for (auto& [id, conn] : conns_) {
      const std::optional<Nanos> at = conn_deadline(conn);
      if (!at || *at > now_ || (due != nullptr && *at >= due_at)) continue;
      due = &conn;
      due_at = *at;
    }
    if (due == nullptr) break;
    if (due->waiting) {
      due->waiting = false;
      if (deadline_soon(due->id)) {
        answer(due->id, Word::DeadlineSoon);
      } else {
        answer_no_job(due->id, due->batch > 0);
      }
    }
    for (Job* job : held_by(due->id)) {
      if (job->deadline > now_) continue;
      ++job->row.timeouts;
      ++timeouts_;
      Nanos delay = 0;
      const Outcome outcome = end_attempt(*job, true, delay);
      give_back(*job, outcome, delay);
    }
  }
}

void ModelEngine::tick_pauses() {
  for (;;) {
    Tube* due = nullptr;
    for (Tube& tube : tubes_) {
      if (tube.pause == 0 || tube.pause_until > now_) continue;
      if (due == nullptr ||
          std::tuple(tube.pause_until, tube.id) < std::tuple(due->pause_until, due->id)) {
        due = &tube;
      }
    }
    if (due == nullptr) break;
    due->pause = 0;
    serve_waiting(*due);
  }
}

// ---- Extensions.

Nanos ModelEngine::delay_of(const Job& job) const {
  return job.row.delay_s * second + (job.row.fields ? job.row.fields->delay_rest_ns : 0);
}

Nanos ModelEngine::ttr_of(const Job& job) const {
  return job.row.ttr_s * second + (job.row.fields ? job.row.fields->ttr_rest_ns : 0);
}

void ModelEngine::drop_empty_fields(Job& job) {
  if (job.row.fields && *job.row.fields == JobFields()) job.row.fields.reset();
}

void ModelEngine::set_delay(Job& job, Nanos delay) {
  job.row.delay_s = static_cast<uint32_t>(delay / second);
  job.row.fields.make().delay_rest_ns = static_cast<uint32_t>(delay % second);
  drop_empty_fields(job);
}

void ModelEngine::set_ttr(Job& job, Nanos ttr) {
  job.row.ttr_s = static_cast<uint32_t>(ttr / second);
  job.row.fields.make().ttr_rest_ns = static_cast<uint32_t>(ttr % second);
  drop_empty_fields(job);
}

TubeSettings ModelEngine::settings_of(const std::string& tube) const {
  const auto found = settings_.find(tube);
  return found != settings_.end() ? found->second : TubeSettings();
}

Nanos ModelEngine::margin(Nanos ttr) {
  return ttr % second == 0 ? second : std::min(second, ttr / 2);
}

// 0: now.
Nanos ModelEngine::next_token_at(const std::string& tube) const {
  const std::optional<Rate> rate = settings_of(tube).rate;
  const auto full_at = rates_full_at_.find(tube);
  if (!rate || full_at == rates_full_at_.end()) return 0;
  return full_at->second - (rate->jobs - 1) * interval_of(*rate);
}

Nanos ModelEngine::interval_of(const Rate& rate) {
  return std::max<Nanos>(rate.period / rate.jobs, 1);
}

std::optional<Nanos> ModelEngine::expiry_of(const Job& job) {
  const bool counts = job.row.state == JobState::Ready || job.row.state == JobState::Delayed;
  if (!counts || !job.row.fields || job.row.fields->expires_at == 0) return std::nullopt;
  return job.row.fields->expires_at;
}

bool ModelEngine::is_servable(const Tube& tube) const {
  const TubeSettings settings = settings_of(tube.name);
  size_t reserved = 0;
  for (const auto& [id, job] : jobs_) {
    reserved += job.row.tube == tube.id && job.row.state == JobState::Reserved;
  }
  return !tube.rate_spent && (!settings.reserved || reserved < *settings.reserved);
}

ModelEngine::Outcome ModelEngine::end_attempt(Job& job, bool counts, Nanos& delay) {
  const JobFields fields = job.row.fields ? *job.row.fields : JobFields();
  const TubeSettings settings = settings_of(tube_of(job).name);
  if (fields.expires_at > 0 && fields.expires_at <= now_) return Outcome::Expired;
  const uint32_t tries = fields.tries > 0 ? fields.tries : settings.tries.value_or(0);
  const auto backoff = fields.backoff ? fields.backoff.copy() : settings.backoff;
  const Outcome plain = delay > 0 ? Outcome::Delayed : Outcome::Ready;
  if (!counts || (tries == 0 && !backoff)) return plain;
  const uint32_t attempts = ++job.row.fields.make().attempts;
  if (tries > 0 && attempts >= tries) return Outcome::Dead;
  if (delay > 0 || !backoff) return plain;
  delay = backoff->first;
  for (uint32_t i = 1; i < attempts && delay < backoff->cap; ++i) delay *= 2;
  delay = std::min(delay, backoff->cap);
  return Outcome::Delayed;
}

void ModelEngine::give_back(Job& job, Outcome outcome, Nanos delay) {
  switch (outcome) {
    case Outcome::Ready:
      return make_ready(job);
    case Outcome::Delayed:
      leaves(job);
      set_delay(job, delay);
      job.holder = 0;
      job.row.state = JobState::Delayed;
      job.deadline = later(now_, delay);
      return;
    case Outcome::Dead:
      ++dead_;
      ++find_tube(tube_of(job).name)->dead;
      if (!move_to_dead_tube(job)) bury(job);
      return;
    case Outcome::Expired:
      return expire(job);
  }
}

bool ModelEngine::move_to_dead_tube(Job& job) {
  const JobFields fields = job.row.fields ? *job.row.fields : JobFields();
  const std::string from = tube_of(job).name;
  const std::string name =
      fields.dead.empty() ? settings_of(from).dead.value_or("") : fields.dead.str();
  if (name.empty() || !fields.from.empty()) return false;
  leaves(job);
  end_key(job, true);
  put_into(job, name);
  job.row.fields = JobFields{.from = from,
                             .concurrency = fields.concurrency,
                             .ttr_rest_ns = fields.ttr_rest_ns,
                             .notes = fields.notes,
                             .restored = fields.restored,
                             .put_by = fields.put_by,
                             .first_reserved = fields.first_reserved,
                             .schedule = fields.schedule};
  job.row.delay_s = 0;
  if (job.row.state != JobState::Ready) now_is_ready(job);
  job.holder = 0;
  const TubeId to = job.row.tube;
  end_if_unused(from);
  serve(to);
  return true;
}

void ModelEngine::expire(Job& job) {
  ++expired_;
  const std::string tube = tube_of(job).name;
  ++find_tube(tube)->expired;
  if (move_to_dead_tube(job)) return;
  leaves(job);
  end_key(job, false);
  end(job.row.id, JobEnd::Expired);
  end_if_unused(tube);
}

void ModelEngine::kicked(Job& job) {
  ++job.row.kicks;
  if (!job.row.fields) return;
  job.row.fields->attempts = 0;
  job.row.fields->expires_at = 0;
  drop_empty_fields(job);
}

void ModelEngine::put_into(Job& job, const std::string& tube) {
  Tube& to = find_or_make_tube(tube);
  to.stored = true;
  if (to.id != job.row.tube) {
    end_key(job, true);
    if (job.row.fields) {
      job.row.fields->key.reset();
      job.row.fields->from.clear();
    }
  }
  drop_empty_fields(job);
  job.row.tube = to.id;
}

void ModelEngine::end_key(Job& job, bool is_free) {
  if (!job.row.fields || !job.row.fields->key || job.row.fields->key->given_up) return;
  const JobKey& key = *job.row.fields->key;
  const auto found = keys_.find({tube_of(job).name, key.key});
  if (found == keys_.end() || found->second.job != job.row.id) return;
  if (is_free || (key.seconds == 0 && key.until != KeyUntil::Ttl)) {
    keys_.erase(found);
  } else if (key.until != KeyUntil::Ttl) {
    found->second.expires_at = later(now_, key.seconds * second);
  }
}

const KeyStored* ModelEngine::taken_key(const std::string& tube, const std::string& key) const {
  const auto found = keys_.find({tube, key});
  if (found == keys_.end()) return nullptr;
  const Nanos expires_at = found->second.expires_at;
  return expires_at > 0 && expires_at <= now_ ? nullptr : &found->second;
}

std::optional<Duplicate> ModelEngine::find_duplicate(const std::string& name, const Put& put) {
  if (!put.options || !put.options->key) return std::nullopt;
  const KeyStored* const taken = taken_key(name, put.options->key->key);
  if (taken == nullptr) return std::nullopt;
  ++duplicates_;
  if (Tube* const tube = find_tube(name)) ++tube->duplicates;
  Duplicate duplicate = {taken->job, {}};
  const auto holder = jobs_.find(taken->job);
  if (holder != jobs_.end()) duplicate.state = holder->second.row.state;
  return duplicate;
}

bool ModelEngine::is_draining(const std::string& tube) const {
  return settings_of(tube).drain.value_or(false);
}

void ModelEngine::take_from_rate(const std::string& name) {
  const std::optional<Rate> rate = settings_of(name).rate;
  if (!rate) return;
  Tube& tube = *find_tube(name);
  Nanos& full_at = rates_full_at_[name];
  full_at = later(std::max(full_at, now_), interval_of(*rate));
  tube.rate_spent = tube.rate_spent || next_token_at(name) > now_;
}

// A job leaves its state. Only a tube with settings can be at its limit, and only a job with a
// concurrency key makes way for another one.
void ModelEngine::leaves(const Job& job) {
  const std::string& tube = tube_of(job).name;
  const bool is_reserved = job.row.state == JobState::Reserved;
  const bool has_group = job.row.fields && job.row.fields->concurrency &&
                         (is_reserved || job.row.state == JobState::Ready);
  if (!has_group && (!is_reserved || !settings_.contains(tube))) return;
  if (freed_slots_.empty() || freed_slots_.back() != tube) freed_slots_.push_back(tube);
}

void ModelEngine::tick_expiries() {
  for (;;) {
    Job* due = nullptr;
    for (auto& [id, job] : jobs_) {
      const auto at = expiry_of(job);
      if (!at || *at > now_ || (due != nullptr && *at >= *expiry_of(*due))) continue;
      due = &job;
    }
    if (due == nullptr) return;
    expire(*due);
  }
}

void ModelEngine::tick_keys() {
  std::erase_if(keys_, [this](const auto& key) {
    return key.second.expires_at > 0 && key.second.expires_at <= now_;
  });
}

void ModelEngine::tick_rates() {
  for (;;) {
    Tube* due = nullptr;
    Nanos due_at = 0;
    for (Tube& tube : tubes_) {
      if (!tube.rate_spent) continue;
      const Nanos at = next_token_at(tube.name);
      if (at > now_ || (due != nullptr && std::tuple(at, tube.id) >= std::tuple(due_at, due->id))) {
        continue;
      }
      due = &tube;
      due_at = at;
    }
    if (due == nullptr) return;
    due->rate_spent = false;
    if (due->pause == 0) serve_waiting(*due);
  }
}

StateCounts ModelEngine::count(const std::string* tube) {
  StateCounts counts;
  for (const auto& [id, job] : jobs_) {
    if (tube != nullptr && tube_of(job).name != *tube) continue;
    counts.ready += job.row.state == JobState::Ready;
    counts.urgent += job.row.state == JobState::Ready && job.row.priority < 1024;
    counts.reserved += job.row.state == JobState::Reserved;
    counts.delayed += job.row.state == JobState::Delayed;
    counts.buried += job.row.state == JobState::Buried;
  }
  return counts;
}

void ModelEngine::reopen(JobId next_id, Nanos now, Nanos wall,
                         std::shared_ptr<const Calendar> calendar) {
  now_ = now;
  wall_ = wall;
  accepts_puts_ = true;
  calendar_ = std::move(calendar);
  schedule_counts_ = {};
  for (auto& [name, schedule] : schedules_) schedule = {.stored = schedule.stored};
  looks_for_zones_ = true;
  // As in the inputs of the start, whatever the last one before it had: jobs may expire in it.
  keeps_ended_ = true;
  user_.clear();
  conns_.clear();
  conn_ids_.clear();
  freed_slots_.clear();
  rates_full_at_.clear();
  // After a restart all buckets are empty.
  for (const auto& [name, settings] : settings_) {
    if (settings.rate) rates_full_at_[name] = later(now, settings.rate->period);
  }
  std::erase_if(tubes_, [this](const Tube& tube) { return is_unused(tube); });
  // After a restart tubes are listed by number, without those that were unused.
  std::sort(tubes_.begin(), tubes_.end(), [](const Tube& a, const Tube& b) { return a.id < b.id; });
  for (Tube& tube : tubes_) {
    tube.deletes = tube.pauses = tube.total = tube.duplicates = tube.dead = tube.expired = 0;
    tube.rate_spent = next_token_at(tube.name) > now;
    for (const auto& [id, job] : jobs_) tube.total += job.row.tube == tube.id;
  }
  commands_ = {};
  timeouts_ = total_conns_ = damaged_ = duplicates_ = dead_ = expired_ = 0;
  total_jobs_ = jobs_.size();
  draining_ = false;
  next_id_ = next_id;
  next_bury_ = 1;
  for (const auto& [id, job] : jobs_) {
    if (job.row.state == JobState::Buried) next_bury_ = std::max(next_bury_, job.row.order + 1);
  }
  tick();
  // The first Tick ends what is due, and then the reservations of before. None of them counts.
  std::vector<Job*> reserved;
  for (auto& [id, job] : jobs_) {
    if (job.row.state == JobState::Reserved) reserved.push_back(&job);
  }
  for (Job* const job : reserved) {
    Nanos delay = 0;
    const Outcome outcome = end_attempt(*job, false, delay);
    give_back(*job, outcome, delay);
  }
  freed_slots_.clear();
  tick();
}

// ---- Schedules.

ModelEngine::Schedule* ModelEngine::find_schedule(const std::string& name) {
  const auto found = schedules_.find(name);
  return found != schedules_.end() ? &found->second : nullptr;
}

Nanos ModelEngine::offset_of(const perennial::Schedule& schedule) const {
  return schedule.jitter > 0 ? calendar_->offset(schedule.name, schedule.jitter) : 0;
}

std::optional<Nanos> ModelEngine::due_of(const Schedule& schedule) const {
  const ScheduleProgress& progress = schedule.stored.progress;
  if (progress.is_paused || !progress.planned) return std::nullopt;
  return *progress.planned + offset_of(*schedule.stored.schedule);
}

void ModelEngine::plan(ScheduleProgress& progress, const ScheduleWhen& when, Nanos after) const {
  const Calendar::Next next = calendar_->next_after(when, after);
  progress.planned = next.at;
  progress.state = next.at ? ScheduleState::Active : ScheduleState::Over;
  if (!next.zone_is_known) progress.state = ScheduleState::NoZone;
}

// The first time whose moment is still to come, and that was not there before.
void ModelEngine::plan_anew(ScheduleProgress& progress, const perennial::Schedule& schedule) const {
  const Nanos offset = offset_of(schedule);
  if (progress.state == ScheduleState::Over) return;
  if (progress.planned) {
    if (std::holds_alternative<ScheduleAt>(schedule.when)) return;
    const bool is_to_come = *progress.planned + offset > wall_;
    if (is_to_come && *progress.planned <= wall_ + day) return;
  }
  plan(progress, schedule.when, std::max(wall_ - offset, passed_of(progress)));
}

Nanos ModelEngine::passed_of(const ScheduleProgress& progress) const {
  return progress.last_planned <= wall_ + day ? progress.last_planned : 0;
}

// Behind which moment the first one is looked for, of a schedule that gets other times.
Nanos ModelEngine::new_times_begin(const Schedule& old) const {
  const ScheduleProgress& progress = old.stored.progress;
  const std::optional<Nanos> due = due_of(old);
  if (due && *due > wall_ && *progress.planned <= wall_) return *progress.planned - 1;
  return std::max(wall_, passed_of(progress));
}

// What has come of a schedule, before a command changes it.
void ModelEngine::pass_due(const std::string& name) {
  for (;;) {
    Schedule* const schedule = find_schedule(name);
    if (schedule == nullptr || schedule->retry_at > 0) return;
    const std::optional<Nanos> due = due_of(*schedule);
    if (!due || *due > wall_) return;
    pass(*schedule);
  }
}

void ModelEngine::set_progress(Schedule& schedule, const ScheduleProgress& progress,
                               uint32_t made_up) {
  if (schedule.stored.progress.planned != progress.planned) schedule.refused.reset();
  schedule.stored.progress = progress;
  schedule.retry_at = 0;
  schedule.made_up = made_up;
}

Reply ModelEngine::fire(Schedule& schedule, Nanos planned, ScheduleProgress after,
                        uint32_t made_up) {
  const perennial::Schedule set = *schedule.stored.schedule;
  const auto last = jobs_.find(schedule.stored.progress.last_job);
  const auto skip = [&](const Duplicate& instead) -> Reply {
    ++after.skipped;
    ++schedule_counts_.skipped;
    set_progress(schedule, after, made_up);
    return instead;
  };
  const bool is_there = last != jobs_.end();
  if (is_there && set.overlap == ScheduleOverlap::Skip) {
    return skip({last->first, last->second.row.state});
  }
  const bool replaces = is_there && set.overlap == ScheduleOverlap::Replace &&
                        last->second.row.state != JobState::Reserved;
  bool gets_key = false;
  if (replaces && set.put.options && set.put.options->key) {
    const auto found = keys_.find({set.tube, set.put.options->key->key});
    const auto& fields = last->second.row.fields;
    gets_key = found != keys_.end() && found->second.job == last->first && fields && fields->key &&
               !fields->key->given_up && fields->key->key == set.put.options->key->key &&
               tube_of(last->second).name == set.tube;
  }
  if (!gets_key) {
    if (const auto duplicate = find_duplicate(set.tube, set.put)) return skip(*duplicate);
  }
  const bool is_draining_now = draining_ || is_draining(set.tube);
  if (is_draining_now || !accepts_puts_) {
    ++schedule_counts_.refusals;
    return is_draining_now ? Word::Draining : Word::OutOfMemory;
  }
  find_or_make_tube(set.tube);
  std::string left;
  if (replaces) {
    left = tube_of(last->second).name;
    leaves(last->second);
    end_key(last->second, true);
    end(last->first, JobEnd::Deleted);
  }
  after.last_planned = planned;
  after.last_fired = wall_;
  after.last_job = next_id_;
  ++after.fired;
  ++schedule_counts_.fired;
  set_progress(schedule, after, made_up);
  const ScheduleOrigin origin = {set.name, planned};
  add_job(set.put, set.tube, &origin);
  serve(find_tube(set.tube)->id);
  if (!left.empty()) end_if_unused(left);
  return NumberReply{Word::Inserted, after.last_job};
}

// Walks over all planned times that have come.
void ModelEngine::pass(Schedule& schedule) {
  const perennial::Schedule& set = *schedule.stored.schedule;
  const Nanos offset = offset_of(set);
  const bool is_period = std::holds_alternative<ScheduleEvery>(set.when);
  ScheduleProgress after = schedule.stored.progress;
  Nanos planned = *after.planned;
  plan(after, set.when, planned);
  const auto has_come = [&] { return after.planned && *after.planned + offset <= wall_; };
  uint64_t passed = 0;
  uint32_t made_up = 0;
  if (has_come() && set.missed_max > 1 && schedule.made_up < set.missed_max - 1) {
    made_up = schedule.made_up + 1;
  } else {
    for (; has_come(); ++passed) {
      planned = *after.planned;
      plan(after, set.when, planned);
    }
  }
  const bool is_late = wall_ - planned - offset > schedule_grace;
  const bool is_missed = set.missed_max == 0 && is_late && schedule.refused != planned;
  uint64_t missed = passed + (is_missed ? 1 : 0);
  if (!is_period) missed = std::min<uint64_t>(missed, 1);
  after.missed += missed;
  if (is_missed) {
    set_progress(schedule, after, made_up);
  } else if (std::holds_alternative<Word>(fire(schedule, planned, after, made_up))) {
    schedule.retry_at = now_ + schedule_retry;
    schedule.refused = planned;
    return;
  }
  schedule_counts_.missed += missed;
}

void ModelEngine::tick_schedules() {
  if (std::exchange(looks_for_zones_, false)) {
    for (auto& [name, schedule] : schedules_) {
      ScheduleProgress progress = schedule.stored.progress;
      if (progress.state != ScheduleState::NoZone) continue;
      plan_anew(progress, *schedule.stored.schedule);
      schedule.stored.progress = progress;
    }
  }
  for (;;) {
    Schedule* next = nullptr;
    std::tuple<bool, Nanos> next_rank;
    for (auto& [name, schedule] : schedules_) {
      const std::optional<Nanos> due = due_of(schedule);
      const bool is_retry = schedule.retry_at > 0;
      if (!due || (is_retry ? schedule.retry_at > now_ : *due > wall_)) continue;
      const auto rank = std::tuple(!is_retry, is_retry ? schedule.retry_at : *due);
      if (next != nullptr && rank >= next_rank) continue;
      next = &schedule;
      next_rank = rank;
    }
    if (next == nullptr) return;
    if (*due_of(*next) > wall_) {
      next->retry_at = 0;
    } else {
      pass(*next);
    }
  }
}

const ScheduleCounts& ModelEngine::schedule_counts() {
  schedule_counts_.schedules = schedules_.size();
  schedule_counts_.refused = static_cast<uint64_t>(
      std::ranges::count_if(schedules_, [](const auto& each) { return each.second.retry_at > 0; }));
  return schedule_counts_;
}

// ---- Jobs that have ended.

JobRow ModelEngine::row_of(const Job& job) const {
  JobRow row = job.row;
  if (row.state == JobState::Delayed) row.order = static_cast<uint64_t>(job.deadline);
  if (row.state == JobState::Reserved) row.order = 0;
  if (row.state == JobState::Ready) {
    const bool was_nothing_else = row.reserves + row.buries + row.kicks == 0 && delay_of(job) == 0;
    const bool is_implied = was_nothing_else && job.ready_since == row.created;
    row.order = is_implied ? 0 : static_cast<uint64_t>(job.ready_since);
  }
  return row;
}

void ModelEngine::end(JobId id, JobEnd how) {
  const Job& job = jobs_.at(id);
  const std::string tube = tube_of(job).name;
  if (keeps_ended_ && keeps_ended(settings_of(tube))) {
    Ended& ended = ended_[tube];
    EndedJob kept = {.row = row_of(job),
                     .tube = tube,
                     .place = ended.span.next++,
                     .how = how,
                     .at = now_,
                     .user = how == JobEnd::Expired ? "" : user_};
    kept.row.tube = 0;
    ended.jobs[kept.place] = kept;
  }
  jobs_.erase(id);
}

// As it was, but for what its end, and time since, do not allow.
Reply ModelEngine::restore(const EndedJob& ended) {
  const JobFields fields = ended.row.fields ? *ended.row.fields : JobFields();
  const bool is_over = fields.key && fields.key->until == KeyUntil::Ttl &&
                       later(ended.row.created, fields.key->seconds * second) <= now_;
  const bool has_key = fields.key && !fields.key->given_up && !is_over;
  const KeyStored* const taken = has_key ? taken_key(ended.tube, fields.key->key) : nullptr;
  if (taken != nullptr && taken->job != ended.row.id) {
    Duplicate duplicate = {taken->job, {}};
    const auto holder = jobs_.find(taken->job);
    if (holder != jobs_.end()) duplicate.state = holder->second.row.state;
    return duplicate;
  }
  if (draining_ || is_draining(ended.tube)) return Word::Draining;
  if (!accepts_puts_) return Word::OutOfMemory;
  Ended& kept = ended_.at(ended.tube);
  CHECK(kept.jobs.erase(ended.place) == 1);
  if (kept.span.first == ended.place) ++kept.span.first;
  if (kept.span.empty()) ended_.erase(ended.tube);
  Tube& tube = find_or_make_tube(ended.tube);
  tube.stored = true;
  ++tube.total;
  ++total_jobs_;
  const JobId id = next_id_++;
  Job& job = jobs_[id];
  job.row = ended.row;
  job.row.id = id;
  job.row.tube = tube.id;
  job.row.fields = fields;
  job.row.fields->restored = ended.row.id;
  if (fields.expires_at <= now_) job.row.fields->expires_at = 0;
  if (has_key) {
    const Nanos seconds = fields.key->seconds * second;
    keys_[{ended.tube, fields.key->key}] = {
        ended.tube, fields.key->key, id, fields.key->until,
        fields.key->until == KeyUntil::Ttl ? later(ended.row.created, seconds) : 0};
  }
  job.deadline = static_cast<Nanos>(job.row.order);
  const bool is_due = job.row.state == JobState::Delayed && job.deadline <= now_;
  if (job.row.state == JobState::Buried) {
    next_bury_ = std::max(next_bury_, job.row.order + 1);
  } else if (job.row.state != JobState::Delayed || is_due) {
    now_is_ready(job);
  }
  const TubeId in = tube.id;
  serve(in);
  return NumberReply{Word::Inserted, id};
}

void ModelEngine::end_kept(const engine::EndedOver& over) {
  const auto found = ended_.find(over.tube);
  if (found == ended_.end()) return;
  Ended& kept = found->second;
  for (const engine::EndedOver::Gone& gone : over.jobs) CHECK(kept.jobs.erase(gone.place) == 1);
  CHECK(kept.jobs.empty() || kept.jobs.begin()->first >= over.first);
  kept.span.first = std::max(kept.span.first, over.first);
  if (kept.span.empty()) ended_.erase(found);
}

engine::Image ModelEngine::image() const {
  engine::Image image;
  for (const auto& [id, job] : jobs_) image.jobs.emplace(id, row_of(job));
  for (const auto& [tube, ended] : ended_) image.ended.emplace(tube, ended.span);
  for (const Tube& tube : tubes_) {
    if (tube.stored) image.tubes.emplace(tube.id, tube.name);
    if (tube.pause > 0) image.pauses[tube.id] = {tube.pause, tube.pause_until};
  }
  image.keys = keys_;
  image.settings = settings_;
  for (const auto& [name, schedule] : schedules_) image.schedules.emplace(name, schedule.stored);
  return image;
}

}  // namespace perennial::model
