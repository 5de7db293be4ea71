#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/types/basic.h"
#include "engine/types/command.h"

// The states that one job may have, given everything that clients were answered.
namespace perennial::simulation {

// The position of a command in the history. A command that was sent later has a higher one.
using OpId = uint64_t;

inline constexpr int64_t never = std::numeric_limits<int64_t>::max();

// A command that was sent. It takes effect at some moment before its answer, or possibly never if
// it is not answered.
struct Op {
  OpId id = 0;
  ConnId conn = 0;
  Nanos sent = 0;
  Command command = {};
  size_t serial = no_job;  // The job that the command names or puts.
  std::string tube = {};   // The tube that the connection used when the command was sent.
  bool quiet = false;  // No other command except reserves was unanswered when this one was sent.

  static constexpr size_t no_job = std::numeric_limits<size_t>::max();
};

// The outcome of a command for one job. State and priority are set by stats-job only.
struct Effect {
  bool done = false;
  JobState state = JobState::Ready;
  uint32_t priority = 0;

  bool operator==(const Effect&) const = default;
};

// An unanswered command that has taken effect on a job, or failed to.
struct Applied {
  OpId op = 0;
  ConnId conn = 0;
  Effect effect = {};

  bool operator==(const Applied&) const = default;
};

// When something happened, in time or in positions of the history. The end is open while the
// command that caused it is unanswered.
struct Window {
  int64_t from = 0;
  int64_t to = 0;
  OpId op = 0;

  bool operator==(const Window&) const = default;
};

// One state that a job may have.
struct PossibleState {
  bool exists = false;
  JobState state = JobState::Ready;
  uint32_t priority = 0;
  ConnId holder = 0;         // For Reserved.
  int64_t expires_from = 0;  // For Reserved: the ttr does not end before this time.
  Window due = {};           // For Delayed, or where a crash may make the job delayed again.
  Window buried = {};        // For Buried, or where a crash may make the job buried again.
  // The state before a recoverable transition. A crash may bring the job back to it.
  JobState before = JobState::Ready;
  std::vector<Applied> applied = {};  // Sorted by id.

  bool operator==(const PossibleState&) const = default;
};

std::string describe(const PossibleState& candidate);

// The circumstances at one moment.
struct Moment {
  Nanos now = 0;
  OpId place = 0;  // Commands that are sent from here on have at least this id.
  // The unanswered commands that name no job and may change one: reserves and kicks.
  std::span<const Op* const> wide = {};
  const std::function<bool(ConnId)>& is_open;
};

// The set of possible states, one of which is true. It grows with commands that may have taken
// effect, and shrinks with answers. If it becomes empty, a client received an answer that cannot be
// true.
class PossibleStates {
 public:
  PossibleStates(uint32_t ttr_s, std::string tube);

  // `op`, which names this job, was sent. It must not move in memory until finish().
  void sent(const Op& op) { pending_.push_back(&op); }
  // The command was answered with this outcome. Returns false if the outcome is impossible.
  [[nodiscard]] bool answered(const Op& op, const Effect& effect, const Moment& moment);
  // A command that names no job was answered and did not change this job. Returns false if that is
  // impossible.
  [[nodiscard]] bool not_taken(const Op& op, const Moment& moment);
  // The command was never answered, or its answer says nothing about this job. It has taken effect
  // or not, and will not from here on.
  void finish(const Op& op, const Moment& moment);

  // The server ended and restarted. `loses_unsynced` says that what was not durable is lost.
  void crash(bool loses_unsynced, const Moment& moment);
  // Everything that was answered so far is durable.
  void all_durable() { past_.clear(); }
  // Keeps the states since all was durable, for a crash that loses what was not synced.
  void keep_past() { keeps_past_ = true; }

  const std::vector<PossibleState>& advance_to(const Moment& moment);
  const std::vector<PossibleState>& candidates() const { return candidates_; }
  // The job has too many possible states and is no longer checked. This is rare: it takes many
  // unanswered commands.
  bool given_up() const { return given_up_; }
  bool surely_exists() const;
  bool surely_gone() const;
  // Removes the states that an observation excludes. Returns false if none is left.
  [[nodiscard]] bool keep(const std::function<bool(const PossibleState&)>& is_possible);

  const std::string& tube() const { return tube_; }

 private:
  void add_all_successors(const Moment& moment);
  void remember();
  void give_up();
  bool is_next(const Op& op, const PossibleState& candidate) const;
  void add_successors(const PossibleState& candidate, const Moment& moment,
                      std::vector<PossibleState>& out) const;
  void forget_op(const Op& op);

  uint32_t ttr_s_;
  std::string tube_;
  std::vector<const Op*> pending_;
  std::vector<PossibleState> candidates_ = {PossibleState{}};
  std::vector<PossibleState> past_;  // The possible states since everything was durable.
  bool keeps_past_ = false;
  bool given_up_ = false;
};

}  // namespace perennial::simulation
