#pragma once

#include <cstddef>
#include <deque>
#include <optional>

#include "cmd/perenniald/core/body_waits.h"
#include "cmd/perenniald/core/memory_budget.h"
#include "cmd/perenniald/core/shared_bodies.h"
#include "engine/types/basic.h"
#include "engine/types/command.h"
#include "engine/view/engine_view.h"

namespace perennial::core {

// The large answers that wait for memory, in the order in which they were asked for. One answer may
// be as large as the whole budget of answers. If answers were made first and counted afterwards, a
// few clients could take many times that budget. So each is admitted before it is made, and none
// overtakes an earlier one.
class LargeAnswers {
 public:
  // An answer that holds a body, whose waiting replies are in BodyWaits; or the answer to a listing
  // command that has not been run.
  struct Answer {
    size_t bytes = 0;  // An estimate.
    JobId job = 0;     // 0: the answer to `command`.
    ConnId conn = 0;
    std::optional<Command> command = {};
  };

  // All of them outlive this.
  LargeAnswers(engine::EngineView engine, const MemoryBudget& budget,
               const SharedBodies& shared_bodies, BodyWaits& waits)
      : engine_(engine), budget_(budget), shared_bodies_(shared_bodies), waits_(waits) {}

  // Whether an answer of so many bytes has to wait. An answer that is not large never has to.
  bool must_wait(size_t bytes) const {
    return waits_.is_large(bytes) && (!answers_.empty() || !has_memory(bytes));
  }
  bool empty() const { return answers_.empty(); }
  void add(Answer&& answer) { answers_.push_back(std::move(answer)); }

  // Whether the first may be made: the budget admits it, or its body is a shared body already.
  bool may_make() const;
  // Removes and returns the first. REQUIRES: !empty().
  Answer take();

  // A connection is closed: drops the answers that no other connection waits for.
  void drop_connection(ConnId conn);
  // Drops the answer that holds the body of this job.
  void drop_body(JobId job);

 private:
  bool has_memory(size_t bytes) const { return budget_.admits(bytes, engine_.memory_bytes()); }

  const engine::EngineView engine_;
  const MemoryBudget& budget_;
  const SharedBodies& shared_bodies_;
  BodyWaits& waits_;
  std::deque<Answer> answers_;
};

}  // namespace perennial::core
