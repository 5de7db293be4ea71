#include "wire/stats.h"

#include <string_view>

#include <fmt/format.h>

namespace perennial::wire {
namespace {

// Writes one YAML document, key by key.
class Document {
 public:
  template <typename Value>
  Document& add(std::string_view key, const Value& value) {
    fmt::format_to(std::back_inserter(text_), "{}: {}\n", key, value);
    return *this;
  }
  // In double quotes, as 1.13 writes what a client or a host has named.
  Document& quoted(std::string_view key, std::string_view value) {
    fmt::format_to(std::back_inserter(text_), "{}: \"{}\"\n", key, value);
    return *this;
  }
  Document& seconds(std::string_view key, Nanos duration) {
    return add(key, duration / nanos_per_second);
  }
  // With six digits after the point.
  Document& processor_time(std::string_view key, Nanos duration) {
    const Nanos micros = duration % nanos_per_second / 1000;
    fmt::format_to(std::back_inserter(text_), "{}: {}.{:06}\n", key, duration / nanos_per_second,
                   micros);
    return *this;
  }
  std::string take() { return std::move(text_); }

 private:
  std::string text_ = "---\n";
};

void add_states(Document& doc, const StateCounts& jobs) {
  doc.add("current-jobs-urgent", jobs.urgent)
      .add("current-jobs-ready", jobs.ready)
      .add("current-jobs-reserved", jobs.reserved)
      .add("current-jobs-delayed", jobs.delayed)
      .add("current-jobs-buried", jobs.buried);
}

// beanstalkd's commands, or ours.
void add_commands(Document& doc, const CommandCounts& counts, bool ours) {
  size_t index = 0;
  for_each_command([&](const auto& row) {
    if (row.flags.ours == ours && !row.stats_key.empty()) doc.add(row.stats_key, counts.at(index));
    ++index;
  });
}

void add_totals(Document& doc, const EngineStats& engine, uint64_t job_bytes_max) {
  doc.add("job-timeouts", engine.job_timeouts)
      .add("total-jobs", engine.total_jobs)
      .add("max-job-size", job_bytes_max)
      .add("current-tubes", engine.tubes)
      .add("current-connections", engine.connections)
      .add("current-producers", engine.producers)
      .add("current-workers", engine.workers)
      .add("current-waiting", engine.waiting)
      .add("total-connections", engine.total_connections);
}

void add_usage(Document& doc, const ProcessFacts& process) {
  doc.add("pid", process.pid)
      .quoted("version", process.version)
      .processor_time("rusage-utime", process.user_time)
      .processor_time("rusage-stime", process.system_time)
      .seconds("uptime", process.uptime);
}

// The log is RocksDB's. Nothing is ever migrated from one of its files to another.
void add_log(Document& doc, const StoreFacts& store) {
  doc.add("binlog-oldest-index", store.log_oldest_index)
      .add("binlog-current-index", store.log_current_index)
      .add("binlog-records-migrated", 0)
      .add("binlog-records-written", store.records_written)
      .add("binlog-max-size", store.log_bytes_max);
}

// The id is not quoted, though YAML may take it for a number: clients know it so.
void add_host(Document& doc, const ProcessFacts& process) {
  doc.add("id", process.instance_id)
      .quoted("hostname", process.hostname)
      .quoted("os", process.os)
      .quoted("platform", process.platform);
}

}  // namespace

std::string job_yaml(const JobStats& job) {
  Document doc;
  doc.add("id", job.id)
      .quoted("tube", job.tube)
      .add("state", state_name(job.state))
      .add("pri", job.priority)
      .seconds("age", job.age)
      .add("delay", job.delay_s)
      .add("ttr", job.ttr_s)
      .seconds("time-left", job.time_left)
      .add("file", 1)  // The log it is in; there is one.
      .add("reserves", job.reserves)
      .add("timeouts", job.timeouts)
      .add("releases", job.releases)
      .add("buries", job.buries)
      .add("kicks", job.kicks);
  return doc.take();
}

std::string tube_yaml(const TubeStats& tube) {
  Document doc;
  doc.quoted("name", tube.name);
  add_states(doc, tube.jobs);
  doc.add("total-jobs", tube.total_jobs)
      .add("current-using", tube.using_count)
      .add("current-watching", tube.watching_count)
      .add("current-waiting", tube.waiting_count)
      .add("cmd-delete", tube.cmd_delete)
      .add("cmd-pause-tube", tube.cmd_pause_tube)
      .seconds("pause", tube.pause)
      .seconds("pause-time-left", tube.pause_time_left)
      .seconds("next-ready-age", tube.next_ready_age);
  return doc.take();
}

std::string server_yaml(const EngineStats& engine, const ProcessFacts& process,
                        const StoreFacts& store) {
  Document doc;
  add_states(doc, engine.jobs);
  add_commands(doc, engine.commands, false);
  add_totals(doc, engine, process.job_bytes_max);
  add_usage(doc, process);
  add_log(doc, store);
  doc.add("draining", engine.draining);
  add_host(doc, process);
  doc.add("durability", store.durability)
      .add("store-state", store.state)
      .add("sync-us-p99", store.sync_us_p99)
      .add("batch-jobs-mean", fmt::format("{:.2f}", store.batch_jobs_mean))
      .add("loop-lag-us", process.loop_lag_us)
      .add("jobs-damaged", engine.jobs_damaged)
      .add("connections-refused", process.connections_refused)
      .add("checkpoint-age", process.checkpoint_age_s);
  add_commands(doc, engine.commands, true);
  return doc.take();
}

}  // namespace perennial::wire
