// Schedules over the protocol, with a clock and a calendar that are not the system's: which body a
// job gets, what is answered, and what a restart has. It is blind to the disk, to real time zones,
// and to a wall clock that does not go as the time of the server.

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/core_harness.h"
#include "tests/support/fake_calendar.h"

namespace perennial::core {
namespace {

using support::CoreHarness;
using testing::HasSubstr;
using testing::Not;

constexpr Nanos second = nanos_per_second;

Options with_calendar(Options options = {}) {
  options.engine.calendar = std::make_shared<support::FakeCalendar>();
  return options;
}

class CoreSchedules : public testing::Test {
 protected:
  std::string ask(std::string_view bytes) {
    server_.send(conn_, bytes);
    return server_.receive(conn_);
  }
  std::string set(const std::string& name, const std::string& options, const std::string& body) {
    return ask("set-schedule " + name + " 0 0 60 " + std::to_string(body.size()) + " " + options +
               "\r\n" + body + "\r\n");
  }

  CoreHarness server_{with_calendar()};
  ConnId conn_ = server_.open();
};

TEST_F(CoreSchedules, PutJobsWithTheirBodies) {
  EXPECT_EQ(set("a", "every:10", "body of a"), "SET\r\n");
  EXPECT_EQ(set("b", "every:10 tube:other", "b"), "SET\r\n");
  server_.advance(10 * second);
  EXPECT_EQ(ask("reserve-with-timeout 0 with:schedule,tube\r\n"),
            "RESERVED 1 9 schedule:a tube:default\r\nbody of a\r\n");
  EXPECT_EQ(ask("watch other\r\nreserve-with-timeout 0 with:schedule\r\n"),
            "WATCHING 2\r\nRESERVED 2 1 schedule:b\r\nb\r\n");
  server_.core().check();
}

TEST_F(CoreSchedules, WakeAClientThatWaits) {
  set("a", "every:10", "x");
  EXPECT_EQ(ask("reserve\r\n"), "");
  server_.advance(10 * second);
  EXPECT_EQ(server_.receive(conn_), "RESERVED 1 1\r\nx\r\n");
}

// The two are in one batch, and each has its body.
TEST_F(CoreSchedules, AreSetAndRunBeforeTheBatchIsWritten) {
  server_.set_committing(false);
  ask("set-schedule a 0 0 60 1 every:10\r\nx\r\nrun-schedule a\r\n");
  ask("set-schedule a 0 0 60 1 every:10\r\ny\r\nrun-schedule a\r\ndelete-schedule a\r\n");
  while (server_.core().has_batch()) server_.commit();
  EXPECT_EQ(server_.receive(conn_), "SET\r\nINSERTED 1\r\nSET\r\nINSERTED 2\r\nDELETED\r\n");
  server_.restart();
  conn_ = server_.open();
  EXPECT_EQ(ask("peek 1\r\npeek 2\r\npeek-schedule a\r\n"),
            "FOUND 1 1\r\nx\r\nFOUND 2 1\r\ny\r\nNOT_FOUND\r\n");
  server_.core().check();
}

TEST_F(CoreSchedules, AreThereAfterACrash) {
  set("a", "every:10 overlap:skip", "body of a");
  server_.advance(10 * second);
  server_.crash();
  conn_ = server_.open();
  EXPECT_EQ(ask("peek-schedule a\r\n"), "OK 9\r\nbody of a\r\n");
  EXPECT_THAT(ask("stats-schedule a\r\n"),
              HasSubstr("\nlast-job: 1\nlast-job-state: \"ready\"\nfired: 1\n"));
  server_.advance(10 * second);
  EXPECT_THAT(ask("stats-schedule a\r\n"), HasSubstr("\nfired: 1\nskipped: 1\n"));
  ask("delete 1\r\n");
  server_.advance(10 * second);
  EXPECT_EQ(ask("reserve-with-timeout 0\r\n"), "RESERVED 10001 9\r\nbody of a\r\n");
  server_.core().check();
}

TEST_F(CoreSchedules, OfWhichNoneIsThereAreNotFound) {
  EXPECT_EQ(ask("delete-schedule a\r\npause-schedule a\r\nrun-schedule a\r\nstats-schedule "
                "a\r\npeek-schedule a\r\n"),
            "NOT_FOUND\r\nNOT_FOUND\r\nNOT_FOUND\r\nNOT_FOUND\r\nNOT_FOUND\r\n");
  EXPECT_EQ(ask("list-schedules\r\n"), "OK 29\r\n---\ncursor: \"\"\nschedules: []\n\r\n");
}

TEST_F(CoreSchedules, AreListedInPages) {
  for (const char* const name : {"c", "a", "b"}) set(name, "every:10", "x");
  const std::string first = ask("list-schedules count:2\r\n");
  EXPECT_THAT(first, HasSubstr("cursor: \"b\"\n"));
  EXPECT_LT(first.find("name: \"a\""), first.find("name: \"b\""));
  EXPECT_THAT(first, Not(HasSubstr("name: \"c\"")));
  const std::string last = ask("list-schedules after:b\r\n");
  EXPECT_THAT(last, HasSubstr("cursor: \"\"\n"));
  EXPECT_THAT(last, HasSubstr("name: \"c\""));
}

TEST_F(CoreSchedules, OfTimesThatNoCalendarHasAreRefused) {
  EXPECT_EQ(set("a", "cron:minute zone:Gone", "x"), "BAD_FORMAT\r\n");
  EXPECT_EQ(set("a", "cron:minute", "x"), "SET\r\n");
  EXPECT_EQ(set("a", "cron:minute zone:Gone", "y"), "BAD_FORMAT\r\n");
  EXPECT_EQ(ask("peek-schedule a\r\n"), "OK 1\r\nx\r\n") << "what was set stays";
}

TEST_F(CoreSchedules, AreDeniedWhileANodeDoesNotKnowThem) {
  set("a", "every:10", "x");
  server_.core().on_schedules_allowed(false);
  EXPECT_EQ(set("b", "every:10", "x"), "DENIED\r\n");
  EXPECT_EQ(ask("run-schedule a\r\n"), "DENIED\r\n");
}

TEST_F(CoreSchedules, TakeSpaceAsPutsDo) {
  set("a", "every:10", "x");
  server_.set_accepts_puts(false);
  EXPECT_EQ(set("b", "every:10", "x"), "OUT_OF_MEMORY\r\n");
  EXPECT_EQ(ask("run-schedule a\r\n"), "OUT_OF_MEMORY\r\n");
  server_.advance(15 * second);
  EXPECT_THAT(ask("list-schedules\r\n"), HasSubstr("refused: true, refused-because: \"space\""));
  EXPECT_THAT(ask("stats-schedule a\r\n"),
              HasSubstr("\nrefused: true\nrefused-because: \"space\"\n"));
  EXPECT_THAT(ask("stats\r\n"), HasSubstr("\nschedules-refused: 1\n"));
  server_.set_accepts_puts(true);
  server_.advance(second);
  EXPECT_EQ(ask("reserve-with-timeout 0\r\n"), "RESERVED 1 1\r\nx\r\n");
}

TEST(CoreSchedulesMemory, IsGivenBackWhenTheyGo) {
  CoreHarness server(with_calendar());
  const ConnId conn = server.open();
  const size_t before = server.core().memory_bytes();
  const std::string body(60'000, 'x');
  for (int i = 0; i < 20; ++i) {
    server.send(conn, "set-schedule a 0 0 60 60000 every:10\r\n" + body + "\r\n");
    server.send(
        conn, "set-schedule b" + std::to_string(i) + " 0 0 60 60000 every:10\r\n" + body + "\r\n");
  }
  server.receive(conn);
  EXPECT_GE(server.core().memory_bytes(), before + 21 * 60'000);
  EXPECT_LT(server.core().memory_bytes(), before + 25 * 60'000) << "those replaced are gone";
  server.send(conn, "delete-schedule a\r\n");
  for (int i = 0; i < 20; ++i) server.send(conn, "delete-schedule b" + std::to_string(i) + "\r\n");
  server.receive(conn);
  EXPECT_LT(server.core().memory_bytes(), before + 10'000);
  server.core().check();
}

// The wall clock is set while nothing else happens: the server looks at it each second.
TEST(CoreSchedulesWall, IsLookedAtEachSecond) {
  Nanos ahead = 0;
  CoreHarness* clock = nullptr;
  Options options = with_calendar();
  options.wall = [&] { return (clock != nullptr ? clock->now() : 0) + ahead; };
  CoreHarness server(options);
  clock = &server;
  const ConnId conn = server.open();
  EXPECT_EQ(server.core().next_tick(), std::nullopt);
  server.send(conn, "set-schedule a 0 0 60 1 every:3600\r\nx\r\nreserve\r\n");
  EXPECT_EQ(server.receive(conn), "SET\r\n");
  server.advance(5 * second);
  ahead = 3600 * second;
  server.advance(second);
  EXPECT_EQ(server.receive(conn), "RESERVED 1 1\r\nx\r\n");
  ahead = 0;
  server.send(conn, "delete 1\r\nreserve\r\n");
  server.receive(conn);
  server.advance(3600 * second);
  EXPECT_EQ(server.receive(conn), "") << "no time comes again";
}

}  // namespace
}  // namespace perennial::core
