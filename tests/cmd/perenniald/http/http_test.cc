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
  void put(ConnId conn, uint32_t priority) { apply(conn, Command{Put{priority, 0, 10, 1}}); }

  Nanos now_ = 1000 * second;
  engine::Engine engine_{engine::Limits()};
  HealthFacts health_;
  Http::Counts counts_ = {{{"/livez", 200u}, 7}};
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
  const std::string out = ask(get("/metrics"));
  EXPECT_THAT(out, HasSubstr("Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n"));
  for (const char* line :
       {"# TYPE perennial_build_info gauge\nperennial_build_info{version=\"1.2.3\"} 1\n",
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
