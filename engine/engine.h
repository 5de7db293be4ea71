#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "engine/types/image.h"
#include "engine/types/input.h"
#include "engine/types/status.h"
#include "engine/view/engine_view.h"

namespace perennial::engine {

class State;

// The job-state machine: every rule of the protocol about jobs, tubes and connections. The engine
// uses no clock, thread, file, socket or random number: the same inputs give the same outputs.
//
// Owns all jobs and tubes, and what the engine knows of each connection. Never holds the bytes of a
// body.
//
// Invariants: a job is in exactly one heap, that of its state. No tube that is not paused has both
// a ready job and a waiting connection.
//
// The cost of an input grows with the logarithm of the number of jobs, tubes and connections, with
// the number of tubes that the connections concerned watch, and with the number of jobs that the
// input moves. An operation that may move many jobs or visit many tubes goes on over several turns,
// and each turn ends soon after transitions_per_turn_max or cost_per_turn_max. A turn is all inputs
// of the same time, up to the next Tick.
class Engine {
 public:
  // REQUIRES: the limits that are at least 1 are.
  explicit Engine(const Limits& limits);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // Applies one input and appends its transitions and replies to `out`.
  //
  // REQUIRES: input.now is not before the time of any earlier input. A connection is Opened before
  // its first event, and has no event after it was Closed. A connection has no second command while
  // one is unanswered. No Quit and no Checkpoint.
  void apply(const Input& input, Output& out);

  // When the next Tick with this `go_on` is due; no value while nothing waits for time. A time in
  // the past means at once.
  std::optional<Nanos> next_deadline(bool go_on = true) const;

  // ---- Start. Called before the first apply(): all tubes, then pauses and jobs in any order, then
  // finish_restore(). Each returns Corruption when its argument contradicts what was restored
  // earlier.
  Status restore_tube(TubeId tube, std::string_view name);
  Status restore_pause(const TubePaused& pause, Nanos now);
  // A reserved job stays reserved, without a connection, until the Ticks after finish_restore()
  // make it ready.
  Status restore_job(const JobRow& row, Nanos now);
  Status restore_key(const KeyStored& key, Nanos now);
  Status restore_settings(const SettingsStored& settings);
  Status restore_ended(const std::string& tube, const EndedSpan& span);
  Status restore_schedule(const ScheduleStored& stored);
  // `next_id` is an id that was never given out, and neither was any above it. Ends the tubes that
  // hold no job, because a restart counts as every client leaving.
  Status finish_restore(JobId next_id, Nanos now, Output& out);

  // ---- State.
  // Valid as long as the engine.
  EngineView view() const;
  // All that is kept on disk. Takes time in proportion to the number of jobs.
  Image image() const;
  // Recounts everything from scratch and aborts the process at the first difference. For tests.
  void check() const;

 private:
  std::unique_ptr<State> state_;
};

}  // namespace perennial::engine
