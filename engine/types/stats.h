#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "engine/types/basic.h"
#include "engine/types/check.h"
#include "engine/types/command.h"

// The values behind the three statistics commands. The engine fills what it knows, core adds the
// facts of the process and of the store, and wire/stats alone turns them into YAML.
namespace perennial {

// stats-job.
struct JobStats {
  JobId id = 0;
  std::string tube;
  JobState state = JobState::Ready;
  uint32_t priority = 0;
  Nanos age = 0;
  uint32_t delay_s = 0;
  uint32_t ttr_s = 0;
  Nanos time_left = 0;  // 0 unless reserved or delayed.
  uint32_t reserves = 0;
  uint32_t timeouts = 0;
  uint32_t releases = 0;
  uint32_t buries = 0;
  uint32_t kicks = 0;
};

// How many jobs are in each state, and how many of the ready ones are urgent.
struct StateCounts {
  uint64_t urgent = 0;
  uint64_t ready = 0;
  uint64_t reserved = 0;
  uint64_t delayed = 0;
  uint64_t buried = 0;

  bool operator==(const StateCounts&) const = default;
};
// The count of jobs in this state.
inline uint64_t& count_of(StateCounts& counts, JobState state) {
  switch (state) {
    case JobState::Ready:
      return counts.ready;
    case JobState::Reserved:
      return counts.reserved;
    case JobState::Delayed:
      return counts.delayed;
    case JobState::Buried:
      return counts.buried;
  }
  CHECK(!"a state that is none");
  return counts.ready;
}

// stats-tube.
struct TubeStats {
  std::string name;
  StateCounts jobs;
  uint64_t total_jobs = 0;
  uint64_t using_count = 0;
  uint64_t watching_count = 0;
  uint64_t waiting_count = 0;
  uint64_t cmd_delete = 0;
  uint64_t cmd_pause_tube = 0;
  Nanos pause = 0;
  Nanos pause_time_left = 0;
  Nanos next_ready_age = 0;  // Since the creation of the ready job that is next; 0 without one.
};

// How often each command was run, a counter for each row of the table of commands. NOT_FOUND
// counts, BAD_FORMAT does not.
class CommandCounts {
 public:
  template <typename C>
  uint64_t& of() {
    static_assert(!command_row<C>().stats_key.empty(), "nobody would see it");
    return counts_[row_index<C>(command_rows)];
  }
  // `row`: where it stands in the table.
  uint64_t at(size_t row) const { return counts_[row]; }

 private:
  std::array<uint64_t, commands_count> counts_ = {};
};

// The engine's part of stats.
struct EngineStats {
  StateCounts jobs;
  CommandCounts commands;
  uint64_t job_timeouts = 0;
  uint64_t total_jobs = 0;
  uint64_t tubes = 0;
  uint64_t connections = 0;
  uint64_t producers = 0;
  uint64_t workers = 0;
  uint64_t waiting = 0;
  uint64_t total_connections = 0;
  uint64_t jobs_damaged = 0;
  bool draining = false;
};

// The process's part of stats.
struct ProcessFacts {
  uint64_t job_bytes_max = 0;
  int64_t pid = 0;
  std::string version;
  Nanos user_time = 0;
  Nanos system_time = 0;
  Nanos uptime = 0;
  std::string instance_id;  // 16 hexadecimal digits, drawn anew at each start.
  std::string hostname;
  std::string os;        // uname's version.
  std::string platform;  // uname's machine.
  uint64_t loop_lag_us = 0;
  uint64_t connections_refused = 0;  // They spoke another protocol.
  // Since the newest complete checkpoint was cut; -1 when there is none.
  int64_t checkpoint_age_s = -1;
};

// The store's part of stats, published by the committer with each batch.
struct StoreFacts {
  uint64_t log_oldest_index = 0;
  uint64_t log_current_index = 0;
  uint64_t records_written = 0;  // Transitions committed since the start.
  uint64_t log_bytes_max = 0;
  std::string durability;  // commit, interval or never.
  std::string state;       // ok, or what is wrong in a word.
  uint64_t sync_us_p99 = 0;
  double batch_jobs_mean = 0;
};

}  // namespace perennial
