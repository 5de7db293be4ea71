// Tests of the checker with short, explicit histories.

#include "tests/simulation/checker.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace perennial::simulation {
namespace {

// The bytes of one client to or from the server, or the end of the server.
struct Line {
  enum class Kind : uint8_t { Sent, Received, Closed, Kill, Later } kind;
  ConnId conn = 0;
  std::string bytes = {};
};

Line to(ConnId conn, std::string bytes) {
  return {.kind = Line::Kind::Sent, .conn = conn, .bytes = std::move(bytes)};
}
Line from(ConnId conn, std::string bytes) {
  return {.kind = Line::Kind::Received, .conn = conn, .bytes = std::move(bytes)};
}
Line closed(ConnId conn) {
  return {.kind = Line::Kind::Closed, .conn = conn};
}
Line kill() {
  return {.kind = Line::Kind::Kill};
}
// An interval in seconds.
Line later(ConnId seconds) {
  return {.kind = Line::Kind::Later, .conn = seconds};
}

struct HistoryCase {
  const char* name;
  std::vector<Line> lines;
  std::string problem = "";  // A part of the expected problem. Empty means no problem.
};

void PrintTo(const HistoryCase& history, std::ostream* out) {
  *out << history.name;
}

std::string ok(const std::string& yaml) {
  return "OK " + std::to_string(yaml.size()) + "\r\n" + yaml;
}

std::string delayed_for(int seconds) {
  return ok("---\nstate: delayed\npri: 5\ntube: default\ntime-left: " + std::to_string(seconds) +
            "\n");
}

std::string check(const std::vector<Line>& lines) {
  Checker checker;
  Nanos now = nanos_per_second;
  const auto open = [&checker](ConnId conn) {
    const std::vector<ConnId> conns = checker.conns();
    if (std::ranges::find(conns, conn) == conns.end()) checker.opened(conn);
  };
  for (const Line& line : lines) {
    switch (line.kind) {
      case Line::Kind::Sent:
        open(line.conn);
        checker.sent(line.conn, line.bytes + "\r\n", now);
        break;
      case Line::Kind::Received:
        checker.received(line.conn, line.bytes + "\r\n", now);
        break;
      case Line::Kind::Closed:
        checker.closed(line.conn, now);
        break;
      case Line::Kind::Kill:
        checker.crashed(false, now);
        break;
      case Line::Kind::Later:
        now += static_cast<Nanos>(line.conn) * nanos_per_second;
        break;
    }
  }
  return checker.problem();
}

class CheckerTest : public testing::TestWithParam<HistoryCase> {};

TEST_P(CheckerTest, FindsImpossibleAnswers) {
  const std::string problem = check(GetParam().lines);
  if (GetParam().problem.empty()) {
    EXPECT_EQ(problem, "");
  } else {
    EXPECT_NE(problem.find(GetParam().problem), std::string::npos) << "found: " << problem;
  }
}

const Line put_a = to(1, "put 5 0 60 1\r\na");
const Line put_b = to(1, "put 5 0 60 1\r\nb");
const Line put_delayed = to(1, "put 5 9 60 1\r\na");
const std::string reserve = "reserve-with-timeout 0";

INSTANTIATE_TEST_SUITE_P(
    Simulation, CheckerTest,
    testing::Values(
        HistoryCase{
            "PutReserveDelete",
            {put_a, from(1, "INSERTED 1"), to(2, reserve), from(2, "RESERVED 1 1\r\na"),
             to(2, "delete 1"), from(2, "DELETED"), kill(), to(3, "peek 1"), from(3, "NOT_FOUND")}},
        HistoryCase{"P1AJobThatWasAcknowledgedIsLost",
                    {put_a, from(1, "INSERTED 1"), kill(), to(2, "peek 1"), from(2, "NOT_FOUND")},
                    "cannot be answered NOT_FOUND"},
        HistoryCase{"APutInFlightIsLost", {put_a, kill(), to(2, "peek 1"), from(2, "NOT_FOUND")}},
        HistoryCase{"APutInFlightIsThere",
                    {put_a, kill(), to(2, "peek 1"), from(2, "FOUND 1 1\r\na")}},
        HistoryCase{"P2ADeletedJobComesBack",
                    {put_a, from(1, "INSERTED 1"), to(1, "delete 1"), from(1, "DELETED"), kill(),
                     to(2, "peek 1"), from(2, "FOUND 1 1\r\na")},
                    "cannot be answered FOUND 1"},
        HistoryCase{"P2ADeletedJobIsReserved",
                    {put_a, from(1, "INSERTED 1"), to(1, "delete 1"), from(1, "DELETED"), kill(),
                     to(2, reserve), from(2, "RESERVED 1 1\r\na")},
                    "came back"},
        HistoryCase{"ADeleteInFlightMayHaveHappened",
                    {put_a, from(1, "INSERTED 1"), to(1, "delete 1"), kill(), to(2, "peek 1"),
                     from(2, "NOT_FOUND")}},
        HistoryCase{"WhatWasSeenOnceStays",
                    {put_a, from(1, "INSERTED 1"), to(1, "delete 1"), kill(), to(2, "peek 1"),
                     from(2, "NOT_FOUND"), kill(), to(3, "peek 1"), from(3, "FOUND 1 1\r\na")},
                    "cannot be answered FOUND 1"},
        HistoryCase{"AJobFromNowhere",
                    {to(1, reserve), from(1, "RESERVED 1 1\r\nx")},
                    "comes from nowhere"},
        HistoryCase{"P3AnIdIsGivenTwice",
                    {put_a, from(1, "INSERTED 1"), to(1, "delete 1"), from(1, "DELETED"), kill(),
                     put_b, from(1, "INSERTED 1")},
                    "was given id 1"},
        HistoryCase{"TwoHolders",
                    {put_a, from(1, "INSERTED 1"), to(2, reserve), from(2, "RESERVED 1 1\r\na"),
                     to(3, reserve), from(3, "RESERVED 1 1\r\na")},
                    "cannot be answered RESERVED 1"},
        HistoryCase{"ASecondHolderWhenTheFirstHasLeft",
                    {put_a, from(1, "INSERTED 1"), to(2, reserve), from(2, "RESERVED 1 1\r\na"),
                     closed(2), to(3, reserve), from(3, "RESERVED 1 1\r\na")}},
        HistoryCase{"ASecondHolderWhenTheTtrIsOver",
                    {put_a, from(1, "INSERTED 1"), to(2, reserve), from(2, "RESERVED 1 1\r\na"),
                     later(60), to(3, reserve), from(3, "RESERVED 1 1\r\na")}},
        HistoryCase{"AReleasedPriorityIsForgotten",
                    {put_a, from(1, "INSERTED 1"), to(2, reserve), from(2, "RESERVED 1 1\r\na"),
                     to(2, "release 1 3 0"), from(2, "RELEASED"), kill(), to(3, "stats-job 1"),
                     from(3, ok("---\nstate: ready\npri: 5\ntube: default\n"))},
                    "cannot be answered"},
        HistoryCase{"ADelayIsForgotten",
                    {put_delayed, from(1, "INSERTED 1"), kill(), later(5), to(2, reserve),
                     from(2, "RESERVED 1 1\r\na")},
                    "cannot be answered RESERVED 1"},
        HistoryCase{"ADelayIsOver",
                    {put_delayed, from(1, "INSERTED 1"), kill(), later(9), to(2, reserve),
                     from(2, "RESERVED 1 1\r\na")}},
        HistoryCase{"ADelayLastsTooLong",
                    {put_delayed, from(1, "INSERTED 1"), later(3), to(2, "stats-job 1"),
                     from(2, delayed_for(8))},
                    "a delay that nobody gave it"},
        HistoryCase{"ADelayThatIsOverWaitsForItsTurn",
                    {put_delayed, from(1, "INSERTED 1"), later(20), to(2, "stats-job 1"),
                     from(2, delayed_for(0))}},
        HistoryCase{"APauseThatAnotherEndedGoesOn",
                    {put_a, from(1, "INSERTED 1"), to(2, "pause-tube default 9"), from(2, "PAUSED"),
                     to(3, "pause-tube default 0"), from(3, "PAUSED"), to(4, "stats-tube default"),
                     from(4, ok("---\npause-time-left: 9\n"))},
                    "is paused for"},
        HistoryCase{"OfTwoPausesAtOnceEitherMayBeTheLast",
                    {put_a, from(1, "INSERTED 1"), to(2, "pause-tube default 9"),
                     to(3, "pause-tube default 0"), from(2, "PAUSED"), from(3, "PAUSED"),
                     to(4, "stats-tube default"), from(4, ok("---\npause-time-left: 9\n"))}},
        HistoryCase{"BuriedOutOfOrder",
                    {put_a, from(1, "INSERTED 1"), put_b, from(1, "INSERTED 2"), to(1, reserve),
                     from(1, "RESERVED 1 1\r\na"), to(1, reserve), from(1, "RESERVED 2 1\r\nb"),
                     to(1, "bury 1 0"), from(1, "BURIED"), to(1, "bury 2 0"), from(1, "BURIED"),
                     kill(), to(2, "peek-buried"), from(2, "FOUND 2 1\r\nb")},
                    "should come before"},
        HistoryCase{"StatesDoNotAddUp",
                    {put_a, from(1, "INSERTED 1"), kill(), to(2, "stats"),
                     from(2, ok("---\ncurrent-jobs-ready: 2\ncurrent-jobs-reserved: 0\n"
                                "current-jobs-delayed: 0\ncurrent-jobs-buried: 0\n"))},
                    "do not add up"}),
    [](const auto& one) { return one.param.name; });

}  // namespace
}  // namespace perennial::simulation
