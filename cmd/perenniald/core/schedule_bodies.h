#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "cmd/perenniald/core/memory_budget.h"
#include "engine/types/basic.h"
#include "engine/types/body.h"

namespace perennial::core {

// The bodies of all schedules, which stay in memory: a schedule fires without a read. A job that a
// schedule puts shares the bytes. The bytes of a body never move, and stay until every batch that
// names them is written, also after the schedule was set anew or deleted.
class ScheduleBodies {
 public:
  // The budget outlives this.
  explicit ScheduleBodies(MemoryBudget& budget) : charge_(budget) {}

  // Takes the body of a schedule that was set in this batch. Returns its bytes, which are valid
  // until the batch is written. REQUIRES: `batch` is not below that of any earlier call.
  std::string_view set(const std::string& name, Body body, BatchIndex batch);
  // The schedule is gone. `open_batch`: the one that says so.
  void erase(const std::string& name, BatchIndex open_batch);
  // Batches up to `written` have been written.
  void on_written(BatchIndex written);

  // Null: there is no such schedule. Valid until the next call of a non-const function.
  const Body* find(std::string_view name) const;
  // Also of those that were replaced and are not written yet.
  size_t bytes() const { return bytes_; }

 private:
  struct Replaced {
    BatchIndex batch;  // It stays until this one is written.
    Body body;
  };
  void count(const Body& body);
  void uncount(const Body& body);

  size_t bytes_ = 0;
  MemoryBudget::Charge charge_;
  std::map<std::string, Body, std::less<>> by_name_;
  std::deque<Replaced> replaced_;
};

}  // namespace perennial::core
