#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <utility>

#include "cmd/perenniald/http/workers.h"

namespace perennial::http {

// Does what it is given when a test says so, and on the same thread.
class FakeWorkers final : public Workers {
 public:
  void run(std::function<void()> work, std::function<void()> done) override {
    given_.emplace_back(std::move(work), std::move(done));
  }
  void work() { given_.front().first(); }
  void end() {
    const auto done = std::move(given_.front().second);
    given_.pop_front();
    done();
  }
  size_t given() const { return given_.size(); }

 private:
  std::deque<std::pair<std::function<void()>, std::function<void()>>> given_;
};

}  // namespace perennial::http
