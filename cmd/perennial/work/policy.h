#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/types/status.h"

// What becomes of a job when its command has ended. Pure: no process, socket or clock.
namespace perennial::tool::work {

// The delay of a release grows from `first_s` to `cap_s`, doubled with each failure.
struct Backoff {
  uint32_t first_s = 10;
  uint32_t cap_s = 3600;
};
// "FIRST" or "FIRST:CAP", durations of whole seconds: "10:1h". InvalidArgument: it is neither, or
// CAP is below FIRST. Without CAP it is 3600, or FIRST if that is more.
Result<Backoff> parse_backoff(std::string_view text);
// The delay in seconds after the n-th failure. REQUIRES: failures is at least 1.
uint32_t delay_after(const Backoff& backoff, uint64_t failures);

// "64,65": exit statuses from 1 to 255. InvalidArgument: one of them is none. The empty text has
// none.
Result<std::vector<int>> parse_statuses(std::string_view text);

struct Policy {
  Backoff backoff = {};
  uint64_t tries_max = 0;  // The failure of this number buries the job; 0 is no limit.
  std::vector<int> bury_on = {};
};

// Why a command ended.
enum class Cause : uint8_t {
  Exited,      // It ended without this worker.
  NotStarted,  // It could not be started, though another job's command may be.
  NoProgram,   // It could not be started, and no other job's can.
  TimedOut,    // It was killed because it ran for too long.
  Stopped,     // It was killed because the worker ends.
  Lost,        // Its job is no longer reserved by this worker.
};

// Whether the job had no part in it. Such a run does not count as a failed attempt.
bool is_without_blame(Cause cause);

struct Ending {
  Cause cause = Cause::Exited;
  int status = 0;          // What the command exited with, from 0 to 255.
  int signal = 0;          // The signal that ended it; then `status` means nothing. 0 is none.
  std::string error = {};  // Why it was not started, or how the job was lost. For people.
  std::string last_errors = {};  // The end of what it wrote to standard error, if that is kept.
};

enum class Outcome : uint8_t { Deleted, Released, Buried, Lost };
std::string_view outcome_name(Outcome outcome);

struct Verdict {
  Outcome outcome = Outcome::Deleted;
  uint32_t delay_s = 0;  // Of a release.
};
// `failures_before`: how often the job was released, or timed out, before this run.
Verdict judge(const Policy& policy, const Ending& ending, uint64_t failures_before);

}  // namespace perennial::tool::work
