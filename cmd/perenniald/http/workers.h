#pragma once

#include <functional>

namespace perennial::http {

// Does what needs nothing of the loop on another thread, one step after the other.
class Workers {
 public:
  struct Work {
    // Does some of it, for a millisecond at most, and returns whether all is done. It may use only
    // what it owns, and throws nothing.
    std::function<bool()> step = {};
    std::function<void()> on_done = {};  // Called on the loop. Null: nobody waits for it.
    // It takes turns, step by step, with all the other work, which is done in its order.
    bool is_for_monitor = false;
  };

  virtual ~Workers() = default;
  virtual void run(Work work) = 0;
};

}  // namespace perennial::http
