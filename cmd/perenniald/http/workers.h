#pragma once

#include <functional>

namespace perennial::http {

// Does what needs nothing of the loop on another thread, one piece of work after the other.
class Workers {
 public:
  virtual ~Workers() = default;
  // Calls `work` on another thread, and then `done` on the loop. `work` may use only what it owns,
  // and throws nothing.
  virtual void run(std::function<void()> work, std::function<void()> done) = 0;
};

}  // namespace perennial::http
