#include "tests/simulation/plants.h"

#include <algorithm>
#include <utility>

namespace perennial::simulation {

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
    if (!effect.before && !effect.after) continue;
    out.add(JobMoved{.id = effect.id,
                     .before = effect.before,
                     .after = effect.after,
                     .promised = batch.promised()},
            effect.body);
  }
  out.seal(batch.place());
  return out;
}

void BuggyDisk::spoil(store::JobEffect& effect) {
  const bool moves = effect.before && effect.after && *effect.before != effect.after->state;
  const bool ends = effect.before && !effect.after;
  if (bug_ == Bug::ForgetsPriority && effect.after) {
    const auto kept = priorities_.emplace(effect.id, effect.after->priority).first;
    effect.after->priority = kept->second;
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
