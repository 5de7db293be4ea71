// Answers in the middle of moving a tube that no real server gives on request.

#include "cmd/perennial/export/export_tube.h"

#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cmd/perennial/export/inventory.h"
#include "tests/cmd/perennial/scripted_server.h"
#include "tests/support/server_process.h"

namespace perennial::tool {
namespace {

using support::ask;
using support::ScriptedServer;
using support::ServerProcess;
using Turns = std::vector<ScriptedServer::Turn>;

class ExportOfATube : public testing::Test {
 protected:
  void SetUp() override {
    const Status started = from_.start();
    ASSERT_TRUE(started.ok()) << started.message();
    producer_ = std::make_unique<ServerConnection>(support::connect(from_.address()));
    ask(*producer_, Use{"t"});
  }

  Status move(const std::string& to, bool target_reserves_by_id = true) {
    ServerConnection source = support::connect(from_.address());
    ServerConnection target = support::connect(to);
    return ExportTube({.source = source,
                       .target = target,
                       .tube = "t",
                       .target_reserves_by_id = target_reserves_by_id,
                       .tally = tally_,
                       .stopped = [] { return false; },
                       .progress = [] {}})
        .run();
  }
  std::string state(JobId id) {
    // The jobs that the tool held are released when the server notices its end.
    while (support::stat(from_.address(), "current-jobs-reserved") > others_) continue;
    const auto jobs = support::inventory(from_.address());
    return jobs.contains(id) ? jobs.at(id).state : "gone";
  }

  ServerProcess from_;
  std::unique_ptr<ServerConnection> producer_;
  ExportTally tally_;
  uint64_t others_ = 0;  // Jobs that workers hold.
};

// The reservation expires and a worker gets the job while the other server delays its answer.
class ExportOfAnExpiredJob : public ExportOfATube {
 protected:
  void expire(const std::string& answer_to_delete) {
    ask(*producer_, Put{5, 0, 1, 1}, "x");
    ServerConnection worker = support::connect(from_.address());
    ask(worker, Watch{"t"});
    ScriptedServer target(Turns{
        {"use t", "USING t\r\n"},
        {"put 5 0 1 1", ""},
        {"x", "INSERTED 77\r\n", [&] { EXPECT_EQ(ask(worker, Reserve{}), "RESERVED 1 1"); }},
        {"delete 77", answer_to_delete},
    });
    const Status moved = move(target.address());
    EXPECT_TRUE(moved.ok()) << moved.message();
    EXPECT_EQ(target.heard(), "");
    EXPECT_EQ(tally_.moved.total(), 0U);
    others_ = 1;
    EXPECT_EQ(state(1), "reserved");
  }
};

TEST_F(ExportOfAnExpiredJob, DeletesTheCopy) {
  expire("DELETED\r\n");
  EXPECT_EQ(tally_.possible_duplicates, 0U);
  EXPECT_EQ(tally_.left["reserved by a worker"], 1U);
}

TEST_F(ExportOfAnExpiredJob, CountsACopyThatIsAlreadyReserved) {
  expire("NOT_FOUND\r\n");
  EXPECT_EQ(tally_.possible_duplicates, 1U);
}

TEST_F(ExportOfATube, DeletesCopiesThatTheTargetBuriedWhenOutOfMemory) {
  ask(*producer_, Put{5, 0, 60, 1}, "x");
  ScriptedServer target(Turns{{"use t", "USING t\r\n"},
                              {"put 5 0 60 1", ""},
                              {"x", "BURIED 9\r\n"},
                              {"delete 9", "DELETED\r\n"}});
  EXPECT_TRUE(move(target.address()).ok());
  EXPECT_EQ(target.heard(), "");
  EXPECT_EQ(tally_.left_total(), 1U);
  EXPECT_EQ(state(1), "ready");
}

TEST_F(ExportOfATube, EndsWhenTheOtherServerIsFull) {
  ask(*producer_, Put{5, 5000, 60, 1}, "x");
  ScriptedServer target(
      Turns{{"use t", "USING t\r\n"}, {"put 5 ", ""}, {"x", "OUT_OF_MEMORY\r\n"}});
  const Status moved = move(target.address());
  EXPECT_EQ(moved.message(), "OUT_OF_MEMORY: the other server is full");
  EXPECT_EQ(state(1), "delayed");
}

TEST_F(ExportOfATube, ReturnsUnmovedJobsWhenTheTargetCloses) {
  ask(*producer_, Put{5, 0, 60, 1}, "x");
  ask(*producer_, ReserveJob{1});
  ask(*producer_, Bury{1, 6});
  ScriptedServer target(Turns{{"use t", "USING t\r\n"}, {"put 6 3600 60 1", ""}, {"x", ""}});
  EXPECT_FALSE(move(target.address()).ok());
  EXPECT_EQ(tally_.possible_duplicates, 1U);
  EXPECT_EQ(state(1), "buried");
}

TEST_F(ExportOfATube, LeavesBuriedJobsWhereTheyCannotBeBuriedThere) {
  ask(*producer_, Put{5, 0, 60, 1}, "x");
  ask(*producer_, ReserveJob{1});
  ask(*producer_, Bury{1, 6});
  ScriptedServer target(Turns{{"use t", "USING t\r\n"}});
  EXPECT_TRUE(move(target.address(), false).ok());
  EXPECT_EQ(target.heard(), "");
  EXPECT_EQ(tally_.left["buried, and the other server is too old to bury them"], 1U);
  EXPECT_EQ(state(1), "buried");
}

// A job with an unreadable body stays, and the others are moved.
TEST(ExportFromADamagedServer, LeavesJobsThatCannotBeReserved) {
  const std::string stats = "---\nname: t\ncurrent-jobs-buried: 2\n";
  const std::string tube = "OK " + std::to_string(stats.size()) + "\r\n" + stats + "\r\n";
  ScriptedServer source(Turns{{"use t", "USING t\r\n"},
                              {"watch t", "WATCHING 2\r\n"},
                              {"list-tubes-watched", "OK 12\r\n---\n- t\n- d\n\r\n"},
                              {"ignore d", "WATCHING 1\r\n"},
                              {"stats-tube t", tube},
                              {"reserve-with-timeout 0", "INTERNAL_ERROR\r\n"},
                              {"peek-ready", "NOT_FOUND\r\n"},
                              {"peek-delayed", "NOT_FOUND\r\n"},
                              {"peek-buried", "INTERNAL_ERROR\r\n"},
                              {"stats-tube t", tube}});
  ScriptedServer target(Turns{{"use t", "USING t\r\n"}});
  ServerConnection from = support::connect(source.address());
  ServerConnection to = support::connect(target.address());
  ExportTally tally;
  const Status moved = ExportTube({.source = from,
                                   .target = to,
                                   .tube = "t",
                                   .window_jobs = 1,
                                   .tally = tally,
                                   .stopped = [] { return false; },
                                   .progress = [] {}})
                           .run();
  EXPECT_TRUE(moved.ok()) << moved.message();
  EXPECT_EQ(source.heard(), "");
  EXPECT_EQ(tally.left["could not be taken: the server here answered INTERNAL_ERROR"], 2U);
}

}  // namespace
}  // namespace perennial::tool
