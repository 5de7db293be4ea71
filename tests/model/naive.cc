#include "tests/model/naive.h"

#include <algorithm>
#include <memory>
#include <tuple>
#include <utility>

#include "engine/types/check.h"

namespace perennial::model {
namespace {

constexpr Nanos second = nanos_per_second;

template <typename T>
bool contains(const std::vector<T>& values, const T& value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

}  // namespace

struct Naive::Apply {
  Naive& n;
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
  void operator()(const engine::Closed&) const {
    const Conn gone = conn();
    n.conns_.erase(id);
    n.conn_ids_.erase(id);
    // beanstalkd leaves the first tube that is watched, then the others from the last, then the
    // used one.
    n.end_if_unused(gone.watched.front());
    for (size_t i = gone.watched.size(); i > 1; --i) n.end_if_unused(gone.watched[i - 1]);
    n.end_if_unused(gone.used);
    for (Job* job : n.held_by(id)) n.make_ready(*job);
  }
  void operator()(const engine::HalfClosed&) const {
    conn().half_closed = true;
    if (conn().waiting) {
      conn().waiting = false;
      say(Word::TimedOut);
    }
  }
  void operator()(const engine::Tick&) const { n.tick(); }
  void operator()(const engine::Drain&) const { n.draining_ = true; }
  void operator()(const engine::Damaged& damaged) const {
    ++n.damaged_;
    Job* const job = find(damaged.id);
    if (job != nullptr && job->row.state != JobState::Buried) n.bury(*job);
  }
  void operator()(const Command& command) const { std::visit(*this, command); }

  void operator()(const Put& put) const {
    ++n.commands_.of<Put>();
    conn().producer = true;
    const JobId job_id = n.next_id_++;
    if (n.draining_) return say(Word::Draining);
    if (!n.room_) return say(Word::OutOfMemory);
    Tube& tube = *n.find_tube(conn().used);
    tube.stored = true;
    ++tube.total;
    ++n.total_jobs_;
    Job& job = n.jobs_[job_id];
    job.row = {.id = job_id,
               .state = JobState::Ready,
               .tube = tube.id,
               .priority = put.priority,
               .delay_s = put.delay_s,
               .ttr_s = put.ttr_s == 0 ? 1 : put.ttr_s,
               .created = n.now_,
               .body_bytes = put.body_bytes};
    say(Inserted{job_id});
    if (put.delay_s == 0) return n.make_ready(job);
    job.row.state = JobState::Delayed;
    job.deadline = n.now_ + put.delay_s * second;
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
    n.take_tube(use.tube);
    const std::string old = std::exchange(conn().used, use.tube);
    n.end_if_unused(old);
    say(Using{use.tube});
  }
  void operator()(const Reserve&) const {
    ++n.commands_.of<Reserve>();
    reserve(std::nullopt);
  }
  void operator()(const ReserveWithTimeout& command) const {
    ++n.commands_.of<ReserveWithTimeout>();
    reserve(command.timeout_s);
  }
  void reserve(std::optional<uint32_t> timeout) const {
    conn().worker = true;
    if (Job* const job = n.best(conn().watched, false)) {
      n.reserve(conn(), *job);
      return;
    }
    if (n.deadline_soon(id)) return say(Word::DeadlineSoon);
    if (conn().half_closed || timeout == 0u) return say(Word::TimedOut);
    conn().waiting = true;
    conn().waiting_since = n.next_wait_++;
    conn().until.reset();
    if (timeout) conn().until = n.now_ + *timeout * second;
  }
  void operator()(const ReserveJob& command) const {
    Job* const job = find(command.id);
    if (job == nullptr || job->row.state == JobState::Reserved) return say(Word::NotFound);
    conn().worker = true;
    n.reserve(conn(), *job);
  }
  void operator()(const Delete& command) const {
    ++n.commands_.of<Delete>();
    Job* const job = find(command.id);
    if (job == nullptr || (job->holder != 0 && job->holder != id)) return say(Word::NotFound);
    const std::string tube = n.tube_of(*job).name;
    ++n.find_tube(tube)->deletes;
    n.jobs_.erase(command.id);
    n.end_if_unused(tube);
    say(Word::Deleted);
  }
  void operator()(const Release& command) const {
    ++n.commands_.of<Release>();
    Job* const job = mine(command.id);
    if (job == nullptr) return say(Word::NotFound);
    job->row.priority = command.priority;
    job->row.delay_s = command.delay_s;
    ++job->row.releases;
    say(Word::Released);
    if (command.delay_s == 0) return n.make_ready(*job);
    job->holder = 0;
    job->row.state = JobState::Delayed;
    job->deadline = n.now_ + command.delay_s * second;
  }
  void operator()(const Bury& command) const {
    ++n.commands_.of<Bury>();
    Job* const job = mine(command.id);
    if (job == nullptr) return say(Word::NotFound);
    job->row.priority = command.priority;
    n.bury(*job);
    say(Word::Buried);
  }
  void operator()(const Touch& command) const {
    ++n.commands_.of<Touch>();
    Job* const job = mine(command.id);
    if (job == nullptr) return say(Word::NotFound);
    job->deadline = n.now_ + job->row.ttr_s * second;
    say(Word::Touched);
  }
  void operator()(const Watch& command) const {
    ++n.commands_.of<Watch>();
    n.take_tube(command.tube);
    if (!contains(conn().watched, command.tube)) conn().watched.push_back(command.tube);
    say(Watching{conn().watched.size()});
  }
  void operator()(const Ignore& command) const {
    ++n.commands_.of<Ignore>();
    auto& watched = conn().watched;
    if (contains(watched, command.tube)) {
      if (watched.size() == 1) return say(Word::NotIgnored);
      *std::find(watched.begin(), watched.end(), command.tube) = watched.back();
      watched.pop_back();
      n.end_if_unused(command.tube);
    }
    say(Watching{watched.size()});
  }
  void peek(const Job* job) const {
    if (job == nullptr) return say(Word::NotFound);
    n.answer_job(id, JobReply::Kind::Found, *job);
  }
  void peek_first(JobState state) const {
    const std::vector<Job*> jobs = n.jobs_in(conn().used, state);
    peek(jobs.empty() ? nullptr : jobs.front());
  }
  void operator()(const Peek& command) const {
    ++n.commands_.of<Peek>();
    peek(find(command.id));
  }
  void operator()(const PeekReady&) const {
    ++n.commands_.of<PeekReady>();
    peek_first(JobState::Ready);
  }
  void operator()(const PeekDelayed&) const {
    ++n.commands_.of<PeekDelayed>();
    peek_first(JobState::Delayed);
  }
  void operator()(const PeekBuried&) const {
    ++n.commands_.of<PeekBuried>();
    peek_first(JobState::Buried);
  }
  void operator()(const Kick& command) const {
    ++n.commands_.of<Kick>();
    std::vector<Job*> jobs = n.jobs_in(conn().used, JobState::Buried);
    if (jobs.empty()) jobs = n.jobs_in(conn().used, JobState::Delayed);
    if (jobs.size() > command.bound) jobs.resize(command.bound);
    for (Job* job : jobs) {
      ++job->row.kicks;
      n.make_ready(*job);
    }
    say(KickedCount{jobs.size()});
  }
  void operator()(const KickJob& command) const {
    Job* const job = find(command.id);
    const bool kickable = job != nullptr && (job->row.state == JobState::Buried ||
                                             job->row.state == JobState::Delayed);
    if (!kickable) return say(Word::NotFound);
    ++job->row.kicks;
    say(Word::Kicked);
    n.make_ready(*job);
  }
  void operator()(const PauseTube& command) const {
    ++n.commands_.of<PauseTube>();
    Tube* const tube = n.find_tube(command.tube);
    if (tube == nullptr) return say(Word::NotFound);
    tube->stored = true;
    ++tube->pauses;
    tube->pause = std::max<Nanos>(1, command.delay_s * second);
    tube->pause_until = n.now_ + command.delay_s * second;
    say(Word::Paused);
    if (command.delay_s == 0) n.tick_pauses();
  }
  void operator()(const StatsJob& command) const {
    ++n.commands_.of<StatsJob>();
    const Job* const job = find(command.id);
    if (job == nullptr) return say(Word::NotFound);
    const JobRow& row = job->row;
    const bool timed = row.state == JobState::Reserved || row.state == JobState::Delayed;
    auto stats = std::make_unique<JobStats>();
    *stats = {row.id,
              n.tube_of(*job).name,
              row.state,
              row.priority,
              n.now_ - row.created,
              row.delay_s,
              row.ttr_s,
              timed ? std::max<Nanos>(job->deadline - n.now_, 0) : 0,
              row.reserves,
              row.timeouts,
              row.releases,
              row.buries,
              row.kicks};
    say(std::move(stats));
  }
  void operator()(const StatsTube& command) const {
    ++n.commands_.of<StatsTube>();
    const Tube* const tube = n.find_tube(command.tube);
    if (tube == nullptr) return say(Word::NotFound);
    auto stats = std::make_unique<TubeStats>();
    stats->name = tube->name;
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
    const std::vector<Job*> ready = n.jobs_in(tube->name, JobState::Ready);
    stats->next_ready_age = ready.empty() ? 0 : n.now_ - ready.front()->row.created;
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
  // Quit and Checkpoint, which are core's, and what the model does not know.
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

Naive::Naive() {
  tubes_.push_back({.id = 0, .name = "default"});
}

std::vector<engine::ConnReply> Naive::apply(const engine::Input& input) {
  now_ = input.now;
  room_ = input.room;
  replies_.clear();
  std::visit(Apply{*this, input.conn}, input.event);
  return std::move(replies_);
}

Naive::Tube* Naive::find_tube(const std::string& name) {
  for (Tube& tube : tubes_) {
    if (tube.name == name) return &tube;
  }
  return nullptr;
}

const Naive::Tube& Naive::tube_of(const Job& job) const {
  return *std::find_if(tubes_.begin(), tubes_.end(),
                       [&job](const Tube& tube) { return tube.id == job.row.tube; });
}

Naive::Tube& Naive::take_tube(const std::string& name) {
  if (Tube* const tube = find_tube(name)) return *tube;
  TubeId id = 0;
  const auto taken = [this](TubeId wanted) {
    return std::any_of(tubes_.begin(), tubes_.end(),
                       [wanted](const Tube& tube) { return tube.id == wanted; });
  };
  while (taken(id)) ++id;
  tubes_.push_back({.id = id, .name = name});
  return tubes_.back();
}

bool Naive::is_unused(const Tube& tube) const {
  if (tube.id == 0) return false;
  for (const auto& [id, job] : jobs_) {
    if (job.row.tube == tube.id) return false;
  }
  for (const auto& [id, conn] : conns_) {
    if (conn.used == tube.name || contains(conn.watched, tube.name)) return false;
  }
  return true;
}

// The last one in the list takes the place of one that ends, so the order of ending shows.
void Naive::end_if_unused(const std::string& name) {
  Tube* const tube = find_tube(name);
  if (tube == nullptr || !is_unused(*tube)) return;
  *tube = tubes_.back();
  tubes_.pop_back();
}

std::vector<Naive::Job*> Naive::jobs_in(const std::string& tube, JobState state) {
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

std::vector<Naive::Job*> Naive::held_by(ConnId conn) {
  std::vector<Job*> jobs;
  for (auto& [id, job] : jobs_) {
    if (job.row.state == JobState::Reserved && job.holder == conn) jobs.push_back(&job);
  }
  std::stable_sort(jobs.begin(), jobs.end(),
                   [](const Job* a, const Job* b) { return a->deadline < b->deadline; });
  return jobs;
}

Naive::Job* Naive::best(const std::vector<std::string>& tubes, bool also_paused) {
  Job* best = nullptr;
  for (const std::string& name : tubes) {
    if (find_tube(name)->pause > 0 && !also_paused) continue;
    for (Job* job : jobs_in(name, JobState::Ready)) {
      if (best == nullptr || std::tuple(job->row.priority, job->row.id) <
                                 std::tuple(best->row.priority, best->row.id)) {
        best = job;
      }
    }
  }
  return best;
}

bool Naive::deadline_soon(ConnId conn) {
  const std::vector<Job*> held = held_by(conn);
  return !held.empty() && now_ >= held.front()->deadline - second;
}

void Naive::make_ready(Job& job) {
  job.row.state = JobState::Ready;
  job.row.order = 0;
  job.holder = 0;
  for (Tube& tube : tubes_) {
    if (tube.id == job.row.tube && tube.pause == 0) return serve_waiting(tube);
  }
}

void Naive::serve_waiting(Tube& tube) {
  const std::vector<Job*> ready = jobs_in(tube.name, JobState::Ready);
  Conn* longest = nullptr;
  for (auto& [id, conn] : conns_) {
    if (!conn.waiting || !contains(conn.watched, tube.name)) continue;
    if (longest == nullptr || conn.waiting_since < longest->waiting_since) longest = &conn;
  }
  if (ready.empty() || longest == nullptr) return;
  longest->waiting = false;
  reserve(*longest, *ready.front());
  serve_waiting(tube);
}

void Naive::reserve(Conn& conn, Job& job) {
  ++job.row.reserves;
  job.row.state = JobState::Reserved;
  job.row.order = 0;
  job.holder = conn.id;
  job.deadline = now_ + job.row.ttr_s * second;
  answer_job(conn.id, JobReply::Kind::Reserved, job);
}

void Naive::bury(Job& job) {
  ++job.row.buries;
  job.row.state = JobState::Buried;
  job.row.order = next_bury_++;
  job.holder = 0;
}

void Naive::answer_job(ConnId conn, JobReply::Kind kind, const Job& job) {
  answer(conn, JobReply{kind, job.row.id, job.row.body_bytes});
}

std::optional<Nanos> Naive::conn_deadline(const Conn& conn) const {
  std::optional<Nanos> at;
  for (const auto& [id, job] : jobs_) {
    if (job.row.state != JobState::Reserved || job.holder != conn.id) continue;
    const Nanos due = job.deadline - (conn.waiting ? second : 0);
    if (!at || due < *at) at = due;
  }
  if (conn.waiting && conn.until && (!at || *conn.until < *at)) at = conn.until;
  return at;
}

std::optional<Nanos> Naive::next_deadline() const {
  std::optional<Nanos> next;
  const auto consider = [&next](std::optional<Nanos> at) {
    if (at && (!next || *at < *next)) next = at;
  };
  for (const auto& [id, job] : jobs_) {
    if (job.row.state == JobState::Delayed) consider(job.deadline);
  }
  for (const Tube& tube : tubes_) {
    if (tube.pause > 0) consider(tube.pause_until);
  }
  for (const auto& [id, conn] : conns_) consider(conn_deadline(conn));
  return next;
}

void Naive::tick() {
  for (;;) {
    Job* due = nullptr;
    for (auto& [id, job] : jobs_) {
      if (job.row.state != JobState::Delayed || job.deadline > now_) continue;
      if (due == nullptr || job.deadline < due->deadline) due = &job;
    }
    if (due == nullptr) break;
    make_ready(*due);
  }
  tick_pauses();
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
      answer(due->id, deadline_soon(due->id) ? Word::DeadlineSoon : Word::TimedOut);
    }
    for (Job* job : held_by(due->id)) {
      if (job->deadline > now_) continue;
      ++job->row.timeouts;
      ++timeouts_;
      make_ready(*job);
    }
  }
}

void Naive::tick_pauses() {
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

StateCounts Naive::count(const std::string* tube) {
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

void Naive::reopen(JobId next_id, Nanos now) {
  now_ = now;
  conns_.clear();
  conn_ids_.clear();
  std::erase_if(tubes_, [this](const Tube& tube) { return is_unused(tube); });
  // Tubes come back by number, and those that are not used are gone from the list.
  std::sort(tubes_.begin(), tubes_.end(), [](const Tube& a, const Tube& b) { return a.id < b.id; });
  for (Tube& tube : tubes_) {
    tube.deletes = tube.pauses = tube.total = 0;
    for (const auto& [id, job] : jobs_) tube.total += job.row.tube == tube.id;
  }
  for (auto& [id, job] : jobs_) {
    if (job.row.state == JobState::Reserved) make_ready(job);
  }
  commands_ = {};
  timeouts_ = total_conns_ = damaged_ = 0;
  total_jobs_ = jobs_.size();
  draining_ = false;
  next_id_ = next_id;
  next_bury_ = 1;
  for (const auto& [id, job] : jobs_) {
    if (job.row.state == JobState::Buried) next_bury_ = std::max(next_bury_, job.row.order + 1);
  }
  tick();
}

engine::Image Naive::image() const {
  engine::Image image;
  for (const auto& [id, job] : jobs_) {
    JobRow row = job.row;
    if (row.state == JobState::Delayed) row.order = static_cast<uint64_t>(job.deadline);
    if (row.state == JobState::Ready || row.state == JobState::Reserved) row.order = 0;
    image.jobs.emplace(id, row);
  }
  for (const Tube& tube : tubes_) {
    if (tube.stored) image.tubes.emplace(tube.id, tube.name);
    if (tube.pause > 0) image.pauses[tube.id] = {tube.pause, tube.pause_until};
  }
  return image;
}

}  // namespace perennial::model
