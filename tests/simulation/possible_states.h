#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/types/basic.h"
#include "engine/types/command.h"
#include "tests/simulation/keeping.h"

// The states that one job may have, given everything that clients were answered.
namespace perennial::simulation {

// A command that was sent. It takes effect at some moment before its answer, or possibly never if
// it is not answered.
struct Op {
  OpId id = 0;
  ConnId conn = 0;
  Nanos sent = 0;
  Command command = {};
  size_t serial = no_job;  // The job that the command names or puts.
  JobId named = 0;         // The id by which it names one; 0: by none.
  std::string tube = {};   // The tube that the connection used when the command was sent.
  bool quiet = false;  // No other command except reserves was unanswered when this one was sent.

  static constexpr size_t no_job = std::numeric_limits<size_t>::max();
};

// What a job has of its notes.
struct KeptNotes {
  uint32_t had = 0;
  std::vector<std::string> texts = {};  // Of the last notes_max, the oldest first.

  bool operator==(const KeptNotes&) const = default;
};

// The id of a job that no answer has named yet. It is no id.
inline constexpr JobId unknown_id = ~JobId{0};

// The outcome of a command for one job. What a command does not tell is as in an Effect{}.
struct Effect {
  bool done = false;
  JobState state = JobState::Ready;  // Of stats-job.
  uint32_t priority = 0;             // Of stats-job and peek-ended.
  KeptNotes notes = {};              // Of list-notes; of peek-ended only how many it had.
  JobId was = 0;                     // Of stats-job: `restored`. It may be unknown_id.
  std::optional<JobEnd> how = {};    // Of peek-ended.
  JobId id = 0;                      // Of the job after the command; 0: it is not known.

  bool operator==(const Effect&) const = default;
};

// An unanswered command that has taken effect on a job, or failed to.
struct Applied {
  OpId op = 0;
  ConnId conn = 0;
  Effect effect = {};
  OpId made = 0;  // PossibleState::made behind the command.

  bool operator==(const Applied&) const = default;
};

// One state that a job may have. It exists, or it has ended and is kept, or it is gone, and never
// two of these. A job that comes back from its end keeps its body, and gets another id.
struct PossibleState {
  bool exists = false;
  std::optional<Ending> ended = {};
  JobId id = 0;                 // 0: no answer has named it.
  JobId was = 0;                // The id that it had before it was put back: 0 if it was not.
  OpId made = 0;                // What put it or put it back.
  int64_t made_before = never;  // A place behind that.
  // The time at which it expires. Without one, `from` is 0.
  Window expires = {};
  // It has expired, which no answer has shown: after a crash it may not have.
  bool lapsed = false;
  JobState state = JobState::Ready;
  uint32_t priority = 0;
  ConnId holder = 0;         // For Reserved.
  int64_t expires_from = 0;  // For Reserved: the ttr does not end before this time.
  Window due = {};           // For Delayed, or where a crash may make the job delayed again.
  Window buried = {};        // For Buried, or where a crash may make the job buried again.
  KeptNotes notes = {};
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
  // The unanswered commands that name no job and may change one: reserves, kicks, flushes and
  // restores of tubes.
  std::span<const Op* const> wide = {};
  const std::function<bool(ConnId)>& is_open;
  const Keeping& keeping;
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
  // A command that takes all jobs of its tube was answered: it has taken this one, if it was there
  // all the time. `took`: whether it is known to have taken it, or not. Returns false if that is
  // impossible.
  [[nodiscard]] bool walked(const Op& op, std::optional<bool> took, const Moment& moment);
  // Whether the command has taken this job: surely, or perhaps.
  bool surely_taken(const Op& op, const Moment& moment) const;
  bool may_be_taken(const Op& op) const;
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
  // The same, without a break since before this command.
  bool surely_exists_since(OpId op) const;
  bool surely_gone() const;
  // Whether it may exist, or have ended, under this id.
  bool may_exist_as(JobId id) const;
  bool may_have_ended_as(JobId id) const;
  bool may_have_ended() const;
  // Whether both have ended, and this one first.
  bool surely_ended_before(const PossibleStates& other) const;
  // Whether it may have an id that no answer has named.
  bool may_have_new_id() const;
  // An answer has shown that it has this id now.
  void take_id(JobId id);
  bool knows(JobId id) const;
  // Removes the states that an observation excludes. Returns false if none is left.
  [[nodiscard]] bool keep(const std::function<bool(const PossibleState&)>& is_possible);
  // Whether a state that is not gone fits the id.
  bool fits_id(const PossibleState& candidate, JobId id) const;

  const std::string& tube() const { return tube_; }

 private:
  void add_all_successors(const Moment& moment);
  void remember();
  void give_up();
  bool is_next(const Op& op, const PossibleState& candidate) const;
  void add_successors(const PossibleState& candidate, const Moment& moment,
                      std::vector<PossibleState>& out) const;
  void add_applied(PossibleState next, const Op& op, const Effect& effect,
                   std::vector<PossibleState>& out) const;
  void add_expired(const PossibleState& candidate, const Moment& moment,
                   std::vector<PossibleState>& out) const;
  bool matches(const Effect& possible, const Effect& told) const;
  bool is_missed(const Op& op, const PossibleState& candidate, const Moment& moment) const;
  void decide_ends(const Op& op, const Moment& moment);
  void forget_op(const Op& op);
  void name_past(OpId made, JobId id);

  uint32_t ttr_s_;
  std::string tube_;
  std::vector<const Op*> pending_;
  std::vector<PossibleState> candidates_ = {PossibleState{}};
  std::vector<PossibleState> past_;  // The possible states since everything was durable.
  std::vector<JobId> known_;         // The ids that answers have named.
  // After a crash it may have had an id that no answer has named. A command that was sent then may
  // still name it when it is gone.
  bool had_no_id_ = false;
  bool keeps_past_ = false;
  bool given_up_ = false;
};

}  // namespace perennial::simulation
