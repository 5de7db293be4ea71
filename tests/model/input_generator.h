#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "engine/types/input.h"
#include "tests/model/model_engine.h"

namespace perennial::model {

// Generates random inputs with few tubes, ids and priorities, so that they affect the same jobs.
// The seed gives each kind of input a weight, which may be 0. The time between two inputs is
// random, too, and often ends exactly at a deadline. Where `Times::Longest` is given, durations are
// often the longest that a client can ask for.
class InputGenerator {
 public:
  enum class Times : uint8_t { Short, Longest };
  // Whether there are schedules, if the seed has them, too.
  enum class Schedules : uint8_t { No, Yes };

  explicit InputGenerator(uint64_t seed, Schedules schedules = Schedules::No)
      : InputGenerator(seed, usual_start, Times::Short, schedules) {}
  InputGenerator(uint64_t seed, Nanos start, Times times, Schedules schedules = Schedules::No);

  // Returns an input that Engine::apply() permits now: its connection is open and has no unanswered
  // command.
  engine::Input next(const ModelEngine& model);
  // Returns true once in `n` calls on average.
  bool chance(uint32_t n) { return below(n) == 0; }
  uint32_t below(uint32_t bound) { return static_cast<uint32_t>(random_() % bound); }
  Nanos now() const { return now_; }
  Nanos wall() const { return wall_; }

 private:
  static constexpr size_t kind_count = 47;
  static constexpr Nanos usual_start = 1'700'000'000 * nanos_per_second;

  engine::Event event(size_t kind, const ModelEngine& model);
  Command command(size_t kind, const ModelEngine& model);
  std::optional<ConnId> ready_conn(const ModelEngine& model);
  JobId some_id(const ModelEngine& model);
  std::string some_tube();
  Put some_put();
  PutBatch some_put_batch();
  JobFacts some_facts();
  Boxed<ReserveOptions> some_reserve_options();
  PriorityOrKeep some_priority();
  TouchTime some_ttr();
  // Below the bound, or the longest duration.
  uint32_t some_seconds(uint32_t bound);
  // `count` times `unit`, or the longest duration.
  Nanos some_time(uint32_t count, Nanos unit);
  Watch some_watch();
  Backoff some_backoff();
  void add_options(Put& put);
  SetTube some_set_tube();
  engine::Event some_restore(const ModelEngine& model);
  engine::Event some_ended_over(const ModelEngine& model);
  engine::Event some_ended_asked();
  ScheduleWhen some_when();
  Schedule some_schedule();
  Command some_schedule_command();
  StateSet some_states();
  SetJob some_set_job(const ModelEngine& model);
  MoveTube some_move();
  KickTube some_kick_tube();
  JobMatch some_match();
  std::vector<JobId> some_ids(const ModelEngine& model);
  void pass_time(const ModelEngine& model);
  void pass_wall(Nanos time);

  // What the seed has switched on.
  struct Features {
    bool attempts = false;
    bool expire = false;
    bool unique = false;
    bool milliseconds = false;
    bool limits = false;
    bool concurrency = false;
    bool ended = false;
    bool schedules = false;
  };

  std::mt19937_64 random_;
  const Times times_;
  Features features_;
  std::array<uint32_t, kind_count> weights_{};
  Nanos now_;
  Nanos wall_;  // It goes on as `now_` does, and jumps where there are schedules.
  ConnId last_conn_ = 0;
};

}  // namespace perennial::model
