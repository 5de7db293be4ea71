#include "cmd/perennial/export/export_tube.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "cmd/perennial/arguments/arguments.h"

namespace perennial::tool {
namespace {

constexpr size_t export_queued_bytes_max = size_t{1} << 20;

std::string reason_of(const wire::ClientReply& reply) {
  if (reply.is(Word::JobTooBig)) return "JOB_TOO_BIG: larger than the other server's max-job-size";
  if (reply.is(Word::OutOfMemory)) return "OUT_OF_MEMORY: the other server is full";
  if (reply.is(Word::InsertedBuried)) return "BURIED: the other server could not queue it";
  return "the other server answered " + describe(reply);
}

}  // namespace

Status ExportTube::run() {
  Status done = prepare();
  if (done.ok()) done = walk(Walk::Ready, JobState::Ready);
  if (done.ok()) done = walk(Walk::First, JobState::Ready);
  if (done.ok()) done = walk(Walk::First, JobState::Delayed);
  if (done.ok() && setup_.target_reserves_by_id) done = walk(Walk::First, JobState::Buried);
  Status back = walk_.put_back(held_);
  const bool is_over = done.ok();
  if (done.ok()) done = back;
  // Also where it has ended early: what is left is said then, too, if the source answers.
  const Status counted = count_left(is_over && !setup_.tally.stopped);
  return done.ok() ? counted : done;
}

// The connection watches only this tube, so that it reserves no other jobs.
Status ExportTube::prepare() {
  ServerConnection& source = setup_.source;
  if (Status used = use_tube(source, setup_.tube); !used.ok()) return used;
  Result<wire::ClientReply> reply = source.ask(Watch{setup_.tube});
  if (!reply.ok()) return reply.take_status();
  if (!reply->is(Word::Watching)) return unexpected(*reply, "watch " + setup_.tube);
  const Result<wire::ClientReply> watched = source.ask(ListTubesWatched{});
  if (!watched.ok()) return watched.status();
  const Result<std::vector<std::string>> names = parse_names(watched->text);
  if (!names.ok()) return names.status();
  for (const std::string& name : *names) {
    if (name == setup_.tube) continue;
    reply = source.ask(Ignore{name});
    if (!reply.ok()) return reply.take_status();
  }
  if (Status used = use_tube(setup_.target, setup_.tube); !used.ok()) return used;
  const Result<StatsReply> stats = ask_stats(source, StatsTube{setup_.tube});
  if (!stats.ok()) return stats.status();
  Status done = copy_settings(*stats);
  return done.ok() ? copy_pause(*stats) : done;
}

Status ExportTube::copy_settings(const StatsReply& stats) {
  const Result<std::vector<Extras<SetTube>>> settings = extras_of_tube(stats, setup_.tube);
  if (!settings.ok()) return settings.status();
  bool are_all_kept = true;
  for (const Extras<SetTube>& group : *settings) {
    if (!allows_all(setup_.target_allows, group.needed)) {
      are_all_kept = false;
      continue;
    }
    const Result<wire::ClientReply> reply = setup_.target.ask(group.options);
    if (!reply.ok()) return reply.status();
    are_all_kept = are_all_kept && reply->is(Word::Set);
  }
  if (!are_all_kept) ++setup_.tally.tubes_without_settings;
  return {};
}

Status ExportTube::copy_pause(const StatsReply& stats) {
  const uint64_t left_s = stats.count("pause-time-left");
  if (left_s == 0) return {};
  const Result<wire::ClientReply> reply =
      setup_.target.ask(PauseTube{setup_.tube, rounded_up(left_s)});
  if (!reply.ok()) return reply.status();
  return reply->is(Word::Paused) ? Status() : unexpected(*reply, "pause-tube");
}

Status ExportTube::walk(Walk how, JobState state) {
  while (closed_.empty()) {
    if (setup_.stopped()) {
      setup_.tally.stopped = true;
      return {};
    }
    Result<ExportWalk::Window> window =
        how == Walk::Ready ? walk_.take_ready() : walk_.take_first(state);
    if (!window.ok()) return window.take_status();
    std::vector<TakenJob> jobs = without_refused(std::move(window->jobs));
    const bool at_end = jobs.empty();
    leave_extras(jobs);
    if (!jobs.empty())
      if (Status moved = move(std::move(jobs)); !moved.ok()) return moved;
    setup_.progress();
    if (!window->trouble.empty()) trouble_ = window->trouble;
    if (at_end) return {};
  }
  return {};
}

// Removes jobs that the target has already refused: a timed-out reservation brings them again. The
// walk ends when a window holds nothing else, because it might never end otherwise.
std::vector<TakenJob> ExportTube::without_refused(std::vector<TakenJob> jobs) {
  std::vector<TakenJob> fresh;
  for (TakenJob& job : jobs) {
    if (!refused_.contains(job.id)) fresh.push_back(std::move(job));
  }
  return fresh;
}

// Takes away the jobs that would lose something at the target.
void ExportTube::leave_extras(std::vector<TakenJob>& jobs) {
  if (setup_.drops_extras) return;
  std::vector<TakenJob> movable;
  for (TakenJob& job : jobs) {
    if (allows_all(setup_.target_allows, job.extras.needed)) {
      movable.push_back(std::move(job));
      continue;
    }
    ++setup_.tally.left[fmt::format(
        "with options that the other server does not know ({}): --drop-options moves them without",
        job.extras.names)];
    refused_.insert(job.id);
    job.body = {};
    held_.push_back(std::move(job));
  }
  jobs = std::move(movable);
}

Status ExportTube::move(std::vector<TakenJob> jobs) {
  std::vector<Copy> copies;
  Status copied = copy(jobs, copies);
  if (!copied.ok()) {
    // Deletes only jobs whose copies certainly exist in the same state.
    std::erase_if(copies, [](const Copy& one) { return one.job->state == JobState::Buried; });
    setup_.tally.possible_duplicates += jobs.size() - copies.size();
  }
  Status deleted = delete_originals(copies);
  for (TakenJob& job : jobs) {
    const auto is_it = [&job](const Copy& one) { return one.job == &job; };
    if (std::ranges::any_of(copies, is_it)) continue;
    job.body = {};
    held_.push_back(std::move(job));
  }
  if (!copied.ok()) return copied;
  return deleted.ok() ? std::exchange(ended_, Status()) : deleted;
}

// Appends the copies that the target has confirmed, also if the function fails.
Status ExportTube::copy(std::vector<TakenJob>& jobs, std::vector<Copy>& copies) {
  for (const TakenJob& job : jobs) {
    add_put(job);
    if (setup_.target.queued_bytes() < export_queued_bytes_max) continue;
    if (Status sent = setup_.target.send(); !sent.ok()) return sent;
  }
  if (Status put = receive_puts(jobs, copies); !put.ok()) return put;
  return bury_copies(copies);
}

void ExportTube::add_put(const TakenJob& job) {
  Put put = {.priority = job.priority,
             .delay_s = delay_of_copy(job.state, job.delay_left_s),
             .ttr_s = job.ttr_s,
             .body_bytes = static_cast<uint32_t>(job.body.size())};
  const bool keeps = allows_all(setup_.target_allows, job.extras.needed);
  if (keeps && !job.extras.names.empty()) put.options = job.extras.options;
  setup_.target.add(std::move(put), job.body);
}

Status ExportTube::receive_puts(std::vector<TakenJob>& jobs, std::vector<Copy>& copies) {
  std::vector<Copy> others;
  for (TakenJob& job : jobs) {
    const Result<wire::ClientReply> reply = setup_.target.receive();
    if (!reply.ok()) return reply.status();
    // With a state behind the id the key is another job's, and nothing was put.
    if (reply->is(Word::Inserted) && reply->text.empty()) {
      copies.push_back({&job, reply->number});
    } else if (reply->is(Word::Inserted)) {
      others.push_back({&job, reply->number});
    } else {
      refuse(job, *reply);
    }
  }
  if (Status compared = compare_bodies(others, copies); !compared.ok()) return compared;
  for (const JobId id : std::exchange(unwanted_, {})) {
    const Result<wire::ClientReply> reply = setup_.target.ask(Delete{id});
    if (!reply.ok()) return reply.status();
  }
  return explain_draining();
}

// A job with the same key and the same body is this one's copy, which an earlier move has left that
// was killed. Any other stays what it is, and so does this one.
Status ExportTube::compare_bodies(const std::vector<Copy>& others, std::vector<Copy>& copies) {
  for (const Copy& other : others) {
    const Result<wire::ClientReply> reply = setup_.target.ask(Peek{other.id});
    if (!reply.ok()) return reply.status();
    if (reply->is(Word::Found) && reply->text == other.job->body) {
      copies.push_back(other);
      continue;
    }
    refused_.insert(other.job->id);
    ++setup_.tally.left["with a key that another job of the other server has, or had"];
  }
  return {};
}

// A tube that takes no jobs does not end the others. The reply is the same for a whole server.
Status ExportTube::explain_draining() {
  if (draining_jobs_ == 0) return {};
  const Result<bool> is_tube = is_drained(setup_.target, setup_.tube);
  if (!is_tube.ok()) return is_tube.status();
  const std::string reason =
      *is_tube
          ? fmt::format("DRAINING: the tube '{}' of the other server takes no jobs", setup_.tube)
          : "DRAINING: the other server takes no more jobs";
  setup_.tally.left[reason] += std::exchange(draining_jobs_, 0);
  if (*is_tube) {
    closed_ = reason;
  } else {
    ended_ = Status(StatusCode::NoSpace, reason);
  }
  return {};
}

void ExportTube::refuse(TakenJob& job, const wire::ClientReply& reply) {
  refused_.insert(job.id);
  if (reply.is(Word::Draining)) {
    ++draining_jobs_;
    return;
  }
  const std::string reason = reason_of(reply);
  ++setup_.tally.left[reason];
  if (reply.is(Word::InsertedBuried)) unwanted_.push_back(reply.number);
  if (reply.is(Word::OutOfMemory)) ended_ = Status(StatusCode::NoSpace, reason);
}

Status ExportTube::bury_copies(const std::vector<Copy>& copies) {
  size_t asked = 0;
  for (const Copy& copy : copies) {
    if (copy.job->state != JobState::Buried) continue;
    setup_.target.add(ReserveJob{copy.id});
    setup_.target.add(Bury{copy.id, copy.job->priority});
    ++asked;
  }
  for (; asked > 0; --asked) {
    const Result<wire::ClientReply> reserved = setup_.target.receive();
    if (!reserved.ok()) return reserved.status();
    const Result<wire::ClientReply> buried = setup_.target.receive();
    if (!buried.ok()) return buried.status();
    if (!buried->is(Word::Buried)) ++setup_.tally.not_buried;
  }
  return {};
}

Status ExportTube::delete_originals(const std::vector<Copy>& copies) {
  for (const Copy& copy : copies) setup_.source.add(Delete{copy.job->id});
  std::vector<Copy> taken;
  for (size_t at = 0; at < copies.size(); ++at) {
    const Result<wire::ClientReply> reply = setup_.source.receive();
    if (!reply.ok()) {
      setup_.tally.possible_duplicates += copies.size() - at;
      return reply.status();
    }
    if (reply->is(Word::Deleted)) {
      ++setup_.tally.moved.of(copies[at].job->state);
      if (copies[at].job->notes > 0) ++setup_.tally.without_notes;
    } else if (reply->is(Word::NotFound)) {
      taken.push_back(copies[at]);
    } else {
      ++setup_.tally.possible_duplicates;
    }
  }
  return delete_copies(taken);
}

// The reservation timed out and another worker got the job, so the copy is deleted. If a worker at
// the target has reserved the copy, too, the job is done twice.
Status ExportTube::delete_copies(const std::vector<Copy>& copies) {
  for (const Copy& copy : copies) setup_.target.add(Delete{copy.id});
  for (size_t left = copies.size(); left > 0; --left) {
    const Result<wire::ClientReply> reply = setup_.target.receive();
    if (!reply.ok()) {
      setup_.tally.possible_duplicates += left;
      return reply.status();
    }
    if (!reply->is(Word::Deleted)) ++setup_.tally.possible_duplicates;
  }
  return {};
}

Status ExportTube::count_left(bool is_over) {
  const Result<StatsReply> stats = ask_stats(setup_.source, StatsTube{setup_.tube});
  if (!stats.ok()) return stats.status();
  const auto note = [this](const std::string& reason, uint64_t jobs) {
    if (jobs > 0) setup_.tally.left[reason] += jobs;
  };
  note("reserved by a worker", stats->count("current-jobs-reserved"));
  uint64_t others = stats->count("current-jobs-ready") + stats->count("current-jobs-delayed");
  const uint64_t buried = stats->count("current-jobs-buried");
  if (setup_.target_reserves_by_id) {
    others += buried;
  } else {
    note("buried, and the other server is too old to bury them", buried);
  }
  if (others <= refused_.size()) return {};
  const uint64_t unseen = others - refused_.size();
  if (!closed_.empty()) {
    note(closed_, unseen);
  } else if (!trouble_.empty()) {
    note(fmt::format("could not be taken: the server here answered {}", trouble_), unseen);
  } else {
    note(is_over ? "put or released meanwhile" : "not yet moved", unseen);
  }
  return {};
}

}  // namespace perennial::tool
