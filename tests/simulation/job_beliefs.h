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

// What may be true of one job, given all that clients were told.
namespace perennial::simulation {

// A command's place in the history: one that was sent later has a higher one.
using OpId = uint64_t;

inline constexpr int64_t never = std::numeric_limits<int64_t>::max();

// A command that was sent, and takes effect at some moment until it is answered, if it ever is.
struct Op {
  OpId id = 0;
  ConnId conn = 0;
  Nanos sent = 0;
  Command command = {};
  size_t serial = no_job;  // The job that it names, or brings.
  std::string tube = {};   // The one that its connection used when it was sent.
  bool quiet = false;      // No other command was unanswered when it was sent, save reserves.

  static constexpr size_t no_job = std::numeric_limits<size_t>::max();
};

// What a command came to, for one job. The rest means something with stats-job only.
struct Effect {
  bool done = false;
  JobState state = JobState::Ready;
  uint32_t priority = 0;

  bool operator==(const Effect&) const = default;
};

// An unanswered command that has taken effect on a job, or found that it could not.
struct Applied {
  OpId op = 0;
  ConnId conn = 0;
  Effect effect = {};

  bool operator==(const Applied&) const = default;
};

// When something happened, in time or in places of the history. Its end is open for as long as the
// command that did it is unanswered.
struct Window {
  int64_t from = 0;
  int64_t to = 0;
  OpId op = 0;

  bool operator==(const Window&) const = default;
};

// One thing that may be true of a job.
struct Belief {
  bool exists = false;
  JobState state = JobState::Ready;
  uint32_t priority = 0;
  ConnId holder = 0;         // With Reserved.
  int64_t expires_from = 0;  // With Reserved: its ttr is not over before this.
  Window due = {};           // With Delayed, or where a crash may make it that again.
  Window buried = {};        // With Buried, likewise.
  // Where it was before a move that was not promised: a crash may bring it back there.
  JobState before = JobState::Ready;
  std::vector<Applied> applied = {};  // By id.

  bool operator==(const Belief&) const = default;
};

std::string describe(const Belief& belief);

// What else there is at a moment.
struct Moment {
  Nanos now = 0;
  OpId place = 0;  // Whatever is sent from here on has at least this id.
  // The unanswered commands that name no job and may take one: reserves and kicks.
  std::span<const Op* const> wide = {};
  const std::function<bool(ConnId)>& is_open;
};

// A set of beliefs, one of which is true. It grows with what may happen unseen, and shrinks with
// what clients are told. When none is left, a client was told what cannot be.
class JobBeliefs {
 public:
  JobBeliefs(uint32_t ttr_s, std::string tube);

  // `op`, which names this job, was sent. It must stay where it is until it is finished.
  void sent(const Op& op) { pending_.push_back(&op); }
  // It was answered, and this is what it came to. False: that cannot be.
  [[nodiscard]] bool told(const Op& op, const Effect& effect, const Moment& moment);
  // A command that names no job was answered, and this job was not part of it. False: it was.
  [[nodiscard]] bool not_taken(const Op& op, const Moment& moment);
  // It was never answered, or its answer does not tell: it took effect, or did not, and from here
  // on it will not.
  void finish(const Op& op, const Moment& moment);

  // The server ended and came back. `loses_unsynced`: and lost what was not durable.
  void crash(bool loses_unsynced, const Moment& moment);
  // All that was told so far is durable.
  void all_durable() { past_.clear(); }
  // Whether to keep what was true since then, for a crash that loses it.
  void keep_past() { keeps_past_ = true; }

  const std::vector<Belief>& settled(const Moment& moment);
  const std::vector<Belief>& beliefs() const { return beliefs_; }
  // So much may be true of it that it is not checked any more. Seldom: much must be unanswered.
  bool given_up() const { return given_up_; }
  bool surely_exists() const;
  bool surely_gone() const;
  // Narrows down by what was seen, besides. False: nothing is left.
  [[nodiscard]] bool keep(const std::function<bool(const Belief&)>& is_possible);

  const std::string& tube() const { return tube_; }

 private:
  void settle(const Moment& moment);
  void remember();
  void give_up();
  bool is_next(const Op& op, const Belief& belief) const;
  void add_successors(const Belief& belief, const Moment& moment, std::vector<Belief>& out) const;
  void forget_op(const Op& op);

  uint32_t ttr_s_;
  std::string tube_;
  std::vector<const Op*> pending_;
  std::vector<Belief> beliefs_ = {Belief{}};
  std::vector<Belief> past_;  // What was believed since all was durable.
  bool keeps_past_ = false;
  bool given_up_ = false;
};

}  // namespace perennial::simulation
