// One connection for several runners: what it asks of the server, and what the runners hear.

#include "cmd/perennial/work/exchange.h"

#include <array>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sys/socket.h>

#include "cmd/common/tool/requests.h"
#include "tests/cmd/perennial/scripted_server.h"

namespace perennial::tool::work {
namespace {

using support::ScriptedServer;

// An exchange with a server that plays a script, turned by hand.
class ExchangeTest : public testing::Test {
 protected:
  void begin(std::vector<ScriptedServer::Turn> turns) {
    server_.emplace(std::move(turns));
    Result<ServerConnection> connection = open_server(server_->address());
    ASSERT_TRUE(connection.ok()) << connection.status().message();
    exchange_.emplace(connection.take(), ExtensionSet::all());
  }
  ServerConnection sit_down() {
    std::array<int, 2> ends{};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
    exchange_->add_seat(common::Socket(ends[0]));
    return ServerConnection::over("here", common::Socket(ends[1]));
  }
  // Sends a command of a runner. The exchange hears of it in its next turn.
  static void say(ServerConnection& runner, const Command& command) {
    runner.add(command);
    ASSERT_TRUE(runner.send().ok());
  }
  Status turn(int times = 1) {
    Status last;
    for (; times > 0 && last.ok(); --times) last = exchange_->turn(-1);
    return last;
  }
  static std::string heard(ServerConnection& runner) {
    const Result<wire::ClientReply> reply = runner.receive();
    return reply.ok() ? describe(*reply) + " " + reply->text : reply.status().message();
  }

  std::optional<ScriptedServer> server_;
  std::optional<Exchange> exchange_;
};

constexpr const char* two_jobs = "RESERVED_BATCH 2\r\nRESERVED 5 1\r\na\r\nRESERVED 6 1\r\nb\r\n";

TEST_F(ExchangeTest, TheReservesOfAllRunnersAreOneBatch) {
  begin({{"reserve-batch 2 ", two_jobs}, {"touch 6", "TOUCHED\r\n"}, {"delete 5", "DELETED\r\n"}});
  ServerConnection one = sit_down();
  ServerConnection two = sit_down();
  say(one, ReserveWithTimeout{30});
  say(two, ReserveWithTimeout{30});
  ASSERT_TRUE(turn(2).ok());
  EXPECT_EQ(heard(one), "RESERVED 5 1 a");
  EXPECT_EQ(heard(two), "RESERVED 6 1 b");
  say(two, Touch{6});
  ASSERT_TRUE(turn(2).ok());
  EXPECT_EQ(heard(two), "TOUCHED ");
  say(one, Delete{5});
  ASSERT_TRUE(turn(2).ok());
  EXPECT_EQ(heard(one), "DELETED ");
  EXPECT_EQ(server_->heard(), "");
}

TEST_F(ExchangeTest, AReserveThatIsForbiddenIsToldToEachThatWaits) {
  begin({{"reserve-batch 2 ", "FORBIDDEN\r\n"}});
  ServerConnection one = sit_down();
  ServerConnection two = sit_down();
  say(one, ReserveWithTimeout{30});
  say(two, ReserveWithTimeout{30});
  ASSERT_TRUE(turn(2).ok());
  EXPECT_EQ(heard(one), "FORBIDDEN ");
  EXPECT_EQ(heard(two), "FORBIDDEN ");
  EXPECT_EQ(server_->heard(), "");
}

// A reserve-batch for more is sent only when the first one has its reply, so that both together do
// not take too many jobs.
TEST_F(ExchangeTest, ARunnerThatAsksLaterEndsTheWait) {
  begin({{"reserve-batch 1 ", ""},
         {"list-tube-used", "RESERVED_BATCH 1\r\nRESERVED 5 1\r\na\r\nUSING default\r\n"},
         {"reserve-batch 1 ", "RESERVED_BATCH 1\r\nRESERVED 6 1\r\nb\r\n"}});
  ServerConnection one = sit_down();
  ServerConnection two = sit_down();
  say(one, ReserveWithTimeout{30});
  ASSERT_TRUE(turn().ok());
  say(two, ReserveWithTimeout{30});
  ASSERT_TRUE(turn(2).ok());
  EXPECT_EQ(heard(one), "RESERVED 5 1 a");
  ASSERT_TRUE(turn().ok());
  EXPECT_EQ(heard(two), "RESERVED 6 1 b");
  EXPECT_EQ(server_->heard(), "");
}

TEST_F(ExchangeTest, AJobForARunnerThatHasLeftIsGivenBack) {
  begin({{"reserve-batch 1 ", ""},
         {"list-tube-used", "RESERVED_BATCH 1\r\nRESERVED 5 1\r\na\r\nUSING default\r\n"},
         {"release 5 = 0 count:no", "RELEASED\r\n"}});
  {
    ServerConnection one = sit_down();
    say(one, ReserveWithTimeout{30});
    ASSERT_TRUE(turn().ok());
  }
  ASSERT_TRUE(turn(3).ok());
  EXPECT_EQ(server_->heard(), "");
}

TEST_F(ExchangeTest, AJobOfARunnerThatLeavesIsGivenBack) {
  begin({{"reserve-batch 1 ", "RESERVED_BATCH 1\r\nRESERVED 5 1\r\na\r\n"},
         {"release 5 = 0 count:no", "RELEASED\r\n"}});
  {
    ServerConnection one = sit_down();
    say(one, ReserveWithTimeout{30});
    ASSERT_TRUE(turn(2).ok());
    EXPECT_EQ(heard(one), "RESERVED 5 1 a");
  }
  ASSERT_TRUE(turn(2).ok());
  EXPECT_EQ(server_->heard(), "");
}

// Its text is no command, and the release behind it goes along.
TEST_F(ExchangeTest, ANoteIsPassedOnWithTheReleaseBehindIt) {
  const std::string text = "exit 3\r\nreserve-with-timeout 0\r\n" + std::string(2000, 'x');
  begin({{"reserve-batch 1 ", "RESERVED_BATCH 1\r\nRESERVED 5 1\r\na\r\n"},
         {"note 5 " + std::to_string(text.size()), ""},
         {"exit 3", ""},
         {"reserve-with-timeout 0", ""},
         {std::string(2000, 'x'), ""},
         {"release 5 7 10", "NOTED\r\nRELEASED\r\n"}});
  ServerConnection one = sit_down();
  say(one, ReserveWithTimeout{30});
  ASSERT_TRUE(turn(2).ok());
  EXPECT_EQ(heard(one), "RESERVED 5 1 a");
  one.add(NoteJob{.id = 5, .bytes = static_cast<uint32_t>(text.size()), .text = text});
  say(one, Release{.id = 5, .priority = uint32_t{7}, .delay_s = 10, .delay_rest_ns = 0});
  ASSERT_TRUE(turn(2).ok());
  EXPECT_EQ(heard(one), "NOTED ");
  EXPECT_EQ(heard(one), "RELEASED ");
  EXPECT_EQ(server_->heard(), "");
}

TEST_F(ExchangeTest, ARunnerThatDoesNotWaitIsToldThatThereIsNoJob) {
  begin({{"reserve-batch 1 0 abort:yes", "RESERVED_BATCH 0\r\n"}});
  ServerConnection one = sit_down();
  say(one, ReserveWithTimeout{0});
  ASSERT_TRUE(turn(2).ok());
  EXPECT_EQ(heard(one), "TIMED_OUT ");
}

// A reserve-batch that was sent before says nothing of its job: with --drain it would end for
// nothing.
TEST_F(ExchangeTest, ARunnerThatDoesNotWaitIsAskedFor) {
  begin({{"reserve-batch 1 0 abort:yes", ""},
         {"list-tube-used", "RESERVED_BATCH 1\r\nRESERVED 5 1\r\na\r\nUSING default\r\n"},
         {"reserve-batch 1 0 abort:yes", "RESERVED_BATCH 1\r\nRESERVED 6 1\r\nb\r\n"}});
  ServerConnection one = sit_down();
  ServerConnection two = sit_down();
  say(one, ReserveWithTimeout{0});
  ASSERT_TRUE(turn().ok());
  say(two, ReserveWithTimeout{0});
  ASSERT_TRUE(turn(2).ok());
  EXPECT_EQ(heard(one), "RESERVED 5 1 a");
  ASSERT_TRUE(turn().ok());
  EXPECT_EQ(heard(two), "RESERVED 6 1 b");
}

TEST_F(ExchangeTest, DeadlineSoonIsNotTheEndOfTheWait) {
  begin({{"reserve-batch 1 ", "DEADLINE_SOON\r\n"},
         {"reserve-batch 1 ", "RESERVED_BATCH 1\r\nRESERVED 5 1\r\na\r\n"}});
  ServerConnection one = sit_down();
  say(one, ReserveWithTimeout{30});
  ASSERT_TRUE(turn(4).ok());
  EXPECT_EQ(heard(one), "RESERVED 5 1 a");
}

TEST_F(ExchangeTest, ADamagedJobIsPassedOver) {
  begin({{"reserve-batch 1 ", "RESERVED_BATCH 1\r\nINTERNAL_ERROR\r\n"},
         {"reserve-batch 1 ", "RESERVED_BATCH 1\r\nRESERVED 5 1\r\na\r\n"}});
  ServerConnection one = sit_down();
  say(one, ReserveWithTimeout{30});
  ASSERT_TRUE(turn(3).ok());
  EXPECT_EQ(heard(one), "RESERVED 5 1 a");
}

TEST_F(ExchangeTest, ALostServerEndsIt) {
  begin({{"reserve-batch 1 ", ""}});
  ServerConnection one = sit_down();
  say(one, ReserveWithTimeout{30});
  const Status lost = turn(3);
  EXPECT_EQ(lost.message(), server_->address() + ": the server closed the connection");
}

TEST(ExchangeExtensions, AreAllNeeded) {
  EXPECT_TRUE(Exchange::can_use(ExtensionSet::all()));
  EXPECT_FALSE(Exchange::can_use(ExtensionSet()));
  EXPECT_FALSE(Exchange::can_use(ExtensionSet::probe().with(Extension::Batch)));
}

}  // namespace
}  // namespace perennial::tool::work
