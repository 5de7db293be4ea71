#include "tests/simulation/checker.h"

#include <algorithm>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "engine/types/check.h"

namespace perennial::simulation {
namespace {

// The id that a command names, or 0 if it names no job by its id.
template <typename Named>
JobId id_of(const Named& command) {
  if constexpr (requires { command.id; }) {
    return command.id;
  } else {
    return 0;
  }
}

// Whether the command names no job and may change any.
bool is_wide(const Command& command) {
  return std::holds_alternative<Reserve>(command) ||
         std::holds_alternative<ReserveWithTimeout>(command) ||
         std::holds_alternative<Kick>(command) || std::holds_alternative<FlushTube>(command) ||
         std::holds_alternative<RestoreTube>(command);
}

// Whether the command may wait without a limit, so that no step can wait for its reply.
bool is_reserve(const Command& command) {
  return std::holds_alternative<Reserve>(command) ||
         std::holds_alternative<ReserveWithTimeout>(command);
}

// What a server makes of a command of a client that stands for leases.
void limit_to_held(Command& command) {
  if (auto* const deleted = std::get_if<Delete>(&command)) deleted->only_held = true;
  if (auto* const note = std::get_if<NoteJob>(&command)) note->only_held = true;
}

}  // namespace

Checker::Checker(bool answers_are_durable)
    : answers_are_durable_(answers_are_durable),
      is_open_([this](ConnId conn) { return conns_.contains(conn); }) {}

void Checker::opened(ConnId conn, bool has_leases) {
  ++next_op_;
  const auto [place, is_new] = conns_.try_emplace(conn);
  CHECK(is_new);
  place->second.has_leases = has_leases;
}

void Checker::sent(ConnId id, std::string_view bytes, Nanos now) {
  now_ = now;
  Conn& conn = conns_.at(id);
  for (std::span<const char> rest = bytes; !rest.empty();) {
    wire::Step step = conn.parser.feed(rest);
    rest = rest.subspan(step.consumed);
    if (step.command) on_command(id, conn, std::move(*step.command), step.body.view(), now);
  }
}

void Checker::on_command(ConnId id, Conn& conn, Command&& command, std::string_view body,
                         Nanos now) {
  if (std::holds_alternative<Quit>(command)) return;
  if (conn.has_leases) limit_to_held(command);
  if (const Use* const use = std::get_if<Use>(&command)) conn.tube = use->tube;
  const OpId place = next_op_++;
  Op& op = ops_[place];
  op = {.id = place,
        .conn = id,
        .sent = now,
        .command = std::move(command),
        .tube = conn.tube,
        .quiet = op_count_ == 0};
  conn.unanswered.push_back(place);
  if (!is_reserve(op.command)) ++op_count_;
  if (is_wide(op.command)) wide_.push_back(&op);
  if (const Put* const put = std::get_if<Put>(&op.command)) return on_put(op, *put, body);
  if (const PauseTube* const pause = std::get_if<PauseTube>(&op.command)) {
    Pause& kept = pauses_[pause->tube].emplace_back();
    kept = {
        .delay = static_cast<Nanos>(pause->delay_s) * nanos_per_second, .sent = now, .op = place};
    for (const Job& job : jobs_) {
      const bool stays = job.possible.tube() == pause->tube && job.possible.surely_exists();
      if (stays) kept.keeping_jobs.push_back(job.serial);
    }
  }
  op.named = std::visit([](const auto& one) { return id_of(one); }, op.command);
  if (Job* const job = find(op.named)) {
    op.serial = job->serial;
    job->possible.sent(op);
  }
  on_ending(op);
}

// What the command may end, and what it may put back.
void Checker::on_ending(const Op& op) {
  const Job* const job = job_of(op);
  if (const auto* const set = std::get_if<SetTube>(&op.command)) {
    keeping_.set_sent(*set, op.id, op.sent);
  } else if (std::holds_alternative<Delete>(op.command) && job != nullptr) {
    keeping_.end_sent(job->possible.tube(), op.id, op.sent, 1);
  } else if (const auto* const flush = std::get_if<FlushTube>(&op.command)) {
    keeping_.end_sent(flush->tube, op.id, op.sent, Keeping::any_number);
  } else if (std::holds_alternative<RestoreJob>(op.command)) {
    ++unknown_;
  } else if (const auto* const restore = std::get_if<RestoreTube>(&op.command)) {
    unknown_ += count_ended(restore->tube);
  }
}

uint64_t Checker::count_ended(const std::string& tube) const {
  return static_cast<uint64_t>(std::ranges::count_if(jobs_, [&tube](const Job& job) {
    return job.possible.tube() == tube && job.possible.may_have_ended();
  }));
}

void Checker::on_put(Op& op, const Put& put, std::string_view body) {
  op.serial = jobs_.size();
  Job& job = jobs_.emplace_back(Job{.serial = op.serial,
                                    .body = std::string(body),
                                    .put = put,
                                    .possible = PossibleStates(put.ttr_s, op.tube)});
  if (!answers_are_durable_) job.possible.keep_past();
  job.possible.sent(op);
  const bool may_expire = put.options && put.options->expire.nanos > 0;
  if (may_expire) keeping_.may_expire(op.tube, op.id, op.sent + put.options->expire.nanos);
  ++unknown_;
  CHECK(by_body_.emplace(job.body, &job).second);
}

void Checker::received(ConnId id, std::string_view bytes, Nanos now) {
  now_ = now;
  Conn& conn = conns_.at(id);
  for (std::span<const char> rest = bytes; !rest.empty() && problem_.empty();) {
    wire::ReplyStep step = conn.replies.feed(rest);
    if (!step.status.ok()) return contradict(step.status.message());
    rest = rest.subspan(step.consumed);
    if (step.reply) on_reply(conn, *step.reply, now);
  }
}

void Checker::on_reply(Conn& conn, const wire::ClientReply& reply, Nanos now) {
  now_ = now;
  if (conn.unanswered.empty()) return contradict("an answer to nothing: " + reply.text);
  const auto found = ops_.find(conn.unanswered.front());
  conn.unanswered.pop_front();
  const Op& op = found->second;
  ++answer_count_;
  answer(op, reply);
  if (!problem_.empty()) return;  // Its job may still name the command.
  if (!is_reserve(op.command)) --op_count_;
  std::erase(wide_, &op);
  ops_.erase(found);
}

void Checker::finish(const Op& op) {
  keeping_.never_answered(op.id, next_op_, now_);
  if (Job* const job = job_of(op)) return job->possible.finish(op, moment());
  if (!is_wide(op.command)) return;
  for (Job& job : jobs_) {
    if (job.gone_at == no_op) job.possible.finish(op, moment());
  }
}

void Checker::closed(ConnId id, Nanos now) {
  now_ = now;
  ++next_op_;
  const Conn& conn = conns_.at(id);
  for (const OpId place : conn.unanswered) finish(ops_.at(place));
  for (const OpId place : conn.unanswered) {
    const auto op = ops_.find(place);
    if (!is_reserve(op->second.command)) --op_count_;
    std::erase(wide_, &op->second);
    ops_.erase(op);
  }
  conns_.erase(id);
}

void Checker::crashed(bool loses_unsynced, Nanos now) {
  now_ = now;
  ++next_op_;
  for (Job& job : jobs_) {
    job.possible.crash(loses_unsynced, moment());
    if (job.possible.surely_gone()) continue;
    job.gone_at = no_op;
    note(job, "the server ended");
  }
  keeping_.crashed(loses_unsynced, next_op_, now_);
  if (loses_unsynced) pauses_.clear();
  wide_.clear();
  ops_.clear();
  conns_.clear();
  op_count_ = 0;
}

void Checker::all_durable() {
  if (answers_are_durable_) return;
  keeping_.all_durable(next_op_);
  for (Job& job : jobs_) job.possible.all_durable();
}

uint64_t Checker::given_up_count() const {
  return static_cast<uint64_t>(
      std::ranges::count_if(jobs_, [](const Job& job) { return job.possible.given_up(); }));
}

Checker::Job* Checker::find(JobId id) {
  const auto found = by_id_.find(id);
  return found == by_id_.end() ? nullptr : found->second;
}

bool Checker::surely_gone(JobId id) const {
  const Job& job = *by_id_.at(id);
  return job.gone_at != no_op || !job.possible.may_exist_as(id);
}

bool Checker::may_have_ended(JobId id) const {
  const Job& job = *by_id_.at(id);
  return job.gone_at == no_op && job.possible.may_have_ended_as(id);
}

std::vector<JobId> Checker::ended_ids(size_t max) const {
  std::vector<JobId> out;
  for (auto id = ids_.rbegin(); id != ids_.rend() && out.size() < max; ++id) {
    if (may_have_ended(*id)) out.push_back(*id);
  }
  return out;
}

bool Checker::is_waiting_for_job(ConnId conn) const {
  const std::deque<OpId>& unanswered = conns_.at(conn).unanswered;
  return !unanswered.empty() && is_reserve(ops_.at(unanswered.front()).command);
}

std::vector<ConnId> Checker::conns() const {
  std::vector<ConnId> out;
  for (const auto& [id, conn] : conns_) out.push_back(id);
  return out;
}

Checker::Job* Checker::identify(const wire::ClientReply& reply) {
  const auto found = by_body_.find(reply.text);
  if (found == by_body_.end()) {
    contradict(fmt::format("job {} comes from nowhere: nobody sent its body of {} bytes, {:?}",
                           reply.number, reply.text.size(), reply.text.substr(0, 60)));
    return nullptr;
  }
  return learn_id(*found->second, reply.number) ? found->second : nullptr;
}

// A job has another id only after it has come back from an end.
bool Checker::learn_id(Job& job, JobId id) {
  if (const auto known = by_id_.find(id); known != by_id_.end()) {
    if (known->second == &job) return true;
    contradict(job, fmt::format("was given id {}, which job {} had", id, known->second->serial));
    return false;
  }
  job.possible.advance_to(moment());
  if (!job.possible.may_have_new_id()) {
    contradict(job, fmt::format("has a second id {}", id));
    return false;
  }
  by_id_.emplace(id, &job);
  job.id = id;
  ids_.push_back(id);
  ids_end_ = std::max(ids_end_, id + 1);
  if (unknown_ > 0) --unknown_;
  return true;
}

void Checker::note(Job& job, std::string line) {
  job.story.push_back(fmt::format("{}: {}", now_, std::move(line)));
}

void Checker::contradict(std::string what) {
  if (problem_.empty()) problem_ = std::move(what);
}

void Checker::contradict(const Job& job, std::string_view what) {
  contradict(fmt::format("job {} (id {}) {}\n  believed: {}", job.serial, job.id, what, told(job)));
}

// What may be true of the job, and all that was seen of it.
std::string Checker::told(const Job& job) {
  std::string text;
  for (const PossibleState& candidate : job.possible.candidates())
    text += (text.empty() ? "" : " ") + describe(candidate);
  for (const std::string& line : job.story) text += "\n  " + line;
  return text;
}

}  // namespace perennial::simulation
