#pragma once

#include <cstdint>
#include <string>

#include "engine/tables/state.h"
#include "engine/types/option_values.h"

namespace perennial::engine {

// A walk over jobs in the order of their ids, for the jobs of one tube in some states that fit. It
// finds no job that was put after it began. A job that it has not reached may be reserved, deleted
// or moved by anybody meanwhile.
class Walk : public Operation {
 public:
  bool begin(State& state) override;
  Job* next(State& state) override;
  void finish(State& state) override;
  uint64_t moved() const override { return moved_; }

 protected:
  // `conn` gets the answer at the end: `word` and how many jobs were moved.
  Walk(State& state, Conn& conn, Word word, const std::string& tube, StateSet states,
       const JobMatch& match);

  const std::string& tube() const { return tube_; }
  // The walk goes on behind the job.
  void pass(const Job& job) { next_id_ = job.id + 1; }

  uint64_t moved_ = 0;

 private:
  Conn& conn_;
  const Word word_;
  // The name, because the number may become that of another tube while the walk is suspended.
  const std::string tube_;
  const StateSet states_;
  const JobMatch match_;
  const Nanos asked_at_;  // Ages are those of this time, however long the walk takes.
  JobId next_id_ = 1;     // The walk has passed all ids below.
  JobId end_id_ = 0;      // The walk ends before this id.
};

}  // namespace perennial::engine
