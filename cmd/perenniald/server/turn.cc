#include "cmd/perenniald/server/turn.h"

#include <utility>

namespace perennial::perenniald {

Turn::Turn(core::Core& core, store::Log& log, TurnClock& clock, TurnBudget& budget, Parts& parts)
    : core_(core), log_(log), clock_(clock), budget_(budget), parts_(parts) {
  const store::StoreUpdate opened = log_.collect().store;
  store_facts_ = opened.facts;
  core_.on_disk_space(opened.accepts_puts, clock_.now());
  core_.on_notes_allowed(log_.may_store_notes());
  core_.on_ended_allowed(log_.may_store_ended());
  core_.on_schedules_allowed(log_.may_store_schedules());
}

// A turn that reads from many clients takes a while. A batch that is too large to be written on the
// loop's thread goes to the log at once, so that the log's thread writes it while the loop reads
// on. If it waited for the end of the turn, the disk would be idle meanwhile.
void Turn::hand_over_early() {
  if (stopping_ || !core_.batch_is_large() || !log_.idle()) return;
  start_reads();
  hand_over();
}

// If the timer fired early, core finds nothing due, and the timer is armed again.
void Turn::on_timer() {
  armed_.reset();
  if (!stopping_) core_.on_timer(clock_.now());
}

void Turn::on_log_update() {
  store::Log::Update update = log_.collect();
  store_facts_ = std::move(update.store.facts);
  core_.on_disk_left(parts_.disk_left());
  core_.on_disk_space(update.store.accepts_puts, clock_.now());
  core_.on_notes_allowed(log_.may_store_notes());
  core_.on_ended_allowed(log_.may_store_ended());
  core_.on_schedules_allowed(log_.may_store_schedules());
  core_.on_write_stall(update.store.write_stalled, clock_.now());
  const store::LogIndices& indices = update.indices;
  core_.on_committed(indices.reply_index(), indices.durable, clock_.now(), update.took);
  for (store::Batch& batch : update.batches) core_.recycle(std::move(batch));
  if (update.checkpoint) parts_.on_checkpoint_created(*update.checkpoint);
}

Turn::TurnResult Turn::before_poll() {
  core_.on_disk_left(parts_.disk_left());
  polls_again_ = must_poll_again();
  const bool all = process_all();
  arm_timer();
  return {.all = all, .at_once = !all || polls_again_};
}

// Whether to poll the sockets once more before the open batch goes to the log. Clients that were
// just answered send their next commands while the loop reads those of other clients. Without
// another poll they would miss the batch, wait for a sync of their own, and fall apart into groups
// that take turns. A timer would have to guess how long to wait, and would delay the batch even if
// no client comes. A poll does not wait: this ends when all awaited clients have come, or when a
// poll has brought none of them.
bool Turn::must_poll_again() {
  const size_t awaited = log_.idle() ? core_.awaited_clients() : 0;
  const bool some_came = extra_polls_ == 0 || awaited < awaited_before_;
  const bool again = awaited > 0 && some_came && TurnBudget::may_poll_again(extra_polls_);
  extra_polls_ = again ? extra_polls_ + 1 : 0;
  awaited_before_ = awaited;
  return again;
}

// Repeats its steps for as long as anything changes. Output that has left lowers the memory that
// answers hold, so commands can run that waited for it, and these cause reads, batches and output
// again. One pass would leave this work for the next turn, after a needless poll. A client that
// reads as fast as it asks could keep the loop here for ever: returns false when the time is over
// first.
bool Turn::process_all() {
  budget_.begin_processing();
  for (;;) {
    run_waiting();
    start_reads();
    parts_.order_checkpoint();  // Also when no batch is due.
    if (next_changed_ == changed_.size()) {
      next_changed_ = 0;
      if (core_.has_answers_to_time()) core_.on_answers_leave(clock_.actual());
      core_.take_changed(changed_);
    }
    // When the loop itself writes the batch, replies that may leave are sent first, so that clients
    // work during the write.
    const bool after_output = writes_here_ && !core_.batch_is_large() && !changed_.empty();
    if (!after_output && !polls_again_ && hand_over()) continue;
    // A checkpoint that could not be begun was answered in order_checkpoint(), after changed_ was
    // taken.
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
  // A read that ends at once frees its place among the reads under way, so more reads may begin.
  for (auto reads = core_.take_reads(); !reads.empty(); reads = core_.take_reads()) {
    for (const core::BodyRead& read : reads) parts_.read_body(read);
  }
  for (const core::NoteRead& read : core_.take_note_reads()) parts_.read_notes(read);
  // A tube that is being restored would keep a stop waiting for as long as that takes.
  if (stopping_) return;
  for (core::EndedRead& read : core_.take_ended_reads()) parts_.read_ended(std::move(read));
}

// Returns whether a batch was due and the log has taken it.
bool Turn::hand_over() {
  if (!log_.idle()) return false;
  const Nanos now = clock_.now();
  const bool due = stopping_ ? core_.has_batch() : core_.batch_due(now);
  if (!due) return false;
  store::Batch batch = core_.take_batch(now);
  parts_.before_append(batch);
  writes_here_ = log_.append(std::move(batch)) == store::Appended::Done;
  if (writes_here_) on_log_update();
  parts_.order_checkpoint();  // A checkpoint point behind this batch follows it into the queue.
  return true;
}

// Returns false when the time is over first. A batch that is due is then handed over all the same,
// because the next turn may be as full.
bool Turn::serve_changed() {
  while (next_changed_ < changed_.size()) {
    if (!budget_.may_serve()) {
      start_reads();
      if (!polls_again_) hand_over();
      return false;
    }
    next_changed_ += parts_.serve(std::span(changed_).subspan(next_changed_));
  }
  return true;
}

// A timer that is armed for an earlier time is not changed. Deadlines mostly move away, so this
// saves most calls to the kernel.
void Turn::arm_timer() {
  if (stopping_) return;
  const std::optional<Nanos> next = log_.idle() ? core_.next_deadline() : core_.next_tick();
  if (!next || (armed_ && *armed_ <= *next)) return;
  armed_ = next;
  parts_.arm_timer(*next - clock_.now() - clock_.turn_so_far());
}

}  // namespace perennial::perenniald
