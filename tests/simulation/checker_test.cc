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
  return ok("---\nstate: delayed\npri: 5\nttr: 60\ntube: default\ntime-left: " +
            std::to_string(seconds) + "\n");
}

// The answer to list-notes of a job with these notes, the first of which has this number.
std::string notes(int number, const std::vector<std::string>& texts) {
  std::string yaml = texts.empty() ? "--- []\n" : "---\n";
  for (const std::string& text : texts) {
    yaml += "- number: " + std::to_string(number++) +
            "\n  time: \"2026-11-27T03:05:40.127Z\"\n  attempt: 0\n  user: \"\"\n  text: \"" +
            text + "\"\n";
  }
  return ok(yaml);
}

const std::string facts = "with:pri,ttr,tries,idp,notes,ended";
const std::string peek_1 = "peek-ended 1 " + facts;

// The answer to peek_1 of a job with the body "a".
std::string ended(const std::string& how, int priority = 5) {
  return "FOUND 1 1 pri:" + std::to_string(priority) + " ttr:60 tries:0 idp: notes:0 ended:" + how +
         "\r\na";
}

std::string listed(const std::vector<int>& ids) {
  std::string yaml = "---\ncursor: 0\njobs:" + std::string(ids.empty() ? " []\n" : "\n");
  for (const int id : ids) yaml += "- {id: " + std::to_string(id) + ", state: ended}\n";
  return ok(yaml);
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
const Line note_x = to(1, "note 1 1\r\nx");
const Line put_b = to(1, "put 5 0 60 1\r\nb");
const Line put_delayed = to(1, "put 5 9 60 1\r\na");
const std::string reserve = "reserve-with-timeout 0";
const Line keep = to(1, "set-tube default keep:10 keep-max:-");
const Line keep_two = to(1, "set-tube default keep:- keep-max:2");
const Line is_set = from(1, "SET");
const Line delete_1 = to(1, "delete 1");
const Line deleted = from(1, "DELETED");
const Line inserted_1 = from(1, "INSERTED 1");
const std::string restore_1 = "restore-job 1";

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
                     from(3, ok("---\nstate: ready\npri: 5\nttr: 60\ntube: default\n"))},
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
        HistoryCase{"ANoteThatWasAcknowledgedIsLost",
                    {put_a, from(1, "INSERTED 1"), note_x, from(1, "NOTED"), kill(),
                     to(2, "list-notes 1"), from(2, notes(1, {}))},
                    "cannot be answered"},
        HistoryCase{"ANoteInFlightIsLost",
                    {put_a, from(1, "INSERTED 1"), note_x, kill(), to(2, "list-notes 1"),
                     from(2, notes(1, {}))}},
        HistoryCase{"ANoteInFlightIsThere",
                    {put_a, from(1, "INSERTED 1"), note_x, kill(), to(2, "list-notes 1"),
                     from(2, notes(1, {"x"}))}},
        HistoryCase{"TheLastThreeNotesAreKept",
                    {put_a, from(1, "INSERTED 1"), note_x, from(1, "NOTED"), note_x,
                     from(1, "NOTED"), to(1, "note 1 1\r\ny"), from(1, "NOTED"), note_x,
                     from(1, "NOTED"), to(2, "list-notes 1"), from(2, notes(2, {"x", "y", "x"}))}},
        HistoryCase{"AnotherNoteThanTheOldestGoes",
                    {put_a, from(1, "INSERTED 1"), note_x, from(1, "NOTED"), note_x,
                     from(1, "NOTED"), to(1, "note 1 1\r\ny"), from(1, "NOTED"), note_x,
                     from(1, "NOTED"), to(2, "list-notes 1"), from(2, notes(2, {"x", "x", "x"}))},
                    "cannot be answered"},
        HistoryCase{"ANoteOfALaterCommandIsShown",
                    {put_a, from(1, "INSERTED 1"), to(1, "list-notes 1"), note_x,
                     from(1, notes(1, {"x"})), from(1, "NOTED")},
                    "cannot be answered"},
        HistoryCase{
            "AnEndComesBackOnce",
            {keep, is_set, put_a, inserted_1, delete_1, deleted, kill(), to(2, peek_1),
             from(2, ended("deleted")), to(2, restore_1), from(2, "INSERTED 2"), to(2, restore_1),
             from(2, "NOT_FOUND"), to(2, "peek 2"), from(2, "FOUND 2 1\r\na")}},
        HistoryCase{"AnEndThatWasAcknowledgedIsLost",
                    {keep, is_set, put_a, inserted_1, delete_1, deleted, kill(), to(2, peek_1),
                     from(2, "NOT_FOUND")},
                    "cannot be answered NOT_FOUND"},
        HistoryCase{"AnEndCannotComeBack",
                    {keep, is_set, put_a, inserted_1, delete_1, deleted, kill(), to(2, restore_1),
                     from(2, "NOT_FOUND")},
                    "cannot be answered NOT_FOUND"},
        HistoryCase{"AnEndInFlightMayHaveHappened",
                    {keep, is_set, put_a, inserted_1, delete_1, kill(), to(2, peek_1),
                     from(2, ended("deleted"))}},
        HistoryCase{"AnEndInFlightMayNotHaveHappened",
                    {keep, is_set, put_a, inserted_1, delete_1, kill(), to(2, peek_1),
                     from(2, "NOT_FOUND"), to(2, "peek 1"), from(2, "FOUND 1 1\r\na")}},
        HistoryCase{"AJobIsThereAndHasEnded",
                    {keep, is_set, put_a, inserted_1, delete_1, kill(), to(2, peek_1),
                     from(2, ended("deleted")), to(2, "peek 1"), from(2, "FOUND 1 1\r\na")},
                    "cannot be answered FOUND 1"},
        HistoryCase{
            "AnEndWithoutKeepIsShown",
            {put_a, inserted_1, delete_1, deleted, to(2, peek_1), from(2, ended("deleted"))},
            "cannot be answered FOUND 1"},
        HistoryCase{"AnEndIsTaken",
                    {keep, is_set, put_a, inserted_1, delete_1, deleted, to(2, reserve),
                     from(2, "RESERVED 1 1\r\na")},
                    "cannot be answered RESERVED 1"},
        HistoryCase{"TwoClientsGetTheSameJobBack",
                    {keep, is_set, put_a, inserted_1, delete_1, deleted, to(2, restore_1),
                     to(3, restore_1), from(2, "INSERTED 2"), from(3, "INSERTED 3")},
                    "has a second id 3"},
        HistoryCase{"OneOfTwoClientsGetsItBack",
                    {keep, is_set, put_a, inserted_1, delete_1, deleted, to(2, restore_1),
                     to(3, restore_1), from(2, "NOT_FOUND"), from(3, "INSERTED 2")}},
        HistoryCase{"NeitherOfTwoClientsGetsItBack",
                    {keep, is_set, put_a, inserted_1, delete_1, deleted, to(2, restore_1),
                     to(3, restore_1), from(2, "NOT_FOUND"), from(3, "NOT_FOUND")},
                    "cannot be answered NOT_FOUND"},
        HistoryCase{"AReturnThatWasAcknowledgedIsLost",
                    {keep, is_set, put_a, inserted_1, delete_1, deleted, to(2, restore_1),
                     from(2, "INSERTED 2"), kill(), to(3, peek_1), from(3, ended("deleted"))},
                    "cannot be answered FOUND 1"},
        HistoryCase{
            "AReturnInFlightHasAnId",
            {keep, is_set, put_a, inserted_1, delete_1, deleted, to(2, restore_1), kill(),
             to(3, "peek 2"), from(3, "FOUND 2 1\r\na"), to(3, peek_1), from(3, "NOT_FOUND")}},
        HistoryCase{
            "AReturnInFlightIsThereTwice",
            {keep, is_set, put_a, inserted_1, delete_1, deleted, to(2, restore_1), kill(),
             to(3, "peek 2"), from(3, "FOUND 2 1\r\na"), to(3, peek_1), from(3, ended("deleted"))},
            "cannot be answered FOUND 1"},
        HistoryCase{"AReturnHasAnotherPriority",
                    {keep, is_set, put_a, inserted_1, delete_1, deleted, to(2, peek_1),
                     from(2, ended("deleted", 4))},
                    "cannot be answered FOUND 1"},
        HistoryCase{
            "AReturnDoesNotSayWhatItWas",
            {keep, is_set, put_a, inserted_1, delete_1, deleted, to(2, restore_1),
             from(2, "INSERTED 2"), to(2, "stats-job 2"),
             from(2, ok("---\nstate: ready\npri: 5\nttr: 60\ntube: default\nrestored: 0\n"))},
            "cannot be answered"},
        HistoryCase{"AnEndIsShownInItsTime",
                    {keep, is_set, put_a, inserted_1, delete_1, deleted, later(9), to(2, peek_1),
                     from(2, ended("deleted"))}},
        HistoryCase{"AnEndGoesBeforeItsTime",
                    {keep, is_set, put_a, inserted_1, delete_1, deleted, later(9), to(2, peek_1),
                     from(2, "NOT_FOUND")},
                    "cannot be answered NOT_FOUND"},
        HistoryCase{"AnEndIsShownAfterItsTime",
                    {keep, is_set, put_a, inserted_1, delete_1, deleted, later(10), to(2, peek_1),
                     from(2, ended("deleted"))},
                    "cannot be answered FOUND 1"},
        HistoryCase{
            "AnEndIsShownAtItsNumber",
            {keep_two, is_set, put_a, inserted_1, put_b, from(1, "INSERTED 2"), delete_1, deleted,
             to(1, "delete 2"), deleted, to(2, peek_1), from(2, ended("deleted"))}},
        HistoryCase{"AnEndGoesBelowItsNumber",
                    {keep_two, is_set, put_a, inserted_1, put_b, from(1, "INSERTED 2"), delete_1,
                     deleted, to(1, "delete 2"), deleted, to(2, peek_1), from(2, "NOT_FOUND")},
                    "cannot be answered NOT_FOUND"},
        HistoryCase{"AnEndIsShownPastItsNumber",
                    {keep_two, is_set, put_a, inserted_1, put_b, from(1, "INSERTED 2"),
                     to(1, "put 5 0 60 1\r\nc"), from(1, "INSERTED 3"), delete_1, deleted,
                     to(1, "delete 2"), deleted, to(1, "delete 3"), deleted, to(2, peek_1),
                     from(2, ended("deleted"))},
                    "cannot be answered FOUND 1"},
        HistoryCase{
            "AFlushPassesOverAJob",
            {keep, is_set, put_a, inserted_1, to(1, "flush-tube default"), from(1, "FLUSHED 0")},
            "between 1 and 1 can be"},
        HistoryCase{"ATubeComesBack",
                    {keep, is_set, put_a, inserted_1, put_b, from(1, "INSERTED 2"),
                     to(1, "flush-tube default"), from(1, "FLUSHED 2"),
                     to(2, "restore-tube default since:5"), from(2, "RESTORED 2"), to(2, "peek 3"),
                     from(2, "FOUND 3 1\r\na"), to(2, "peek 1"), from(2, "NOT_FOUND")}},
        HistoryCase{"ATubeComesBackInPart",
                    {keep, is_set, put_a, inserted_1, put_b, from(1, "INSERTED 2"),
                     to(1, "flush-tube default"), from(1, "FLUSHED 2"),
                     to(2, "restore-tube default since:5"), from(2, "RESTORED 1")},
                    "between 2 and 2 can be"},
        HistoryCase{"WhatWasDeletedComesBackUnasked",
                    {keep, is_set, put_a, inserted_1, delete_1, deleted,
                     to(2, "restore-tube default"), from(2, "RESTORED 1")},
                    "between 0 and 0 can be"},
        HistoryCase{"TheLastEndIsListedFirst",
                    {keep, is_set, put_a, inserted_1, put_b, from(1, "INSERTED 2"), delete_1,
                     deleted, to(1, "delete 2"), deleted, to(2, "list-jobs default state:ended"),
                     from(2, listed({2, 1}))}},
        HistoryCase{"TheFirstEndIsListedFirst",
                    {keep, is_set, put_a, inserted_1, put_b, from(1, "INSERTED 2"), delete_1,
                     deleted, to(1, "delete 2"), deleted, to(2, "list-jobs default state:ended"),
                     from(2, listed({1, 2}))},
                    "and is listed first"},
        HistoryCase{"AnEndIsNotListed",
                    {keep, is_set, put_a, inserted_1, delete_1, deleted,
                     to(2, "list-jobs default state:ended"), from(2, listed({}))},
                    "and is not listed"},
        // The command of the wrong answer was gone, and its job went on with it: a simulation of a
        // planted bug ended there, once in a hundred.
        HistoryCase{"NothingIsJudgedBehindAContradiction",
                    {put_a, inserted_1, put_b, inserted_1, to(2, "peek 1"), kill(), later(1)},
                    "which job 0 had"},
        HistoryCase{"StatesDoNotAddUp",
                    {put_a, from(1, "INSERTED 1"), kill(), to(2, "stats"),
                     from(2, ok("---\ncurrent-jobs-ready: 2\ncurrent-jobs-reserved: 0\n"
                                "current-jobs-delayed: 0\ncurrent-jobs-buried: 0\n"))},
                    "do not add up"}),
    [](const auto& one) { return one.param.name; });

}  // namespace
}  // namespace perennial::simulation
