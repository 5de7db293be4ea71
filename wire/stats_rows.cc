#include "wire/stats_rows.h"

#include <string>
#include <type_traits>

#include <fmt/format.h>

#include "wire/job_line.h"
#include "wire/time_text.h"

namespace perennial::wire {
namespace {

// ---- How the value of a row is found.

// Returns the part of the facts that is of the class `Part`.
template <typename Part, typename Facts>
const Part& part_of(const Facts& facts) {
  if constexpr (std::is_same_v<Part, Facts>) {
    return facts;
  } else if constexpr (std::is_same_v<Part, StateCounts>) {
    if constexpr (std::is_same_v<Facts, StatsSources>) return facts.engine.jobs;
    if constexpr (std::is_same_v<Facts, TubeStats>) return facts.jobs;
  } else if constexpr (std::is_same_v<Part, EngineStats>) {
    return facts.engine;
  } else if constexpr (std::is_same_v<Part, ProcessFacts>) {
    return facts.process;
  } else {
    return facts.store;
  }
}

template <typename Part, typename Value>
Part class_of(Value Part::*);

StatsValue value_of(const std::string& text) {
  return std::string_view(text);
}
StatsValue value_of(JobState state) {
  return state_name(state);
}
StatsValue value_of(uint32_t number) {
  return uint64_t{number};
}
template <typename Value>
StatsValue value_of(const Value& value) {
  return value;
}

template <auto Member, typename Facts>
StatsValue of(const Facts& facts) {
  return value_of(part_of<decltype(class_of(Member))>(facts).*Member);
}

template <uint64_t Value, typename Facts>
StatsValue always(const Facts& /*facts*/) {
  return Value;
}

// ---- The rows: key, form, value, meaning.

template <typename Facts>
constexpr StatsRow<Facts> state_rows[] = {
    {"current-jobs-urgent", Form::Plain, of<&StateCounts::urgent>,
     "Ready jobs of a priority below 1024."},
    {"current-jobs-ready", Form::Plain, of<&StateCounts::ready>, "Ready jobs."},
    {"current-jobs-reserved", Form::Plain, of<&StateCounts::reserved>, "Reserved jobs."},
    {"current-jobs-delayed", Form::Plain, of<&StateCounts::delayed>, "Delayed jobs."},
    {"current-jobs-buried", Form::Plain, of<&StateCounts::buried>, "Buried jobs."},
};

constexpr StatsRow<StatsSources> of_server[] = {
    {"job-timeouts", Form::Plain, of<&EngineStats::job_timeouts>,
     "Reservations that ran out, since the start."},
    {"total-jobs", Form::Plain, of<&EngineStats::total_jobs>,
     "Jobs that were loaded at the start or put since."},
    {"max-job-size", Form::Plain, of<&ProcessFacts::job_bytes_max>, "The setting `job_bytes_max`."},
    {"current-tubes", Form::Plain, of<&EngineStats::tubes>, "Tubes."},
    {"current-connections", Form::Plain, of<&EngineStats::connections>, "Open connections."},
    {"current-producers", Form::Plain, of<&EngineStats::producers>,
     "Of them, those that have put."},
    {"current-workers", Form::Plain, of<&EngineStats::workers>,
     "Of them, those that have reserved."},
    {"current-waiting", Form::Plain, of<&EngineStats::waiting>,
     "Of them, those that wait for a job."},
    {"total-connections", Form::Plain, of<&EngineStats::total_connections>,
     "Connections since the start."},
    {"pid", Form::Plain, of<&ProcessFacts::pid>, "The process."},
    {"version", Form::Quoted,
     [](const StatsSources& /*facts*/) -> StatsValue { return protocol_version; },
     "The version of beanstalkd whose protocol this is; clients choose by it what they send."},
    {"rusage-utime", Form::ProcessorTime, of<&ProcessFacts::user_time>,
     "Processor time outside of the kernel, in seconds."},
    {"rusage-stime", Form::ProcessorTime, of<&ProcessFacts::system_time>,
     "Processor time in the kernel, in seconds."},
    {"uptime", Form::Seconds, of<&ProcessFacts::uptime>, "Seconds since the start."},
    {"binlog-oldest-index", Form::Plain, of<&StoreFacts::log_oldest_index>,
     "The number of RocksDB's oldest live log file."},
    {"binlog-current-index", Form::Plain, of<&StoreFacts::log_current_index>,
     "The number of its newest."},
    {"binlog-records-migrated", Form::Plain, always<0>,
     "Always 0: nothing is moved from one log file to another."},
    {"binlog-records-written", Form::Plain, of<&StoreFacts::records_written>,
     "Changes of jobs and tubes that were committed since the start."},
    {"binlog-max-size", Form::Plain, of<&StoreFacts::log_bytes_max>,
     "The setting `log_bytes_max`, in bytes."},
    {"draining", Form::Plain, of<&EngineStats::draining>, "Whether put is refused: true or false."},
    // Not quoted, although YAML may read it as a number: clients expect it without quotes.
    {"id", Form::Plain, of<&ProcessFacts::instance_id>,
     "16 hexadecimal digits, new at each start."},
    {"hostname", Form::Name, of<&ProcessFacts::hostname>, "The machine's name."},
    {"os", Form::Name, of<&ProcessFacts::os>, "The kernel's version."},
    {"platform", Form::Name, of<&ProcessFacts::platform>, "The machine's kind."},
};

// beanstalkd does not have these.
constexpr StatsRow<StatsSources> of_server_own[] = {
    {"perennial-version", Form::Quoted, of<&ProcessFacts::version>, "The server's own version."},
    {"durability", Form::Plain, of<&StoreFacts::durability>, "commit, interval or never."},
    {"store-state", Form::Plain, of<&StoreFacts::state>, "ok, or what is wrong in a word."},
    {"sync-us-p99", Form::Plain, of<&StoreFacts::sync_us_p99>,
     "How long a sync takes: the 99th percentile, in microseconds."},
    {"batch-jobs-mean", Form::Hundredths, of<&StoreFacts::batch_jobs_mean>,
     "Changes that one sync makes durable, on average."},
    {"loop-lag-us", Form::Plain, of<&ProcessFacts::loop_lag_us>,
     "The longest turn of the event loop in the last five to ten seconds, in microseconds."},
    {"jobs-damaged", Form::Plain, of<&EngineStats::jobs_damaged>,
     "Jobs that were buried because their body could not be read. Jobs that have ended are not "
     "among them."},
    {"connections-refused", Form::Plain, of<&ProcessFacts::connections_refused>,
     "Connections that spoke another protocol."},
    {"checkpoint-age", Form::Plain, of<&ProcessFacts::checkpoint_age_s>,
     "Seconds since the newest complete checkpoint was cut; -1 without one."},
    {"current-jobs-parked", Form::Plain, of<&EngineStats::jobs_parked>,
     "Ready jobs whose concurrency key is full."},
    {"current-keys", Form::Plain, of<&EngineStats::keys>, "Keys that are held or in a cooldown."},
    {"jobs-duplicate", Form::Plain, of<&EngineStats::jobs_duplicate>,
     "Puts that were answered with the job that has their key, since the start."},
    {"jobs-dead", Form::Plain, of<&EngineStats::jobs_dead>,
     "Jobs that have used up their tries, since the start."},
    {"jobs-expired", Form::Plain, of<&EngineStats::jobs_expired>,
     "Jobs that have expired, since the start."},
    {"disk-free-bytes", Form::Plain, of<&StoreFacts::disk_free_bytes>,
     "Free space of the disk of the data directory."},
    {"current-schedules", Form::Plain,
     [](const StatsSources& sources) -> StatsValue { return sources.engine.schedules.schedules; },
     "Schedules that are set."},
    {"schedules-refused", Form::Plain,
     [](const StatsSources& sources) -> StatsValue { return sources.engine.schedules.refused; },
     "Schedules whose put is being refused and tried again."},
    {"tzdata", Form::Quoted, of<&ProcessFacts::tzdata>,
     "The version of the time zones that schedules go by."},
};

constexpr StatsRow<TubeStats> of_tube[] = {
    {"name", Form::Name, of<&TubeStats::name>, "The tube."},
    state_rows<TubeStats>[0],
    state_rows<TubeStats>[1],
    state_rows<TubeStats>[2],
    state_rows<TubeStats>[3],
    state_rows<TubeStats>[4],
    {
      "total-jobs", Form::Plain, of<&TubeStats::total_jobs>,
          "Jobs that were loaded into it at the start or put since."
    },
    { "current-using", Form::Plain, of<&TubeStats::using_count>, "Connections that use it." },
    {
      "current-watching", Form::Plain, of<&TubeStats::watching_count>, "Connections that watch it."
    },
    {
      "current-waiting", Form::Plain, of<&TubeStats::waiting_count>,
          "Of them, those that wait for a job."
    },
    { "cmd-delete", Form::Plain, of<&TubeStats::cmd_delete>, "Its jobs that were deleted." },
    {"cmd-pause-tube", Form::Plain, of<&TubeStats::cmd_pause_tube>, "How often it was paused."},
    {"pause", Form::Seconds, of<&TubeStats::pause>, "How long its pause is in all, in seconds."},
    {"pause-time-left", Form::Seconds, of<&TubeStats::pause_time_left>, "Seconds until it ends."},
};

// beanstalkd does not have this.
constexpr StatsRow<TubeStats> of_tube_own[] = {
    {"next-ready-age", Form::Seconds, of<&TubeStats::oldest_ready_age>, oldest_ready_meaning},
};

constexpr StatsRow<JobStats> of_job[] = {
    {"id", Form::Plain, of<&JobStats::id>, "The job."},
    {"tube", Form::Name, of<&JobStats::tube>, "Its tube."},
    {"state", Form::Plain, of<&JobStats::state>, "ready, reserved, delayed or buried."},
    {"pri", Form::Plain, of<&JobStats::priority>, "Its priority."},
    {"age", Form::Seconds, of<&JobStats::age>, "Seconds since it was put."},
    {"delay", Form::Seconds, of<&JobStats::delay>, "The delay that it was last given, in seconds."},
    {"ttr", Form::Seconds, of<&JobStats::ttr>, "Its time to run, in seconds."},
    {"time-left", Form::Seconds, of<&JobStats::time_left>,
     "Seconds until its reservation or its delay ends; 0 in other states."},
    {"file", Form::Plain, always<1>, "Always 1: the log it is in; there is one."},
    {"reserves", Form::Plain, of<&JobStats::reserves>, "How often it was reserved."},
    {"timeouts", Form::Plain, of<&JobStats::timeouts>, "How often a reservation of it ran out."},
    {"releases", Form::Plain, of<&JobStats::releases>, "How often it was released."},
    {"buries", Form::Plain, of<&JobStats::buries>, "How often it was buried."},
    {"kicks", Form::Plain, of<&JobStats::kicks>, "How often it was kicked."},
};

constexpr StatsRow<ClusterStats> of_cluster[] = {
    {"cluster-role", Form::Plain, of<&ClusterStats::role>,
     "leader or standby. This and the next four only of a node of a cluster."},
    {"cluster-epoch", Form::Plain, of<&ClusterStats::epoch>,
     "How many leaders the cluster has had; this one is the last of them."},
    {"cluster-lag", Form::Plain, of<&ClusterStats::lag>,
     "Entries of the log that this node has not applied yet."},
    {"cluster-standbys", Form::Plain, of<&ClusterStats::standbys>,
     "Nodes that follow this leader; 0 at a standby."},
    {"cluster-standby-lag", Form::Plain, of<&ClusterStats::standby_lag>,
     "Entries that the standby furthest behind has not applied, as each tells every second."},
};

// ---- The rows that extensions add.

template <auto Member>
StatsValue more_of(const JobStats& job) {
  return value_of((*job.more).*Member);
}

template <auto Member>
StatsValue time_of(const JobStats& job) {
  return utc_text_if_known((*job.more).*Member);
}

template <auto Member>
StatsValue in_ms(const JobStats& job) {
  return static_cast<uint64_t>(job.*Member / nanos_per_ms);
}

constexpr StatsRow<JobStats> of_job_more[] = {
    {"delay-ms", Form::Plain, in_ms<&JobStats::delay>, "Its delay in milliseconds."},
    {"ttr-ms", Form::Plain, in_ms<&JobStats::ttr>, "Its time to run in milliseconds."},
    {"time-left-ms", Form::Plain, in_ms<&JobStats::time_left>, "`time-left` in milliseconds."},
    {"attempts", Form::Plain, more_of<&JobStats::More::attempts>,
     "The attempts that counted since it was put or kicked."},
    {"tries", Form::Plain, more_of<&JobStats::More::tries>,
     "After how many it is dead; 0: never. Its own, or its tube's."},
    {"backoff", Form::Quoted,
     [](const JobStats& job) -> StatsValue { return backoff_text(job.more->backoff); },
     "The first delay of its back-off and the cap; empty without one."},
    {"dead", Form::Quoted, more_of<&JobStats::More::dead>,
     "The tube that it moves to when it is dead; empty: it is buried."},
    {"from", Form::Quoted, more_of<&JobStats::More::from>,
     "The tube in which it died; empty if it did not."},
    {"expire-left", Form::Seconds, more_of<&JobStats::More::expire_left>,
     "Seconds until it expires; 0: never."},
    {"idp", Form::Quoted, more_of<&JobStats::More::key>, "Its key; empty without one."},
    {"idp-ttl", Form::Plain, more_of<&JobStats::More::key_seconds>,
     "For how many seconds its key stays taken."},
    {"con", Form::Quoted,
     [](const JobStats& job) -> StatsValue {
       const auto& key = job.more->concurrency;
       return key ? fmt::format("{}:{}", key->key, key->jobs_max) : std::string();
     },
     "Its concurrency key, and how many jobs with it may be reserved; empty without one."},
    {"parked", Form::Plain, more_of<&JobStats::More::parked>,
     "Whether it is ready, and its concurrency key is full."},
    {"notes", Form::Plain, more_of<&JobStats::More::notes>,
     "How many notes it had; the last three are kept."},
    {"restored", Form::Plain, more_of<&JobStats::More::restored>,
     "The job that had ended and was put back as this one; 0: none."},
    {"put-at", Form::Quoted, time_of<&JobStats::More::put_at>, "When it was first put."},
    {"put-by", Form::Quoted, more_of<&JobStats::More::put_by>,
     "Who put it, where there are users, if its tube kept jobs that end; else empty."},
    {"first-reserved", Form::Quoted, time_of<&JobStats::More::first_reserved>,
     "When it was first reserved, if its tube kept jobs that end; else empty."},
    {"schedule", Form::Quoted, more_of<&JobStats::More::schedule>,
     "The schedule that put it; empty: none did."},
    {"planned", Form::Quoted, time_of<&JobStats::More::planned>,
     "For which planned time of the schedule; empty without one."},
};

template <auto Member>
StatsValue count_of(const TubeStats& tube) {
  return (*tube.more).*Member;
}

constexpr StatsRow<TubeStats> of_tube_more[] = {
    {"current-jobs-parked", Form::Plain, count_of<&TubeStats::More::jobs_parked>,
     "Its ready jobs whose concurrency key is full."},
    {"jobs-duplicate", Form::Plain, count_of<&TubeStats::More::jobs_duplicate>,
     "Puts that were answered with the job that has their key."},
    {"jobs-dead", Form::Plain, count_of<&TubeStats::More::jobs_dead>,
     "Its jobs that have used up their tries."},
    {"jobs-expired", Form::Plain, count_of<&TubeStats::More::jobs_expired>,
     "Its jobs that have expired."},
    {"tries", Form::Plain,
     [](const TubeStats& tube) -> StatsValue {
       return uint64_t{tube.more->settings.tries.value_or(0)};
     },
     "The setting; 0: none."},
    {"backoff", Form::Quoted,
     [](const TubeStats& tube) -> StatsValue { return backoff_text(tube.more->settings.backoff); },
     "The setting; empty: none."},
    {"dead", Form::Quoted,
     [](const TubeStats& tube) -> StatsValue { return tube.more->settings.dead.value_or(""); },
     "The setting; empty: none."},
    {"expire", Form::Seconds,
     [](const TubeStats& tube) -> StatsValue { return tube.more->settings.expire.value_or(0); },
     "The setting, in seconds; 0: none."},
    {"reserved-max", Form::Plain,
     [](const TubeStats& tube) -> StatsValue {
       return uint64_t{tube.more->settings.reserved.value_or(0)};
     },
     "The setting; 0: none."},
    {"rate", Form::Quoted,
     [](const TubeStats& tube) -> StatsValue { return rate_text(tube.more->settings.rate); },
     "The setting; empty: none."},
    {"draining", Form::Plain,
     [](const TubeStats& tube) -> StatsValue { return tube.more->settings.drain.value_or(false); },
     "Whether puts into it are refused."},
    {"keep", Form::Seconds,
     [](const TubeStats& tube) -> StatsValue { return tube.more->settings.keep.value_or(0); },
     "The setting, in seconds; 0: none."},
    {"keep-max", Form::Plain,
     [](const TubeStats& tube) -> StatsValue {
       return uint64_t{tube.more->settings.keep_max.value_or(0)};
     },
     "The setting; 0: none."},
};

}  // namespace

std::span<const StatsRow<JobStats>> job_more_rows() {
  return of_job_more;
}

std::span<const StatsRow<TubeStats>> tube_more_rows() {
  return of_tube_more;
}

std::span<const StatsRow<JobStats>> job_rows() {
  return of_job;
}

std::span<const StatsRow<TubeStats>> tube_own_rows() {
  return of_tube_own;
}

std::span<const StatsRow<StatsSources>> server_own_rows() {
  return of_server_own;
}

std::span<const StatsRow<TubeStats>> tube_rows() {
  return of_tube;
}

std::span<const StatsRow<StatsSources>> server_state_rows() {
  return state_rows<StatsSources>;
}

std::span<const StatsRow<ClusterStats>> cluster_rows() {
  return of_cluster;
}
std::span<const StatsRow<StatsSources>> server_rows() {
  return of_server;
}

}  // namespace perennial::wire
