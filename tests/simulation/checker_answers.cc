// The part of Checker that judges answers.

#include <algorithm>
#include <optional>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "tests/simulation/checker.h"
#include "tests/support/reply_text.h"

namespace perennial::simulation {
namespace {

std::string text_of(const Op& op) {
  std::string text;
  std::visit(
      [&](const auto& command) {
        using Asked = std::decay_t<decltype(command)>;
        if constexpr (std::is_same_v<Asked, Put>) {
          text = fmt::format("put {} {} {} in {}", command.priority, command.delay_s, command.ttr_s,
                             op.tube);
        } else if constexpr (std::is_same_v<Asked, Malformed> || std::is_same_v<Asked, PutTooBig> ||
                             std::is_same_v<Asked, PutTrailingJunk> ||
                             std::is_same_v<Asked, PutNoCrlf>) {
          text = "a refused line";
        } else {
          wire::append_command(text, command);
          text.resize(text.size() - 2);
        }
      },
      op.command);
  return fmt::format("client {} at {}: {}", op.conn, op.sent, text);
}

std::string text_of(const wire::ClientReply& reply) {
  if (reply.is(Word::Ok)) return reply.text;
  return reply.facts.empty() ? describe(reply) : describe(reply) + " " + reply.facts;
}

// Whether the reply to a command that names a job reports success.
bool is_success(const Command& command, const wire::ClientReply& reply) {
  if (std::holds_alternative<Delete>(command)) return reply.is(Word::Deleted);
  if (std::holds_alternative<Release>(command)) return reply.is(Word::Released);
  if (std::holds_alternative<Bury>(command)) return reply.is(Word::Buried);
  if (std::holds_alternative<Touch>(command)) return reply.is(Word::Touched);
  if (std::holds_alternative<KickJob>(command)) return reply.is(Word::Kicked);
  if (std::holds_alternative<ReserveJob>(command)) return reply.is(Word::Reserved);
  if (std::holds_alternative<Peek>(command)) return reply.is(Word::Found);
  if (std::holds_alternative<NoteJob>(command)) return reply.is(Word::Noted);
  if (std::holds_alternative<PeekEnded>(command)) return reply.is(Word::Found);
  if (std::holds_alternative<RestoreJob>(command)) return reply.is(Word::Inserted);
  const bool asks =
      std::holds_alternative<StatsJob>(command) || std::holds_alternative<ListNotes>(command);
  return asks && reply.is(Word::Ok);
}

JobState state_of(std::string_view name) {
  for (const JobState state : {JobState::Reserved, JobState::Delayed, JobState::Buried}) {
    if (state_name(state) == name) return state;
  }
  return JobState::Ready;
}

bool keeps_holding(const Command& command) {
  return std::holds_alternative<Touch>(command) || std::holds_alternative<Peek>(command) ||
         std::holds_alternative<StatsJob>(command) || std::holds_alternative<NoteJob>(command) ||
         std::holds_alternative<ListNotes>(command) ||
         std::holds_alternative<ReserveJob>(command) ||
         std::holds_alternative<PeekEnded>(command) || std::holds_alternative<RestoreJob>(command);
}

}  // namespace

struct Checker::Answer {
  Checker& checker;
  const Op& op;
  const wire::ClientReply& reply;

  void named() const { checker.answer_named(op, reply, {}); }
  void operator()(const Put&) const { checker.answer_put(op, reply); }
  void operator()(const Delete&) const { named(); }
  void operator()(const Release&) const { named(); }
  void operator()(const Bury&) const { named(); }
  void operator()(const Touch&) const { named(); }
  void operator()(const KickJob&) const { named(); }
  void operator()(const StatsJob&) const { named(); }
  void operator()(const NoteJob&) const { named(); }
  void operator()(const ListNotes&) const { checker.answer_notes(op, reply); }
  void operator()(const Peek&) const { checker.answer_body(op, reply); }
  void operator()(const ReserveJob&) const { checker.answer_body(op, reply); }
  void operator()(const Reserve&) const { checker.answer_reserve(op, reply); }
  void operator()(const ReserveWithTimeout&) const { checker.answer_reserve(op, reply); }
  void operator()(const Kick&) const { checker.answer_kick(op); }
  void operator()(const PeekReady&) const { checker.answer_peek(op, reply); }
  void operator()(const PeekDelayed&) const { checker.answer_peek(op, reply); }
  void operator()(const PeekBuried&) const { checker.answer_peek(op, reply); }
  void operator()(const Stats&) const { checker.answer_stats(op, reply); }
  void operator()(const PauseTube&) const { checker.answer_pause(op, reply); }
  void operator()(const StatsTube&) const { checker.answer_stats_tube(op, reply); }
  void operator()(const RestoreJob&) const { checker.answer_restore(op, reply); }
  void operator()(const PeekEnded&) const { checker.answer_peek_ended(op, reply); }
  void operator()(const RestoreTube&) const { checker.answer_restore_tube(op, reply); }
  void operator()(const FlushTube&) const { checker.answer_flush(op, reply); }
  void operator()(const ListJobs&) const { checker.answer_list(op, reply); }
  void operator()(const SetTube&) const { checker.answer_set(op, reply); }
  template <typename Other>
  void operator()(const Other&) const {}
};

void Checker::answer(const Op& op, const wire::ClientReply& reply) {
  if (reply.is(Word::InternalError)) return contradict("INTERNAL_ERROR to " + text_of(op));
  std::visit(Answer{*this, op, reply}, op.command);
}

void Checker::answered(Job& job, const Op& op, const Effect& effect,
                       const wire::ClientReply& reply) {
  note(job, fmt::format("{}, answered {}", text_of(op), text_of(reply)));
  std::vector<PossibleState> before = job.possible.advance_to(moment());
  if (job.possible.answered(op, effect, moment())) {
    if (job.possible.surely_gone()) job.gone_at = std::min(job.gone_at, next_op_);
    return;
  }
  std::string text = fmt::format("cannot be answered {}; believed before:", text_of(reply));
  for (const PossibleState& candidate : before) text += " " + describe(candidate);
  contradict(job, text);
}

void Checker::answer_put(const Op& op, const wire::ClientReply& reply) {
  Job& job = *job_of(op);
  const bool inserted = reply.is(Word::Inserted);
  if (inserted && !learn_id(job, reply.number)) return;
  if (!inserted && job.id == 0) --unknown_;
  answered(job, op, {.done = inserted, .id = inserted ? reply.number : 0}, reply);
}

void Checker::answer_named(const Op& op, const wire::ClientReply& reply, Effect effect) {
  effect.done = is_success(op.command, reply);
  if (!effect.done && !reply.is(Word::NotFound))
    return contradict(fmt::format("{} to {}", text_of(reply), text_of(op)));
  Job* const job = job_of(op);
  if (job == nullptr) {
    if (effect.done) contradict("an answer about a job from nowhere: " + text_of(op));
    return;
  }
  const bool is_stats = effect.done && std::holds_alternative<StatsJob>(op.command);
  if (is_stats) {
    effect.state = state_of(support::yaml_value(reply.text, "state"));
    effect.priority = static_cast<uint32_t>(support::yaml_number(reply.text, "pri"));
    effect.was = support::yaml_number(reply.text, "restored", 0);
    expect_put_fields(*job, reply);
  }
  if (std::holds_alternative<Delete>(op.command)) {
    keeping_.end_answered(job->possible.tube(), op.id, effect.done ? 1 : 0, next_op_, now_);
  }
  const bool is_quiet_now = is_quiet(op);
  answered(*job, op, effect, reply);
  if (is_stats && is_quiet_now) narrow_by_stats_job(op, reply, *job);
  if (!(effect.done && keeps_holding(op.command))) std::erase(conns_.at(op.conn).held, op.named);
}

// What a job never loses that it was put with, whatever becomes of it.
void Checker::expect_put_fields(const Job& job, const wire::ClientReply& reply) {
  if (support::yaml_number(reply.text, "ttr") != std::max(job.put.ttr_s, 1U))
    return contradict(job, "has another ttr: " + reply.text);
  if (!job.put.options) return;
  const PutOptions& options = *job.put.options;
  if (options.tries && support::yaml_number(reply.text, "tries") != options.tries->value)
    contradict(job, "has other tries: " + reply.text);
  const std::string_view key = support::yaml_value(reply.text, "idp");
  if (options.key && key.find(options.key->key) == std::string_view::npos)
    contradict(job, "has another key: " + reply.text);
}

void Checker::narrow_by_stats_job(const Op& op, const wire::ClientReply& reply, Job& job) {
  if (op.sent != now_ || !problem_.empty()) return;
  if (support::yaml_value(reply.text, "tube") != job.possible.tube())
    return contradict(job, "is in another tube");
  const Nanos left =
      static_cast<Nanos>(support::yaml_number(reply.text, "time-left", 0)) * nanos_per_second;
  const bool fits = job.possible.keep([&](const PossibleState& candidate) {
    if (candidate.state != JobState::Delayed) return true;
    // time-left is in whole seconds, rounded down. A job whose time is over may still wait for
    // earlier transitions to be committed.
    const bool not_before = now_ + left + nanos_per_second > candidate.due.from;
    const bool not_after = candidate.due.to == never || now_ + left <= candidate.due.to;
    return not_before && (not_after || left == 0);
  });
  if (!fits) contradict(job, fmt::format("has a delay that nobody gave it: {}", reply.text));
}

void Checker::answer_body(const Op& op, const wire::ClientReply& reply) {
  const bool has_body = reply.is(Word::Found) || reply.is(Word::Reserved);
  Op now_known = op;
  if (has_body) {
    Job* const job = identify(reply);
    if (job == nullptr) return;
    if (op.serial == Op::no_job) {
      // The id of an unanswered put, which was not known yet when this command was sent.
      now_known.serial = job->serial;
      job->possible.sent(now_known);
    } else if (job->serial != op.serial) {
      return contradict(*job, "was asked for by the id of another");
    }
    if (reply.number != op.named) return contradict(*job, "is shown under another id");
    if (reply.is(Word::Reserved)) conns_.at(op.conn).held.push_back(reply.number);
  }
  answer_named(now_known, reply, {.id = has_body ? reply.number : 0});
}

// The numbers say how many notes the job has had.
void Checker::answer_notes(const Op& op, const wire::ClientReply& reply) {
  if (!reply.is(Word::Ok)) return answer_named(op, reply, {});
  const std::optional<std::vector<wire::ToldNote>> notes = wire::parse_notes(reply.text);
  if (!notes) return contradict("these are no notes: " + reply.text);
  KeptNotes shown;
  for (const wire::ToldNote& note : *notes) {
    if (!shown.texts.empty() && note.number != shown.had + 1)
      return contradict("these notes do not follow each other: " + reply.text);
    shown.had = note.number;
    shown.texts.push_back(note.text);
  }
  answer_named(op, reply, {.notes = std::move(shown)});
}

void Checker::answer_reserve(const Op& op, const wire::ClientReply& reply) {
  Job* taken = nullptr;
  if (reply.is(Word::Reserved)) {
    taken = identify(reply);
    if (taken == nullptr) return;
    if (taken->gone_at <= op.id) return contradict(*taken, "came back to " + text_of(op));
    answered(*taken, op, {.done = true, .id = reply.number}, reply);
    conns_.at(op.conn).held.push_back(reply.number);
  } else if (!reply.is(Word::TimedOut) && !reply.is(Word::DeadlineSoon)) {
    return contradict(fmt::format("{} to {}", text_of(reply), text_of(op)));
  }
  for (Job& job : jobs_) {
    if (&job == taken || job.gone_at != no_op || !problem_.empty()) continue;
    if (!job.possible.not_taken(op, moment()))
      contradict(job, "was reserved by nobody, and could not be had: " + text_of(op));
  }
}

void Checker::answer_kick(const Op& op) {
  finish(op);
}

// Existence is always judged. The order is judged only if no other command can have taken effect.
void Checker::answer_peek(const Op& op, const wire::ClientReply& reply) {
  if (!reply.is(Word::Found)) return;
  Job* const first = identify(reply);
  if (first == nullptr) return;
  note(*first, fmt::format("{}, answered {}", text_of(op), text_of(reply)));
  if (first->gone_at <= op.id) return contradict(*first, "came back to " + text_of(op));
  if (!is_quiet(op) || op.sent != now_) return;
  const JobState state = std::holds_alternative<PeekReady>(op.command)    ? JobState::Ready
                         : std::holds_alternative<PeekBuried>(op.command) ? JobState::Buried
                                                                          : JobState::Delayed;
  first->possible.advance_to(moment());
  const std::vector<PossibleState> before = first->possible.candidates();
  const bool is_possible = first->possible.keep([&](const PossibleState& candidate) {
    return candidate.exists && candidate.state == state &&
           first->possible.fits_id(candidate, reply.number);
  });
  if (!is_possible) {
    return contradict(*first, "cannot be shown by " + text_of(op) + ": " + describe(before[0]));
  }
  first->possible.take_id(reply.number);
  if (state != JobState::Delayed) check_order(*first, state);
}

// No other job that is certainly in this tube and state may certainly precede the first one.
void Checker::check_order(Job& first, JobState state) {
  const auto& first_candidates = first.possible.candidates();
  for (Job& other : jobs_) {
    if (&other == &first || other.gone_at != no_op) continue;
    if (other.possible.tube() != first.possible.tube()) continue;
    const auto& candidates = other.possible.advance_to(moment());
    const bool surely_before = std::ranges::all_of(candidates, [&](const PossibleState& candidate) {
      if (!candidate.exists || candidate.state != state) return false;
      return std::ranges::all_of(first_candidates, [&](const PossibleState& shown) {
        if (state == JobState::Buried) return candidate.buried.to <= shown.buried.from;
        if (candidate.priority != shown.priority) return candidate.priority < shown.priority;
        return candidate.id != 0 && candidate.id < shown.id;
      });
    });
    if (surely_before)
      return contradict(other, fmt::format("should come before job {} (id {}): {}\nIt:",
                                           first.serial, first.id, told(first)));
  }
}

void Checker::answer_stats(const Op& op, const wire::ClientReply& reply) {
  if (!is_quiet(op) || op.sent != now_) return;
  // The lowest and the highest count, by state.
  std::array<std::pair<uint64_t, uint64_t>, 4> bounds{};
  for (Job& job : jobs_) {
    if (job.gone_at != no_op) continue;
    const auto& candidates = job.possible.advance_to(moment());
    for (size_t state = 0; state < bounds.size(); ++state) {
      const auto is_in = [state](const PossibleState& candidate) {
        return candidate.exists && static_cast<size_t>(candidate.state) == state;
      };
      bounds[state].first += std::ranges::all_of(candidates, is_in) ? 1 : 0;
      bounds[state].second += std::ranges::any_of(candidates, is_in) ? 1 : 0;
    }
  }
  for (size_t state = 0; state < bounds.size(); ++state) {
    const std::string key =
        fmt::format("current-jobs-{}", state_name(static_cast<JobState>(state)));
    const uint64_t count = support::yaml_number(reply.text, key);
    if (bounds[state].first <= count && count <= bounds[state].second) continue;
    return contradict(fmt::format("states do not add up: {} is {}, and between {} and {} can be",
                                  key, count, bounds[state].first, bounds[state].second));
  }
}

void Checker::answer_pause(const Op& op, const wire::ClientReply& reply) {
  std::vector<Pause>& pauses = pauses_[std::get<PauseTube>(op.command).tube];
  if (!reply.is(Word::Paused)) {
    std::erase_if(pauses, [&op](const Pause& pause) { return pause.op == op.id; });
    return;
  }
  // Pauses that were answered before this one was sent are replaced. The others may take effect
  // before or after this one.
  std::erase_if(pauses, [&op](const Pause& pause) { return pause.answered_before <= op.id; });
  for (Pause& pause : pauses) {
    if (pause.op != op.id) continue;
    pause.answered = now_;
    pause.answered_before = next_op_;
  }
}

// A pause lasts as long as its tube, and a tube exists at least as long as a job in it.
void Checker::answer_stats_tube(const Op& op, const wire::ClientReply& reply) {
  if (!reply.is(Word::Ok) || !is_quiet(op) || op.sent != now_) return;
  const auto found = pauses_.find(std::get<StatsTube>(op.command).tube);
  if (found == pauses_.end() || found->second.size() != 1) return;
  const Pause& pause = found->second.front();
  if (pause.answered == 0 || std::ranges::none_of(pause.keeping_jobs, [&](size_t serial) {
        return jobs_[serial].possible.surely_exists_since(pause.op);
      }))
    return;
  const Nanos left =
      static_cast<Nanos>(support::yaml_number(reply.text, "pause-time-left", 0)) * nanos_per_second;
  const Nanos from = std::max<Nanos>(pause.sent + pause.delay - now_, 0);
  const Nanos to = std::max<Nanos>(pause.answered + pause.delay - now_, 0);
  if (left + nanos_per_second > from && left <= to) return;
  contradict(fmt::format("tube {} is paused for {} more, and should be for {} to {}", found->first,
                         left, from, to));
}

}  // namespace perennial::simulation
