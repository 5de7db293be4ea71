#include "tests/simulation/possible_states.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <variant>

#include <fmt/format.h>

namespace perennial::simulation {
namespace {

constexpr size_t candidates_max = 500;

constexpr Nanos seconds(uint32_t count) {
  return static_cast<Nanos>(count) * nanos_per_second;
}

bool has_applied(const PossibleState& candidate, OpId op) {
  return std::ranges::any_of(candidate.applied, [op](const auto& one) { return one.op == op; });
}

void add(std::vector<PossibleState>& set, PossibleState candidate) {
  if (std::ranges::find(set, candidate) == set.end()) set.push_back(std::move(candidate));
}

// Adds the states that this one may have after a crash.
void add_crashed(std::vector<PossibleState>& set, const PossibleState& candidate) {
  const JobState last = candidate.state == JobState::Reserved ? JobState::Ready : candidate.state;
  for (const JobState state : {candidate.before, last}) {
    PossibleState found{.exists = candidate.exists,
                        .state = state,
                        .priority = candidate.priority,
                        .before = state};
    if (state == JobState::Delayed) found.due = candidate.due;
    if (state == JobState::Buried) found.buried = candidate.buried;
    add(set, std::move(found));
  }
}

// The effect of one command on a job. Returns its outcome, or none if the command cannot concern
// this job now.
struct Apply {
  const Op& op;
  const std::string& tube;
  uint32_t ttr_s;
  PossibleState& job;

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
    job = PossibleState{.applied = std::move(applied)};
    return done;
  }
  Outcome operator()(const Release& release) const {
    if (!held()) return Effect{};
    job.priority = release.priority.priority.value_or(job.priority);
    delay(release.delay_s);
    return done;
  }
  Outcome operator()(const Bury& bury) const {
    if (!held()) return Effect{};
    job.priority = bury.priority.priority.value_or(job.priority);
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
  // Commands that name no job.
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

std::string describe(const PossibleState& candidate) {
  if (!candidate.exists) return "(none)";
  std::string text = fmt::format("({} pri {}", state_name(candidate.state), candidate.priority);
  if (candidate.state == JobState::Reserved) text += fmt::format(" by {}", candidate.holder);
  if (candidate.state == JobState::Delayed) text += fmt::format(" until {}", candidate.due.from);
  if (candidate.before != candidate.state)
    text += fmt::format(" before {}", state_name(candidate.before));
  return text + ")";
}

PossibleStates::PossibleStates(uint32_t ttr_s, std::string tube)
    : ttr_s_(std::max(ttr_s, 1u)), tube_(std::move(tube)) {}

void PossibleStates::add_successors(const PossibleState& candidate, const Moment& moment,
                                    std::vector<PossibleState>& out) const {
  if (candidate.exists && candidate.state == JobState::Delayed &&
      moment.now >= candidate.due.from) {
    PossibleState ready = candidate;
    ready.state = JobState::Ready;
    add(out, std::move(ready));
  }
  const bool is_held = candidate.exists && candidate.state == JobState::Reserved;
  if (is_held && (moment.now >= candidate.expires_from || !moment.is_open(candidate.holder))) {
    PossibleState ready = candidate;
    ready.state = JobState::Ready;
    ready.holder = 0;
    ready.expires_from = 0;
    add(out, std::move(ready));
  }
  const auto apply = [&](const Op& op) {
    if (has_applied(candidate, op.id) || !is_next(op, candidate)) return;
    PossibleState next = candidate;
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

// The commands of one connection take effect in the order in which they were sent. A command that
// names no job need not affect this one.
bool PossibleStates::is_next(const Op& op, const PossibleState& candidate) const {
  const bool is_too_late = std::ranges::any_of(candidate.applied, [&op](const Applied& one) {
    return one.conn == op.conn && one.op > op.id;
  });
  return !is_too_late && std::ranges::none_of(pending_, [&](const Op* one) {
    return one->conn == op.conn && one->id < op.id && !has_applied(candidate, one->id);
  });
}

void PossibleStates::add_all_successors(const Moment& moment) {
  if (given_up_) return;
  // The loop visits the states that it appends, too, until no new one is found.
  for (size_t i = 0; i < candidates_.size(); ++i) {
    const PossibleState candidate = candidates_[i];
    add_successors(candidate, moment, candidates_);
    if (candidates_.size() > candidates_max) return give_up();
  }
  if (keeps_past_) remember();
}

void PossibleStates::remember() {
  for (const PossibleState& candidate : candidates_) add_crashed(past_, candidate);
}

// From here on every state is possible, so nothing contradicts.
void PossibleStates::give_up() {
  given_up_ = true;
  candidates_ = {PossibleState{}};
  for (const JobState state :
       {JobState::Ready, JobState::Reserved, JobState::Delayed, JobState::Buried}) {
    candidates_.push_back({.exists = true, .state = state, .before = state});
  }
}

const std::vector<PossibleState>& PossibleStates::advance_to(const Moment& moment) {
  add_all_successors(moment);
  return candidates_;
}

bool PossibleStates::answered(const Op& op, const Effect& effect, const Moment& moment) {
  add_all_successors(moment);
  if (given_up_) {
    forget_op(op);
    return true;
  }
  const bool is_refused_put = std::holds_alternative<Put>(op.command) && !effect.done;
  std::erase_if(candidates_, [&](const PossibleState& candidate) {
    if (is_refused_put) return has_applied(candidate, op.id);
    return std::ranges::none_of(candidate.applied, [&](const Applied& one) {
      return one.op == op.id && one.effect == effect;
    });
  });
  for (PossibleState& candidate : candidates_) {
    const Put* const put = std::get_if<Put>(&op.command);
    const Release* const release = std::get_if<Release>(&op.command);
    const uint32_t delay_s = put != nullptr       ? put->delay_s
                             : release != nullptr ? release->delay_s
                                                  : 0;
    if (candidate.due.op == op.id) candidate.due.to = moment.now + seconds(delay_s);
    if (candidate.buried.op == op.id) candidate.buried.to = static_cast<int64_t>(moment.place);
  }
  forget_op(op);
  return !candidates_.empty();
}

bool PossibleStates::not_taken(const Op& op, const Moment& moment) {
  add_all_successors(moment);
  std::erase_if(candidates_,
                [&](const PossibleState& candidate) { return has_applied(candidate, op.id); });
  return !candidates_.empty();
}

void PossibleStates::finish(const Op& op, const Moment& moment) {
  add_all_successors(moment);
  forget_op(op);
}

void PossibleStates::forget_op(const Op& op) {
  std::erase_if(pending_, [&op](const Op* one) { return one->id == op.id; });
  std::vector<PossibleState> kept;
  for (PossibleState& candidate : candidates_) {
    std::erase_if(candidate.applied, [&op](const auto& one) { return one.op == op.id; });
    add(kept, std::move(candidate));
  }
  candidates_ = std::move(kept);
}

void PossibleStates::crash(bool loses_unsynced, const Moment& moment) {
  add_all_successors(moment);
  pending_.clear();
  if (given_up_) return;
  std::vector<PossibleState> after_crash = loses_unsynced ? past_ : std::vector<PossibleState>();
  for (const PossibleState& candidate : candidates_) add_crashed(after_crash, candidate);
  candidates_ = std::move(after_crash);
  past_.clear();
}

bool PossibleStates::surely_exists() const {
  return std::ranges::all_of(candidates_,
                             [](const PossibleState& candidate) { return candidate.exists; });
}

bool PossibleStates::surely_gone() const {
  return std::ranges::none_of(candidates_,
                              [](const PossibleState& candidate) { return candidate.exists; }) &&
         pending_.empty();
}

bool PossibleStates::keep(const std::function<bool(const PossibleState&)>& is_possible) {
  if (given_up_) return true;
  std::erase_if(candidates_,
                [&](const PossibleState& candidate) { return !is_possible(candidate); });
  return !candidates_.empty();
}

}  // namespace perennial::simulation
