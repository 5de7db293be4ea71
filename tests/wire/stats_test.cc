#include "wire/stats.h"

#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "wire/format.h"

// Every key, its place and its value. Each member has a different value, so that no member can be
// mistaken for another.
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
                  .delay = 11 * nanos_per_second,
                  .ttr = 12 * nanos_per_second,
                  .time_left = 9 * nanos_per_second + 1,
                  .reserves = 1,
                  .timeouts = 2,
                  .releases = 3,
                  .buries = 4,
                  .kicks = 5};
}

TEST(Stats, JobHasEveryKeyAndValue) {
  const std::string want =
      "---\nid: 18446744073709551615\ntube: \"t;1\"\nstate: delayed\npri: 4294967295\nage: 3\n"
      "delay: 11\nttr: 12\ntime-left: 9\nfile: 1\nreserves: 1\ntimeouts: 2\nreleases: 3\n"
      "buries: 4\nkicks: 5\n";
  EXPECT_EQ(job_yaml(some_job()), want);
  std::string out;
  append_reply(out, std::make_unique<JobStats>(some_job()));
  EXPECT_EQ(out, ok(want));
}

TEST(Stats, JobHasTheNameOfItsState) {
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

TEST(Stats, TubeHasEveryKeyAndValue) {
  const TubeStats tube{.name = "default",
                       .jobs = {1, 2, 3, 4, 5},
                       .total_jobs = 6,
                       .using_count = 7,
                       .watching_count = 8,
                       .waiting_count = 9,
                       .cmd_delete = 10,
                       .cmd_pause_tube = 11,
                       .pause = 1,  // From "pause-tube default 0": less than a second.
                       .pause_time_left = 13 * nanos_per_second - 1,
                       .oldest_ready_age = 14 * nanos_per_second};
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

constexpr uint64_t first_command_count = 1001;

EngineStats some_engine() {
  EngineStats engine;
  engine.jobs = {1, 2, 3, 4, 5};
  uint64_t next = first_command_count;
  for_each_command([&]<typename Row>(const Row&) {
    using C = typename Row::Type;
    if constexpr (!command_row<C>().stats_key.empty()) engine.commands.of<C>() = next++;
  });
  engine.job_timeouts = 28;
  engine.total_jobs = 29;
  next = 31;  // 30 is max-job-size, which comes before these.
  for (uint64_t* value : {&engine.tubes, &engine.connections, &engine.producers, &engine.workers,
                          &engine.waiting, &engine.total_connections}) {
    *value = next++;
  }
  engine.jobs_damaged = 44;
  engine.draining = true;
  engine.jobs_parked = 50;
  engine.keys = 46;
  engine.jobs_duplicate = 47;
  engine.jobs_dead = 48;
  engine.jobs_expired = 49;
  engine.schedules = {.schedules = 52, .refused = 53};
  return engine;
}

// Returns the lines of some_engine's counters, of beanstalkd's commands or of this server's own.
// Their keys and their order follow from the table of commands. tests/transcripts/statistics.txt
// has them word for word.
std::string command_lines(bool ours) {
  std::string lines;
  uint64_t count = first_command_count;
  for_each_command([&](const auto& row) {
    if (row.stats_key.empty()) return;
    if (row.flags.ours == ours) lines += fmt::format("{}: {}\n", row.stats_key, count);
    ++count;
  });
  return lines;
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
          .tzdata = "2025b",
          .loop_lag_us = 43,
          .connections_refused = 45,
          .checkpoint_age_s = 3600};
}

StoreFacts some_store() {
  return {.log_oldest_index = 40,
          .log_current_index = 41,
          .records_written = 42,
          .log_bytes_max = 67'108'864,
          .disk_free_bytes = 51,
          .durability = "commit",
          .state = "ok",
          .sync_us_p99 = 250,
          .batch_jobs_mean = 12.346};
}

// The expected document of "stats". Only the counters of commands are not written out.
std::string server_want() {
  return "---\ncurrent-jobs-urgent: 1\ncurrent-jobs-ready: 2\ncurrent-jobs-reserved: 3\n"
         "current-jobs-delayed: 4\ncurrent-jobs-buried: 5\n" +
         command_lines(false) +
         "job-timeouts: 28\ntotal-jobs: 29\n"
         "max-job-size: 30\ncurrent-tubes: 31\ncurrent-connections: 32\ncurrent-producers: 33\n"
         "current-workers: 34\ncurrent-waiting: 35\ntotal-connections: 36\npid: 37\n"
         "version: \"1.13\"\nrusage-utime: 38.001234\nrusage-stime: 0.999999\nuptime: 39\n"
         "binlog-oldest-index: 40\nbinlog-current-index: 41\nbinlog-records-migrated: 0\n"
         "binlog-records-written: 42\nbinlog-max-size: 67108864\ndraining: true\n"
         "id: 12e4500000000000\nhostname: \"host.example\"\nos: \"#1 SMP\"\nplatform: \"x86_64\"\n"
         "perennial-version: \"0.1.0\"\ndurability: commit\nstore-state: ok\nsync-us-p99: "
         "250\nbatch-jobs-mean: 12.35\n"
         "loop-lag-us: 43\njobs-damaged: 44\nconnections-refused: 45\ncheckpoint-age: 3600\n"
         "current-jobs-parked: 50\ncurrent-keys: 46\njobs-duplicate: 47\njobs-dead: "
         "48\njobs-expired: 49\ndisk-free-bytes: 51\n"
         "current-schedules: 52\nschedules-refused: 53\ntzdata: \"2025b\"\n" +
         command_lines(true);
}

TEST(Stats, ServerHasEveryKeyAndValue) {
  EXPECT_EQ(server_yaml(some_engine(), some_process(), some_store()), server_want());
  std::string out = "before|";
  append_stats(out, some_engine(), some_process(), some_store());
  EXPECT_EQ(out, "before|" + ok(server_want()));
}

TEST(Stats, ANodeOfAClusterHasFiveKeysMore) {
  ProcessFacts process = some_process();
  process.cluster = {.role = "leader", .epoch = 7, .lag = 8, .standbys = 9, .standby_lag = 10};
  EXPECT_EQ(server_yaml(some_engine(), process, some_store()),
            server_want() +
                "cluster-role: leader\ncluster-epoch: 7\ncluster-lag: 8\n"
                "cluster-standbys: 9\ncluster-standby-lag: 10\n");
}

std::vector<std::string> keys_of(const std::string& yaml) {
  std::vector<std::string> keys;
  std::istringstream lines(yaml);
  for (std::string line; std::getline(lines, line);)
    if (const size_t end = line.find(": "); end != std::string::npos)
      keys.push_back(line.substr(0, end));
  return keys;
}

// Clients of beanstalkd count the keys. These are those of 1.12 and 1.13, in their order.
TEST(Stats, WithoutItsOwnKeysItIsBeanstalkds) {
  const StatsStyle style{.has_own_keys = false};
  ProcessFacts process = some_process();
  process.cluster = {.role = "leader", .epoch = 7, .lag = 8, .standbys = 9, .standby_lag = 10};
  const std::vector<std::string> server =
      keys_of(server_yaml(some_engine(), process, some_store(), style));
  EXPECT_EQ(server.size(), 51u);
  EXPECT_EQ(server.front(), "current-jobs-urgent");
  EXPECT_EQ(server.back(), "platform");
  TubeStats tube;
  tube.more.make();
  const std::vector<std::string> of_tube = {"name",
                                            "current-jobs-urgent",
                                            "current-jobs-ready",
                                            "current-jobs-reserved",
                                            "current-jobs-delayed",
                                            "current-jobs-buried",
                                            "total-jobs",
                                            "current-using",
                                            "current-watching",
                                            "current-waiting",
                                            "cmd-delete",
                                            "cmd-pause-tube",
                                            "pause",
                                            "pause-time-left"};
  EXPECT_EQ(keys_of(tube_yaml(tube, style)), of_tube);
  JobStats job = some_job();
  job.more.make();
  EXPECT_EQ(keys_of(job_yaml(job, style)), keys_of(job_yaml(some_job())));
}

// As beanstalkd 1.12 writes them.
TEST(Stats, NamesMayStandWithoutQuotes) {
  const StatsStyle style{.quotes_names = false};
  EXPECT_NE(job_yaml(some_job(), style).find("\ntube: t;1\n"), std::string::npos);
  TubeStats tube;
  tube.name = "mail";
  EXPECT_NE(tube_yaml(tube, style).find("\nname: mail\n"), std::string::npos);
  const std::string server = server_yaml(some_engine(), some_process(), some_store(), style);
  EXPECT_NE(server.find("\nhostname: host.example\nos: #1 SMP\nplatform: x86_64\n"),
            std::string::npos);
  EXPECT_NE(server.find("\nversion: \"1.13\"\n"), std::string::npos);
}

TEST(Stats, ServerThatDoesNotDrainSaysFalse) {
  const std::string yaml = server_yaml({}, {}, {});
  EXPECT_NE(yaml.find("\ndraining: false\n"), std::string::npos);
  EXPECT_NE(yaml.find("\nrusage-utime: 0.000000\n"), std::string::npos);
}

}  // namespace
}  // namespace perennial::wire
