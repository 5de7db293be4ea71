#pragma once

#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "tests/oracle/differential.h"

namespace perennial::oracle {

// Makes random steps for which both servers must give the same replies. No reply depends on time:
// ttr, delays and pauses are 0 or at least 1,000 seconds, and at most one reserve waits at a time.
// Known differences between beanstalkd 1.12 and 1.13 are left out.
class Generator {
 public:
  static constexpr size_t conns = 4;
  static constexpr uint32_t job_bytes_max = 1000;

  explicit Generator(uint64_t seed);

  // `waiting` is the connection whose reserve waits. The step is for another connection, or it ends
  // this one.
  Step next(std::optional<size_t> waiting);
  // Takes the replies to the step and learns ids from them.
  void learn(const Step& step, const std::vector<std::string>& replies);
  // The number of commands made so far.
  uint64_t commands() const { return commands_; }

 private:
  using Make = void (Generator::*)(Step& step);
  struct Kind {
    Make make;
    int weight;
  };
  static const std::vector<Kind> kinds;

  uint64_t below(uint64_t limit) { return random_() % limit; }
  bool chance(int percent) { return below(100) < static_cast<uint64_t>(percent); }
  template <typename T>
  const T& pick(const std::vector<T>& from) {
    return from[below(from.size())];
  }

  void choose_weights();
  void add_command(Step& step);
  void line(Step& step, std::string_view text);
  Step wake_up(size_t conn);
  Step wait_on(size_t conn);
  std::string id(const Step& step);
  std::string priority();
  std::string delay();
  std::string tube();
  std::string body(size_t bytes);

  void put(Step& step);
  void put_too_big(Step& step);
  void put_no_crlf(Step& step);
  void put_bad_line(Step& step);
  void put_ttr_zero(Step& step);
  void reserve(Step& step);
  void reserve_job(Step& step);
  void remove(Step& step);
  void release(Step& step);
  void bury(Step& step);
  void touch(Step& step);
  void kick(Step& step);
  void kick_job(Step& step);
  void peek(Step& step);
  void peek_state(Step& step);
  void stats(Step& step);
  void stats_job(Step& step);
  void stats_tube(Step& step);
  void list(Step& step);
  void use(Step& step);
  void watch(Step& step);
  void ignore(Step& step);
  void pause(Step& step);
  void malformed(Step& step);
  void long_line(Step& step);

  std::mt19937_64 random_;
  std::vector<int> weights_;
  uint64_t commands_ = 0;
  uint64_t next_id_ = 1;
  size_t waited_steps_ = 0;                         // Steps since a reserve began to wait.
  std::vector<std::vector<std::string>> reserved_;  // The ids that each connection has reserved.
};

}  // namespace perennial::oracle
