#include "tests/simulation/plants.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <variant>

namespace perennial::simulation {
namespace {

store::EndedFound copy_of(const store::EndedFound& found) {
  store::EndedFound copy{.job = found.job, .body = {}, .notes = found.notes};
  if (found.body) copy.body = Body(found.body->view());
  return copy;
}

}  // namespace

Result<Disk::Found> BuggyDisk::open() {
  submitted_ = 0;
  Result<Found> found = disk_.open();
  if (bug_ != Bug::ReusesIds || !found.ok()) return found;
  const auto& jobs = found->image.jobs;
  found->opening.next_id = jobs.empty() ? 1 : jobs.rbegin()->first + 1;
  return found;
}

void BuggyDisk::submit(store::Batch&& batch) {
  submitted_ = batch.index();
  disk_.submit(spoil(batch));
}

Disk::Done BuggyDisk::look() {
  Done done = disk_.look();
  if (bug_ == Bug::AnswersBeforeSync)
    done.reply_index = done.durable = std::max(done.durable, submitted_);
  return done;
}

store::Batch BuggyDisk::spoil(const store::Batch& batch) {
  store::Batch out;
  for (const store::MetaEffect& meta : batch.metas()) {
    std::visit([&out](const auto& one) { out.add(Transition(one)); }, meta);
  }
  for (const store::KeyEffect& key : batch.keys()) {
    std::visit([&out](const auto& one) { out.add(Transition(one)); }, key);
  }
  for (store::JobEffect effect : batch.jobs()) {
    spoil(effect);
    add(out, effect, batch);
  }
  for (store::NoteEffect note : batch.notes()) {
    auto* const stored = std::get_if<NoteStored>(&note);
    if (bug_ == Bug::MixesNotesUp && stored != nullptr) std::swap(stored->note.text, last_text_);
    std::visit([&out](const auto& one) { out.add(Transition(one)); }, note);
  }
  for (EndedGone gone : batch.gone()) {
    gone.span = batch.spans().at(gone.tube);
    if (bug_ != Bug::LeavesRestored) out.add(Transition(gone));
  }
  for (const auto& [tube, span] : batch.spans()) out.add(Transition(EndedTrimmed{tube, span}));
  out.seal(batch.place());
  return out;
}

// One that was put and has ended in the same batch was there in between.
void BuggyDisk::add(store::Batch& out, const store::JobEffect& effect,
                    const store::Batch& batch) const {
  const bool is_kept = effect.ended && bug_ != Bug::LosesEnds;
  if (!effect.before && !effect.after && !is_kept) return;
  const auto add_move = [&](std::optional<JobState> before, const std::optional<JobRow>& after,
                            const auto&... body) {
    out.add(JobMoved{effect.id, before, after, batch.promised()}, body...);
  };
  if (is_kept && !effect.before) {
    add_move(std::nullopt, effect.ended->row, effect.body);
    add_move(effect.ended->row.state, std::nullopt);
  } else {
    add_move(effect.before, effect.after, effect.body);
  }
  if (is_kept) out.add(JobEnded{*effect.ended, batch.spans().at(effect.ended->tube)});
}

Result<core::EndedResult> BuggyDisk::ended(const core::EndedRead& read) {
  const auto* const job = std::get_if<core::EndedJobRead>(&read.what);
  if (bug_ != Bug::ReadsStaleEnds || job == nullptr) return disk_.ended(read);
  const auto known = read_ends_.find(job->id);
  if (known != read_ends_.end()) return core::EndedResult(std::optional(copy_of(known->second)));
  Result<core::EndedResult> result = disk_.ended(read);
  if (!result.ok()) return result;
  const auto& found = std::get<std::optional<store::EndedFound>>(*result);
  if (found) read_ends_.emplace(job->id, copy_of(*found));
  return result;
}

void BuggyDisk::spoil(store::JobEffect& effect) {
  const bool moves = effect.before && effect.after && *effect.before != effect.after->state;
  const bool ends = effect.before && !effect.after && !effect.ended;
  if (bug_ == Bug::ForgetsPriority && effect.after) {
    const auto kept = priorities_.emplace(effect.id, effect.after->priority).first;
    effect.after->priority = kept->second;
  }
  if (bug_ == Bug::EndsAsPut) {
    if (effect.after) priorities_.emplace(effect.id, effect.after->priority);
    const auto put = priorities_.find(effect.id);
    if (effect.ended && put != priorities_.end()) effect.ended->row.priority = put->second;
  }
  if (!effect.before && effect.after) bodies_[effect.id] = effect.body;
  if (bug_ == Bug::KeepsDeletedRow && ends) effect.before.reset();
  if (bug_ == Bug::SkipsSingleDelete && moves) {
    effect.before.reset();
    effect.body = bodies_[effect.id];
  }
  // No job is buried without having been reserved, nor becomes ready from ready in one transition.
  if (bug_ == Bug::ForgetsFirstBefore && moves && effect.before == JobState::Ready &&
      effect.after->state != JobState::Reserved) {
    effect.before = JobState::Reserved;
  }
}

Server::Deliver hand_out_twice(History& history, const Server& server) {
  return [&history, &server](ConnId conn, std::string_view bytes) {
    const auto receive = [&](ConnId to) {
      history.add({.kind = Event::Kind::Received,
                   .conn = to,
                   .now = server.now(),
                   .bytes = std::string(bytes)});
    };
    receive(conn);
    if (!bytes.starts_with("RESERVED ")) return;
    for (const ConnId other : history.checker().conns()) {
      const bool is_first = other != conn && history.checker().is_waiting_for_job(other);
      if (is_first) return receive(other);
    }
  };
}

}  // namespace perennial::simulation
