#include "wire/stats.h"

#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "wire/format.h"

// Every key, its place and its value: each member has a value of its own, so that none can stand
// for another.
namespace perennial::wire {
namespace {

std::string ok(const std::string& yaml) {
  return "OK " + std::to_string(yaml.size()) + "\r\n" + yaml + "\r\n";
}

JobStats some_job() {
  return JobStats{.id = 18446744073709551615u,
                  .tube = "t;1",
                  .state = JobState::Delayed,
                  .priority = 4294967295,
                  .age = 3 * nanos_per_second + 999'999'999,
                  .delay_s = 11,
                  .ttr_s = 12,
                  .time_left = 9 * nanos_per_second + 1,
                  .reserves = 1,
                  .timeouts = 2,
                  .releases = 3,
                  .buries = 4,
                  .kicks = 5};
}

TEST(Stats, Job) {
  const std::string want =
      "---\nid: 18446744073709551615\ntube: \"t;1\"\nstate: delayed\npri: 4294967295\nage: 3\n"
      "delay: 11\nttr: 12\ntime-left: 9\nfile: 1\nreserves: 1\ntimeouts: 2\nreleases: 3\n"
      "buries: 4\nkicks: 5\n";
  EXPECT_EQ(job_yaml(some_job()), want);
  std::string out;
  append_reply(out, std::make_unique<JobStats>(some_job()));
  EXPECT_EQ(out, ok(want));
}

TEST(Stats, JobStates) {
  const std::pair<JobState, std::string> cases[] = {{JobState::Ready, "ready"},
                                                    {JobState::Reserved, "reserved"},
                                                    {JobState::Delayed, "delayed"},
                                                    {JobState::Buried, "buried"}};
  for (const auto& [state, want] : cases) {
    JobStats job = some_job();
    job.state = state;
    EXPECT_NE(job_yaml(job).find("\nstate: " + want + "\n"), std::string::npos) << want;
  }
}

TEST(Stats, Tube) {
  const TubeStats tube{.name = "default",
                       .jobs = {1, 2, 3, 4, 5},
                       .total_jobs = 6,
                       .using_count = 7,
                       .watching_count = 8,
                       .waiting_count = 9,
                       .cmd_delete = 10,
                       .cmd_pause_tube = 11,
                       .pause = 1,  // What "pause-tube default 0" leaves: less than a second.
                       .pause_time_left = 13 * nanos_per_second - 1,
                       .next_ready_age = 14 * nanos_per_second};
  const std::string want =
      "---\nname: \"default\"\ncurrent-jobs-urgent: 1\ncurrent-jobs-ready: 2\n"
      "current-jobs-reserved: 3\ncurrent-jobs-delayed: 4\ncurrent-jobs-buried: 5\ntotal-jobs: 6\n"
      "current-using: 7\ncurrent-watching: 8\ncurrent-waiting: 9\ncmd-delete: 10\n"
      "cmd-pause-tube: 11\npause: 0\npause-time-left: 12\nnext-ready-age: 14\n";
  EXPECT_EQ(tube_yaml(tube), want);
  std::string out;
  append_reply(out, std::make_unique<TubeStats>(tube));
  EXPECT_EQ(out, ok(want));
}

EngineStats some_engine() {
  EngineStats engine;
  engine.jobs = {1, 2, 3, 4, 5};
  uint64_t next = 6;
  CommandCounts& count = engine.commands;
  // In beanstalkd's order, which is not that of the members everywhere one might think.
  for (uint64_t* value : {&count.of<Put>(),
                          &count.of<Peek>(),
                          &count.of<PeekReady>(),
                          &count.of<PeekDelayed>(),
                          &count.of<PeekBuried>(),
                          &count.of<Reserve>(),
                          &count.of<ReserveWithTimeout>(),
                          &count.of<Delete>(),
                          &count.of<Release>(),
                          &count.of<Use>(),
                          &count.of<Watch>(),
                          &count.of<Ignore>(),
                          &count.of<Bury>(),
                          &count.of<Kick>(),
                          &count.of<Touch>(),
                          &count.of<Stats>(),
                          &count.of<StatsJob>(),
                          &count.of<StatsTube>(),
                          &count.of<ListTubes>(),
                          &count.of<ListTubeUsed>(),
                          &count.of<ListTubesWatched>(),
                          &count.of<PauseTube>(),
                          &engine.job_timeouts,
                          &engine.total_jobs}) {
    *value = next++;
  }
  next = 31;  // max-job-size, between them, is 30.
  for (uint64_t* value : {&engine.tubes, &engine.connections, &engine.producers, &engine.workers,
                          &engine.waiting, &engine.total_connections}) {
    *value = next++;
  }
  engine.jobs_damaged = 44;
  engine.draining = true;
  return engine;
}

ProcessFacts some_process() {
  return {.job_bytes_max = 30,
          .pid = 37,
          .version = "0.1.0",
          .user_time = 38 * nanos_per_second + 1'234'567,
          .system_time = 999'999'999,
          .uptime = 39 * nanos_per_second + 999'999'999,
          .instance_id = "12e4500000000000",
          .hostname = "host.example",
          .os = "#1 SMP",
          .platform = "x86_64",
          .loop_lag_us = 43,
          .connections_refused = 45,
          .checkpoint_age_s = 3600};
}

StoreFacts some_store() {
  return {.log_oldest_index = 40,
          .log_current_index = 41,
          .records_written = 42,
          .log_bytes_max = 67'108'864,
          .durability = "commit",
          .state = "ok",
          .sync_us_p99 = 250,
          .batch_jobs_mean = 12.346};
}

constexpr const char* server_want =
    "---\ncurrent-jobs-urgent: 1\ncurrent-jobs-ready: 2\ncurrent-jobs-reserved: 3\n"
    "current-jobs-delayed: 4\ncurrent-jobs-buried: 5\ncmd-put: 6\ncmd-peek: 7\n"
    "cmd-peek-ready: 8\ncmd-peek-delayed: 9\ncmd-peek-buried: 10\ncmd-reserve: 11\n"
    "cmd-reserve-with-timeout: 12\ncmd-delete: 13\ncmd-release: 14\ncmd-use: 15\ncmd-watch: 16\n"
    "cmd-ignore: 17\ncmd-bury: 18\ncmd-kick: 19\ncmd-touch: 20\ncmd-stats: 21\n"
    "cmd-stats-job: 22\ncmd-stats-tube: 23\ncmd-list-tubes: 24\ncmd-list-tube-used: 25\n"
    "cmd-list-tubes-watched: 26\ncmd-pause-tube: 27\njob-timeouts: 28\ntotal-jobs: 29\n"
    "max-job-size: 30\ncurrent-tubes: 31\ncurrent-connections: 32\ncurrent-producers: 33\n"
    "current-workers: 34\ncurrent-waiting: 35\ntotal-connections: 36\npid: 37\n"
    "version: \"0.1.0\"\nrusage-utime: 38.001234\nrusage-stime: 0.999999\nuptime: 39\n"
    "binlog-oldest-index: 40\nbinlog-current-index: 41\nbinlog-records-migrated: 0\n"
    "binlog-records-written: 42\nbinlog-max-size: 67108864\ndraining: true\n"
    "id: 12e4500000000000\nhostname: \"host.example\"\nos: \"#1 SMP\"\nplatform: \"x86_64\"\n"
    "durability: commit\nstore-state: ok\nsync-us-p99: 250\nbatch-jobs-mean: 12.35\n"
    "loop-lag-us: 43\njobs-damaged: 44\nconnections-refused: 45\ncheckpoint-age: 3600\n";

TEST(Stats, Server) {
  EXPECT_EQ(server_yaml(some_engine(), some_process(), some_store()), server_want);
  std::string out = "before|";
  append_stats(out, some_engine(), some_process(), some_store());
  EXPECT_EQ(out, "before|" + ok(server_want));
}

TEST(Stats, NotDraining) {
  const std::string yaml = server_yaml({}, {}, {});
  EXPECT_NE(yaml.find("\ndraining: false\n"), std::string::npos);
  EXPECT_NE(yaml.find("\nrusage-utime: 0.000000\n"), std::string::npos);
}

}  // namespace
}  // namespace perennial::wire
