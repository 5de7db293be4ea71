#pragma once

#include <cstddef>

#include <uv.h>

#include "cmd/perenniald/clock.h"
#include "cmd/perenniald/core/core.h"
#include "store/store.h"

namespace perennial::perenniald {

// Reads bodies that are not in memory on libuv's pool, each as the database was when it was asked
// for.
class BodyReads {
 public:
  // All outlive the reads.
  BodyReads(uv_loop_t& loop, core::Core& core, TurnClock& clock)
      : loop_(loop), core_(core), clock_(clock) {}

  void start(const store::Store& store, const core::BodyRead& read);
  bool busy() const { return under_way_ > 0; }

 private:
  struct Work;
  void finish(Work& work);

  uv_loop_t& loop_;
  core::Core& core_;
  TurnClock& clock_;
  size_t under_way_ = 0;
};

}  // namespace perennial::perenniald
