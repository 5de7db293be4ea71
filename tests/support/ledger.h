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

// What the crash test and the soak know of the jobs that they put: ids, bodies and what was done.
// Outcomes are the crash test's: what a restarted server may answer.
namespace perennial::support {

inline constexpr uint32_t long_s = 1000;  // A delay, pause or ttr that no run outlives.

// A job as a restarted server may show it. A delay of less than `long_s` may be over by then.
struct Outcome {
  bool exists = false;
  JobState state = JobState::Ready;
  uint32_t priority = 0;
  uint32_t delay_s = 0;

  bool allows(JobState seen, uint32_t seen_priority) const;
};

struct Job {
  size_t serial = 0;  // Its place in the ledger. Its body begins with it.
  JobId id = 0;       // 0 until a reply has named it.
  size_t tube = 0;

  // While the server lives: its state as far as replies tell, who holds it, and whether a command
  // about it is on its way. At most one is, so that its history has one order.
  Outcome live;
  int holder = -1;
  bool busy = false;

  // After a crash: one of these. More than one only while the last word was not acknowledged, or
  // was recoverable.
  std::vector<Outcome> outcomes = {Outcome{}};
  std::vector<std::string> history = {};
};

struct Tube {
  std::string name;
  std::vector<uint32_t> pauses = {0};  // What the last pause-tube may have been, in seconds.
  bool kicking = false;                // A kick is on its way: its buried jobs must stay put.
};

// Everything sent in one run, over all its crashes.
class Ledger {
 public:
  explicit Ledger(uint64_t seed);

  Job& add_job(size_t tube);
  // The job that a reply names. Null for an id that no reply has named before.
  Job* find(JobId id);
  // The job whose body this is, byte for byte. Null when it is nobody's.
  Job* find_by_body(std::string_view body);
  // A reply has shown that this job has this id. Fails if any other job ever had it (P3).
  Status learn_id(Job& job, JobId id);
  // Marks an id as used up by a job that the ledger does not follow.
  Status use_id(JobId id);

  // A body is a function of seed and serial, so that none has to be kept.
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

// A surprise, with all that is known about the job.
Status surprise(const Job& job, std::string_view what);
std::string describe(const Outcome& outcome);

}  // namespace perennial::support
