#pragma once

#include <cstddef>
#include <deque>
#include <utility>

#include "cmd/perenniald/http/workers.h"

namespace perennial::http {

// Does what it is given when a test says so, and on the same thread.
class FakeWorkers final : public Workers {
 public:
  void run(Work work) override { given_.push_back(std::move(work)); }
  bool step() { return given_.front().step(); }
  void work() {
    while (!step()) continue;
  }
  void end() {
    const Work ended = std::move(given_.front());
    given_.pop_front();
    ended.on_done();
  }
  size_t given() const { return given_.size(); }
  bool is_for_monitor() const { return given_.front().is_for_monitor; }

 private:
  std::deque<Work> given_;
};

}  // namespace perennial::http
