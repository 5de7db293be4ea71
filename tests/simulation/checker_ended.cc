// The part of Checker that judges answers about jobs that end, have ended and come back.

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "tests/simulation/checker.h"
#include "tests/support/reply_text.h"

namespace perennial::simulation {
namespace {

// The value of a fact in "pri:5 tries:3 ended:flushed".
std::string_view fact(std::string_view facts, std::string_view name) {
  const std::string key = fmt::format("{}:", name);
  size_t at = facts.find(key);
  while (at != std::string_view::npos && at > 0 && facts[at - 1] != ' ')
    at = facts.find(key, at + 1);
  if (at == std::string_view::npos) return "";
  const std::string_view rest = facts.substr(at + key.size());
  return rest.substr(0, rest.find(' '));
}

uint32_t number(std::string_view text) {
  uint32_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

std::optional<JobEnd> end_of(std::string_view name) {
  for (const JobEndRow& row : job_end_rows) {
    if (row.name == name) return row.how;
  }
  return std::nullopt;
}

// The ids of a list-jobs, in its order.
std::vector<JobId> ids_in(std::string_view page) {
  constexpr std::string_view key = "{id: ";
  std::vector<JobId> ids;
  for (size_t at = page.find(key); at != std::string_view::npos; at = page.find(key, at + 1)) {
    JobId id = 0;
    std::from_chars(page.data() + at + key.size(), page.data() + page.size(), id);
    ids.push_back(id);
  }
  return ids;
}

}  // namespace

// INSERTED tells the new id.
void Checker::answer_restore(const Op& op, const wire::ClientReply& reply) {
  Job* const job = job_of(op);
  const bool is_back = reply.is(Word::Inserted);
  if (is_back && job == nullptr) return contradict("a job from nowhere came back");
  if (is_back && !reply.text.empty())
    return contradict(*job, "has the key of another job, although no key is sent twice");
  if (is_back && !learn_id(*job, reply.number)) return;
  if (!is_back && unknown_ > 0) --unknown_;
  answer_named(op, reply, {.id = is_back ? reply.number : 0});
}

void Checker::answer_peek_ended(const Op& op, const wire::ClientReply& reply) {
  if (!reply.is(Word::Found)) return answer_named(op, reply, {});
  Job* const job = identify(reply);
  if (job == nullptr) return;
  if (job->serial != op.serial) return contradict(*job, "is not what peek-ended asked for");
  const std::optional<JobEnd> how = end_of(fact(reply.facts, "ended"));
  if (!how) return contradict(*job, "has not ended in any way: " + reply.facts);
  const Put& put = job->put;
  const bool has_tries = put.options && put.options->tries;
  const bool has_key = put.options && put.options->key;
  const bool is_as_put =
      number(fact(reply.facts, "ttr")) == std::max(put.ttr_s, 1U) &&
      (!has_tries || number(fact(reply.facts, "tries")) == put.options->tries->value) &&
      (!has_key || fact(reply.facts, "idp") == put.options->key->key);
  if (!is_as_put) return contradict(*job, "has ended, and is not as it was put: " + reply.facts);
  answer_named(op, reply,
               {.priority = number(fact(reply.facts, "pri")),
                .notes = {.had = number(fact(reply.facts, "notes"))},
                .how = how,
                .id = reply.number});
}

void Checker::answer_flush(const Op& op, const wire::ClientReply& reply) {
  if (!reply.is(Word::Flushed) && !reply.is(Word::NotFound))
    return contradict("a flush was answered " + describe(reply));
  const std::string& tube = std::get<FlushTube>(op.command).tube;
  const uint64_t count = reply.is(Word::Flushed) ? reply.number : 0;
  keeping_.end_answered(tube, op.id, count, next_op_, now_);
  answer_walk(op, tube, count);
}

void Checker::answer_restore_tube(const Op& op, const wire::ClientReply& reply) {
  if (!reply.is(Word::Restored))
    return contradict("a restore of a tube was answered " + describe(reply));
  answer_walk(op, std::get<RestoreTube>(op.command).tube, reply.number);
}

// Where as many were taken as surely were, or as may have been, each job is known.
void Checker::answer_walk(const Op& op, const std::string& tube, uint64_t count) {
  uint64_t least = 0;
  uint64_t most = 0;
  std::vector<Job*> all;
  for (Job& job : jobs_) {
    // Also one that is gone: perhaps this has taken it.
    if (job.possible.tube() != tube) continue;
    job.possible.advance_to(moment());
    all.push_back(&job);
    least += job.possible.surely_taken(op, moment()) ? 1 : 0;
    most += job.possible.may_be_taken(op) ? 1 : 0;
  }
  const std::string line = fmt::format(
      "client {} at {}: {} of tube {}, which took {}", op.conn, op.sent,
      std::holds_alternative<FlushTube>(op.command) ? "flush-tube" : "restore-tube", tube, count);
  if (count < least || count > most)
    return contradict(fmt::format("{}; between {} and {} can be", line, least, most));
  for (Job* const job : all) {
    std::optional<bool> took;
    if (!job->possible.given_up() && job->possible.may_be_taken(op)) {
      if (count == most) took = true;
      if (count == least && !job->possible.surely_taken(op, moment())) took = false;
      note(*job, line);
    }
    const std::vector<PossibleState> before = job->possible.candidates();
    if (!job->possible.walked(op, took, moment())) {
      std::string text = line + " has passed over it, or cannot have taken it; believed before:";
      for (const PossibleState& candidate : before) text += " " + simulation::describe(candidate);
      return contradict(*job, text);
    }
    if (job->possible.surely_gone()) job->gone_at = std::min(job->gone_at, next_op_);
  }
}

void Checker::answer_set(const Op& op, const wire::ClientReply& reply) {
  if (!reply.is(Word::Set)) return contradict("set-tube was answered " + describe(reply));
  keeping_.set_answered(std::get<SetTube>(op.command).tube, op.id, true, next_op_, now_);
}

// A list of ended jobs shows no other ones. What it must show, and in which order, is judged only
// if no other command can have taken effect.
void Checker::answer_list(const Op& op, const wire::ClientReply& reply) {
  const auto& list = std::get<ListJobs>(op.command);
  if (!reply.is(Word::Ok) || !list.states.are_ended) return;
  const std::vector<JobId> listed = ids_in(reply.text);
  for (const JobId id : listed) {
    Job* const job = find(id);
    if (job == nullptr) continue;
    note(*job, fmt::format("client {} at {}: listed as ended", op.conn, op.sent));
    if (job->gone_at <= op.id) return contradict(*job, "is gone, and listed as ended");
    if (!is_quiet(op) || op.sent != now_) continue;
    job->possible.advance_to(moment());
    const bool is_possible = job->possible.keep([&](const PossibleState& candidate) {
      return candidate.ended && job->possible.fits_id(candidate, id) &&
             !keeping_.surely_over(list.tube, *candidate.ended, op.id, op.sent);
    });
    if (!is_possible) return contradict(*job, "cannot be listed as ended");
    job->possible.take_id(id);
  }
  if (!is_quiet(op) || op.sent != now_) return;
  expect_order(listed);
  const bool is_whole = support::yaml_number(reply.text, "cursor", 0) == 0;
  if (is_whole && list.after == 0) expect_shown(list.tube, listed);
}

// The one that ended last comes first.
void Checker::expect_order(const std::vector<JobId>& listed) {
  const Job* behind = nullptr;
  for (const JobId id : listed) {
    const Job* const job = find(id);
    if (job == nullptr || job->possible.given_up()) continue;
    if (behind != nullptr && behind->possible.surely_ended_before(job->possible))
      return contradict(*behind, fmt::format("ended before job {}, and is listed first", id));
    behind = job;
  }
}

void Checker::expect_shown(const std::string& tube, const std::vector<JobId>& listed) {
  for (Job& job : jobs_) {
    if (job.gone_at != no_op || job.possible.tube() != tube) continue;
    job.possible.advance_to(moment());
    const bool is_possible = job.possible.keep([&](const PossibleState& candidate) {
      const bool must_be_shown =
          candidate.ended && !keeping_.may_be_over(tube, *candidate.ended, now_);
      return !must_be_shown || candidate.id == 0 ||
             std::ranges::find(listed, candidate.id) != listed.end();
    });
    if (!is_possible) return contradict(job, "has ended and is kept, and is not listed");
  }
}

}  // namespace perennial::simulation
