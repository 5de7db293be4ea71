#include "cmd/perenniald/net/connections.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

#include "tests/cmd/perenniald/net/connection_fakes.h"

namespace perennial::perenniald {
namespace {

// Each test runs with calls for each client alone, and with calls for several clients.
class ConnectionsTest : public FakeClients, public testing::TestWithParam<bool> {
 protected:
  // Handshakes do not run out of time in a turn, however slow the machine is.
  explicit ConnectionsTest(Nanos handshakes_turn_time = 1000 * nanos_per_second) {
    make_connections({.handshakes = {.ms_max = 100,
                                     .per_turn_max = 2,
                                     .turn_time_max = handshakes_turn_time,
                                     .pending_max = 3,
                                     .per_address_max = 7},
                      .per_address_max = 2},
                     GetParam() ? SocketBatch::create().take() : nullptr);
  }

  int open_from(const std::string& address, ListenerRole role = ListenerRole::Queue) {
    return open({.address = common::parse_ip(address), .role = role});
  }
  void turn() {
    uv_run(&loop_, UV_RUN_NOWAIT);
    connections_->continue_handshakes();
    clock_.end_turn();
  }
  static std::string hear(int client) {
    std::string out(1 << 20, '\0');
    const ssize_t count = recv(client, out.data(), out.size(), 0);
    out.resize(count > 0 ? static_cast<size_t>(count) : 0);
    return out;
  }
  static void end_output(int client) { EXPECT_EQ(shutdown(client, SHUT_WR), 0); }
};

TEST_P(ConnectionsTest, BytesAreGivenToTheSessionOfTheirClient) {
  say(open(), "one");
  say(open(), "two");
  turn();
  EXPECT_EQ(session(1).heard, "one");
  EXPECT_EQ(session(2).heard, "two");
  EXPECT_EQ(bytes_calls_, 2);
  EXPECT_FALSE(session(1).was_late);
}

TEST_P(ConnectionsTest, OnlyALittleIsReadWhileOtherSessionsWait) {
  others_wait_ = true;
  say(open(), std::string(10'000, 'x'));
  turn();
  EXPECT_TRUE(session().was_late);
  EXPECT_GE(session().heard.size(), 4'096U);
  for (int turns = 0; turns < 2; ++turns) turn();
  EXPECT_EQ(session().heard.size(), 10'000U);
  EXPECT_EQ(bytes_calls_, 3);
}

TEST_P(ConnectionsTest, OutputIsWrittenWhenTheConnectionIsServed) {
  const int client = open();
  session().says = "hello";
  turn();
  EXPECT_EQ(hear(client), "");
  connections_->service(1);
  EXPECT_EQ(hear(client), "hello");
  EXPECT_EQ(session().says, "");
}

// A word that opens a stream is none of the client's bytes.
TEST_P(ConnectionsTest, BytesOfClientsOfTheQueueAreCounted) {
  const int client = open();
  say(client, "hello");
  say(open(ListenerRole::Http), "GET /");
  with_handshake_ = true;
  say(open(), "open one");
  turn();
  EXPECT_EQ(connections_->queue_bytes().in, 8u);
  session(1).says = "goodbye";
  session(2).says = "200";
  connections_->service(1);
  connections_->service(2);
  EXPECT_EQ(connections_->queue_bytes().out, 7u);
}

TEST_P(ConnectionsTest, OutputThatTheKernelDoesNotTakeIsWrittenLater) {
  const int client = open();
  const std::string much(8 << 20, 'x');
  session().says = much;
  connections_->service(1);
  EXPECT_TRUE(connections_->writing());
  size_t heard = 0;
  for (int turns = 0; turns < 10'000 && heard < much.size(); ++turns) {
    heard += hear(client).size();
    turn();
    connections_->service(1);
  }
  EXPECT_EQ(heard, much.size());
  EXPECT_EQ(session().says, "");
  EXPECT_FALSE(connections_->writing());
}

TEST_P(ConnectionsTest, AClientWhoseSessionDoesNotReadIsNotRead) {
  const int client = open();
  session().reads = false;
  connections_->service(1);
  say(client, "x");
  turn();
  EXPECT_EQ(session().heard, "");
  session().reads = true;
  connections_->service(1);
  turn();
  EXPECT_EQ(session().heard, "x");
}

TEST_P(ConnectionsTest, AnEndIsReportedAfterTheBytesBeforeIt) {
  const int client = open();
  say(client, "bye");
  shutdown(client, SHUT_WR);
  turn();
  turn();
  EXPECT_EQ(session().heard, "bye");
  EXPECT_TRUE(session().ended);
  EXPECT_FALSE(session().closed);  // Not closed until it is finished.
  session().is_finished = true;
  connections_->service(1);
  EXPECT_TRUE(session().closed);
  EXPECT_EQ(slot_calls_, 1);
  EXPECT_EQ(connections_->count(), 0U);
}

TEST_P(ConnectionsTest, AnEndAfterUnreadBytesIsAHalfClose) {
  const int client = open();
  session().reads = false;
  connections_->service(1);
  say(client, "unread");
  shutdown(client, SHUT_WR);
  turn();
  EXPECT_TRUE(session().half_closed);
  EXPECT_FALSE(session().ended);
  EXPECT_EQ(session().heard, "");
}

TEST_P(ConnectionsTest, ABrokenConnectionClosesItsSession) {
  const int client = open();
  close(client);
  clients_.clear();
  session().says = "anybody there?";
  connections_->service(1);
  EXPECT_TRUE(session().closed);
  EXPECT_EQ(slot_calls_, 1);
  connections_->service(1);  // The id is unknown now.
}

TEST_P(ConnectionsTest, NoClientIsReadAfterStopReading) {
  const int client = open();
  connections_->stop_reading();
  say(client, "x");
  turn();
  EXPECT_EQ(session().heard, "");
  session().says = "still";
  connections_->service(1);
  EXPECT_EQ(hear(client), "still");
}

TEST_P(ConnectionsTest, ASessionBeginsWhenItsStreamIsOpen) {
  with_handshake_ = true;
  const int client = open();
  turn();
  EXPECT_TRUE(sessions_.empty());
  EXPECT_EQ(connections_->count(), 1U);
  say(client, "open and more");
  turn();
  EXPECT_EQ(session().heard, "and more");
  EXPECT_FALSE(session().ended);
  session().is_finished = true;
  connections_->service(1);
  EXPECT_EQ(hear(client), "bye");
}

TEST_P(ConnectionsTest, AStreamMayOpenWithoutBytesBehindIt) {
  with_handshake_ = true;
  say(open(), "open ");
  turn();
  EXPECT_EQ(session().heard, "");
  EXPECT_EQ(slot_calls_, 1);
}

TEST_P(ConnectionsTest, TheLastBytesMayComeWithTheEnd) {
  with_handshake_ = true;
  say(open(), "open bye.");
  turn();
  EXPECT_EQ(session().heard, "bye.");
  EXPECT_TRUE(session().ended);
}

TEST_P(ConnectionsTest, AHandshakeThatFailsClosesItsConnection) {
  with_handshake_ = true;
  say(open(), "no");
  shutdown(open(), SHUT_WR);
  turn();
  EXPECT_EQ(connections_->count(), 0U);
  EXPECT_TRUE(sessions_.empty());
  EXPECT_EQ(connections_->handshakes_pending(), 0U);
}

TEST_P(ConnectionsTest, HandshakesAreLimitedInNumberTimeAndPerTurn) {
  with_handshake_ = true;
  const std::array clients = {open(), open(), open()};
  for (const int client : clients) say(client, "open ");
  turn();
  EXPECT_EQ(sessions_.size(), 2U);
  EXPECT_EQ(connections_->handshakes_pending(), 1U);
  turn();
  EXPECT_EQ(sessions_.size(), 3U);
  open();
  for (int turns = 0; turns < 100 && connections_->count() > 3; ++turns) {
    usleep(10'000);
    turn();
  }
  EXPECT_EQ(connections_->count(), 3U);
}

class HandshakesWithoutTime : public ConnectionsTest {
 protected:
  HandshakesWithoutTime() : ConnectionsTest(0) {}
};

// Later turns have a quarter of the one before.
TEST_P(HandshakesWithoutTime, GoOnOneInATurn) {
  with_handshake_ = true;
  for (int i = 0; i < 3; ++i) say(open(), "open ");
  turn();
  EXPECT_EQ(sessions_.size(), 1U);
  EXPECT_TRUE(connections_->has_waiting_handshakes());
  for (int turns = 0; turns < 2; ++turns) turn();
  EXPECT_EQ(sessions_.size(), 3U);
}

// Whoever comes from another address waits for one of each address, and not for all.
TEST_P(ConnectionsTest, AddressesTakeTurnsWithTheirHandshakes) {
  with_handshake_ = true;
  for (int i = 0; i < 20; ++i) say(open_from("192.0.2.1", ListenerRole::Http), "open ");
  say(open_from("192.0.2.9", ListenerRole::Http), "open hello");
  turn();
  EXPECT_EQ(sessions_.size(), 2U);
  EXPECT_TRUE(connections_->has_waiting_handshakes());
  turn();
  EXPECT_EQ(sessions_.size(), 4U);
  EXPECT_EQ(session(21).heard, "hello");
  for (int turns = 0; turns < 9; ++turns) turn();
  EXPECT_EQ(sessions_.size(), 21U);
  EXPECT_FALSE(connections_->has_waiting_handshakes());
}

// It was not watched while it waited.
TEST_P(ConnectionsTest, WhoHasWaitedForItsHandshakeIsReadAfterIt) {
  with_handshake_ = true;
  for (int i = 0; i < 4; ++i) say(open(), "open ");
  for (int i = 0; i < 2; ++i) turn();
  EXPECT_EQ(sessions_.size(), 4U);
  for (const int client : clients_) say(client, "hello");
  turn();
  for (ConnId id = 1; id <= 4; ++id) EXPECT_EQ(session(id).heard, "hello") << id;
}

// Its client may leave meanwhile, or its time may be over.
TEST_P(ConnectionsTest, AHandshakeMayEndWhileItWaitsForItsTurn) {
  with_handshake_ = true;
  for (int i = 0; i < 6; ++i) say(open(), "open bye.");
  turn();
  EXPECT_EQ(sessions_.size(), 2U);
  shutdown(clients_[2], SHUT_WR);
  turn();
  EXPECT_EQ(session(3).heard, "bye.");
  usleep(250'000);  // More than limits.handshakes.ms_max, and the step of its timer.
  turn();
  EXPECT_EQ(connections_->count(), 4U);
  EXPECT_FALSE(connections_->has_waiting_handshakes());
}

// Whoever comes begins its handshake at once, however many are silent.
TEST_P(ConnectionsTest, TheOldestHandshakeGivesWay) {
  with_handshake_ = true;
  for (int i = 0; i < 100; ++i) open();
  EXPECT_EQ(connections_->count(), 3U);
  EXPECT_EQ(connections_->handshake_counts().failed, 97U);
  say(clients_.back(), "open hello");
  turn();
  EXPECT_EQ(session(100).heard, "hello");
}

TEST_P(ConnectionsTest, AHandshakeOfTheAddressWithTheMostGivesWay) {
  with_handshake_ = true;
  const int single = open_from("192.0.2.9", ListenerRole::Http);
  for (int i = 0; i < 100; ++i) open_from("192.0.2.1", ListenerRole::Http);
  EXPECT_EQ(connections_->count(), 3U);
  say(single, "open hello");
  turn();
  EXPECT_EQ(session(1).heard, "hello");
}

TEST_P(ConnectionsTest, WhatIsReadFirstIsTold) {
  say(open(), "one");
  with_handshake_ = true;
  const int client = open();
  say(client, "open ");
  open();
  turn();
  EXPECT_EQ(first_reads_, std::vector<ConnId>{1});
  say(client, "half");
  EXPECT_TRUE(connections_->is_unread(2));
  turn();
  EXPECT_EQ(first_reads_, (std::vector<ConnId>{1, 2}));
  say(client, "more");
  EXPECT_FALSE(connections_->is_unread(2));
  turn();
  EXPECT_EQ(first_reads_.size(), 2U);
}

// Of many that connect at once none is closed: those that have sent something wait for their turn.
TEST_P(ConnectionsTest, AHandshakeThatWaitsForItsTurnDoesNotGiveWay) {
  with_handshake_ = true;
  for (int i = 0; i < 3; ++i) say(open(), "open ");
  EXPECT_FALSE(connections_->may_begin_handshake());
  say(open(), "open ");
  EXPECT_EQ(connections_->count(), 4U);
  for (int i = 0; i < 2; ++i) turn();
  EXPECT_EQ(sessions_.size(), 4U);
  for (int i = 0; i < 3; ++i) open();
  EXPECT_TRUE(connections_->may_begin_handshake());
}

// As of the limits for each address: two connections to the queue.
TEST_P(ConnectionsTest, OneAddressHasItsShareOfTheQueue) {
  const int first = open_from("192.0.2.1");
  open_from("192.0.2.1");
  const int third = open_from("192.0.2.1");
  EXPECT_EQ(connections_->count(), 2U);
  char byte = 0;
  EXPECT_EQ(recv(third, &byte, 1, 0), 0);
  EXPECT_EQ(connections_->without_place(), 1U);
  // Another one, HTTP, and this machine are not concerned. Of IPv6 64 bits count.
  open_from("192.0.2.2");
  open_from("192.0.2.1", ListenerRole::Http);
  for (int i = 0; i < 5; ++i) open();
  for (int i = 0; i < 3; ++i) open_from(fmt::format("2001:db8::{}", i + 1));
  EXPECT_EQ(connections_->count(), 2U + 2U + 5U + 2U);
  EXPECT_EQ(connections_->without_place(), 2U);
  // Who leaves makes a place.
  say(first, "quit");
  turn();
  session(1).is_finished = true;
  connections_->service(1);
  open_from("192.0.2.1");
  EXPECT_EQ(connections_->without_place(), 2U);
}

// Whoever has shown who it is does not count for its address any more.
TEST_P(ConnectionsTest, AConnectionMayLeaveTheShareOfItsAddress) {
  for (ConnId id = 1; id <= 5; ++id) {
    open_from("192.0.2.1");
    connections_->leave_share(id);
    connections_->leave_share(id);
  }
  for (int i = 0; i < 3; ++i) open_from("192.0.2.1");
  EXPECT_EQ(connections_->without_place(), 1U);
  // When it closes, nobody else's place is free.
  say(clients_[0], "quit");
  turn();
  session(1).is_finished = true;
  connections_->service(1);
  open_from("192.0.2.1");
  EXPECT_EQ(connections_->without_place(), 2U);
  connections_->leave_share(99);
}

TEST_P(ConnectionsTest, HandshakesAreCountedByTheirResult) {
  say(open(), "x");  // Without one.
  with_handshake_ = true;
  const auto try_one = [&](std::string_view bytes) {
    say(open(), bytes);
    turn();
  };
  for (const std::string_view bytes : {"open ", "back ", "open ", "no"}) try_one(bytes);
  shutdown(open(), SHUT_WR);  // Without a word, such as a check of its health.
  open();                     // Too slow.
  for (int turns = 0; turns < 100 && connections_->count() > 4; ++turns) {
    usleep(10'000);
    turn();
  }
  const HandshakeCounts& counts = connections_->handshake_counts();
  EXPECT_EQ(counts.full, 2u);
  EXPECT_EQ(counts.resumed, 1u);
  EXPECT_EQ(counts.failed, 2u);
}

TEST_P(ConnectionsTest, AHandshakeWhoseClientLeavesAtOnceIsCounted) {
  with_handshake_ = true;
  say(open(), "gone ");
  turn();
  EXPECT_EQ(connections_->count(), 0u);
  EXPECT_TRUE(sessions_.empty());
  EXPECT_EQ(connections_->handshake_counts().full, 1u);
  EXPECT_EQ(connections_->handshake_counts().failed, 0u);
}

TEST_P(ConnectionsTest, OtherClientsAreReadWhileHandshakesWaitForTheirTurn) {
  std::vector<int> plain;
  for (int i = 0; i < 40; ++i) {
    with_handshake_ = i % 2 == 0;
    say(open(), "x");
    if (!with_handshake_) plain.push_back(i + 1);
  }
  turn();
  for (const int conn : plain) EXPECT_EQ(session(static_cast<ConnId>(conn)).heard, "x");
}

TEST_P(ConnectionsTest, SomeAreServedFromTheFirstOn) {
  std::vector<ConnId> ids;
  for (ConnId id = 1; id <= 70; ++id) {
    open();
    ids.push_back(id);
    session(id).says = "hello " + std::to_string(id);
  }
  session(3).says.clear();
  session(3).is_finished = true;
  std::span<const ConnId> left = ids;
  for (size_t calls = 0; !left.empty(); ++calls) {
    const size_t count = connections_->service_some(left);
    ASSERT_GE(count, 1u);
    // The first two clients, the third, 64 clients, and the last three.
    constexpr std::array<size_t, 4> counts = {2, 1, 64, 3};
    EXPECT_EQ(count, GetParam() ? counts.at(calls) : 1);
    left = left.subspan(count);
  }
  for (const ConnId id : ids) {
    const std::string said = id == 3 ? "" : "hello " + std::to_string(id);
    EXPECT_EQ(hear(clients_[id - 1]), said);
    EXPECT_EQ(session(id).closed, id == 3);
  }
}

TEST_P(ConnectionsTest, AmongServedClientsSomeTakeNothingAndSomeAreGone) {
  const int slow = open();
  const int gone = open();
  const int quick = open();
  session(1).says = std::string(TurnBudget::write_bytes_max, 'x');
  session(2).says = session(3).says = "hello";
  close(gone);
  clients_.erase(clients_.begin() + 1);
  const ConnId ids[] = {1, 2, 3, 4};
  for (std::span<const ConnId> left = ids; !left.empty();)
    left = left.subspan(connections_->service_some(left));
  EXPECT_TRUE(connections_->writing());
  EXPECT_FALSE(session(1).says.empty());
  EXPECT_TRUE(session(2).closed);
  EXPECT_EQ(hear(quick), "hello");
  std::string heard;
  while (!session(1).says.empty()) {
    heard += hear(slow);
    turn();
  }
  heard += hear(slow);
  EXPECT_EQ(heard.size(), TurnBudget::write_bytes_max);
  EXPECT_FALSE(connections_->writing());
}

// A download over HTTP holds up those behind it for no more than this.
TEST_P(ConnectionsTest, AClientOfHttpIsWrittenLessAtOnce) {
  open_from("127.0.0.1", ListenerRole::Http);
  session(1).says = std::string(TurnBudget::http_write_bytes_max + 1, 'x');
  open();
  session(2).says = std::string(TurnBudget::http_write_bytes_max + 1, 'x');
  connections_->service(1);
  connections_->service(2);
  EXPECT_EQ(session(1).says.size(), 1u);
  EXPECT_EQ(session(2).says.size(), 0u);
  connections_->service(1);
  EXPECT_EQ(session(1).says.size(), 0u);
  EXPECT_EQ(hear(clients_[0]).size(), TurnBudget::http_write_bytes_max + 1);
}

// What one call takes from a client does not bound what is read of it.
TEST_P(ConnectionsTest, ManyClientsAreReadInATurn) {
  for (ConnId id = 1; id <= 40; ++id) {
    say(open(), std::string(id == 7 ? 20'000 : 1, 'x'));
    if (id == 9) end_output(clients_.back());
  }
  session(5).reads = false;
  connections_->service(5);
  turn();
  for (ConnId id = 1; id <= 40; ++id)
    EXPECT_EQ(session(id).heard.size(), id == 5 ? 0u : id == 7 ? 20'000u : 1u) << id;
  turn();
  EXPECT_TRUE(session(9).ended);
  EXPECT_FALSE(session(8).ended);
}

TEST_P(ConnectionsTest, BytesOfAStreamsOwnLeaveWhenTheSocketCanBeWritten) {
  with_handshake_ = has_output_ = true;
  const int client = open();
  say(client, "open ");
  turn();
  turn();
  EXPECT_EQ(hear(client), "busy");
}

TEST_P(ConnectionsTest, AStopClosesUnfinishedHandshakes) {
  open();
  with_handshake_ = true;
  open();
  connections_->stop_reading();
  EXPECT_EQ(connections_->count(), 1U);
}

TEST_P(ConnectionsTest, KnowsWhoTakesItsOutput) {
  const int client = open_from("192.0.2.9", ListenerRole::Http);
  EXPECT_FALSE(connections_->takes_output(1));
  EXPECT_FALSE(connections_->takes_output(99)) << "it is gone";
  session().says = std::string(4 << 20, 'a');
  EXPECT_TRUE(connections_->takes_output(1)) << "it was given nothing so far";
  connections_->service(1);
  EXPECT_TRUE(connections_->takes_output(1)) << "it has taken the first piece";
  for (int i = 0; i < 10'000 && connections_->takes_output(1); ++i) connections_->service(1);
  EXPECT_FALSE(connections_->takes_output(1)) << "the socket is full";
  EXPECT_FALSE(session().says.empty());
  std::string taken(1 << 20, ' ');
  while (recv(client, taken.data(), taken.size(), MSG_DONTWAIT) > 0) {
  }
  turn();
  EXPECT_TRUE(connections_->takes_output(1));
}

// What ends is only the sending side.
TEST_P(ConnectionsTest, EndsItsOutputAndReadsOn) {
  const int client = open();
  connections_->end_output(1);
  char byte = 0;
  EXPECT_EQ(recv(client, &byte, 1, 0), 0);
  say(client, "more");
  turn();
  EXPECT_EQ(session().heard, "more");
  connections_->end_output(99);  // It is closed.
}

TEST_P(ConnectionsTest, BeginsAnewWithAnotherSession) {
  const int client = open();
  session().reads = false;
  connections_->service(1);
  say(client, "stats");
  turn();
  EXPECT_EQ(session().heard, "");
  sessions_.erase(1);
  connections_->begin_anew(1, "early ", false);
  EXPECT_EQ(session().heard, "early ");
  turn();
  EXPECT_EQ(session().heard, "early stats");
  EXPECT_FALSE(session().ended);
  session().says = "answer";
  connections_->service(1);
  EXPECT_EQ(hear(client), "answer");
}

TEST_P(ConnectionsTest, BeginsAnewWithAClientThatHasEnded) {
  open();
  sessions_.erase(1);
  connections_->begin_anew(1, "last", true);
  EXPECT_EQ(session().heard, "last");
  EXPECT_TRUE(session().ended);
}

TEST_P(ConnectionsTest, BeginsAnewWithAHandshake) {
  const int client = open();
  const int other = open();
  sessions_.clear();
  with_handshake_ = true;
  connections_->begin_anew(1, "", false);
  connections_->begin_anew(2, "early", false);
  EXPECT_TRUE(sessions_.empty());
  say(client, "open hello");
  turn();
  EXPECT_EQ(session(1).heard, "hello");
  char byte = 0;
  EXPECT_EQ(recv(other, &byte, 1, 0), 0);  // A handshake cannot begin with what was read before.
}

INSTANTIATE_TEST_SUITE_P(Calls, ConnectionsTest, testing::Bool(),
                         [](const auto& param) { return param.param ? "Together" : "Alone"; });
INSTANTIATE_TEST_SUITE_P(Calls, HandshakesWithoutTime, testing::Bool(),
                         [](const auto& param) { return param.param ? "Together" : "Alone"; });

}  // namespace
}  // namespace perennial::perenniald
