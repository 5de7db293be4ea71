#pragma once

#include <cstddef>
#include <cstdint>

namespace perennial::core {

// How much of one connection is run before other connections have their turn. It counts costs and
// reads no clock, so the same commands always run in the same order. A cost of one is about ten
// nanoseconds; only its order of magnitude matters. A time limit would fit better, but no test
// could repeat a run then.
//
// perenniald::TurnBudget bounds the time of a whole turn, with the clock, between two runs.
// engine::Limits bounds the number of jobs that one input moves.
class RunBudget {
 public:
  // The commands of one run may together cost `run_cost_max`. The last command may exceed it.
  explicit RunBudget(uint64_t run_cost_max) : run_cost_max_(run_cost_max) {}

  void spend(uint64_t cost) { spent_ += cost; }
  // Spends what a command costs in parser, core and engine, besides Output::cost and its reply.
  // `bytes`: how many the parser took.
  void spend_on_command(size_t bytes) { spend(command_cost + bytes / bytes_per_cost); }
  // Spends what the bytes of an answer cost, which are copied.
  void spend_on_answer(size_t bytes) { spend(bytes); }

  // One run, which begins with the construction. The budget outlives it.
  class Run {
   public:
    explicit Run(const RunBudget& budget)
        : budget_(budget), enough_(budget.spent_ + budget.run_cost_max_) {}
    bool may_go_on() const { return budget_.spent_ < enough_; }

   private:
    const RunBudget& budget_;
    const uint64_t enough_;
  };

 private:
  static constexpr uint64_t command_cost = 60;
  static constexpr size_t bytes_per_cost = 32;

  const uint64_t run_cost_max_;
  uint64_t spent_ = 0;  // By all runs together.
};

}  // namespace perennial::core
