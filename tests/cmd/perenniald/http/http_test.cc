#include "cmd/perenniald/http/http.h"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cmd/perenniald/http/answer.h"

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
  Step step() override { return --left_ <= 0 ? Step::Whole : Step::Again; }
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
  Http http_{{.connections_max = 2, .pipeline_bytes_max = 1000},
             [this](const Request& request, const access::ClientRights& /*rights*/) {
               asked_.push_back(request.path);
               return Http::Handled{"/r", std::make_unique<SlowAnswer>(3, request.path)};
             }};
};

// RFC 6797: only over TLS, where nobody on the way can have made it up.
TEST(Hsts, IsSaidOverTlsOnly) {
  for (const bool is_tls : {false, true}) {
    Http http({.hsts_seconds = 60}, [](const Request&, const access::ClientRights& rights) {
      return Http::Handled{"/r", std::make_unique<SlowAnswer>(1, "a"), rights.is_tls};
    });
    for (const std::string& request : {get("/a"), std::string("nonsense\r\n\r\n")}) {
      const ConnId conn = request.size();
      core::Session& session = http.open(conn, 1, {.is_tls = is_tls});
      session.on_bytes({request.data(), request.size()}, 1);
      while (http.has_runnable()) http.run_next(1);
      const bool is_said = session.output().find("\r\nStrict-Transport-Security: max-age=60\r\n") !=
                           std::string::npos;
      EXPECT_EQ(is_said, is_tls) << request;
      session.on_close(1);
    }
  }
}

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
  send(session, get("/a") + get("/b") + get("/c"), now_);
  session.on_eof(now_);
  EXPECT_FALSE(session.finished());
  take(session);
  EXPECT_THAT(asked_, ElementsAre("/a", "/b", "/c"));
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

// Whoever comes has a place, as long as one of the others asks for nothing.
TEST_F(HttpTest, TheOldestIdleConnectionGivesWay) {
  core::Session& idle = open(1);
  core::Session& second_idle = open(2);
  EXPECT_TRUE(http_.has_slot());
  core::Session& third = open(3);
  EXPECT_TRUE(idle.finished());
  EXPECT_FALSE(second_idle.finished());
  EXPECT_EQ(http_.count(), 2u);
  EXPECT_EQ(http_.gave_way(), 1u);
  // One with a part of a request is told why.
  send(second_idle, "GET /a HTTP/1.1\r\n", now_);
  core::Session& fourth = open(4);
  EXPECT_THAT(take(second_idle), HasSubstr("503 Service Unavailable"));
  EXPECT_TRUE(second_idle.finished());
  // Those that are answered stay, and then there is no place, except for more than all.
  send(third, get("/a"), now_);
  send(fourth, get("/a"), now_);
  EXPECT_FALSE(http_.has_slot());
  EXPECT_TRUE(http_.has_slot(1));
  core::Session& local = open(5);
  EXPECT_FALSE(local.finished());
  for (core::Session* const session : {&third, &fourth}) {
    EXPECT_THAT(take(*session), HasSubstr("/a"));
    EXPECT_FALSE(session->finished());
  }
  for (core::Session* const session : {&idle, &second_idle, &third, &fourth, &local}) {
    session->on_close(now_);
  }
  EXPECT_EQ(http_.count(), 0u);
}

// Who does not take an answer is idle, too.
TEST_F(HttpTest, WhoTakesNoAnswerGivesWay) {
  core::Session& slow = open(1);
  send(slow, get("/a"), now_);
  run_all();
  EXPECT_FALSE(slow.output().empty());
  open(2);
  open(3);
  EXPECT_TRUE(slow.output().empty());
  EXPECT_TRUE(slow.finished());
}

TEST_F(HttpTest, LongTextsAreFreedElsewhere) {
  constexpr size_t long_bytes = 2 << 20;
  std::vector<size_t> freed;
  const auto free_elsewhere = [&](const std::string& text) { freed.push_back(text.size()); };
  Http http({.free_elsewhere = free_elsewhere},
            [](const Request& request, const access::ClientRights&) {
              const size_t bytes = request.path == "/long" ? long_bytes : 1000;
              return Http::Handled{"/r", std::make_unique<SlowAnswer>(1, std::string(bytes, 'x'))};
            });
  core::Session& session = http.open(1, now_);
  const auto ask = [&](const std::string& path) {
    send(session, get(path), now_);
    while (http.has_runnable()) http.run_next(now_);
  };
  const auto take_all = [&] {
    while (!session.output().empty()) session.on_written(session.output().size());
  };
  ask("/short");
  take_all();
  EXPECT_EQ(freed, std::vector<size_t>{});
  ask("/long");
  take_all();
  EXPECT_EQ(freed, std::vector{long_bytes});
  ask("/long");
  session.on_close(now_);  // It was not taken.
  EXPECT_EQ(freed, (std::vector{long_bytes, long_bytes}));
}

TEST_F(HttpTest, AnswersThatNobodyTakesAreBoundedTogether) {
  Http http({.output_bytes_max = 3000}, [](const Request&, const access::ClientRights&) {
    return Http::Handled{"/r", std::make_unique<SlowAnswer>(1, std::string(1000, 'x'))};
  });
  std::vector<core::Session*> sessions;
  for (ConnId conn = 1; conn <= 4; ++conn) {
    sessions.push_back(&http.open(conn, now_));
    send(*sessions.back(), get("/a"), now_);
    while (http.has_runnable()) http.run_next(now_);
  }
  // The first one has waited longest, and one that is larger than all may go alone.
  EXPECT_TRUE(sessions[0]->output().empty());
  EXPECT_TRUE(sessions[0]->finished());
  EXPECT_TRUE(sessions[1]->finished());
  EXPECT_GT(sessions[2]->output().size(), 1000u);
  sessions[2]->on_written(sessions[2]->output().size());
  EXPECT_FALSE(sessions[2]->finished());
  EXPECT_GT(sessions[3]->output().size(), 1000u);
  for (core::Session* const session : sessions) session->on_close(now_);
  EXPECT_EQ(http.count(), 0u);
}

TEST_F(HttpTest, OnlySoManyLongAnswersAreMadeAtTheSameTime) {
  Http http({.long_answers_max = 1}, [](const Request& request, const access::ClientRights&) {
    return Http::Handled{
        "/r", std::make_unique<SlowAnswer>(request.path == "/short" ? 1 : 3, request.path)};
  });
  std::vector<core::Session*> sessions;
  for (const char* path : {"/a", "/b", "/c", "/short"}) {
    sessions.push_back(&http.open(sessions.size() + 1, now_));
    send(*sessions.back(), get(path), now_);
  }
  for (int step = 0; step < 4; ++step) http.run_next(now_);
  EXPECT_THAT(std::string(sessions[3]->output()), HasSubstr("/short"));
  // One that waits, and then the one that is made, go away.
  sessions[1]->on_close(now_);
  sessions[0]->on_close(now_);
  while (http.has_runnable()) http.run_next(now_);
  EXPECT_THAT(std::string(sessions[2]->output()), HasSubstr("/c"));
  sessions[2]->on_close(now_);
  sessions[3]->on_close(now_);
}

// Those that watch over the server have places of their own.
TEST_F(HttpTest, LongAnswersForAMonitorWaitForNoOthers) {
  Http http({.long_answers_max = 1, .monitor_answers_max = 1},
            [](const Request& request, const access::ClientRights&) {
              return Http::Handled{.route = "/r",
                                   .answer = std::make_unique<SlowAnswer>(3, request.path),
                                   .is_for_monitor = request.path == "/metrics"};
            });
  std::vector<core::Session*> sessions;
  for (const char* path : {"/a", "/b", "/metrics", "/metrics"}) {
    sessions.push_back(&http.open(sessions.size() + 1, now_));
    send(*sessions.back(), get(path), now_);
  }
  for (int step = 0; step < 8; ++step) http.run_next(now_);
  EXPECT_THAT(std::string(sessions[0]->output()), HasSubstr("/a"));
  EXPECT_THAT(std::string(sessions[2]->output()), HasSubstr("/metrics"));
  EXPECT_TRUE(sessions[1]->output().empty());
  EXPECT_TRUE(sessions[3]->output().empty());
  while (http.has_runnable()) http.run_next(now_);
  EXPECT_THAT(std::string(sessions[3]->output()), HasSubstr("/metrics"));
  for (core::Session* const session : sessions) session->on_close(now_);
}

TEST_F(HttpTest, AddressesTakeTurnsWithTheirLongAnswers) {
  Http http({.long_answers_max = 1}, [](const Request& request, const access::ClientRights&) {
    return Http::Handled{"/r", std::make_unique<SlowAnswer>(3, request.path)};
  });
  std::vector<core::Session*> sessions;
  for (ConnId conn = 1; conn <= 10; ++conn) {
    sessions.push_back(&http.open(conn, now_, {}, conn < 10 ? "192.0.2.1" : "192.0.2.9"));
    send(*sessions.back(), get("/a"), now_);
  }
  while (sessions[9]->output().empty()) http.run_next(now_);
  const auto is_answered = [](const core::Session* each) { return !each->output().empty(); };
  EXPECT_LE(std::ranges::count_if(sessions, is_answered), 3);
  while (http.has_runnable()) http.run_next(now_);
  EXPECT_EQ(std::ranges::count_if(sessions, is_answered), 10);
  for (core::Session* const session : sessions) session->on_close(now_);
}

TEST_F(HttpTest, OfOneAddressOnlySoManyAreIdle) {
  Http http({.connections_max = 100, .per_address_max = 2},
            [](const Request&, const access::ClientRights&) { return Http::Handled{}; });
  core::Session& other = http.open(1, now_, {}, "192.0.2.9");
  core::Session& first = http.open(2, now_, {}, "192.0.2.1");
  http.open(3, now_, {}, "192.0.2.1");
  http.open(4, now_, {}, "192.0.2.1");
  EXPECT_TRUE(first.finished());
  EXPECT_FALSE(other.finished());
  for (ConnId conn = 5; conn < 20; ++conn) http.open(conn, now_, {}, "");  // This machine.
  EXPECT_EQ(http.gave_way(), 1u);
}

TEST_F(HttpTest, WhoseRequestWasNotReadYetDoesNotGiveWay) {
  Http http({.connections_max = 2, .must_stay = [](ConnId conn) { return conn == 1; }},
            [](const Request&, const access::ClientRights&) { return Http::Handled{}; });
  core::Session& asks = http.open(1, now_);
  core::Session& idle = http.open(2, now_);
  http.open(3, now_);
  EXPECT_FALSE(asks.finished());
  EXPECT_TRUE(idle.finished());
}

// It was cut off in the middle: between two pieces of its answer the client asked for nothing.
TEST_F(HttpTest, WhoTakesAnAnswerDoesNotGiveWay) {
  bool takes = true;
  Http http(
      {.connections_max = 1, .must_stay = [&](ConnId conn) { return conn == 1 && takes; }},
      [](const Request&, const access::ClientRights&) {
        return Http::Handled{"/r", std::make_unique<SlowAnswer>(1, std::string(100'000, 'a'))};
      });
  core::Session& reader = http.open(1, now_);
  send(reader, get("/a"), now_);
  while (http.has_runnable()) http.run_next(now_);
  reader.on_written(reader.output().size());  // The head.
  ASSERT_EQ(reader.output().size(), 100'000U);
  core::Session& second_session = http.open(2, now_);
  EXPECT_EQ(reader.output().size(), 100'000U);
  reader.on_written(10'000);
  core::Session& third = http.open(3, now_);
  EXPECT_EQ(reader.output().size(), 90'000U);
  EXPECT_TRUE(second_session.finished()) << "which asks for nothing";
  // One that has stopped taking it gives way within a second.
  takes = false;
  http.on_time(now_ + second);
  core::Session& fourth = http.open(4, now_);
  EXPECT_TRUE(reader.finished());
  EXPECT_TRUE(reader.output().empty());
  EXPECT_FALSE(fourth.finished());
  EXPECT_FALSE(third.finished());
}

TEST_F(HttpTest, HasSlotsForSoManyConnections) {
  core::Session& first = open(1);
  core::Session& second_session = open(2);
  send(first, get("/a"), now_);
  send(second_session, get("/a"), now_);
  EXPECT_FALSE(http_.has_slot());
  first.on_close(now_);  // In the middle of its answer.
  run_all();
  EXPECT_TRUE(http_.has_slot());
  std::vector<ConnId> changed;
  http_.take_changed(changed);
  second_session.on_close(now_);
}

// Waits for something, and tells whether its response was lost.
class WantedAnswer final : public Answer {
 public:
  WantedAnswer(bool is_wanted, const bool& is_there, int& lost)
      : is_wanted_(is_wanted), is_there_(is_there), lost_(lost) {}
  Step step() override { return is_there_ ? Step::Whole : Step::Waits; }
  Response take() override {
    return {.body = std::string(100'000, 'a'), .on_lost = [&lost = lost_] { ++lost; }};
  }
  bool ends_with_client() const override { return is_wanted_; }

 private:
  const bool is_wanted_;
  const bool& is_there_;
  int& lost_;
};

class HttpLost : public testing::Test {
 protected:
  core::Session& ask(bool is_wanted) {
    is_wanted_ = is_wanted;
    core::Session& session = http_.open(1, second);
    const std::string request = get("/a");
    session.on_bytes({request.data(), request.size()}, second);
    run();
    return session;
  }
  void run() {
    while (http_.has_runnable()) http_.run_next(second);
  }

  bool is_wanted_ = false;
  bool is_there_ = false;
  int lost_ = 0;
  Http http_{
      {}, [this](const Request&, const access::ClientRights&) {
        return Http::Handled{"/r", std::make_unique<WantedAnswer>(is_wanted_, is_there_, lost_)};
      }};
};

TEST_F(HttpLost, AClientThatClosesItsSideGivesUpWhatItWaitsFor) {
  core::Session& session = ask(true);
  session.on_eof(second);
  EXPECT_TRUE(session.finished());
  session.on_close(second);
}

TEST_F(HttpLost, AClientThatClosesItsSideIsAnsweredWhatWasToBeDone) {
  core::Session& session = ask(false);
  session.on_eof(second);
  EXPECT_FALSE(session.finished());
  session.on_close(second);
}

TEST_F(HttpLost, AResponseOfWhichNotAllHasLeftIsLost) {
  is_there_ = true;
  core::Session& session = ask(true);
  while (session.output().size() > 1) session.on_written(session.output().size() - 1);
  EXPECT_EQ(lost_, 0);
  session.on_close(second);
  EXPECT_EQ(lost_, 1);
}

TEST_F(HttpLost, AResponseThatHasLeftIsNotLost) {
  is_there_ = true;
  core::Session& session = ask(true);
  while (!session.output().empty()) session.on_written(session.output().size());
  session.on_close(second);
  EXPECT_EQ(lost_, 0);
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

}  // namespace
}  // namespace perennial::http
