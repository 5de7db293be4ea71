#pragma once

#include <cstdint>
#include <string_view>
#include <utility>

#include "engine/tables/cost.h"
#include "engine/types/basic.h"
#include "engine/types/check.h"
#include "engine/types/input.h"
#include "engine/types/reply.h"

namespace perennial::engine {

// The input that is being applied, and the turn that it belongs to: all inputs of the same time, up
// to the next Tick. Knows what time it is, where transitions and replies go, and what the turn may
// still cost. Owns nothing else; REQUIRES: the limits outlive it.
class Turn {
 public:
  explicit Turn(const Limits& limits) : limits_(limits) {}
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

  // An input begins. What follows goes to `out`, up to end(). REQUIRES: its time is not before that
  // of an earlier input.
  void begin(const Input& input, Output& out) {
    CHECK(input.now >= now_);
    if (input.now > now_) restart();
    now_ = input.now;
    wall_ = input.wall;
    accepts_puts_ = input.accepts_puts;
    keeps_ended_ = input.keeps_ended;
    user_ = input.user;
    out_ = &out;
    transitions_before_ = transitions_;
    cost_before_ = cost_;
  }
  // Adds the cost of the input to its output.
  void end() {
    const uint64_t moved = transitions_ - transitions_before_;
    out_->cost += cost_ - cost_before_ + moved * cost::job_moved;
    out_ = nullptr;
    user_ = {};
  }
  // A new turn begins, although time may stand still. Called before begin().
  void restart() {
    transitions_ = 0;
    cost_ = 0;
  }

  // The time of this input, or of the last one.
  Nanos now() const { return now_; }
  // What the wall clock shows in this input, or showed in the last one. Only schedules read it. 0:
  // it is not known yet.
  Nanos wall() const { return wall_; }
  // Whether disk and memory have space for another job.
  bool accepts_puts() const { return accepts_puts_; }
  // Whether jobs that end in a tube with these settings are kept.
  bool keeps_ended(const Boxed<TubeSettings>& settings) const {
    return keeps_ended_ && settings && perennial::keeps_ended(*settings);
  }
  // Who acts in this input. Empty: there are no users, or nobody does. Valid within the input.
  std::string_view user() const { return user_; }

  // Each REQUIRES: an input is being applied. Transitions and replies are in the order in which
  // they happen.
  template <typename T>
  void emit(T&& transition) {
    out_->transitions.emplace_back(std::forward<T>(transition));
  }
  // One that counts for the bound of the turn.
  template <typename T>
  void emit_counted(T&& transition) {
    count_transition();
    emit(std::forward<T>(transition));
  }
  void answer(ConnId conn, Reply reply) { out_->replies.push_back({conn, std::move(reply)}); }
  void give_part(NamesPart part) { out_->names_parts.push_back(std::move(part)); }

  // Work that costs as much as a transition.
  void count_transition() { ++transitions_; }
  // In the unit of Output::cost.
  void spend(uint64_t cost) { cost_ += cost; }

  bool is_over() const {
    return transitions_ >= limits_.transitions_per_turn_max || cost_is_spent();
  }
  // Work that moves no job checks only this bound, because it need not wait for the disk.
  bool cost_is_spent() const { return cost_ >= limits_.cost_per_turn_max; }
  // Whether so many more transitions fit into the turn.
  bool has_place_for(uint32_t transitions) const {
    return transitions_ + transitions <= limits_.transitions_per_turn_max;
  }

 private:
  const Limits& limits_;
  Nanos now_ = 0;
  Nanos wall_ = 0;
  bool accepts_puts_ = true;
  bool keeps_ended_ = true;
  std::string_view user_;
  Output* out_ = nullptr;
  uint32_t transitions_ = 0;  // Of this turn.
  uint64_t cost_ = 0;         // Of this turn, without its transitions.
  // As they were when the input began.
  uint32_t transitions_before_ = 0;
  uint64_t cost_before_ = 0;
};

}  // namespace perennial::engine
