#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/types/basic.h"
#include "engine/types/boxed.h"
#include "engine/types/check.h"
#include "engine/types/command.h"
#include "engine/types/histogram.h"
#include "engine/types/job_fields.h"

// The values behind the three statistics commands. The engine fills in what it knows, core adds the
// facts of the process and of the store, and only wire/stats turns them into YAML.
namespace perennial {

// stats-job.
struct JobStats {
  JobId id = 0;
  std::string tube;
  JobState state = JobState::Ready;
  uint32_t priority = 0;
  Nanos age = 0;
  Nanos delay = 0;
  Nanos ttr = 0;
  Nanos time_left = 0;  // 0 if the job is ready or buried.
  uint32_t reserves = 0;
  uint32_t timeouts = 0;
  uint32_t releases = 0;
  uint32_t buries = 0;
  uint32_t kicks = 0;
  uint32_t body_bytes = 0;
  ConnId holder = 0;  // The connection that has reserved it; 0: none. No command shows it.
  // What extensions add to the document. Without a value it is beanstalkd's.
  struct More {
    uint32_t attempts = 0;
    uint32_t tries = 0;  // Those in force, also below; 0, or empty: none.
    Backoff backoff = {};
    std::string dead = {};
    std::string from = {};
    Nanos expire_left = 0;
    std::string key = {};
    uint64_t key_seconds = 0;
    std::optional<ConcurrencyKey> concurrency = {};
    bool parked = false;  // Ready, but its concurrency key is full.
    uint32_t notes = 0;   // How many it had.
    JobId restored = 0;   // The job that had ended and is this one now; 0: none.
    Nanos put_at = 0;  // Since the epoch, as the times below are; of a restored job the first put.
    // Known only where the job was put, or first reserved, in a tube that keeps jobs which end.
    std::string put_by = {};
    Nanos first_reserved = 0;
    // The schedule that put it, and the planned time of that: of the wall clock, since the epoch.
    std::string schedule = {};
    Nanos planned = 0;
  };
  Boxed<More> more = {};
  // Only of a job that has ended; its state is that before.
  struct Ended {
    JobEnd how = JobEnd::Deleted;
    Nanos at = 0;
    Nanos age = 0;  // Since then.
    std::string user = {};
    uint64_t place = 0;
  };
  Boxed<Ended> ended = {};
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

// What TubeStats::oldest_ready_age is. Every place that shows the number and says what it is has
// this text; tests compare those that cannot include it (etc/docs/protocol.md, openapi.json).
inline constexpr std::string_view oldest_ready_meaning =
    "Seconds since the oldest ready job became ready, also where another one is next or the oldest "
    "is parked; 0 without one.";

// How often jobs were reserved and left since the start. Unlike the counts of commands these count
// jobs, whichever command, event or time it was.
struct JobEnds {
  uint64_t reserved = 0;
  uint64_t deleted = 0;   // By a client. Jobs that expired are not among them.
  uint64_t released = 0;  // By release, with or without a delay.
  uint64_t buried = 0;    // By bury, because the job was dead, or because its body is damaged.
  uint64_t kicked = 0;

  bool operator==(const JobEnds&) const = default;
  JobEnds& operator+=(const JobEnds& other) {
    reserved += other.reserved;
    deleted += other.deleted;
    released += other.released;
    buried += other.buried;
    kicked += other.kicked;
    return *this;
  }
};

// stats-tube.
struct TubeStats {
  std::string name;
  StateCounts jobs;
  // As beanstalkd counts: jobs that were loaded into the tube at the start, and `puts`.
  uint64_t total_jobs = 0;
  // Jobs that were put into the tube since the start. A move and a death into it count for neither.
  uint64_t puts = 0;
  uint64_t put_bytes = 0;  // The bodies of those.
  uint64_t using_count = 0;
  uint64_t watching_count = 0;
  uint64_t waiting_count = 0;
  uint64_t cmd_delete = 0;
  uint64_t cmd_pause_tube = 0;
  Nanos pause = 0;
  Nanos pause_time_left = 0;
  // The longest time, in nanoseconds, for which a job has been ready without a break, of all ready
  // jobs of the tube: also where another one is next, and where a pause, a limit or a concurrency
  // key (a parked job) keeps it from being reserved. A delay does not count. 0: no job is ready.
  // Every number that is called "oldest ready" is this one: oldest_ready_meaning.
  Nanos oldest_ready_age = 0;
  // The time since the job was put that was buried first; 0 if there is none.
  Nanos next_buried_age = 0;
  uint64_t timeouts = 0;  // Reservations whose time was over.
  JobEnds job_ends = {};
  // Whether it has ready jobs that are dead in other tubes. Nobody is expected to reserve them.
  bool holds_dead = false;
  // What extensions add to the document. Without a value it is beanstalkd's.
  struct More {
    uint64_t jobs_parked = 0;
    uint64_t jobs_duplicate = 0;
    uint64_t jobs_dead = 0;
    uint64_t jobs_expired = 0;
    TubeSettings settings = {};  // Those in force.
  };
  Boxed<More> more = {};
};

// How often each command was run: a counter for each row of the table of commands. A command that
// is answered with NOT_FOUND is counted, one that is answered with BAD_FORMAT is not.
class CommandCounts {
 public:
  template <typename C>
  uint64_t& of() {
    static_assert(!command_row<C>().stats_key.empty(), "nobody would see it");
    return counts_[row_index<C>(command_rows)];
  }
  // `row` is the position of the command in the table.
  uint64_t at(size_t row) const { return counts_[row]; }

 private:
  std::array<uint64_t, commands_count> counts_ = {};
};

// The schedules: how many there are, what they did since the start, and how many cannot put their
// jobs now, because the puts are refused.
struct ScheduleCounts {
  uint64_t schedules = 0;
  uint64_t refused = 0;
  // As in ScheduleProgress.
  uint64_t fired = 0;
  uint64_t skipped = 0;
  uint64_t missed = 0;
  uint64_t refusals = 0;  // Each try counts.

  bool operator==(const ScheduleCounts&) const = default;
};

// What ended a reservation.
enum class RunEnd : uint8_t {
  Deleted,
  Released,  // By release, or by move-tube.
  Buried,    // By bury, or because the body is damaged.
  Timeout,
  Closed,  // The connection ended.
};
inline constexpr std::array<std::string_view, 5> run_end_names = {"deleted", "released", "buried",
                                                                  "timeout", "closed"};

// How long jobs waited for a worker, and how long workers had them.
struct WorkTimes {
  // From the time at which a job became ready to its reservation. A pause of its tube counts.
  WorkHistogram wait;
  std::array<WorkHistogram, run_end_names.size()> run;  // By RunEnd.

  WorkHistogram& run_of(RunEnd how) { return run[static_cast<size_t>(how)]; }
  const WorkHistogram& run_of(RunEnd how) const { return run[static_cast<size_t>(how)]; }
};

// The same of one tube. What ended a run is not told apart: that would be five times as much.
struct TubeTimes {
  WorkHistogram wait;
  WorkHistogram run;
};

// Under which name the waits and runs of a tube are counted, besides those of all tubes.
struct MeasuredName {
  std::string name = {};  // Empty: they are not.
  bool is_group = false;  // Several tubes share the name.
};
using MeasuredAs = std::function<MeasuredName(std::string_view tube)>;

// Why a put was refused. A put-batch counts once. A line that is no put is none, whatever its word.
enum class PutRefusal : uint8_t {
  Draining,
  Space,  // Disk or memory; the engine is not told which.
  Jobs,   // jobs_max
  Keys,   // keys_max
  Tubes,  // tubes_max
  Size,   // The body is too large.
  Crlf,   // The body does not end in CRLF.
};
using PutRefusals = std::array<uint64_t, 7>;  // By PutRefusal.
// A limit has the name of its setting.
inline constexpr std::array<std::string_view, std::tuple_size_v<PutRefusals>> put_refusal_names = {
    "draining", "space", "jobs_max", "keys_max", "tubes_max", "size", "crlf"};
inline constexpr std::string_view name_of(PutRefusal why) {
  return put_refusal_names[static_cast<size_t>(why)];
}

// The engine's part of stats.
struct EngineStats {
  StateCounts jobs;
  CommandCounts commands;
  uint64_t job_timeouts = 0;
  uint64_t total_jobs = 0;  // As beanstalkd counts: jobs that were loaded at the start, and `puts`.
  uint64_t puts = 0;        // Jobs that were put since the start.
  uint64_t tubes = 0;
  uint64_t connections = 0;
  uint64_t producers = 0;
  uint64_t workers = 0;
  uint64_t waiting = 0;
  uint64_t total_connections = 0;
  uint64_t jobs_damaged = 0;
  bool draining = false;
  uint64_t jobs_parked = 0;
  uint64_t keys = 0;
  uint64_t jobs_duplicate = 0;
  uint64_t jobs_dead = 0;
  uint64_t jobs_expired = 0;
  JobEnds job_ends = {};
  PutRefusals puts_refused = {};
  ScheduleCounts schedules = {};
  uint64_t body_bytes = 0;  // Of all jobs. No command shows it.
};

// What a connection uses, watches and holds. No command shows it, but the HTTP port does.
struct ConnStats {
  ConnId id = 0;
  std::string used;
  std::vector<std::string> watched = {};  // The first of them, at most watched_shown_max.
  uint64_t watched_count = 0;
  uint64_t held = 0;  // Jobs that it has reserved.
  bool is_producer = false;
  bool is_worker = false;
  bool is_waiting = false;

  static constexpr size_t watched_shown_max = 20;
};

// The process's part of stats.
// What stats says of a server that is a node of a cluster.
struct ClusterStats {
  std::string role;    // leader or standby.
  uint64_t epoch = 0;  // Of the newest leader that it has heard of.
  uint64_t lag = 0;    // Entries of the log that it has read and not yet applied.
  // Of the leader; 0 at a standby. A standby tells every second how far it is.
  uint64_t standbys = 0;     // Nodes that follow it.
  uint64_t standby_lag = 0;  // Entries that the one furthest behind has not applied.
};

struct ProcessFacts {
  uint64_t job_bytes_max = 0;
  int64_t pid = 0;
  std::string version;
  Nanos user_time = 0;
  Nanos system_time = 0;
  Nanos uptime = 0;
  std::string instance_id;  // 16 random hexadecimal digits, new at each start.
  std::string hostname;
  std::string os;        // The version that uname gives.
  std::string platform;  // The machine that uname gives.
  std::string tzdata;    // The version of the system's time zones. Empty: it does not say.
  uint64_t loop_lag_us = 0;
  // Connections that were closed because they spoke a foreign protocol.
  uint64_t connections_refused = 0;
  // Seconds since the checkpoint point of the newest complete checkpoint; -1 if there is none.
  int64_t checkpoint_age_s = -1;
  std::optional<ClusterStats> cluster = {};  // None: it is part of no cluster.
};

// The batches since the start.
struct BatchFigures {
  LatencyHistogram syncs;     // How long each write took with its sync, or the sync alone.
  BatchJobsHistogram jobs;    // Jobs whose rows a batch changed.
  BatchBytesHistogram bytes;  // Of a batch.
};

// What `store-state` can be: ok, or one word for what is wrong (etc/docs/protocol.md).
inline constexpr std::array<std::string_view, 5> store_states = {"ok", "low-space", "no-ballast",
                                                                 "behind", "degraded"};

// The store's part of stats, published by the committer with each batch.
struct StoreFacts {
  uint64_t log_oldest_index = 0;
  uint64_t log_current_index = 0;
  uint64_t records_written = 0;  // Transitions committed since the start.
  uint64_t log_bytes_max = 0;
  uint64_t disk_free_bytes = 0;
  std::string durability;          // commit, interval or never.
  std::string state;               // One of store_states.
  uint64_t damaged_blocks = 0;     // Of bodies, notes and ended jobs, found damaged.
  uint64_t jobs_without_body = 0;  // Jobs that are left whose bodies were in them.
  uint64_t sync_us_p99 = 0;
  double batch_jobs_mean = 0;
  BatchFigures batches = {};
};

}  // namespace perennial
