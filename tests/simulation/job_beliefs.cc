#include "tests/simulation/job_beliefs.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <variant>

#include <fmt/format.h>

namespace perennial::simulation {
namespace {

constexpr size_t beliefs_max = 500;

constexpr Nanos seconds(uint32_t count) {
  return static_cast<Nanos>(count) * nanos_per_second;
}

bool has_applied(const Belief& belief, OpId op) {
  return std::ranges::any_of(belief.applied, [op](const auto& one) { return one.op == op; });
}

void add(std::vector<Belief>& set, Belief belief) {
  if (std::ranges::find(set, belief) == set.end()) set.push_back(std::move(belief));
}

// What a crash may make of it.
void add_crashed(std::vector<Belief>& set, const Belief& belief) {
  const JobState last = belief.state == JobState::Reserved ? JobState::Ready : belief.state;
  for (const JobState state : {belief.before, last}) {
    Belief found{
        .exists = belief.exists, .state = state, .priority = belief.priority, .before = state};
    if (state == JobState::Delayed) found.due = belief.due;
    if (state == JobState::Buried) found.buried = belief.buried;
    add(set, std::move(found));
  }
}

// What one command does to a job. Returns what it comes to; none: it cannot concern this job now.
struct Apply {
  const Op& op;
  const std::string& tube;
  uint32_t ttr_s;
  Belief& job;

  using Outcome = std::optional<Effect>;
  static constexpr Effect done = {.done = true};

  bool held() const {
    return job.exists && job.state == JobState::Reserved && job.holder == op.conn;
  }
  void promise(JobState to) const {
    job.state = job.before = to;
    job.holder = 0;
    job.expires_from = 0;
    job.due = job.buried = {};
  }
  void delay(uint32_t delay_s) const {
    promise(delay_s > 0 ? JobState::Delayed : JobState::Ready);
    if (delay_s > 0) job.due = {.from = op.sent + seconds(delay_s), .to = never, .op = op.id};
  }
  void reserve() const {
    job.state = JobState::Reserved;
    job.holder = op.conn;
    job.expires_from = op.sent + seconds(ttr_s);
  }
  Outcome take() const {
    if (!job.exists || job.state != JobState::Ready) return std::nullopt;
    reserve();
    return done;
  }
  bool can_be_kicked() const {
    return job.exists && (job.state == JobState::Buried || job.state == JobState::Delayed);
  }

  Outcome operator()(const Put& put) const {
    CHECK(!job.exists);
    job.exists = true;
    job.priority = put.priority;
    delay(put.delay_s);
    return done;
  }
  Outcome operator()(const Delete&) const {
    if (!job.exists || (job.state == JobState::Reserved && !held())) return Effect{};
    std::vector<Applied> applied = std::move(job.applied);
    job = Belief{.applied = std::move(applied)};
    return done;
  }
  Outcome operator()(const Release& release) const {
    if (!held()) return Effect{};
    job.priority = release.priority;
    delay(release.delay_s);
    return done;
  }
  Outcome operator()(const Bury& bury) const {
    if (!held()) return Effect{};
    job.priority = bury.priority;
    promise(JobState::Buried);
    job.buried = {.from = static_cast<int64_t>(op.id), .to = never, .op = op.id};
    return done;
  }
  Outcome operator()(const Touch&) const {
    if (!held()) return Effect{};
    job.expires_from = std::max(job.expires_from, op.sent + seconds(ttr_s));
    return done;
  }
  Outcome operator()(const KickJob&) const {
    if (!can_be_kicked()) return Effect{};
    promise(JobState::Ready);
    return done;
  }
  Outcome operator()(const ReserveJob&) const {
    if (!job.exists || job.state == JobState::Reserved) return Effect{};
    reserve();
    return done;
  }
  Outcome operator()(const Peek&) const { return Effect{.done = job.exists}; }
  Outcome operator()(const StatsJob&) const {
    if (!job.exists) return Effect{};
    return Effect{.done = true, .state = job.state, .priority = job.priority};
  }
  // Those that name no job.
  Outcome operator()(const Reserve&) const { return take(); }
  Outcome operator()(const ReserveWithTimeout&) const { return take(); }
  Outcome operator()(const Kick&) const {
    if (op.tube != tube || !can_be_kicked()) return std::nullopt;
    promise(JobState::Ready);
    return done;
  }
  template <typename Other>
  Outcome operator()(const Other&) const {
    return std::nullopt;
  }
};

}  // namespace

std::string describe(const Belief& belief) {
  if (!belief.exists) return "(none)";
  std::string text = fmt::format("({} pri {}", state_name(belief.state), belief.priority);
  if (belief.state == JobState::Reserved) text += fmt::format(" by {}", belief.holder);
  if (belief.state == JobState::Delayed) text += fmt::format(" until {}", belief.due.from);
  if (belief.before != belief.state) text += fmt::format(" before {}", state_name(belief.before));
  return text + ")";
}

JobBeliefs::JobBeliefs(uint32_t ttr_s, std::string tube)
    : ttr_s_(std::max(ttr_s, 1u)), tube_(std::move(tube)) {}

void JobBeliefs::add_successors(const Belief& belief, const Moment& moment,
                                std::vector<Belief>& out) const {
  if (belief.exists && belief.state == JobState::Delayed && moment.now >= belief.due.from) {
    Belief ready = belief;
    ready.state = JobState::Ready;
    add(out, std::move(ready));
  }
  const bool is_held = belief.exists && belief.state == JobState::Reserved;
  if (is_held && (moment.now >= belief.expires_from || !moment.is_open(belief.holder))) {
    Belief ready = belief;
    ready.state = JobState::Ready;
    ready.holder = 0;
    ready.expires_from = 0;
    add(out, std::move(ready));
  }
  const auto apply = [&](const Op& op) {
    if (has_applied(belief, op.id) || !is_next(op, belief)) return;
    Belief next = belief;
    const auto effect =
        std::visit(Apply{.op = op, .tube = tube_, .ttr_s = ttr_s_, .job = next}, op.command);
    if (!effect) return;
    const auto place = std::ranges::upper_bound(next.applied, op.id, {}, &Applied::op);
    next.applied.insert(place, {.op = op.id, .conn = op.conn, .effect = *effect});
    add(out, std::move(next));
  };
  for (const Op* op : pending_) apply(*op);
  for (const Op* op : moment.wide) apply(*op);
}

// The commands of one connection take effect in the order in which they were sent. Those that name
// no job may pass this one over.
bool JobBeliefs::is_next(const Op& op, const Belief& belief) const {
  const bool is_too_late = std::ranges::any_of(
      belief.applied, [&op](const Applied& one) { return one.conn == op.conn && one.op > op.id; });
  return !is_too_late && std::ranges::none_of(pending_, [&](const Op* one) {
    return one->conn == op.conn && one->id < op.id && !has_applied(belief, one->id);
  });
}

void JobBeliefs::settle(const Moment& moment) {
  if (given_up_) return;
  // The list grows while it is walked.
  for (size_t i = 0; i < beliefs_.size(); ++i) {
    const Belief belief = beliefs_[i];
    add_successors(belief, moment, beliefs_);
    if (beliefs_.size() > beliefs_max) return give_up();
  }
  if (keeps_past_) remember();
}

void JobBeliefs::remember() {
  for (const Belief& belief : beliefs_) add_crashed(past_, belief);
}

// From here on anything may be true.
void JobBeliefs::give_up() {
  given_up_ = true;
  beliefs_ = {Belief{}};
  for (const JobState state :
       {JobState::Ready, JobState::Reserved, JobState::Delayed, JobState::Buried}) {
    beliefs_.push_back({.exists = true, .state = state, .before = state});
  }
}

const std::vector<Belief>& JobBeliefs::settled(const Moment& moment) {
  settle(moment);
  return beliefs_;
}

bool JobBeliefs::told(const Op& op, const Effect& effect, const Moment& moment) {
  settle(moment);
  if (given_up_) {
    forget_op(op);
    return true;
  }
  const bool is_refused_put = std::holds_alternative<Put>(op.command) && !effect.done;
  std::erase_if(beliefs_, [&](const Belief& belief) {
    if (is_refused_put) return has_applied(belief, op.id);
    return std::ranges::none_of(belief.applied, [&](const Applied& one) {
      return one.op == op.id && one.effect == effect;
    });
  });
  for (Belief& belief : beliefs_) {
    const Put* const put = std::get_if<Put>(&op.command);
    const Release* const release = std::get_if<Release>(&op.command);
    const uint32_t delay_s = put != nullptr       ? put->delay_s
                             : release != nullptr ? release->delay_s
                                                  : 0;
    if (belief.due.op == op.id) belief.due.to = moment.now + seconds(delay_s);
    if (belief.buried.op == op.id) belief.buried.to = static_cast<int64_t>(moment.place);
  }
  forget_op(op);
  return !beliefs_.empty();
}

bool JobBeliefs::not_taken(const Op& op, const Moment& moment) {
  settle(moment);
  std::erase_if(beliefs_, [&](const Belief& belief) { return has_applied(belief, op.id); });
  return !beliefs_.empty();
}

void JobBeliefs::finish(const Op& op, const Moment& moment) {
  settle(moment);
  forget_op(op);
}

void JobBeliefs::forget_op(const Op& op) {
  std::erase_if(pending_, [&op](const Op* one) { return one->id == op.id; });
  std::vector<Belief> kept;
  for (Belief& belief : beliefs_) {
    std::erase_if(belief.applied, [&op](const auto& one) { return one.op == op.id; });
    add(kept, std::move(belief));
  }
  beliefs_ = std::move(kept);
}

void JobBeliefs::crash(bool loses_unsynced, const Moment& moment) {
  settle(moment);
  pending_.clear();
  if (given_up_) return;
  std::vector<Belief> possible = loses_unsynced ? past_ : std::vector<Belief>();
  for (const Belief& belief : beliefs_) add_crashed(possible, belief);
  beliefs_ = std::move(possible);
  past_.clear();
}

bool JobBeliefs::surely_exists() const {
  return std::ranges::all_of(beliefs_, [](const Belief& belief) { return belief.exists; });
}

bool JobBeliefs::surely_gone() const {
  return std::ranges::none_of(beliefs_, [](const Belief& belief) { return belief.exists; }) &&
         pending_.empty();
}

bool JobBeliefs::keep(const std::function<bool(const Belief&)>& is_possible) {
  if (given_up_) return true;
  std::erase_if(beliefs_, [&](const Belief& belief) { return !is_possible(belief); });
  return !beliefs_.empty();
}

}  // namespace perennial::simulation
