#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine/types/basic.h"
#include "engine/types/status.h"

// What the crash test and the soak know about the jobs that they put: ids, bodies and history. Only
// the crash test uses outcomes, the states that a restarted server may show.
namespace perennial::support {

inline constexpr uint32_t long_s = 1000;  // Seconds. A delay, pause or ttr that outlasts every run.

// A state in which a restarted server may show a job. A delay of less than `long_s` may be over by
// then.
struct Outcome {
  bool exists = false;
  JobState state = JobState::Ready;
  uint32_t priority = 0;
  uint32_t delay_s = 0;

  bool allows(JobState seen, uint32_t seen_priority) const;
};

struct Job {
  size_t serial = 0;  // The index in the ledger, with which the body begins.
  JobId id = 0;       // 0 until a reply has named it.
  size_t tube = 0;

  // The state while the server runs, by its replies: the holder, and whether a command about the
  // job is in flight. At most one command is, so that the history has one order.
  Outcome live;
  int holder = -1;
  bool busy = false;
  // Its body lies in a damaged block: whoever reads it is told so, and the job is buried.
  bool is_damaged = false;

  // The texts of its notes, oldest first; and of one that was sent and not answered, or empty.
  std::vector<std::string> notes = {};
  std::string sent_note = {};

  // The possible states after a crash. There are several only if the last command was not
  // acknowledged or caused a recoverable transition.
  std::vector<Outcome> outcomes = {Outcome{}};
  std::vector<std::string> history = {};
};

struct Tube {
  std::string name;
  std::vector<uint32_t> pauses = {0};  // The possible durations of the last pause-tube, in seconds.
  bool kicking = false;                // A kick is in flight, so its buried jobs must not change.
};

// Everything that was sent in one run, across all crashes.
class Ledger {
 public:
  explicit Ledger(uint64_t seed);

  Job& add_job(size_t tube);
  // The job of an id in a reply. Null for an id that no reply has named before.
  Job* find(JobId id);
  // The job with exactly this body, or null.
  Job* find_by_body(std::string_view body);
  // Records that a reply showed this id for the job. Fails if another job ever had the id (P3).
  Status learn_id(Job& job, JobId id);
  // Marks an id as used by a job that is not in the ledger.
  Status use_id(JobId id);

  // A body is a function of seed and serial, so no body is kept.
  std::string body(const Job& job) const;

  std::deque<Job>& jobs() { return jobs_; }
  std::vector<Tube>& tubes() { return tubes_; }
  uint64_t seed() const { return seed_; }
  JobId highest_id() const { return highest_id_; }

 private:
  uint64_t seed_;
  JobId highest_id_ = 0;
  std::deque<Job> jobs_;
  std::vector<Tube> tubes_;
  std::unordered_map<JobId, Job*> by_id_;
};

// An error about the job, with everything that is known about it.
Status surprise(const Job& job, std::string_view what);
std::string describe(const Outcome& outcome);

}  // namespace perennial::support
