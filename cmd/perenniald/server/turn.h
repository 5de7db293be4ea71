#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "cmd/perenniald/core/core.h"
#include "cmd/perenniald/loop/clock.h"
#include "cmd/perenniald/loop/turn_budget.h"
#include "engine/types/basic.h"
#include "engine/types/stats.h"
#include "store/batch/batch.h"
#include "store/commit/log.h"
#include "store/types/options.h"

namespace perennial::perenniald {

// One turn of the loop: what it does, in order, without libuv.
//
// 1. Callbacks report what happened to core: Connections gives it bytes, the timer calls
//    on_timer(), and the log on_log_update(). A put joins core's open batch, and its reply waits
//    there.
// 2. After each piece of bytes, hand_over_early(): a batch that has become large goes to the log at
//    once.
// 3. Before the loop blocks, before_poll(): commands that wait are run; reads of bodies begin; a
//    due batch goes to the log if that is idle, followed by the checkpoint that is due there;
//    output leaves; the timer is armed for core's next deadline.
// 4. When the log has committed and applied the batch, on_log_update() releases its replies, and
//    before_poll() of the same turn sends them.
//
// It decides only when something is done. Core decides what is due, and the log how a batch is
// written. Everything is joined at the end of the turn, not in each callback: callbacks that
// appended batches and wrote output themselves would make a batch, a sync and a write for each
// client.
//
// Invariants: Nothing is appended while the log is not idle. All reads that core asked for begin
// before the next append, because a later batch may delete what they read. A checkpoint is created
// between the two batches between which core has put its point.
class Turn {
 public:
  // What it asks of the other parts, on the loop's thread.
  class Parts {
   public:
    virtual ~Parts() = default;
    // Writes what may leave, and reads on, stops reading, or closes the connection, as core says,
    // for some of these connections: from the first on, and at least for one. Returns for how many.
    virtual size_t serve(std::span<const ConnId> conns) = 0;
    // Begins a read, which ends with core's on_body(), perhaps before this returns.
    virtual void read_body(const core::BodyRead& read) = 0;
    // The same, with core's on_notes().
    virtual void read_notes(const core::NoteRead& read) = 0;
    // The same, with core's on_ended().
    virtual void read_ended(core::EndedRead&& read) = 0;
    // Called before each append.
    virtual void before_append(const store::Batch& batch) = 0;
    // If a checkpoint point follows the last batch taken, gives the checkpoint its place in the
    // log.
    virtual void order_checkpoint() = 0;
    virtual void on_checkpoint_created(const store::CheckpointCreated& created) = 0;
    // Returns the free space that the disk has now.
    virtual store::DiskLeft disk_left() = 0;
    // Arms the timer, in place of any earlier time: on_timer() is due after `left` nanoseconds.
    virtual void arm_timer(Nanos left) = 0;
  };
  struct TurnResult {
    bool all = false;      // Nothing is left that could be done now.
    bool at_once = false;  // The next turn should come without blocking.
  };

  // All of them outlive this. Takes the first update of the log.
  Turn(core::Core& core, store::Log& log, TurnClock& clock, TurnBudget& budget, Parts& parts);

  // Core was given bytes, and more may come in this turn.
  void hand_over_early();
  void on_log_update();
  void on_timer();

  TurnResult before_poll();

  // From here on every batch is due at once, and core's deadlines are ignored.
  void begin_stop() { stopping_ = true; }

  const StoreFacts& store_facts() const { return store_facts_; }

 private:
  bool must_poll_again();
  bool process_all();
  void run_waiting();
  bool serve_changed();
  bool hand_over();
  void start_reads();
  void arm_timer();

  core::Core& core_;
  store::Log& log_;
  TurnClock& clock_;
  TurnBudget& budget_;
  Parts& parts_;
  StoreFacts store_facts_;
  bool stopping_ = false;
  std::optional<Nanos> armed_;  // When on_timer() is due.
  std::vector<ConnId> changed_;
  size_t next_changed_ = 0;    // The first of changed_ that was not served yet.
  bool writes_here_ = false;   // The last batch was written during its append.
  bool polls_again_ = false;   // In this turn: must_poll_again().
  unsigned extra_polls_ = 0;   // In a row, for the same open batch.
  size_t awaited_before_ = 0;  // At the last extra poll.
};

}  // namespace perennial::perenniald
