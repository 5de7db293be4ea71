#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "engine/types/basic.h"
#include "engine/types/status.h"
#include "tests/power_cut/recording.h"

// What clients asked of a recorded server, and what it answered, with the events at which each
// command had arrived and each answer had left.
namespace perennial::power_cut {

inline constexpr uint64_t never = ~uint64_t{0};
// A delay of this many seconds outlasts the test.
inline constexpr uint32_t long_s = 1000;

// What is known of a power cut: everything up to event `known` had happened, and nothing behind
// event `begun`. If the cut is at an event, both are its number.
struct Moment {
  uint64_t known;
  uint64_t begun;
};

// A value over time. A step that was acknowledged is on the disk. One that is under way may be.
template <typename Value>
class Timeline {
 public:
  // `arrived`: the number of the event. `answered`: likewise, or `never` if the step is not
  // promised.
  void add(uint64_t arrived, uint64_t answered, Value value) {
    steps_.push_back({arrived, answered, std::move(value)});
  }
  const Value& last() const { return steps_.back().value; }
  // Whether the first step was answered before the cut.
  bool is_known(const Moment& cut) const {
    return !steps_.empty() && steps_.front().answered <= cut.known;
  }

  // The values that a start may find after a cut; the first value is Value().
  std::vector<Value> possible(const Moment& cut) const {
    std::vector<Value> out = {Value()};
    for (const Step& step : steps_) {
      if (step.arrived > cut.begun) break;
      if (step.answered <= cut.known) out.clear();
      out.push_back(step.value);
    }
    return out;
  }

 private:
  struct Step {
    uint64_t arrived;
    uint64_t answered;
    Value value;
  };
  std::vector<Step> steps_;
};

// What changes in the life of a job. A job that is reserved is found as it was before, or reserved.
struct JobFacts {
  bool exists = false;
  bool has_ended = false;  // And is kept. Then all below is as it was before.
  JobState state = JobState::Ready;
  uint32_t priority = 0;
  uint32_t delay_s = 0;
  uint32_t reserves = 0;
  uint32_t releases = 0;
  uint32_t buries = 0;
  uint32_t kicks = 0;
};

struct JobStory {
  JobId id = 0;
  std::string tube = {};
  uint32_t ttr_s = 0;
  std::string body = {};
  std::string key = {};
  uint32_t key_s = 0;
  uint32_t tries = 0;
  std::string dead = {};
  bool has_flushed_key = false;  // A flush may have taken its key away.
  uint64_t ended_at = 0;         // The event of the answer to its end.
  Timeline<JobFacts> facts = {};
  std::string lines = {};  // The commands about it, for messages.
};

// Jobs that one command puts or deletes: a start finds that of all, or of none.
struct Together {
  uint64_t arrived = 0;
  uint64_t answered = 0;
  std::vector<JobId> ids = {};
};

// An ended job that comes back as another one: a start finds either.
struct Return {
  uint64_t arrived = 0;
  uint64_t answered = 0;
  uint64_t was_known_at = 0;  // From this event on its end was on the disk.
  JobId ended = 0;
  JobId back = 0;
};

struct History {
  std::map<JobId, JobStory> jobs;
  std::map<std::string, Timeline<uint64_t>> pauses;  // In seconds, by tube.
  std::map<std::string, Timeline<uint32_t>> tries;   // The setting, by tube.
  std::map<std::string, Timeline<uint64_t>> keeps;   // The setting, in seconds, by tube.
  std::map<std::string, uint64_t> checkpoints;       // By name: the event of its answer.
  std::vector<Together> batches;
  std::vector<Return> returns;
  size_t commands = 0;
  std::vector<uint64_t> answers;  // The events at which answers left, in their order.
};

// Reads what the load of load.h has said. Corruption: an answer is not what the command asks for.
Result<History> read_history(const Recording& recording);

}  // namespace perennial::power_cut
