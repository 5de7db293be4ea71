#include "cmd/perenniald/server/turn.h"

#include <utility>

namespace perennial::perenniald {

Turn::Turn(core::Core& core, store::Log& log, TurnClock& clock, TurnBudget& budget, Around around)
    : core_(core), log_(log), clock_(clock), budget_(budget), around_(std::move(around)) {
  const store::StoreNews opened = log_.collect().store;
  store_facts_ = opened.facts;
  core_.on_room(opened.room, clock_.now());
}

// A turn that reads from many takes a while. What is too large to be written here anyway goes to
// the log at once, whose thread writes it while the loop reads on.
void Turn::hand_over_early() {
  if (stopping_ || !core_.batch_is_large() || !log_.idle()) return;
  start_reads();
  hand_over();
}

// A timer that fired early finds nothing due, and is armed again.
void Turn::on_timer() {
  armed_.reset();
  if (!stopping_) core_.on_timer(clock_.now());
}

void Turn::on_news() {
  store::Log::News news = log_.collect();
  store_facts_ = std::move(news.store.facts);
  core_.on_disk_left(around_.disk_left());
  core_.on_room(news.store.room, clock_.now());
  core_.on_behind(news.store.behind, clock_.now());
  const store::LogIndices& indices = news.indices;
  core_.on_durable(indices.answerable(), indices.durable, clock_.now(), news.took);
  for (store::Batch& batch : news.batches) core_.recycle(std::move(batch));
  if (news.cut) around_.on_cut(*news.cut);
}

Turn::Carried Turn::carry() {
  core_.on_disk_left(around_.disk_left());
  gathering_ = gather();
  const bool all = carry_all();
  arm_timer();
  return {.all = all, .at_once = !all || gathering_};
}

// Whether to look at the sockets once more before the open batch goes. Those who were just answered
// send their next commands while the loop takes in those of others; without this they would miss
// the batch, wait for a sync of their own, and fall apart into groups that take turns. Nothing is
// waited for: it ends when all are there or a look has brought none of them.
bool Turn::gather() {
  constexpr unsigned turns_max = 4;
  const size_t missing = log_.idle() ? core_.missing_company() : 0;
  const bool some_came = gathered_turns_ == 0 || missing < missing_before_;
  const bool again = missing > 0 && some_came && gathered_turns_ < turns_max;
  gathered_turns_ = again ? gathered_turns_ + 1 : 0;
  missing_before_ = missing;
  return again;
}

// Once more for as long as anything changed: output that has left can let commands run that waited
// for room, and those make reads, batches and output of their own. A client that reads as fast as
// it asks could go on for ever: false when time is over first.
bool Turn::carry_all() {
  budget_.begin_carrying();
  for (;;) {
    run_waiting();
    start_reads();
    around_.order_cut();  // Also when no batch is due.
    if (next_changed_ == changed_.size()) {
      next_changed_ = 0;
      core_.take_changed(changed_);
    }
    // What may leave does so before the loop itself writes a batch, so that clients have something
    // to do meanwhile.
    const bool after_output = writes_here_ && !core_.batch_is_large() && !changed_.empty();
    if (!after_output && !gathering_ && hand_over()) continue;
    // A checkpoint that could not be begun has been answered just now.
    if (changed_.empty() && !core_.has_changed()) return !core_.has_runnable();
    if (!serve_changed()) return false;
  }
}

void Turn::run_waiting() {
  while (core_.has_runnable() && budget_.may_run()) {
    core_.run_next(clock_.now());
    hand_over_early();
  }
}

void Turn::start_reads() {
  // What is read at once makes room for others.
  for (auto reads = core_.take_reads(); !reads.empty(); reads = core_.take_reads()) {
    for (const core::BodyRead& read : reads) around_.read_body(read);
  }
}

// Whether there was a batch that the log could take now.
bool Turn::hand_over() {
  if (!log_.idle()) return false;
  const Nanos now = clock_.now();
  const bool due = stopping_ ? core_.has_batch() : core_.batch_due(now);
  if (!due) return false;
  store::Batch batch = core_.take_batch(now);
  around_.before_append(batch);
  writes_here_ = log_.append(std::move(batch)) == store::Appended::Done;
  if (writes_here_) on_news();
  around_.order_cut();  // A cut that lies behind this batch follows it into the queue.
  return true;
}

// False when time was over first. Then the batch goes all the same, since the next turn may be as
// full.
bool Turn::serve_changed() {
  while (next_changed_ < changed_.size()) {
    if (!budget_.may_carry()) {
      start_reads();
      if (!gathering_) hand_over();
      return false;
    }
    around_.serve(changed_[next_changed_++]);
  }
  return true;
}

// A timer that is armed too early is left as it is. Deadlines mostly move away, so that this saves
// most of the arming.
void Turn::arm_timer() {
  if (stopping_) return;
  const std::optional<Nanos> next = log_.idle() ? core_.next_deadline() : core_.next_tick();
  if (!next || (armed_ && *armed_ <= *next)) return;
  armed_ = next;
  around_.arm_timer(*next - clock_.now() - clock_.turn_so_far());
}

}  // namespace perennial::perenniald
