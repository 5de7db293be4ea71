// What the metrics say, in both formats, and which tubes have series.
#include "cmd/perenniald/http/metrics.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cmd/perenniald/http/metrics_writer.h"

namespace perennial::http {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr Nanos second = nanos_per_second;

class MetricsTest : public testing::Test, private MetricSources {
 protected:
  explicit MetricsTest(const engine::Limits& limits = {}) : engine_(limits) {}

  void apply(ConnId conn, engine::Event event) {
    engine::Output output;
    engine_.apply({.now = now_, .conn = conn, .event = std::move(event)}, output);
  }
  void put_into(const std::vector<std::string>& tubes) {
    apply(1, engine::Opened{});
    for (const std::string& tube : tubes) {
      apply(1, Command{Use{tube}});
      put(1, 1);
    }
  }
  void put(ConnId conn, uint32_t priority) { apply(conn, Command{Put{priority, 0, 10, 1}}); }

  std::unique_ptr<Answer> metrics(const MetricsRequest& request) {
    return make_metrics(*this, request);
  }
  std::unique_ptr<Answer> standby_metrics() { return make_standby_metrics(*this, true); }
  std::string text(const MetricsRequest& request) {
    const std::unique_ptr<Answer> answer = metrics(request);
    while (answer->step() != Answer::Step::Whole) {
    }
    return answer->take().body;
  }

  Nanos now_ = 1000 * second;
  engine::Engine engine_;
  Http::Counts counts_ = {{{"/livez", 200u}, 7}};
  core::CommandTimes::Histograms commands_ = {};
  LatencyHistogram turns_;
  LatencyHistogram requests_;
  StoreFacts store_;
  ServerFacts server_;
  ServerLimits limits_;
  std::optional<ClusterFacts> cluster_;

 private:
  engine::EngineView engine() override { return engine_.view(); }
  ProcessFacts process() override {
    ProcessFacts facts;
    facts.connections_refused = 21;
    return facts;
  }
  StoreFacts store() override { return store_; }
  ServerFacts server() override { return server_; }
  ServerLimits limits() override { return limits_; }
  Times times() override { return {commands_, turns_, requests_}; }
  size_t memory_bytes() override { return 1000; }
  size_t output_bytes() override { return 10; }
  bool accepts_puts() override { return true; }
  const Http::Counts& requests() override { return counts_; }
  TubeChoice tubes() override { return {}; }
  size_t event_streams() override { return 3; }
  LeaseCounts leases() override { return {4, 9}; }
  std::optional<ClusterFacts> cluster_facts() override { return cluster_; }
};

// Histograms are the same in both formats, and each bucket holds all below it.
TEST_F(MetricsTest, GivesHistograms) {
  auto& puts = commands_[static_cast<size_t>(CommandKind::Put)];
  puts.record_time(50'000);
  puts.record_time(150'000, 2);
  puts.record_time(100 * second);
  apply(1, engine::Opened{});
  put(1, 7);
  now_ += 3 * second;
  apply(1, Command{Reserve{}});
  now_ += 2 * second;
  apply(1, Command{Delete{1}});
  for (const bool open_metrics : {false, true}) {
    const std::string out = text({.open_metrics = open_metrics});
    for (const char* line :
         {"# TYPE perennial_command_seconds histogram\n",
          "perennial_command_seconds_bucket{command=\"put\",le=\"5e-05\"} 1\n",
          "perennial_command_seconds_bucket{command=\"put\",le=\"0.0001\"} 1\n",
          "perennial_command_seconds_bucket{command=\"put\",le=\"0.0002\"} 3\n",
          "perennial_command_seconds_bucket{command=\"put\",le=\"26.2144\"} 3\n",
          "perennial_command_seconds_bucket{command=\"put\",le=\"+Inf\"} 4\n",
          "perennial_command_seconds_count{command=\"put\"} 4\n",
          "perennial_command_seconds_count{command=\"other\"} 0\n",
          "perennial_job_wait_seconds_bucket{le=\"1.0\"} 0\n",
          "perennial_job_wait_seconds_bucket{le=\"5.0\"} 1\n", "perennial_job_wait_seconds_sum 3\n",
          "perennial_job_wait_seconds_count 1\n",
          "perennial_job_run_seconds_sum{outcome=\"deleted\"} 2\n",
          "perennial_job_run_seconds_bucket{outcome=\"closed\",le=\"86400.0\"} 0\n",
          "perennial_batch_bytes_bucket{le=\"1.048576e+06\"} 0\n",
          "perennial_jobs_reserved_total 1\n", "perennial_jobs_deleted_total 1\n"}) {
      EXPECT_THAT(out, HasSubstr(line)) << open_metrics;
    }
  }
}

TEST_F(MetricsTest, GivesWhatANodeOfAClusterKnows) {
  EXPECT_THAT(text({}), Not(HasSubstr("perennial_cluster")));
  ClusterFacts facts = {.leads = true,
                        .has_leader = true,
                        .epoch = 7,
                        .newest = 30,
                        .applied = 29,
                        .flushed = 20,
                        .forwarded = 3,
                        .circles = 4,
                        .clock_ahead = -3 * second / 2,
                        .appends_fail = true,
                        .alarms_no_space = 2,
                        .alarms_corrupt = 1,
                        .settings_differ = 6};
  facts.appends.record_time(2 * second);
  cluster_ = facts;
  const auto all = metrics({});
  while (all->step() != Answer::Step::Whole) continue;
  const auto standby = standby_metrics();
  ASSERT_EQ(standby->step(), Answer::Step::Whole);
  const std::string of_standby = standby->take().body;
  for (const std::string& out : {all->take().body, of_standby}) {
    for (const char* line :
         {"perennial_cluster_role{role=\"leader\"} 1\n",
          "perennial_cluster_role{role=\"standby\"} 0\n", "perennial_cluster_has_leader 1\n",
          "perennial_cluster_epoch 7\n", "perennial_cluster_log_index{stage=\"read\"} 30\n",
          "perennial_cluster_log_index{stage=\"applied\"} 29\n",
          "perennial_cluster_log_index{stage=\"flushed\"} 20\n",
          "perennial_cluster_forwarded_connections 3\n", "perennial_cluster_circles_total 4\n",
          "perennial_cluster_clock_ahead_seconds -1.5\n", "perennial_cluster_appends_failing 1\n",
          "perennial_cluster_etcd_alarms{alarm=\"NOSPACE\"} 2\n",
          "perennial_cluster_etcd_alarms{alarm=\"CORRUPT\"} 1\n",
          "perennial_cluster_settings_differ 6\n", "perennial_cluster_append_seconds_sum 2\n"}) {
      EXPECT_THAT(out, HasSubstr(line));
    }
  }
  EXPECT_THAT(of_standby, HasSubstr("perennial_uptime_seconds"));
  EXPECT_THAT(of_standby, Not(HasSubstr("perennial_jobs")));
  EXPECT_TRUE(of_standby.ends_with("# EOF\n"));
}

TEST_F(MetricsTest, GivesWhatTheServerKnows) {
  core::AnswerCounts answers;
  answers.on_word(Word::NotFound, CommandKind::Delete);
  answers.puts_refused = {.disk = 10, .memory = 11, .forbidden = 12, .unauthorized = 13};
  answers.bodies_found = 14;
  answers.bodies_missed = 15;
  server_ = {.start_time = 1700000000.25,
             .recovery_took = 3 * second / 2,
             .recovered_jobs = 95,
             .resident_bytes = 4096,
             .descriptors_open = 12,
             .descriptors_max = 1024,
             .disk_free_bytes = 1 << 30,
             .disk_free_files = 65'536,
             .disk_low_water_bytes = 1 << 20,
             .access = {.sign_ins = {{{.ok = 3, .failed = 2}, {.ok = 4}}},
                        .forbidden = {8, 9},
                        .refused = {16, 17, 18, 19, 20}},
             .answers = answers,
             .body_cache_bytes = 77,
             .bytes_in = 78,
             .bytes_out = 79,
             .held = {.output = 80, .pending = 81},
             .commit_pending_bytes = 82,
             .commit_oldest = 5 * second / 2,
             .handshakes_full = 5,
             .handshakes_resumed = 6,
             .handshakes_failed = 7,
             .certificates = {{"0.0.0.0:11301", 1800000000}},
             .threads = {{.name = "loop", .cpu_time = 5 * second / 2, .connections = 22},
                         {.name = "io-0", .cpu_time = 3 * second, .connections = 23}},
             .reload_success = false,
             .reload_time = 1700000001.5,
             .tickers = {{"wal_bytes", 90}},
             .properties = {{.name = "is-write-stopped", .value = 0},
                            {.name = "live-sst-files-size", .family = "bodies", .value = 91}},
             .log_bytes = 92,
             .body_bytes = 93,
             .state_bytes = 94};
  const std::string out = text({});
  for (const char* line :
       {"perennial_process_start_time_seconds 1700000000.25\n",
        "perennial_process_resident_memory_bytes 4096\n",
        "perennial_process_open_fds 12\n",
        "perennial_process_max_fds 1024\n",
        "perennial_recovery_seconds 1.5\n",
        "perennial_recovered_jobs 95\n",
        "perennial_disk_free_bytes 1073741824\n",
        "perennial_disk_free_files 65536\n",
        "perennial_disk_low_water_bytes 1048576\n",
        "perennial_config_reload_time_seconds 1700000001.5\n",
        "perennial_rocksdb_ticker_total{name=\"wal_bytes\"} 90\n",
        "perennial_rocksdb_property{name=\"is-write-stopped\"} 0\n",
        "perennial_rocksdb_property{name=\"live-sst-files-size\",family=\"bodies\"} 91\n",
        "perennial_data_bytes{kind=\"log\"} 92\n",
        "perennial_data_bytes{kind=\"bodies\"} 93\n",
        "perennial_data_bytes{kind=\"state\"} 94\n",
        "perennial_auth_total{method=\"token\",result=\"ok\"} 3\n",
        "perennial_auth_total{method=\"token\",result=\"failed\"} 2\n",
        "perennial_auth_total{method=\"token\",result=\"limited\"} 0\n",
        "perennial_auth_total{method=\"certificate\",result=\"ok\"} 4\n",
        "perennial_auth_total{method=\"cookie\",result=\"limited\"} 0\n",
        "perennial_command_errors_total{reply=\"NOT_FOUND\"} 1\n",
        "perennial_command_errors_total{reply=\"FAILED\"} 0\n",
        "perennial_puts_refused_total{reason=\"disk\"} 10\n",
        "perennial_puts_refused_total{reason=\"memory\"} 11\n",
        "perennial_puts_refused_total{reason=\"forbidden\"} 12\n",
        "perennial_puts_refused_total{reason=\"unauthorized\"} 13\n",
        "perennial_puts_refused_total{reason=\"draining\"} 0\n",
        "perennial_body_cache_bytes 77\n",
        "perennial_body_cache_hits_total 14\n",
        "perennial_body_cache_misses_total 15\n",
        "perennial_bytes_total{direction=\"in\"} 78\n",
        "perennial_connections_held{reason=\"output\"} 80\n",
        "perennial_connections_held{reason=\"pending\"} 81\n",
        "perennial_commit_pending_bytes 82\n",
        "perennial_commit_oldest_seconds 2.5\n",
        "perennial_connections_refused_total{reason=\"protocol\"} 21\n",
        "perennial_connections_refused_total{reason=\"limited\"} 16\n",
        "perennial_connections_refused_total{reason=\"unidentified\"} 17\n",
        "perennial_connections_refused_total{reason=\"timeout\"} 18\n",
        "perennial_connections_refused_total{reason=\"wrong_tokens\"} 19\n",
        "perennial_connections_refused_total{reason=\"unauthorized\"} 20\n",
        "perennial_jobs_bytes 0\n",
        "perennial_http_events 3\n",
        "perennial_schedules 0\n",
        "perennial_schedules_refused 0\n",
        "perennial_schedules_fired_total 0\n",
        "perennial_schedules_skipped_total 0\n",
        "perennial_schedules_missed_total 0\n",
        "perennial_leases 4\n",
        "perennial_leases_max 9\n",
        "perennial_bytes_total{direction=\"out\"} 79\n",
        "perennial_forbidden_total{verb=\"produce\"} 8\n",
        "perennial_forbidden_total{verb=\"consume\"} 9\n",
        "perennial_forbidden_total{verb=\"admin\"} 0\n",
        "perennial_tls_handshakes_total{result=\"full\"} 5\n",
        "perennial_tls_handshakes_total{result=\"resumed\"} 6\n",
        "perennial_tls_handshakes_total{result=\"failed\"} 7\n",
        "perennial_tls_certificate_expiry_seconds{listener=\"0.0.0.0:11301\"} 1800000000\n",
        "perennial_thread_cpu_seconds_total{thread=\"loop\"} 2.5\n",
        "perennial_thread_cpu_seconds_total{thread=\"io-0\"} 3\n",
        "perennial_thread_connections{thread=\"loop\"} 22\n",
        "perennial_thread_connections{thread=\"io-0\"} 23\n",
        "perennial_config_reload_success 0\n"}) {
    EXPECT_THAT(out, HasSubstr(line));
  }
  server_ = {};
  const std::string less = text({});
  EXPECT_THAT(less, Not(HasSubstr("perennial_process_open_fds")));
  EXPECT_THAT(less, Not(HasSubstr("perennial_tls_certificate")));
  EXPECT_THAT(less, Not(HasSubstr("{method=\"certificate\",result=\"failed\"}")));
}

// Each has a series at all times, so that one which is over is 0 and not gone.
TEST_F(MetricsTest, GivesEachStateOfTheStore) {
  store_.state = "low-space";
  const std::string all = text({});
  EXPECT_THAT(all, HasSubstr("perennial_store_state{state=\"ok\"} 0\n"
                             "perennial_store_state{state=\"low-space\"} 1\n"
                             "perennial_store_state{state=\"no-ballast\"} 0\n"
                             "perennial_store_state{state=\"behind\"} 0\n"
                             "perennial_store_state{state=\"degraded\"} 0\n"));
}

TEST_F(MetricsTest, TellsTheHighestAgesOfAllTubes) {
  apply(1, engine::Opened{});
  put(1, 7);
  apply(1, Command{Reserve{}});
  apply(1, Command{Bury{1, 0}});
  now_ += 3 * second;
  apply(1, Command{Use{"mail"}});
  put(1, 7);
  now_ += 4 * second;
  apply(1, Command{Use{"other"}});
  put(1, 7);
  const std::string out = text({});
  EXPECT_THAT(out, HasSubstr("perennial_oldest_buried_seconds 7\n"));
  EXPECT_THAT(out, HasSubstr("perennial_oldest_ready_seconds 4\n"));
}

// The alert and the dashboard are made of these.
TEST_F(MetricsTest, TheOldestReadyJobIsNotTheNextOne) {
  apply(1, engine::Opened{});
  put(1, 4000);
  now_ += 1'440 * second;
  put(1, 0);
  const std::string out = text({});
  EXPECT_THAT(out, HasSubstr("perennial_oldest_ready_seconds 1440\n"));
  EXPECT_THAT(out, HasSubstr("perennial_tube_oldest_ready_seconds{tube=\"default\"} 1440\n"));
  EXPECT_THAT(out, HasSubstr("perennial_tube_oldest_ready_seconds " +
                             std::string(oldest_ready_meaning) + "\n"));
  EXPECT_THAT(out, HasSubstr("perennial_oldest_ready_seconds The longest of all tubes. " +
                             std::string(oldest_ready_meaning) + "\n"));
}

// ---- Which tubes have series.
TEST_F(MetricsTest, PutsTubesFirstThatFit) {
  put_into({"a1", "a2", "b1", "b2", "b3"});
  const std::string out = text({.tubes = {.first = {"b2", "b3", "c*"}, .tubes_max = 3}});
  EXPECT_THAT(out, HasSubstr("perennial_tubes_unlisted 3\n"));
  EXPECT_THAT(out, HasSubstr("puts_total{tube=\"b2\"} 1\n"));
  EXPECT_THAT(out, HasSubstr("puts_total{tube=\"b3\"} 1\n"));
  EXPECT_THAT(out, HasSubstr("puts_total{tube=\"default\"} 0\n"));  // The oldest of the others.
  EXPECT_THAT(out, HasSubstr("puts_total{tube=\"{other}\"} 3\n"));
  const std::string few = text({.tubes = {.first = {"*"}, .tubes_max = 2}});
  EXPECT_THAT(few, HasSubstr("perennial_tubes_unlisted 4\n"));
  EXPECT_THAT(few, HasSubstr("puts_total{tube=\"a1\"} 1\n"));
  EXPECT_THAT(few, HasSubstr("puts_total{tube=\"{other}\"} 4\n"));
}

// It has another number then, as a new tube has taken its own.
TEST_F(MetricsTest, GivesATubeOnceThatEndedAndCameBackBetweenTwoSteps) {
  std::vector<std::string> tubes;
  for (int i = 0; i < 150; ++i) tubes.push_back("mail-" + std::to_string(100 + i));
  put_into(tubes);
  const std::unique_ptr<Answer> answer = metrics({});
  EXPECT_EQ(answer->step(), Answer::Step::Again);
  apply(1, Command{FlushTube{"mail-110"}});
  for (const char* tube : {"new", "mail-110", "mail-110"}) {
    apply(1, Command{Use{tube}});
    put(1, 1);
  }
  while (answer->step() != Answer::Step::Whole) {
  }
  const std::string out = answer->take().body;
  const std::string line = "perennial_tube_puts_total{tube=\"mail-110\"} ";
  const size_t place = out.find(line);
  ASSERT_NE(place, std::string::npos);
  EXPECT_EQ(out.substr(place + line.size(), 2), "2\n");
  EXPECT_EQ(out.find(line, place + 1), std::string::npos);
}

TEST_F(MetricsTest, SumsUpTubesOfAGroup) {
  put_into({"mail-1", "mail-2", "mail", "other"});
  const std::string out =
      text({.tubes = {.groups = {{"mail-*", "mail"}, {"*-2", "two"}}, .tubes_max = 1}});
  EXPECT_THAT(out, HasSubstr("puts_total{tube=\"mail\"} 3\n"));  // With the tube of that name.
  EXPECT_THAT(out, Not(HasSubstr("\"two\"")));
  EXPECT_THAT(out, HasSubstr("puts_total{tube=\"default\"} 0\n"));
  EXPECT_THAT(out, HasSubstr("perennial_tubes_unlisted 1\n"));
}

TEST_F(MetricsTest, GivesOnlyTheTubesThatFit) {
  put_into({"mail-1", "mail-2", "mail-3", "other"});
  const std::string out = text({.tubes_only = true, .tubes = {.tubes_max = 2, .match = "mail-*"}});
  EXPECT_THAT(out, HasSubstr("puts_total{tube=\"mail-1\"} 1\n"));
  EXPECT_THAT(out, HasSubstr("puts_total{tube=\"mail-2\"} 1\n"));
  EXPECT_THAT(out, HasSubstr("puts_total{tube=\"{other}\"} 1\n"));
  EXPECT_THAT(out, HasSubstr("perennial_tubes_unlisted 1\n"));
  EXPECT_THAT(out, Not(HasSubstr("perennial_jobs{")));
}

class MeasuredTubesTest : public MetricsTest {
 protected:
  MeasuredTubesTest()
      : MetricsTest({.measured_as = measured_as({"mail-*", "orders"}, {{"mail-x*", "x"}})}) {}
};

TEST_F(MeasuredTubesTest, HaveHistograms) {
  put_into({"mail-1", "mail-x1", "mail-x2", "orders", "other"});
  now_ += 3 * second;
  apply(2, engine::Opened{});
  for (JobId id = 1; id <= 5; ++id) apply(2, Command{ReserveJob{id}});
  for (const bool open_metrics : {false, true}) {
    const std::string out = text({.open_metrics = open_metrics});
    for (const char* line : {"# TYPE perennial_tube_wait_seconds histogram\n",
                             "# TYPE perennial_tube_run_seconds histogram\n",
                             "perennial_tube_wait_seconds_bucket{tube=\"mail-1\",le=\"1.0\"} 0\n",
                             "perennial_tube_wait_seconds_bucket{tube=\"mail-1\",le=\"5.0\"} 1\n",
                             "perennial_tube_wait_seconds_sum{tube=\"orders\"} 3\n",
                             "perennial_tube_wait_seconds_count{tube=\"x\"} 2\n",
                             "perennial_tube_run_seconds_count{tube=\"orders\"} 0\n"}) {
      EXPECT_THAT(out, HasSubstr(line));
    }
    EXPECT_THAT(out, Not(HasSubstr("wait_seconds_count{tube=\"other\"")));
    EXPECT_THAT(out, Not(HasSubstr("wait_seconds_count{tube=\"mail-x1\"")));
  }
}

TEST_F(MeasuredTubesTest, AreGivenByThoseThatAreAskedFor) {
  put_into({"mail-1", "mail-2", "mail-x1", "orders"});
  const std::string out = text({.tubes_only = true, .tubes = {.tubes_max = 1, .match = "mail-*"}});
  EXPECT_THAT(out, HasSubstr("perennial_tube_wait_seconds_count{tube=\"mail-1\"} 0\n"));
  EXPECT_THAT(out, HasSubstr("perennial_tube_run_seconds_count{tube=\"mail-1\"} 0\n"));
  EXPECT_THAT(out, Not(HasSubstr("wait_seconds_count{tube=\"mail-2\"")));
  EXPECT_THAT(out, Not(HasSubstr("wait_seconds_count{tube=\"x\"")));
  EXPECT_THAT(out, Not(HasSubstr("wait_seconds_count{tube=\"orders\"")));
}

// A tube may end between two steps, and another may begin. Each name is written once.
TEST_F(MeasuredTubesTest, ComeAndEndBetweenTwoSteps) {
  std::vector<std::string> tubes;
  for (int i = 0; i < 25; ++i) tubes.push_back("mail-" + std::to_string(100 + i));
  put_into(tubes);
  TubeTimesFamilies families(nullptr);
  MetricsWriter out(false);
  EXPECT_FALSE(families.step(out, engine_.view().measured_tubes()));
  apply(1, Command{Use{"default"}});
  apply(1, Command{FlushTube{"mail-109"}});  // The last of the first step.
  apply(1, Command{FlushTube{"mail-110"}});
  apply(1, Command{Use{"mail-05"}});
  int steps = 1;
  while (!families.step(out, engine_.view().measured_tubes())) ++steps;
  EXPECT_EQ(steps, 5);
  const std::string all = out.take();
  const auto count = [&](const std::string& tube) {
    const std::string line = "wait_seconds_count{tube=\"" + tube + "\"}";
    size_t found = 0;
    for (size_t at = all.find(line); at != std::string::npos; at = all.find(line, at + 1)) ++found;
    return found;
  };
  EXPECT_EQ(count("mail-109"), 1u);
  EXPECT_EQ(count("mail-110"), 0u);
  EXPECT_EQ(count("mail-05"), 0u);
  EXPECT_EQ(count("mail-124"), 1u);
}

// From the step on where a worker may go on with it, a text is made of what was taken before. It is
// blind to what is read and not said: TSan sees that in the tests of the server.
TEST_F(MeasuredTubesTest, AreApartFromTheEngineOnceTheyAreTaken) {
  std::vector<std::string> tubes;
  for (int i = 0; i < 250; ++i) tubes.push_back("mail-" + std::to_string(1000 + i));
  put_into(tubes);
  for (const MetricsRequest& request :
       {MetricsRequest{}, MetricsRequest{.open_metrics = true},
        MetricsRequest{.tubes_only = true, .tubes = {.match = "mail-*"}},
        MetricsRequest{.names_of_beanstalkd = true}}) {
    const std::string whole = text(request);
    const std::unique_ptr<Answer> answer = metrics(request);
    EXPECT_FALSE(answer->is_apart());
    int taking = 0;
    for (; !answer->is_apart(); ++taking) ASSERT_EQ(answer->step(), Answer::Step::Again);
    now_ += second;
    apply(1, Command{FlushTube{"mail-1100"}});
    apply(1, Command{Use{"mail-9"}});
    put(1, 1);
    counts_[{"/livez", 200u}]++;
    int left = 1;
    for (; answer->step() != Answer::Step::Whole; ++left) EXPECT_TRUE(answer->is_apart());
    EXPECT_EQ(answer->take().body, whole);
    EXPECT_NE(text(request), whole);
    EXPECT_GE(taking, 3);
    EXPECT_GE(left, 2);
    counts_[{"/livez", 200u}] = 7;
    apply(1, Command{FlushTube{"mail-9"}});
    apply(1, Command{Use{"mail-1100"}});
    put(1, 1);
  }
}

TEST_F(MetricsTest, HasNoFamilyOfHistogramsOfTubesUnlessItIsAskedFor) {
  put_into({"mail"});
  EXPECT_THAT(text({}), Not(HasSubstr("perennial_tube_wait_seconds")));
}

struct BoundCase {
  std::string name;
  double bound;
  std::string text;
};
class BucketText : public testing::TestWithParam<BoundCase> {};

// As Go writes them, with ".0" where there is neither a point nor an exponent.
TEST_P(BucketText, IsCanonical) {
  EXPECT_EQ(bucket_text(GetParam().bound), GetParam().text);
}

INSTANTIATE_TEST_SUITE_P(Metrics, BucketText,
                         testing::Values(BoundCase{"Small", 50'000 * 1e-9, "5e-05"},
                                         BoundCase{"NotSmall", 100'000 * 1e-9, "0.0001"},
                                         BoundCase{"Several", 13'107'200'000 * 1e-9, "13.1072"},
                                         BoundCase{"Rounded", 26'214'400'000 * 1e-9, "26.2144"},
                                         BoundCase{"One", 1, "1.0"}, BoundCase{"Ten", 10, "10.0"},
                                         BoundCase{"Day", 86'400, "86400.0"},
                                         BoundCase{"Large", 262'144, "262144.0"},
                                         BoundCase{"Larger", 1'048'576, "1.048576e+06"},
                                         BoundCase{"Million", 1'000'000, "1e+06"}),
                         [](const auto& param) { return param.param.name; });

TEST(MetricsWriter, EscapesLabels) {
  MetricsWriter writer(false);
  writer.family("x", MetricType::Gauge, "", "X.");
  writer.sample(1, {{"a", "b\"c\\d\ne"}});
  EXPECT_EQ(writer.take(), "# HELP x X.\n# TYPE x gauge\nx{a=\"b\\\"c\\\\d\\ne\"} 1\n");
}

}  // namespace
}  // namespace perennial::http
