// A wall clock that is wrong at a start: the real program with a clock that is shifted.

#include <cstdint>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include "tests/cmd/perenniald/program/launch.h"
#include "tests/store/dir_state.h"
#include "tests/support/server_process.h"

namespace perennial::support {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr int64_t day_s = 86'400;

class Clock : public testing::Test {
 protected:
  Launch::Setup shifted(int64_t days, std::vector<std::string> more = {}) const {
    std::vector<std::string> flags = {"-b", "data", "-l", "unix:s"};
    flags.insert(flags.end(), more.begin(), more.end());
    return {.flags = flags,
            .variables = {{"LD_PRELOAD", SHIFTED_CLOCK},
                          {"SHIFT_CLOCK_S", fmt::format("{}", days * day_s)}}};
  }
  ClientSocket connect(Launch& server) const {
    return server.connect("unix:" + dir_.path() + "/s").take();
  }
  // Starts a server, sends it these, and stops it. Returns the answers.
  std::string serve(const Launch::Setup& setup, const std::vector<std::string>& commands) {
    Launch server(dir_.path(), setup);
    ClientSocket client = connect(server);
    std::string answers;
    for (const std::string& command : commands) answers += client.ask(command + "\r\n").take();
    server.signal(SIGTERM);
    EXPECT_EQ(server.wait().code, 0);
    log_ = server.stderr_text();
    return answers;
  }
  int refused(const Launch::Setup& setup) {
    Launch server(dir_.path(), setup);
    const Ended ended = server.wait();
    log_ = server.stderr_text();
    return ended.code;
  }

  // All but the lock, and the ballast, which has no content.
  std::map<std::string, store::FileBytes> files() const {
    auto out = store::state_of(dir_.path() + "/data");
    std::erase_if(out, [](const auto& file) {
      return file.first.ends_with("/lock") || file.first.ends_with("/ballast");
    });
    return out;
  }

  const TempDir dir_;
  std::string log_;  // Of all servers so far.
};

TEST_F(Clock, AStartThatWouldEndThingsByAClockFarAheadIsRefusedUnlessItIsAccepted) {
  ASSERT_EQ(serve(shifted(0), {"put 0 0 60 1 expire:4294967295\r\na", "put 0 8640000 60 1\r\nb",
                               "put 0 0 60 1 idp:k:8640000\r\nc", "delete 3"}),
            "INSERTED 1\r\nINSERTED 2\r\nINSERTED 3\r\nDELETED\r\n");
  // A month off is no reason to ask, but one to say so.
  EXPECT_EQ(serve(shifted(31), {"peek 1"}), "FOUND 1 1\r\na\r\n");
  EXPECT_THAT(log_, HasSubstr("level=warning at=clock newest_batch="));
  // Far ahead of it, but nothing would end yet.
  EXPECT_EQ(serve(shifted(95), {"peek 1"}), "FOUND 1 1\r\na\r\n");
  EXPECT_THAT(log_, HasSubstr("level=warning at=clock newest_batch="));
  EXPECT_THAT(log_, HasSubstr("jobs that expire: 0, keys that end: 0, delays that end: 0"));

  constexpr int64_t century = 36'500;
  const auto before = files();
  EXPECT_EQ(refused(shifted(2 * century)), 71);
  EXPECT_TRUE(files() == before);
  EXPECT_THAT(log_, HasSubstr("level=error at=clock exit=71 error=\"the clock says 22"));
  EXPECT_THAT(log_, HasSubstr("jobs that expire: 1, keys that end: 1, delays that end: 1"));
  EXPECT_THAT(log_, HasSubstr("--accept-clock"));
  EXPECT_EQ(serve(shifted(96), {"peek 1", "put 0 0 60 1 idp:k\r\nd"}),
            "FOUND 1 1\r\na\r\nINSERTED 3 DELETED\r\n");
  EXPECT_EQ(serve(shifted(2 * century, {"--accept-clock"}), {"peek 1", "peek-delayed"}),
            "NOT_FOUND\r\nNOT_FOUND\r\n");
}

// The clock is judged before the log is cut.
TEST_F(Clock, AForcedStartThatItRefusesChangesNothing) {
  {
    Launch server(dir_.path(), shifted(0));
    ClientSocket client = connect(server);
    for (const char* const body : {"first", "other", "third"}) {
      ASSERT_TRUE(client.ask(fmt::format("put 0 0 60 5 expire:86400\r\n{}\r\n", body)).ok());
    }
    server.signal(SIGKILL);
    server.wait();
  }
  const std::string log = store::newest_log(dir_.path() + "/data");
  std::string content = store::content_of(log);
  content.replace(content.find("other"), 5, "OTHER");
  std::ofstream(log, std::ios::binary) << content;
  const auto before = files();
  EXPECT_EQ(refused(shifted(95, {"--recover=point-in-time"})), 71) << log_;
  EXPECT_THAT(log_, HasSubstr("jobs that expire: 1"));
  EXPECT_THAT(log_, Not(HasSubstr("at=store.forced_start")));
  EXPECT_TRUE(files() == before);
}

TEST_F(Clock, TimeGoesOnFromTheNewestBatchAndTheLogSaysSo) {
  ASSERT_EQ(serve(shifted(10), {"put 0 0 60 1\r\na"}), "INSERTED 1\r\n");
  EXPECT_THAT(log_, Not(HasSubstr("at=clock")));
  EXPECT_EQ(serve(shifted(0), {"peek 1"}), "FOUND 1 1\r\na\r\n");
  EXPECT_THAT(log_, HasSubstr("level=warning at=clock newest_batch="));
  EXPECT_THAT(log_, HasSubstr("behind_s=86"));
}

// 136 years after the year 2162 there are no more nanoseconds in 64 bits.
TEST_F(Clock, NoCommandEndsTheServerInTheYear2162) {
  const std::vector<std::string> commands = {"put 0 4294967295 60 1\r\na",
                                             "put 0 4294967295 60 1 expire:4294967295\r\nb",
                                             "put 0 0 60 1 idp:k:4294967295 until:ttl\r\nc",
                                             "put 0 0 4294967295 1\r\nd",
                                             "pause-tube default 4294967295",
                                             "reserve-job 4",
                                             "touch 4",
                                             "release 4 0 4294967295",
                                             "kick 10",
                                             "delete 3"};
  const std::string answers = serve(shifted(136 * 365), commands);
  EXPECT_THAT(answers, HasSubstr("RELEASED\r\nKICKED 3\r\nDELETED\r\n"));
  EXPECT_EQ(serve(shifted(136 * 365), {"peek 4"}), "FOUND 4 1\r\nd\r\n");
}

}  // namespace
}  // namespace perennial::support
