#pragma once

#include <cstddef>
#include <functional>
#include <optional>
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

// What one turn of the loop does, in order, without libuv:
//
// 1. Callbacks tell core what happened: bytes that have come (Connections), on_timer(), on_news()
//    of the log. A put that enters joins core's open batch, and its reply waits there.
// 2. After each piece of bytes, hand_over_early(): a batch that has become large goes to the log at
//    once.
// 3. Just before the loop blocks, carry(): commands that wait for their turn are run; reads of
//    bodies begin; a batch that is due goes to the log, if that is idle, and a cut behind it;
//    output leaves; the timer is armed for core's next deadline.
// 4. When the log has committed and applied the batch, on_news() releases its replies, and the same
//    turn's carry() lets them leave.
//
// It decides nothing but when: what is due is core's affair, how it is written is the log's.
//
// Invariant: nothing is appended while the log is not idle, nor before the reads that core has made
// are begun (a later batch may delete what they read), and a cut lies between the batches between
// which core has put it.
class Turn {
 public:
  // What it asks of those around it, on the loop.
  struct Around {
    // Writes what may leave, and reads on, stops, or closes as core says.
    std::function<void(ConnId)> serve;
    // Begins a read that ends with core's on_body(), maybe at once.
    std::function<void(const core::BodyRead&)> read_body;
    // Called before each append.
    std::function<void(const store::Batch&)> before_append;
    // If core has a cut behind the last batch taken, gives it its place in the log.
    std::function<void()> order_cut;
    std::function<void(const store::CutDone&)> on_cut;
    // How much room the disk has now.
    std::function<store::DiskLeft()> disk_left;
    // In place of what it was armed for before: on_timer() is due after so long.
    std::function<void(Nanos left)> arm_timer;
  };
  struct Carried {
    bool all = false;      // Nothing is left that could be done now.
    bool at_once = false;  // The next turn should come without blocking.
  };

  // All of them outlive this. Takes the log's first news.
  Turn(core::Core& core, store::Log& log, TurnClock& clock, TurnBudget& budget, Around around);

  // Core was given bytes, and there may be more to come in this turn.
  void hand_over_early();
  void on_news();
  void on_timer();

  Carried carry();

  // From here on every batch is due, and core is told of no deadline.
  void begin_stop() { stopping_ = true; }

  const StoreFacts& store_facts() const { return store_facts_; }

 private:
  bool gather();
  bool carry_all();
  void run_waiting();
  bool serve_changed();
  bool hand_over();
  void start_reads();
  void arm_timer();

  core::Core& core_;
  store::Log& log_;
  TurnClock& clock_;
  TurnBudget& budget_;
  const Around around_;
  StoreFacts store_facts_;
  bool stopping_ = false;
  std::optional<Nanos> armed_;  // When on_timer() is due.
  std::vector<ConnId> changed_;
  size_t next_changed_ = 0;      // The first of them that has not been served yet.
  bool writes_here_ = false;     // The last batch was written during its append.
  bool gathering_ = false;       // In this turn: gather().
  unsigned gathered_turns_ = 0;  // In a row, for the open batch.
  size_t missing_before_ = 0;    // Then.
};

}  // namespace perennial::perenniald
