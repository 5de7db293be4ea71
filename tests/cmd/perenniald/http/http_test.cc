#include "cmd/perenniald/http/http.h"

#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cmd/perenniald/http/routes.h"

namespace perennial::http {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr Nanos second = nanos_per_second;

std::string get(const std::string& path, const std::string& fields = "Host: localhost\r\n") {
  return "GET " + path + " HTTP/1.1\r\n" + fields + "\r\n";
}

// Is whole after so many steps.
class SlowAnswer final : public Answer {
 public:
  SlowAnswer(int steps, std::string body) : left_(steps), body_(std::move(body)) {}
  bool step() override { return --left_ <= 0; }
  Response take() override { return {.body = std::move(body_)}; }

 private:
  int left_;
  std::string body_;
};

class HttpTest : public testing::Test {
 protected:
  core::Session& open(ConnId conn = 1) { return http_.open(conn, now_); }
  static void send(core::Session& session, const std::string& bytes, Nanos now) {
    session.on_bytes({bytes.data(), bytes.size()}, now);
  }
  void run_all() {
    while (http_.has_runnable()) http_.run_next(now_);
  }
  // Takes all output, as a client that reads does.
  std::string take(core::Session& session) {
    std::string out;
    for (run_all(); !session.output().empty(); run_all()) {
      const std::string piece(session.output());
      out += piece;
      session.on_written(piece.size());
    }
    return out;
  }

  Nanos now_ = 1000 * second;
  std::vector<std::string> asked_;
  Http http_{{.connections_max = 2, .pipeline_bytes_max = 1000}, [this](const Request& request) {
               asked_.push_back(request.path);
               return Http::Handled{"/r", std::make_unique<SlowAnswer>(3, request.path)};
             }};
};

TEST_F(HttpTest, AnswersInTheOrderOfTheRequests) {
  core::Session& session = open();
  send(session, get("/a") + get("/b") + get("/c"), now_);
  EXPECT_THAT(asked_, ElementsAre("/a"));
  const std::string out = take(session);
  EXPECT_THAT(asked_, ElementsAre("/a", "/b", "/c"));
  EXPECT_LT(out.find("\r\n\r\n/a"), out.find("\r\n\r\n/b"));
  EXPECT_LT(out.find("\r\n\r\n/b"), out.find("\r\n\r\n/c"));
  EXPECT_FALSE(session.finished());
  EXPECT_TRUE(session.reading());
  EXPECT_EQ(http_.counts().at({"/r", 200}), 3u);
  session.on_close(now_);
}

TEST_F(HttpTest, ClosesWhenTheClientSaysSo) {
  core::Session& session = open();
  send(session, get("/a", "Host: localhost\r\nConnection: close\r\n") + get("/b"), now_);
  EXPECT_THAT(take(session), HasSubstr("Connection: close"));
  EXPECT_THAT(asked_, ElementsAre("/a"));
  EXPECT_TRUE(session.finished());
  session.on_close(now_);
}

TEST_F(HttpTest, AnswersWhatCameBeforeAHalfClose) {
  core::Session& session = open();
  send(session, get("/a") + get("/b"), now_);
  session.on_eof(now_);
  EXPECT_FALSE(session.finished());
  take(session);
  EXPECT_THAT(asked_, ElementsAre("/a", "/b"));
  EXPECT_TRUE(session.finished());
  session.on_close(now_);
}

TEST_F(HttpTest, ABadRequestIsAnsweredAndEndsTheConnection) {
  core::Session& session = open();
  send(session, "put 0 0 10 1\r\na\r\n" + get("/a"), now_);
  EXPECT_TRUE(take(session).starts_with("HTTP/1.1 400 "));
  EXPECT_THAT(asked_, IsEmpty());
  EXPECT_TRUE(session.finished());
  EXPECT_FALSE(session.reading());
  session.on_close(now_);
}

// T10.
TEST_F(HttpTest, ARequestThatDoesNotComeWholeIsGivenUp) {
  core::Session& session = open();
  send(session, "GET / HTTP/1.1\r\n", now_);
  http_.on_time(now_ + 9 * second);
  EXPECT_FALSE(session.finished());
  send(session, "Host: ", now_ + 9 * second);  // Bytes do not prolong it.
  http_.on_time(now_ + 10 * second);
  EXPECT_TRUE(take(session).starts_with("HTTP/1.1 408 "));
  EXPECT_TRUE(session.finished());
  session.on_close(now_);
}

TEST_F(HttpTest, AnIdleConnectionIsClosedWithoutAWord) {
  core::Session& session = open();
  send(session, get("/a"), now_);
  take(session);
  http_.on_time(now_);
  http_.on_time(now_ + 59 * second);
  EXPECT_FALSE(session.finished());
  http_.on_time(now_ + 60 * second);
  EXPECT_TRUE(session.finished());
  EXPECT_EQ(session.output(), "");
  session.on_close(now_);
}

TEST_F(HttpTest, AClientThatTakesNoAnswerIsGivenUp) {
  core::Session& session = open();
  send(session, get("/a"), now_);
  run_all();
  ASSERT_GT(session.output().size(), 20u);
  http_.on_time(now_ + 59 * second);
  session.on_written(10);  // Taking some of it prolongs its time.
  http_.on_time(now_ + 60 * second);
  http_.on_time(now_ + 119 * second);
  EXPECT_FALSE(session.finished());
  http_.on_time(now_ + 120 * second);
  EXPECT_TRUE(session.finished());
  session.on_close(now_);
}

// Whoever writes asks again after each piece.
TEST_F(HttpTest, IsVisitedAgainAfterAPiece) {
  core::Session& session = open();
  send(session, get("/a"), now_);
  run_all();
  std::vector<ConnId> changed;
  http_.take_changed(changed);
  session.on_written(10);
  http_.take_changed(changed);
  EXPECT_THAT(changed, ElementsAre(1));
  session.on_close(now_);
}

TEST_F(HttpTest, ReadsNoFurtherBehindALongPipeline) {
  core::Session& session = open();
  std::string many;
  for (int i = 0; i < 100; ++i) many += get("/a");
  send(session, many, now_);
  EXPECT_FALSE(session.reading());
  take(session);
  EXPECT_EQ(asked_.size(), 100u);
  EXPECT_TRUE(session.reading());
  session.on_close(now_);
}

TEST_F(HttpTest, HasSlotsForSoManyConnections) {
  core::Session& first = open(1);
  EXPECT_TRUE(http_.has_slot());
  core::Session& second_session = open(2);
  EXPECT_FALSE(http_.has_slot());
  send(first, get("/a"), now_);
  first.on_close(now_);  // In the middle of its answer.
  run_all();
  EXPECT_TRUE(http_.has_slot());
  std::vector<ConnId> changed;
  http_.take_changed(changed);
  second_session.on_close(now_);
}

TEST_F(HttpTest, MeasuresRequestsFromTheirTurnToTheirAnswer) {
  core::Session& session = open();
  send(session, get("/a"), now_);
  now_ += 2 * second;
  take(session);
  http_.on_answers_ready(now_ + second);
  http_.on_answers_ready(now_ + 5 * second);
  EXPECT_EQ(http_.request_times().count(), 1u);
  EXPECT_EQ(http_.request_times().view().sum, 3e9);
  session.on_close(now_);
}

// ---- Routes.
class RoutesTest : public testing::Test {
 protected:
  std::string ask(const std::string& bytes) {
    RequestParser parser;
    parser.add(bytes);
    const std::optional<Request> request = parser.next();
    if (!request) return "none";
    Http::Handled handled = routes_.handle(*request);
    route_ = handled.route;
    while (!handled.answer->step()) ++steps_;
    return render(handled.answer->take(), true, request->method == "HEAD");
  }
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

  Nanos now_ = 1000 * second;
  engine::Engine engine_{engine::Limits()};
  HealthFacts health_;
  Http::Counts counts_ = {{{"/livez", 200u}, 7}};
  core::CommandTimes::Histograms commands_ = {};
  LatencyHistogram turns_;
  LatencyHistogram requests_;
  ServerFacts server_;
  bool accepts_puts_ = true;
  Routes routes_ = {.health = [this] { return health_; },
                    .metrics = {.engine = engine_,
                                .process =
                                    [] {
                                      ProcessFacts facts;
                                      facts.version = "1.2.3";
                                      return facts;
                                    },
                                .store =
                                    [] {
                                      StoreFacts facts;
                                      facts.state = "ok";
                                      return facts;
                                    },
                                .server = [this] { return server_; },
                                .times =
                                    [this] {
                                      return Times{commands_, turns_, requests_};
                                    },
                                .memory_bytes = [] { return size_t{1000}; },
                                .output_bytes = [] { return size_t{10}; },
                                .accepts_puts = [this] { return accepts_puts_; },
                                .requests = [this]() -> const Http::Counts& { return counts_; }},
                    .hosts = {"queue.test"}};
  std::string route_;
  int steps_ = 0;
};

TEST_F(RoutesTest, TellsWhetherTheServerLives) {
  EXPECT_TRUE(ask(get("/livez")).ends_with("\r\n\r\nok\n"));
  EXPECT_EQ(route_, "/livez");
  EXPECT_TRUE(ask(get("/livez?verbose"))
                  .ends_with("\r\n\r\n[+]loop ok\n[+]commit ok\nlivez check passed\n"));
  health_.commit_age = 30 * second;
  const std::string dead = ask(get("/livez"));
  EXPECT_TRUE(dead.starts_with("HTTP/1.1 503 "));
  EXPECT_THAT(dead, HasSubstr("[-]commit a batch is not on disk after a long time\n"));
  EXPECT_TRUE(ask(get("/livez?exclude=commit")).ends_with("\r\n\r\nok\n"));
}

TEST_F(RoutesTest, TellsWhetherTheServerIsReady) {
  EXPECT_TRUE(ask(get("/readyz")).ends_with("\r\n\r\nok\n"));
  health_.accepts_puts = false;
  health_.commit_age = 100 * second;
  const std::string full = ask(get("/readyz?verbose"));
  EXPECT_TRUE(full.starts_with("HTTP/1.1 200 "));
  EXPECT_THAT(full,
              HasSubstr("[+]disk ok, degraded: puts are refused, since the disk is nearly full\n"));
  health_.is_draining = true;
  EXPECT_TRUE(ask(get("/readyz")).starts_with("HTTP/1.1 503 "));
  EXPECT_TRUE(ask(get("/readyz?exclude=drain")).starts_with("HTTP/1.1 200 "));
  health_.is_stopping = true;
  EXPECT_THAT(ask(get("/readyz?exclude=drain")), HasSubstr("[-]stop the server is stopping\n"));
}

TEST_F(RoutesTest, KnowsItsPathsAndMethods) {
  EXPECT_TRUE(ask(get("/")).starts_with("HTTP/1.1 404 "));
  EXPECT_EQ(route_, "none");
  EXPECT_TRUE(ask(get("/livez/")).starts_with("HTTP/1.1 404 "));
  const std::string other =
      ask("POST /livez HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n");
  EXPECT_TRUE(other.starts_with("HTTP/1.1 405 "));
  EXPECT_THAT(other, HasSubstr("Allow: GET, HEAD\r\n"));
  EXPECT_TRUE(
      ask("OPTIONS /livez HTTP/1.1\r\nHost: localhost\r\n\r\n").starts_with("HTTP/1.1 405"));
  EXPECT_TRUE(ask("HEAD /livez HTTP/1.1\r\nHost: localhost\r\n\r\n").ends_with("\r\n\r\n"));
}

// T6.
TEST_F(RoutesTest, IsCalledByItsOwnNames) {
  for (const char* good : {"localhost", "localhost:11380", "127.0.0.1:1", "[::1]", "[::1]:11380",
                           "queue.test:11380"}) {
    const std::string out = ask(get("/livez", std::string("Host: ") + good + "\r\n"));
    EXPECT_TRUE(out.starts_with("HTTP/1.1 200 ")) << good;
  }
  for (const char* bad : {"evil.test", "evil.test:11380", "[::1].evil", "localhost.",
                          "127.0.0.1.evil", "localhost@evil.test", ""}) {
    const std::string out = ask(get("/metrics", std::string("Host: ") + bad + "\r\n"));
    EXPECT_TRUE(out.starts_with("HTTP/1.1 421 ")) << bad;
    EXPECT_EQ(route_, "none");
  }
}

TEST_F(RoutesTest, GivesMetrics) {
  apply(1, engine::Opened{});
  apply(1, Command{Use{"mail"}});
  put(1, 7);
  put(1, 2000);
  now_ += 5 * second;
  server_.rocksdb_version = "7.8.3";
  server_.openssl_version = "3.0.1";
  const std::string out = ask(get("/metrics"));
  EXPECT_THAT(out, HasSubstr("Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n"));
  for (const char* line :
       {"# TYPE perennial_build_info gauge\n"
        "perennial_build_info{version=\"1.2.3\",rocksdb=\"7.8.3\",openssl=\"3.0.1\"} 1\n",
        "# TYPE perennial_jobs gauge\nperennial_jobs{state=\"ready\"} 2\n",
        "perennial_urgent_jobs 1\n",
        "# TYPE perennial_jobs_put_total counter\nperennial_jobs_put_total 2\n",
        "perennial_commands_total{command=\"put\"} 2\n", "perennial_connections{role=\"all\"} 1\n",
        "perennial_http_requests_total{route=\"/livez\",code=\"200\"} 7\n",
        "perennial_tube_jobs{tube=\"mail\",state=\"ready\"} 2\n",
        "perennial_tube_puts_total{tube=\"mail\"} 2\n", "perennial_store_state{state=\"ok\"} 1\n",
        "perennial_puts_accepted 1\n"}) {
    EXPECT_THAT(out, HasSubstr(line));
  }
  EXPECT_THAT(out, Not(HasSubstr("# EOF")));
}

TEST_F(RoutesTest, GivesOpenMetricsWhereThatIsAskedFor) {
  const std::string out = ask(
      get("/metrics", "Host: localhost\r\nAccept: application/openmetrics-text;version=1.0.0\r\n"));
  EXPECT_THAT(out, HasSubstr("Content-Type: application/openmetrics-text; version=1.0.0"));
  EXPECT_THAT(out, HasSubstr("# TYPE perennial_jobs_put counter\nperennial_jobs_put_total 0\n"));
  EXPECT_THAT(out, HasSubstr("# UNIT perennial_uptime_seconds seconds\n"));
  EXPECT_TRUE(out.ends_with("# EOF\n"));
}

TEST_F(RoutesTest, GivesTheNamesOfTheOldExporter) {
  const std::string out = ask(get("/metrics?names=beanstalkd"));
  EXPECT_THAT(out, HasSubstr("# TYPE current_jobs_ready gauge\ncurrent_jobs_ready 0\n"));
  EXPECT_THAT(out, HasSubstr("cmd_put 0\n"));
  EXPECT_THAT(out, Not(HasSubstr("hostname")));
}

// Histograms are the same in both formats, and each bucket holds all below it.
TEST_F(RoutesTest, GivesHistograms) {
  auto& puts = commands_[static_cast<size_t>(core::CommandKind::Put)];
  puts.record_time(50'000);
  puts.record_time(150'000, 2);
  puts.record_time(100 * second);
  apply(1, engine::Opened{});
  put(1, 7);
  now_ += 3 * second;
  apply(1, Command{Reserve{}});
  now_ += 2 * second;
  apply(1, Command{Delete{1}});
  for (const char* accept : {"text/plain", "application/openmetrics-text"}) {
    const std::string out =
        ask(get("/metrics", std::string("Host: localhost\r\nAccept: ") + accept + "\r\n"));
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
      EXPECT_THAT(out, HasSubstr(line)) << accept;
    }
  }
}

TEST_F(RoutesTest, GivesWhatTheServerKnows) {
  server_ = {.start_time = 1700000000.25,
             .resident_bytes = 4096,
             .descriptors_open = 12,
             .descriptors_max = 1024,
             .disk_free_bytes = 1 << 30,
             .access = {.sign_ins = 3, .sign_ins_refused = 2, .forbidden = 1},
             .handshakes_full = 5,
             .handshakes_resumed = 6,
             .handshakes_failed = 7,
             .certificates = {{"0.0.0.0:11301", 1800000000}},
             .reload_success = false};
  const std::string out = ask(get("/metrics"));
  for (const char* line :
       {"perennial_process_start_time_seconds 1700000000.25\n",
        "perennial_process_resident_memory_bytes 4096\n", "perennial_process_open_fds 12\n",
        "perennial_process_max_fds 1024\n", "perennial_disk_free_bytes 1073741824\n",
        "perennial_auth_total{result=\"ok\"} 3\n", "perennial_auth_total{result=\"failed\"} 2\n",
        "perennial_forbidden_total 1\n", "perennial_tls_handshakes_total{result=\"full\"} 5\n",
        "perennial_tls_handshakes_total{result=\"resumed\"} 6\n",
        "perennial_tls_handshakes_total{result=\"failed\"} 7\n",
        "perennial_tls_certificate_expiry_seconds{listener=\"0.0.0.0:11301\"} 1800000000\n",
        "perennial_config_reload_success 0\n"}) {
    EXPECT_THAT(out, HasSubstr(line));
  }
  server_ = {};
  const std::string less = ask(get("/metrics"));
  EXPECT_THAT(less, Not(HasSubstr("perennial_process_open_fds")));
  EXPECT_THAT(less, Not(HasSubstr("perennial_tls_certificate")));
}

TEST_F(RoutesTest, TellsTheHighestAgesOfAllTubes) {
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
  const std::string out = ask(get("/metrics"));
  EXPECT_THAT(out, HasSubstr("perennial_oldest_buried_seconds 7\n"));
  EXPECT_THAT(out, HasSubstr("perennial_oldest_ready_seconds 4\n"));
}

// ---- Which tubes have series.
TEST_F(RoutesTest, PutsTubesFirstThatFit) {
  put_into({"a1", "a2", "b1", "b2", "b3"});
  routes_.metrics.tubes = {.first = {"b2", "b3", "c*"}, .tubes_max = 3};
  const std::string out = ask(get("/metrics"));
  EXPECT_THAT(out, HasSubstr("perennial_tubes_unlisted 3\n"));
  EXPECT_THAT(out, HasSubstr("puts_total{tube=\"b2\"} 1\n"));
  EXPECT_THAT(out, HasSubstr("puts_total{tube=\"b3\"} 1\n"));
  EXPECT_THAT(out, HasSubstr("puts_total{tube=\"default\"} 0\n"));  // The oldest of the others.
  EXPECT_THAT(out, HasSubstr("puts_total{tube=\"{other}\"} 3\n"));
  routes_.metrics.tubes = {.first = {"*"}, .tubes_max = 2};
  const std::string few = ask(get("/metrics"));
  EXPECT_THAT(few, HasSubstr("perennial_tubes_unlisted 4\n"));
  EXPECT_THAT(few, HasSubstr("puts_total{tube=\"a1\"} 1\n"));
  EXPECT_THAT(few, HasSubstr("puts_total{tube=\"{other}\"} 4\n"));
}

TEST_F(RoutesTest, SumsUpTubesOfAGroup) {
  put_into({"mail-1", "mail-2", "mail", "other"});
  routes_.metrics.tubes = {.groups = {{"mail-*", "mail"}, {"*-2", "two"}}, .tubes_max = 1};
  const std::string out = ask(get("/metrics"));
  EXPECT_THAT(out, HasSubstr("puts_total{tube=\"mail\"} 3\n"));  // With the tube of that name.
  EXPECT_THAT(out, Not(HasSubstr("\"two\"")));
  EXPECT_THAT(out, HasSubstr("puts_total{tube=\"default\"} 0\n"));
  EXPECT_THAT(out, HasSubstr("perennial_tubes_unlisted 1\n"));
}

TEST_F(RoutesTest, GivesTheTubesThatAreAskedFor) {
  put_into({"mail-1", "mail-2", "mail-3", "other"});
  routes_.metrics.tubes = {.groups = {{"mail-*", "mail"}}, .tubes_max = 0};
  const std::string out = ask(get("/metrics/tubes?match=mail-*&limit=2"));
  EXPECT_EQ(route_, "/metrics/tubes");
  EXPECT_THAT(out, HasSubstr("puts_total{tube=\"mail-1\"} 1\n"));
  EXPECT_THAT(out, HasSubstr("puts_total{tube=\"mail-2\"} 1\n"));
  EXPECT_THAT(out, HasSubstr("puts_total{tube=\"{other}\"} 1\n"));
  EXPECT_THAT(out, HasSubstr("perennial_tubes_unlisted 1\n"));
  EXPECT_THAT(out, Not(HasSubstr("perennial_jobs{")));
  EXPECT_THAT(ask(get("/metrics/tubes")), HasSubstr("puts_total{tube=\"other\"} 1\n"));
  for (const std::string& query :
       {std::string("limit=x"), std::string("limit=10001"), std::string("limit="),
        std::string("limit=-1"), "match=" + std::string(201, 'a')}) {
    EXPECT_TRUE(ask(get("/metrics/tubes?" + query)).starts_with("HTTP/1.1 400 ")) << query;
  }
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

// A thousand tubes have series of their own, and no step looks at more than 500.
TEST_F(RoutesTest, SumsUpTubesThatAreTooMany) {
  apply(1, engine::Opened{});
  for (int i = 0; i < 1500; ++i) {
    apply(1, Command{Use{"t" + std::to_string(i)}});
    put(1, 1);
  }
  const std::string out = ask(get("/metrics"));
  EXPECT_GT(steps_, 3);
  EXPECT_THAT(out, HasSubstr("perennial_tubes_unlisted 501\n"));  // And default.
  EXPECT_THAT(out, HasSubstr("perennial_tube_puts_total{tube=\"{other}\"} 501\n"));
  EXPECT_THAT(out, HasSubstr("perennial_tube_puts_total{tube=\"t0\"} 1\n"));
  EXPECT_THAT(out, Not(HasSubstr("{tube=\"t1499\"}")));
}

}  // namespace
}  // namespace perennial::http
