#include "tests/simulation/possible_states.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "engine/types/note.h"

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

// Nothing of a job that is gone is different from another one.
PossibleState gone(std::vector<Applied>&& applied) {
  PossibleState none;
  none.applied = std::move(applied);
  return none;
}

bool has_unknown_id(const PossibleState& candidate) {
  return (candidate.exists || candidate.ended) && candidate.id == 0;
}

// Adds the states that this one may have after a crash.
void add_crashed(std::vector<PossibleState>& set, const PossibleState& candidate) {
  if (!candidate.exists) {
    PossibleState found = candidate;
    found.lapsed = false;
    found.applied.clear();
    add(set, candidate.ended ? std::move(found) : gone({}));
    if (!candidate.lapsed) return;
  }
  const JobState last = candidate.state == JobState::Reserved ? JobState::Ready : candidate.state;
  for (const JobState state : {candidate.before, last}) {
    PossibleState found{.exists = true,
                        .id = candidate.id,
                        .was = candidate.was,
                        .made = candidate.made,
                        .made_before = candidate.made_before,
                        .expires = candidate.expires,
                        .state = state,
                        .priority = candidate.priority,
                        .notes = candidate.notes,
                        .before = state};
    if (state == JobState::Delayed) found.due = candidate.due;
    if (state == JobState::Buried) found.buried = candidate.buried;
    add(set, std::move(found));
  }
}

// No command of before the crash takes effect any more.
void close_windows(PossibleState& found, const Moment& moment) {
  if (!found.exists && !found.ended) return;
  found.made = 0;
  found.made_before = std::min(found.made_before, static_cast<int64_t>(moment.place));
  if (!found.ended) return;
  found.ended->place.to = std::min(found.ended->place.to, static_cast<int64_t>(moment.place));
  found.ended->at.to = std::min(found.ended->at.to, moment.now);
}

// What was made by this command has this id. Other unanswered commands have met it, too.
void name(PossibleState& candidate, OpId made, JobId id) {
  const bool is_there = candidate.exists || candidate.ended;
  if (is_there && candidate.made == made) candidate.id = id;
  for (Applied& one : candidate.applied) {
    if (one.made == made && one.effect.done) one.effect.id = id;
  }
}

// The effect of one command on a job. Returns its outcome, or none if the command cannot concern
// this job now.
struct Apply {
  const Op& op;
  const std::string& tube;
  uint32_t ttr_s;
  const Moment& moment;
  // Where it is not known what the tube keeps, one of two outcomes: `other` chooses, and
  // `has_other` is set.
  bool other;
  bool& has_other;
  PossibleState& job;

  using Outcome = std::optional<Effect>;
  static constexpr Effect done = {.done = true};

  // Which of two things is so, one of which may be.
  bool choose(bool may_be, bool may_not_be) const {
    if (!may_be || !may_not_be) return may_be;
    has_other = true;
    return !other;
  }
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
  void kick() const {
    promise(JobState::Ready);
    job.expires = {};
  }
  void bury_at_end() const {
    promise(JobState::Buried);
    job.buried = {.from = static_cast<int64_t>(op.id), .to = never, .op = op.id};
  }
  Outcome end(JobEnd how) const {
    const Keeping& keeping = moment.keeping;
    const bool keeps = choose(keeping.may_keep(tube, op.id, op.sent),  // One of them is so.
                              keeping.may_drop(tube, op.id, op.sent));
    if (!keeps) {
      job = gone(std::move(job.applied));
      return done;
    }
    job.exists = false;
    job.ended = Ending{.how = how,
                       .place = {.from = static_cast<int64_t>(op.id), .to = never, .op = op.id},
                       .at = {.from = op.sent, .to = never, .op = op.id}};
    if (job.state == JobState::Reserved) promise(JobState::Ready);
    return done;
  }
  // Whether it has ended, and the tube shows it.
  bool is_shown() const {
    if (!job.ended) return false;
    return choose(!moment.keeping.surely_over(tube, *job.ended, op.id, op.sent),
                  moment.keeping.may_be_over(tube, *job.ended, moment.now));
  }
  void put_back() const {
    const bool has_expired = job.ended->how == JobEnd::Expired || job.expires.to <= op.sent;
    if (has_expired) job.expires = {};
    job.exists = true;
    job.ended.reset();
    job.lapsed = false;
    job.was = job.id == 0 ? unknown_id : job.id;
    job.id = 0;
    job.made = op.id;
    job.made_before = never;
    job.before = job.state;  // A buried one is in its old place, as `buried` says.
  }

  Outcome operator()(const Put& put) const {
    CHECK(!job.exists);
    job.exists = true;
    job.made = op.id;
    job.priority = put.priority;
    if (put.options && put.options->expire.nanos > 0) {
      job.expires = {.from = op.sent + put.options->expire.nanos, .to = never, .op = op.id};
    }
    delay(put.delay_s);
    return done;
  }
  Outcome operator()(const Delete& deleted) const {
    const bool must_hold = deleted.only_held || job.state == JobState::Reserved;
    if (!job.exists || (must_hold && !held())) return Effect{};
    return end(JobEnd::Deleted);
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
    bury_at_end();
    return done;
  }
  Outcome operator()(const Touch&) const {
    if (!held()) return Effect{};
    job.expires_from = std::max(job.expires_from, op.sent + seconds(ttr_s));
    return done;
  }
  Outcome operator()(const KickJob&) const {
    if (!can_be_kicked()) return Effect{};
    kick();
    return done;
  }
  Outcome operator()(const ReserveJob&) const {
    if (!job.exists || job.state == JobState::Reserved) return Effect{};
    // One whose time is over may still be there: a turn has its limits. It is not given by its id.
    const bool may_be_over = job.expires.from != 0 && moment.now >= job.expires.from;
    if (choose(may_be_over, true)) return Effect{};
    reserve();
    return done;
  }
  Outcome operator()(const Peek&) const { return Effect{.done = job.exists}; }
  Outcome operator()(const StatsJob&) const {
    if (!job.exists) return Effect{};
    return Effect{.done = true, .state = job.state, .priority = job.priority, .was = job.was};
  }
  Outcome operator()(const NoteJob& note) const {
    if (!job.exists || (note.only_held && !held())) return Effect{};
    std::vector<std::string>& texts = job.notes.texts;
    if (texts.size() == notes_max) texts.erase(texts.begin());
    texts.push_back(note.text);
    ++job.notes.had;
    return done;
  }
  Outcome operator()(const ListNotes&) const {
    if (!job.exists && !is_shown()) return Effect{};
    return Effect{.done = true, .notes = job.notes};
  }
  Outcome operator()(const PeekEnded&) const {
    if (!is_shown()) return Effect{};
    return Effect{.done = true,
                  .priority = job.priority,
                  .notes = {.had = job.notes.had},
                  .how = job.ended->how};
  }
  Outcome operator()(const RestoreJob&) const {
    if (!is_shown()) return Effect{};
    put_back();
    return done;
  }
  // Commands that name no job.
  Outcome operator()(const Reserve&) const { return take(); }
  Outcome operator()(const ReserveWithTimeout&) const { return take(); }
  Outcome operator()(const Kick&) const {
    if (op.tube != tube || !can_be_kicked()) return std::nullopt;
    kick();
    return done;
  }
  Outcome operator()(const FlushTube& flush) const {
    if (flush.tube != tube || !job.exists) return std::nullopt;
    return end(JobEnd::Flushed);
  }
  Outcome operator()(const RestoreTube& restore) const {
    if (restore.tube != tube || !job.ended || !restore.how.holds(job.ended->how))
      return std::nullopt;
    const Nanos since = restore.since.nanos;
    const bool is_recent = since == 0 || job.ended->at.to >= op.sent - since;
    if (!is_recent || !is_shown()) return std::nullopt;
    put_back();
    return done;
  }
  template <typename Other>
  Outcome operator()(const Other&) const {
    return std::nullopt;
  }
};

}  // namespace

std::string describe(const PossibleState& candidate) {
  if (!candidate.exists && !candidate.ended) return candidate.lapsed ? "(expired)" : "(none)";
  std::string text = fmt::format("({} pri {}", state_name(candidate.state), candidate.priority);
  if (candidate.ended) {
    text +=
        fmt::format(" {} at {} and kept", name_of(candidate.ended->how), candidate.ended->at.from);
  }
  if (candidate.id != 0) text += fmt::format(" id {}", candidate.id);
  if (candidate.was != 0) text += " put back";
  if (candidate.state == JobState::Reserved) text += fmt::format(" by {}", candidate.holder);
  if (candidate.state == JobState::Delayed) text += fmt::format(" until {}", candidate.due.from);
  if (candidate.before != candidate.state)
    text += fmt::format(" before {}", state_name(candidate.before));
  if (candidate.notes.had > 0) text += fmt::format(" with {} notes", candidate.notes.had);
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
  if (candidate.ended && moment.keeping.may_be_over(tube_, *candidate.ended, moment.now)) {
    add(out, gone(std::vector(candidate.applied)));
  }
  add_expired(candidate, moment, out);
  const auto apply = [&](const Op& op, bool other) {
    bool has_other = false;
    if (has_applied(candidate, op.id) || !is_next(op, candidate)) return has_other;
    PossibleState next = candidate;
    std::optional<Effect> effect = Effect{};
    if (op.named == 0 || fits_id(candidate, op.named)) {
      if (op.named != 0 && (next.exists || next.ended)) next.id = op.named;
      effect = std::visit(Apply{.op = op,
                                .tube = tube_,
                                .ttr_s = ttr_s_,
                                .moment = moment,
                                .other = other,
                                .has_other = has_other,
                                .job = next},
                          op.command);
    }
    if (!effect) return has_other;
    // That an unknown id is this one is known only of what was done.
    if (!effect->done) next = candidate;
    if (effect->done) effect->id = next.id;
    add_applied(std::move(next), op, *effect, out);
    // It has been back, and its id may be another one than the one that the command names.
    const bool is_unknown = op.named != 0 && candidate.id == 0 && candidate.was != 0;
    if (is_unknown && effect->done) add_applied(candidate, op, Effect{}, out);
    return has_other;
  };
  const auto apply_all = [&](std::span<const Op* const> ops) {
    for (const Op* op : ops) {
      if (apply(*op, false)) apply(*op, true);
    }
  };
  apply_all(pending_);
  apply_all(moment.wide);
}

void PossibleStates::add_applied(PossibleState next, const Op& op, const Effect& effect,
                                 std::vector<PossibleState>& out) const {
  const auto place = std::ranges::upper_bound(next.applied, op.id, {}, &Applied::op);
  next.applied.insert(place, {.op = op.id, .conn = op.conn, .effect = effect, .made = next.made});
  add(out, std::move(next));
}

// Where its place is not known, its time says what ended behind it.
void PossibleStates::add_expired(const PossibleState& candidate, const Moment& moment,
                                 std::vector<PossibleState>& out) const {
  const bool may_expire =
      candidate.exists && candidate.expires.from != 0 && moment.now >= candidate.expires.from &&
      (candidate.state == JobState::Ready || candidate.state == JobState::Delayed);
  if (!may_expire) return;
  PossibleState expired = candidate;
  expired.exists = false;
  expired.lapsed = true;
  if (moment.keeping.may_drop(tube_, 0, candidate.expires.from)) add(out, expired);
  if (!moment.keeping.may_keep(tube_, 0, candidate.expires.from)) return;
  expired.ended = Ending{.how = JobEnd::Expired,
                         .place = {.to = never},
                         .at = {.from = candidate.expires.from, .to = never}};
  // One that is released behind its time ends at once, and is not delayed before.
  if (expired.state == JobState::Delayed) {
    PossibleState at_once = expired;
    at_once.state = at_once.before = JobState::Ready;
    at_once.due = {};
    add(out, std::move(at_once));
  }
  add(out, std::move(expired));
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
  candidates_.push_back({.ended = Ending{}});
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
      return one.op == op.id && matches(one.effect, effect);
    });
  });
  for (PossibleState& candidate : candidates_) {
    for (const Applied& one : candidate.applied) {
      if (one.op != op.id || effect.id == 0) continue;
      name_past(one.made, effect.id);
      name(candidate, one.made, effect.id);
    }
  }
  if (effect.done && effect.id != 0 && !knows(effect.id)) known_.push_back(effect.id);
  decide_ends(op, moment);
  forget_op(op);
  return !candidates_.empty();
}

// A state in which an unknown id is told must not be one that was told before.
bool PossibleStates::matches(const Effect& possible, const Effect& told) const {
  const bool is_same_id = possible.id == told.id || possible.id == 0 || told.id == 0;
  if (possible.id == 0 && told.id != 0 && knows(told.id)) return false;
  const bool is_same_past =
      possible.was == told.was || (possible.was == unknown_id && told.was != 0);
  Effect same = possible;
  same.id = told.id;
  same.was = told.was;
  return is_same_id && is_same_past && same == told;
}

// The command was answered: what it has caused was before the present.
void PossibleStates::decide_ends(const Op& op, const Moment& moment) {
  const auto place = static_cast<int64_t>(moment.place);
  for (PossibleState& candidate : candidates_) {
    const Put* const put = std::get_if<Put>(&op.command);
    const Release* const release = std::get_if<Release>(&op.command);
    const uint32_t delay_s = put != nullptr       ? put->delay_s
                             : release != nullptr ? release->delay_s
                                                  : 0;
    if (candidate.due.op == op.id) candidate.due.to = moment.now + seconds(delay_s);
    if (candidate.buried.op == op.id) candidate.buried.to = place;
    if (candidate.made == op.id) candidate.made_before = place;
    if (candidate.expires.op == op.id && put != nullptr && put->options)
      candidate.expires.to = moment.now + seconds(put->delay_s) + put->options->expire.nanos;
    if (!candidate.ended) continue;
    const bool has_shown = std::holds_alternative<PeekEnded>(op.command) &&
                           std::ranges::any_of(candidate.applied, [&op](const Applied& one) {
                             return one.op == op.id && one.effect.done;
                           });
    if (has_shown) candidate.lapsed = false;
    if (candidate.ended->place.op != op.id && !has_shown) continue;
    candidate.ended->place.to = std::min(candidate.ended->place.to, place);
    candidate.ended->at.to = std::min(candidate.ended->at.to, moment.now);
  }
}

bool PossibleStates::walked(const Op& op, std::optional<bool> took, const Moment& moment) {
  add_all_successors(moment);
  if (given_up_) return true;
  std::erase_if(candidates_, [&](const PossibleState& candidate) {
    const bool is_taken = has_applied(candidate, op.id);
    return is_taken ? took == false : took == true || is_missed(op, candidate, moment);
  });
  decide_ends(op, moment);
  forget_op(op);
  return !candidates_.empty();
}

// Whether a job in this state, in which the command has not taken it, was there all the time.
bool PossibleStates::is_missed(const Op& op, const PossibleState& candidate,
                               const Moment& moment) const {
  const auto sent = static_cast<int64_t>(op.id);
  if (const auto* const flush = std::get_if<FlushTube>(&op.command)) {
    return flush->tube == tube_ && candidate.exists && candidate.made_before <= sent;
  }
  const auto* const restore = std::get_if<RestoreTube>(&op.command);
  if (restore == nullptr || restore->tube != tube_ || !candidate.ended) return false;
  const Ending& ending = *candidate.ended;
  const Nanos since = restore->since.nanos;
  const bool is_wanted = restore->how.holds(ending.how) && ending.place.to <= sent &&
                         (since == 0 || ending.at.from >= moment.now - since);
  return is_wanted && !moment.keeping.may_be_over(tube_, ending, moment.now);
}

bool PossibleStates::surely_taken(const Op& op, const Moment& moment) const {
  return !given_up_ && std::ranges::all_of(candidates_, [&](const PossibleState& candidate) {
    return has_applied(candidate, op.id) || is_missed(op, candidate, moment);
  });
}

bool PossibleStates::may_be_taken(const Op& op) const {
  return given_up_ || std::ranges::any_of(candidates_, [&op](const PossibleState& candidate) {
           return has_applied(candidate, op.id);
         });
}

bool PossibleStates::not_taken(const Op& op, const Moment& moment) {
  add_all_successors(moment);
  std::erase_if(candidates_,
                [&](const PossibleState& candidate) { return has_applied(candidate, op.id); });
  return !candidates_.empty();
}

void PossibleStates::finish(const Op& op, const Moment& moment) {
  add_all_successors(moment);
  for (PossibleState& candidate : candidates_) {
    if (candidate.made == op.id) candidate.made_before = static_cast<int64_t>(moment.place);
    if (!candidate.ended || candidate.ended->place.op != op.id) continue;
    candidate.ended->place.to = static_cast<int64_t>(moment.place);
    candidate.ended->at.to = moment.now;
  }
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
  candidates_.clear();
  for (PossibleState& candidate : after_crash) {
    close_windows(candidate, moment);
    add(candidates_, std::move(candidate));
  }
  past_.clear();
  had_no_id_ = had_no_id_ || std::ranges::any_of(candidates_, has_unknown_id);
}

bool PossibleStates::surely_exists() const {
  return std::ranges::all_of(candidates_,
                             [](const PossibleState& candidate) { return candidate.exists; });
}

bool PossibleStates::surely_exists_since(OpId op) const {
  return std::ranges::all_of(candidates_, [op](const PossibleState& candidate) {
    return candidate.exists && candidate.made_before <= static_cast<int64_t>(op);
  });
}

bool PossibleStates::surely_gone() const {
  return std::ranges::none_of(
             candidates_,
             [](const PossibleState& candidate) { return candidate.exists || candidate.ended; }) &&
         pending_.empty();
}

bool PossibleStates::may_exist_as(JobId id) const {
  return given_up_ || std::ranges::any_of(candidates_, [&](const PossibleState& candidate) {
           return candidate.exists && fits_id(candidate, id);
         });
}

bool PossibleStates::may_have_ended_as(JobId id) const {
  return given_up_ || std::ranges::any_of(candidates_, [&](const PossibleState& candidate) {
           return candidate.ended && fits_id(candidate, id);
         });
}

bool PossibleStates::may_have_ended() const {
  return std::ranges::any_of(
      candidates_, [](const PossibleState& candidate) { return candidate.ended.has_value(); });
}

bool PossibleStates::surely_ended_before(const PossibleStates& other) const {
  return std::ranges::all_of(candidates_, [&other](const PossibleState& mine) {
    return mine.ended && std::ranges::all_of(other.candidates_, [&](const PossibleState& its) {
             return its.ended && mine.ended->place.to <= its.ended->place.from;
           });
  });
}

// Also where it is gone before the command that made it is answered.
bool PossibleStates::may_have_new_id() const {
  const auto has_none = [](const Applied& one) {
    return one.made != 0 && one.effect.done && one.effect.id == 0;
  };
  return given_up_ || had_no_id_ ||
         std::ranges::any_of(candidates_, [&](const PossibleState& candidate) {
           return has_unknown_id(candidate) || std::ranges::any_of(candidate.applied, has_none);
         });
}

bool PossibleStates::knows(JobId id) const {
  return std::ranges::find(known_, id) != known_.end();
}

bool PossibleStates::fits_id(const PossibleState& candidate, JobId id) const {
  return candidate.id == id || (candidate.id == 0 && !knows(id));
}

// A crash may bring back what this command has made, which has had this id all the time. Of what
// was made before an earlier crash it is not known which command has made it: it may be another
// one.
void PossibleStates::name_past(OpId made, JobId id) {
  const std::vector<PossibleState> before = past_;
  past_.clear();
  for (const PossibleState& candidate : before) {
    const bool is_meant = (candidate.exists || candidate.ended) && candidate.id == 0 &&
                          candidate.made == made && !knows(id);
    if (!is_meant || made == 0) add(past_, candidate);
    if (!is_meant) continue;
    PossibleState named = candidate;
    named.id = id;
    add(past_, std::move(named));
  }
}

void PossibleStates::take_id(JobId id) {
  for (PossibleState& candidate : candidates_) {
    if (!candidate.exists && !candidate.ended) continue;
    name_past(candidate.made, id);
    name(candidate, candidate.made, id);
  }
  if (!knows(id)) known_.push_back(id);
}

bool PossibleStates::keep(const std::function<bool(const PossibleState&)>& is_possible) {
  if (given_up_) return true;
  std::erase_if(candidates_,
                [&](const PossibleState& candidate) { return !is_possible(candidate); });
  return !candidates_.empty();
}

}  // namespace perennial::simulation
