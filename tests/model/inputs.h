#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <random>
#include <string>

#include "engine/input.h"
#include "tests/model/naive.h"

namespace perennial::model {

// Random inputs, from few tubes, ids and priorities, so that they meet. Each kind is weighted by
// the seed and some are switched off. The time that passes between two of them is drawn, too, and
// often ends exactly at a deadline.
class Inputs {
 public:
  explicit Inputs(uint64_t seed);

  // An input that is allowed now: its connection is open and has nothing unanswered.
  engine::Input next(const Naive& naive);
  // One in `n`.
  bool chance(uint32_t n) { return below(n) == 0; }
  uint32_t below(uint32_t bound) { return static_cast<uint32_t>(random_() % bound); }
  Nanos now() const { return now_; }

 private:
  static constexpr size_t kind_count = 32;

  engine::Event event(size_t kind, const Naive& naive);
  Command command(size_t kind, const Naive& naive);
  std::optional<ConnId> ready_conn(const Naive& naive);
  JobId some_id(const Naive& naive);
  std::string some_tube();
  void pass_time(const Naive& naive);

  std::mt19937_64 random_;
  std::array<uint32_t, kind_count> weights_{};
  Nanos now_ = 1'700'000'000 * nanos_per_second;
  ConnId last_conn_ = 0;
};

}  // namespace perennial::model
