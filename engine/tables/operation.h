#pragma once

#include <cstdint>

namespace perennial::engine {

class State;
struct Job;

// An operation that may move many jobs: it goes on step by step until the turn is over, and
// continues in later turns. Only advance() (operations.h) calls the first four functions, so it is
// the one place that keeps the bound of a turn.
class Operation {
 public:
  Operation() = default;
  Operation(const Operation&) = delete;
  Operation& operator=(const Operation&) = delete;
  virtual ~Operation() = default;

  // Runs before the first step. False: the operation waits until a later turn.
  virtual bool begin(State& /*state*/) { return true; }
  // Returns the job of the next step; null when the operation is done, or, with is_interrupted,
  // when the turn was over before the next job was found.
  virtual Job* next(State& state) = 0;
  // Makes one transition of that job, or two if a connection waits for it.
  virtual void step(State& state, Job& job) = 0;
  // Runs when the turn is over before the operation is done.
  virtual void suspend(State& /*state*/) {}
  // Runs when it is done: answers whoever asked for it.
  virtual void finish(State& /*state*/) {}
  // Runs instead of finish() when its connection closes before.
  virtual void abandon(State& /*state*/) {}
  // How many jobs it has moved.
  virtual uint64_t moved() const { return 0; }

  bool has_begun = false;
  bool is_whole = false;        // It ends in the turn in which it begins.
  bool is_interrupted = false;  // next() has looked at jobs until the turn was over.
};

}  // namespace perennial::engine
