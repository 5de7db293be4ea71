#include "wire/stats_rows.h"

#include <type_traits>

namespace perennial::wire {
namespace {

// ---- Where a value comes from.

// The part of the facts that has a member of this class.
template <typename Part, typename Facts>
const Part& part_of(const Facts& facts) {
  if constexpr (std::is_same_v<Part, Facts>) {
    return facts;
  } else if constexpr (std::is_same_v<Part, StateCounts>) {
    if constexpr (std::is_same_v<Facts, ServerFacts>) return facts.engine.jobs;
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

constexpr StatsRow<ServerFacts> of_server[] = {
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
    {"version", Form::Quoted, of<&ProcessFacts::version>, "The server's version."},
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
    // Not quoted, though YAML may take it for a number: clients know it so.
    {"id", Form::Plain, of<&ProcessFacts::instance_id>,
     "16 hexadecimal digits, new at each start."},
    {"hostname", Form::Quoted, of<&ProcessFacts::hostname>, "The machine's name."},
    {"os", Form::Quoted, of<&ProcessFacts::os>, "The kernel's version."},
    {"platform", Form::Quoted, of<&ProcessFacts::platform>, "The machine's kind."},
    // Ours from here on.
    {"durability", Form::Plain, of<&StoreFacts::durability>, "commit, interval or never."},
    {"store-state", Form::Plain, of<&StoreFacts::state>, "ok, or what is wrong in a word."},
    {"sync-us-p99", Form::Plain, of<&StoreFacts::sync_us_p99>,
     "How long a sync takes: the 99th percentile, in microseconds."},
    {"batch-jobs-mean", Form::Hundredths, of<&StoreFacts::batch_jobs_mean>,
     "Changes that one sync makes durable, on average."},
    {"loop-lag-us", Form::Plain, of<&ProcessFacts::loop_lag_us>,
     "The longest turn of the event loop in the last five to ten seconds, in microseconds."},
    {"jobs-damaged", Form::Plain, of<&EngineStats::jobs_damaged>,
     "Jobs that were buried because their body could not be read."},
    {"connections-refused", Form::Plain, of<&ProcessFacts::connections_refused>,
     "Connections that spoke another protocol."},
    {"checkpoint-age", Form::Plain, of<&ProcessFacts::checkpoint_age_s>,
     "Seconds since the newest complete checkpoint was cut; -1 without one."},
};

constexpr StatsRow<TubeStats> of_tube[] = {
    {"name", Form::Quoted, of<&TubeStats::name>, "The tube."},
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
    // Ours from here on.
    {"next-ready-age", Form::Seconds, of<&TubeStats::next_ready_age>,
     "Seconds since the ready job that is next was put; 0 without one."},
};

constexpr StatsRow<JobStats> of_job[] = {
    {"id", Form::Plain, of<&JobStats::id>, "The job."},
    {"tube", Form::Quoted, of<&JobStats::tube>, "Its tube."},
    {"state", Form::Plain, of<&JobStats::state>, "ready, reserved, delayed or buried."},
    {"pri", Form::Plain, of<&JobStats::priority>, "Its priority."},
    {"age", Form::Seconds, of<&JobStats::age>, "Seconds since it was put."},
    {"delay", Form::Plain, of<&JobStats::delay_s>, "The delay that it was last given, in seconds."},
    {"ttr", Form::Plain, of<&JobStats::ttr_s>, "Its time to run, in seconds."},
    {"time-left", Form::Seconds, of<&JobStats::time_left>,
     "Seconds until its reservation or its delay ends; 0 in other states."},
    {"file", Form::Plain, always<1>, "Always 1: the log it is in; there is one."},
    {"reserves", Form::Plain, of<&JobStats::reserves>, "How often it was reserved."},
    {"timeouts", Form::Plain, of<&JobStats::timeouts>, "How often a reservation of it ran out."},
    {"releases", Form::Plain, of<&JobStats::releases>, "How often it was released."},
    {"buries", Form::Plain, of<&JobStats::buries>, "How often it was buried."},
    {"kicks", Form::Plain, of<&JobStats::kicks>, "How often it was kicked."},
};

}  // namespace

std::span<const StatsRow<JobStats>> job_rows() {
  return of_job;
}

std::span<const StatsRow<TubeStats>> tube_rows() {
  return of_tube;
}

std::span<const StatsRow<ServerFacts>> server_state_rows() {
  return state_rows<ServerFacts>;
}

std::span<const StatsRow<ServerFacts>> server_rows() {
  return of_server;
}

}  // namespace perennial::wire
