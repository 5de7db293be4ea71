// Clients whose bytes threads move, and the loop that hears of them. The threads are real, and so
// are sockets; a turn of the loop comes as often as a test waits.
//
// Fields: bytes in both directions, ends of both sides, handshakes, output that a client takes
// late. Blind to: TLS itself, which the tests of the server have, and times.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

#include "cmd/perenniald/net/connections.h"
#include "tests/cmd/perenniald/net/connection_fakes.h"

namespace perennial::perenniald {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

struct Way {
  uint64_t threads;
  bool io_uring;
};

class IoThreadsTest : public FakeClients, public testing::TestWithParam<Way> {
 protected:
  IoThreadsTest() {
    const IoThreads::Settings settings = {.count = GetParam().threads,
                                          .io_uring = GetParam().io_uring,
                                          .handshakes_per_turn = 2,
                                          .before_send = [this] { ++sends_; }};
    make_connections(
        {.handshakes = {.ms_max = 200, .per_turn_max = 2, .pending_max = 3, .per_address_max = 7}},
        nullptr, std::make_unique<IoThreads>(settings));
    connections_->threads()->start();
  }
  // Its threads use this object.
  ~IoThreadsTest() override { connections_->threads()->stop(); }

  void turn() {
    connections_->flush();
    uv_run(&loop_, UV_RUN_NOWAIT);
    clock_.end_turn();
  }
  // Turns until this is so. It is what the other threads do next, so no time is asserted.
  [[nodiscard]] bool until(const std::function<bool()>& is_so) {
    const auto end = steady_clock::now() + milliseconds(20'000);
    while (!is_so()) {
      if (steady_clock::now() > end) return false;
      turn();
      std::this_thread::sleep_for(milliseconds(1));
    }
    return true;
  }
  // Turns for a while in which something may not happen.
  void some_turns() {
    for (int turns = 0; turns < 50; ++turns) {
      turn();
      std::this_thread::sleep_for(milliseconds(1));
    }
  }
  void release_decrypts() {
    holds_decrypts_ = false;
    holds_decrypts_.notify_all();
  }
  // Adds what has come to `heard_`.
  std::string& hear(int client) {
    std::string piece(1 << 20, '\0');
    const ssize_t count = recv(client, piece.data(), piece.size(), 0);
    if (count == 0) has_ended_ = true;
    if (count > 0) heard_.append(piece, 0, static_cast<size_t>(count));
    return heard_;
  }

  std::string heard_;
  bool has_ended_ = false;  // The server's side, which hear() has found.
  std::atomic<int> sends_ = 0;
};

TEST_P(IoThreadsTest, BytesGoBothWays) {
  const int client = open();
  say(client, "hello");
  ASSERT_TRUE(until([&] { return session().heard == "hello"; }));
  EXPECT_FALSE(session().was_late);
  EXPECT_EQ(first_reads_, std::vector<ConnId>{1});
  session().says = "goodbye";
  connections_->service(1);
  EXPECT_EQ(session().says, "") << "the thread has it";
  EXPECT_TRUE(connections_->writing());
  ASSERT_TRUE(until([&] { return hear(client) == "goodbye"; }));
  EXPECT_TRUE(until([&] { return !connections_->writing(); }));
  EXPECT_EQ(connections_->queue_bytes().in, 5u);
  EXPECT_EQ(connections_->queue_bytes().out, 7u);
  EXPECT_GT(sends_, 0) << "it was asked whether anything may be sent";
}

TEST_P(IoThreadsTest, ManyClientsAreServedInOrder) {
  constexpr ConnId count = 200;
  constexpr int rounds = 20;
  for (ConnId id = 1; id <= count; ++id) open();
  std::vector<std::string> all(count + 1);
  for (int round = 0; round < rounds; ++round) {
    for (ConnId id = 1; id <= count; ++id) {
      const std::string word = std::to_string(id) + "." + std::to_string(round) + " ";
      say(clients_[id - 1], word);
      all[id] += word;
    }
    turn();
    for (ConnId id = 1; id <= count; ++id) {
      session(id).says += std::to_string(round) + " ";
      connections_->service(id);
    }
  }
  const auto is_heard = [&](ConnId id) { return session(id).heard == all[id]; };
  for (ConnId id = 1; id <= count; ++id) EXPECT_TRUE(until([&] { return is_heard(id); })) << id;
  std::string expected;
  for (int round = 0; round < rounds; ++round) expected += std::to_string(round) + " ";
  for (const int client : clients_) {
    heard_.clear();
    EXPECT_TRUE(until([&] { return hear(client) == expected; }));
  }
}

TEST_P(IoThreadsTest, WhatOneSendsAndTakesMayBeLarge) {
  const int client = open();
  const size_t much = 20 << 20;
  std::thread sender([&] {
    const std::string piece(256 << 10, 'x');
    for (size_t sent = 0; sent < much;) {
      const ssize_t count = send(client, piece.data(), std::min(piece.size(), much - sent), 0);
      if (count > 0) sent += static_cast<size_t>(count);
    }
  });
  EXPECT_TRUE(until([&] { return session().heard.size() == much; }));
  sender.join();
  // A client that takes nothing is given a window, and no more.
  session().says = std::string(much, 'y');
  connections_->service(1);
  some_turns();
  EXPECT_GE(session().says.size(), much - (8 << 20));
  EXPECT_TRUE(connections_->writing());
  EXPECT_TRUE(until([&] { return hear(client).size() == much; }));
  EXPECT_TRUE(session().says.empty());
  EXPECT_EQ(heard_.find_first_not_of('y'), std::string::npos);
  EXPECT_TRUE(until([&] { return !connections_->writing(); }));
}

// While the loop does not hear them, they read no more than has a place.
TEST_P(IoThreadsTest, ASlowLoopStopsReads) {
  const int client = open();
  turn();
  const std::string piece(64 << 10, 'x');
  size_t sent = 0;
  const auto end = steady_clock::now() + milliseconds(300);
  while (steady_clock::now() < end) {
    const ssize_t count = send(client, piece.data(), piece.size(), 0);
    if (count > 0) sent += static_cast<size_t>(count);
  }
  EXPECT_LT(sent, 4 * IoThread::news_bytes_max);
  EXPECT_TRUE(session().heard.empty());
  EXPECT_TRUE(until([&] { return session().heard.size() == sent; })) << "it goes on";
}

TEST_P(IoThreadsTest, AClientWhoseSessionDoesNotReadIsNotRead) {
  const int client = open();
  session().reads = false;
  connections_->service(1);
  some_turns();
  say(client, "x");
  some_turns();
  EXPECT_EQ(session().heard, "");
  session().reads = true;
  connections_->service(1);
  EXPECT_TRUE(until([&] { return session().heard == "x"; }));
}

TEST_P(IoThreadsTest, OthersThatWaitComeFirst) {
  others_wait_ = true;
  say(open(), std::string(10'000, 'x'));
  EXPECT_TRUE(until([&] { return session().heard.size() == 10'000; }));
  EXPECT_TRUE(session().was_late);
}

TEST_P(IoThreadsTest, AnEndIsReportedAfterTheBytesBeforeIt) {
  const int client = open();
  say(client, "bye");
  shutdown(client, SHUT_WR);
  ASSERT_TRUE(until([&] { return session().ended; }));
  EXPECT_EQ(session().heard, "bye");
  EXPECT_FALSE(session().closed) << "it is not finished yet";
  session().says = "bye yourself";
  session().is_finished = true;
  connections_->service(1);
  connections_->service(1);
  EXPECT_TRUE(session().closed);
  EXPECT_EQ(connections_->count(), 1u) << "its descriptor is still open";
  ASSERT_TRUE(until([&] { return hear(client) == "bye yourself" && has_ended_; }));
  EXPECT_TRUE(until([&] { return connections_->count() == 0; }));
  EXPECT_EQ(slot_calls_, 2);
}

TEST_P(IoThreadsTest, AnEndAfterUnreadBytesIsAHalfClose) {
  const int client = open();
  session().reads = false;
  connections_->service(1);
  some_turns();
  say(client, "unread");
  shutdown(client, SHUT_WR);
  ASSERT_TRUE(until([&] { return session().half_closed; }));
  EXPECT_FALSE(session().ended);
  EXPECT_EQ(session().heard, "");
}

// What is in flight to a client that leaves is still sent, however slowly it takes it.
TEST_P(IoThreadsTest, WhoeverIsFinishedGetsAllThatItWasTold) {
  const int client = open();
  session().says = std::string(IoThread::window_bytes, 'x');
  session().is_finished = true;
  connections_->service(1);
  ASSERT_TRUE(until([&] {
    connections_->service(1);
    return session().closed;
  }));
  some_turns();
  ASSERT_TRUE(until([&] { return hear(client).size() == IoThread::window_bytes && has_ended_; }));
  EXPECT_TRUE(until([&] { return connections_->count() == 0; }));
  EXPECT_FALSE(connections_->writing());
}

TEST_P(IoThreadsTest, ABrokenConnectionClosesItsSession) {
  const int client = open();
  turn();
  close(client);
  clients_.clear();
  session().says = "anybody there?";
  connections_->service(1);
  EXPECT_TRUE(until([&] { return session().ended || session().closed; }));
  session().is_finished = true;
  connections_->service(1);
  EXPECT_TRUE(session().closed);
  EXPECT_TRUE(until([&] { return connections_->count() == 0; }));
  EXPECT_FALSE(connections_->writing());
}

TEST_P(IoThreadsTest, NoClientIsReadAfterStopReading) {
  const int client = open();
  turn();
  connections_->stop_reading();
  say(client, "x");
  some_turns();
  EXPECT_EQ(session().heard, "");
  session().says = "still";
  connections_->service(1);
  EXPECT_TRUE(until([&] { return hear(client) == "still"; }));
}

// It has sent more than its session wants before the loop could say so.
TEST_P(IoThreadsTest, AClientIsNotReadFarBeyondWhatItsSessionHasHeard) {
  const int client = open();
  session().reads = false;
  const std::string much(1 << 20, 'x');
  size_t sent = 0;
  const auto send_more = [&] {
    const ssize_t count = send(client, much.data(), much.size() - sent, MSG_DONTWAIT);
    if (count > 0) sent += static_cast<size_t>(count);
    return count > 0;
  };
  while (send_more()) some_turns();
  constexpr size_t one_read = 64 << 10;
  EXPECT_LT(session().heard.size(), IoThread::unheard_bytes_max + one_read);
  session().reads = true;
  connections_->service(1);
  EXPECT_TRUE(until([&] {
    send_more();
    return session().heard.size() == much.size();
  }));
}

TEST_P(IoThreadsTest, ASessionBeginsWhenItsStreamIsOpen) {
  with_handshake_ = true;
  const int client = open();
  some_turns();
  EXPECT_TRUE(sessions_.empty());
  EXPECT_EQ(connections_->handshakes_pending(), 1u);
  say(client, "back and more");
  ASSERT_TRUE(until([&] { return !sessions_.empty() && session().heard == "and more"; }));
  EXPECT_EQ(connections_->handshakes_pending(), 0u);
  EXPECT_EQ(connections_->handshake_counts().resumed, 1u);
  session().is_finished = true;
  connections_->service(1);
  EXPECT_TRUE(until([&] { return hear(client) == "bye" && has_ended_; }));
}

TEST_P(IoThreadsTest, TheLastBytesMayComeWithTheEnd) {
  with_handshake_ = true;
  say(open(), "open bye.");
  ASSERT_TRUE(until([&] { return !sessions_.empty() && session().ended; }));
  EXPECT_EQ(session().heard, "bye.");
}

TEST_P(IoThreadsTest, AHandshakeThatFailsClosesItsConnection) {
  with_handshake_ = true;
  say(open(), "no");
  shutdown(open(), SHUT_WR);
  EXPECT_TRUE(until([&] { return connections_->count() == 0; }));
  EXPECT_TRUE(sessions_.empty());
  EXPECT_EQ(connections_->handshakes_pending(), 0u);
  EXPECT_EQ(connections_->handshake_counts().failed, 1u) << "the other one has said nothing";
}

TEST_P(IoThreadsTest, AHandshakeWhoseClientLeavesAtOnceIsCounted) {
  with_handshake_ = true;
  say(open(), "gone ");
  EXPECT_TRUE(until([&] { return connections_->count() == 0; }));
  EXPECT_EQ(connections_->handshakes_pending(), 0u);
  EXPECT_EQ(connections_->handshake_counts().full, 1u);
  EXPECT_EQ(connections_->handshake_counts().failed, 0u);
}

TEST_P(IoThreadsTest, AllHandshakesComeToTheirTurn) {
  with_handshake_ = true;
  for (int i = 0; i < 40; ++i) say(open(), "open hello");
  EXPECT_TRUE(until([&] { return sessions_.size() == 40; }));
  for (ConnId id = 1; id <= 40; ++id) {
    EXPECT_TRUE(until([&] { return session(id).heard == "hello"; })) << id;
  }
}

TEST_P(IoThreadsTest, AHandshakeThatTakesTooLongIsClosed) {
  with_handshake_ = true;
  const int client = open();
  ASSERT_TRUE(until([&] { return connections_->handshakes_pending() == 0; }));
  EXPECT_TRUE(until([&] {
    hear(client);
    return has_ended_;
  }));
  EXPECT_EQ(connections_->handshake_counts().failed, 1u);
}

TEST_P(IoThreadsTest, TheOldestSilentHandshakeGivesWay) {
  with_handshake_ = true;
  for (int i = 0; i < 100; ++i) open();
  EXPECT_EQ(connections_->handshakes_pending(), 3u);
  EXPECT_EQ(connections_->handshake_counts().failed, 97u);
  say(clients_.back(), "open hello");
  EXPECT_TRUE(until([&] { return sessions_.contains(100) && session(100).heard == "hello"; }));
}

// Its thread has read what it has sent, and the loop has not heard of it.
TEST_P(IoThreadsTest, AHandshakeOfWhichAThreadHasReadDoesNotGiveWay) {
  with_handshake_ = true;
  for (int i = 0; i < 3; ++i) say(open(), "open hello");
  connections_->flush();
  std::this_thread::sleep_for(milliseconds(50));
  for (int i = 0; i < 3; ++i) open();
  EXPECT_TRUE(until([&] { return sessions_.size() == 3; }));
  for (ConnId id = 1; id <= 3; ++id) EXPECT_TRUE(sessions_.contains(id)) << id;
}

// Half a record of TLS is something that was read.
TEST_P(IoThreadsTest, WhatIsReadFirstIsTold) {
  with_handshake_ = true;
  const int client = open();
  say(client, "open ");
  ASSERT_TRUE(until([&] { return sessions_.size() == 1; }));
  say(client, "half");
  EXPECT_TRUE(until([&] { return first_reads_ == std::vector<ConnId>{1}; }));
  EXPECT_FALSE(connections_->is_unread(1));
}

TEST_P(IoThreadsTest, WhatAThreadHasReadIsNotUnread) {
  const int client = open();
  turn();
  EXPECT_FALSE(connections_->is_unread(1));
  say(client, "x");
  std::this_thread::sleep_for(milliseconds(20));
  EXPECT_TRUE(connections_->is_unread(1)) << "its session has not heard it";
  ASSERT_TRUE(until([&] { return session().heard == "x"; }));
  EXPECT_FALSE(connections_->is_unread(1));
}

// Nobody has it then: neither the kernel nor the loop. A client that had sent its request in time
// was closed for newer ones.
TEST_P(IoThreadsTest, WhatAThreadDecryptsIsNotUnread) {
  with_handshake_ = true;
  const int client = open();
  say(client, "open ");
  ASSERT_TRUE(until([&] { return sessions_.size() == 1; }));
  EXPECT_FALSE(connections_->is_unread(1));
  holds_decrypts_ = true;
  say(client, "hello");
  EXPECT_TRUE(until([&] { return decrypts_ == 2; }));
  EXPECT_TRUE(connections_->is_unread(1)) << "its session has not heard it";
  release_decrypts();
  EXPECT_TRUE(until([&] { return session().heard == "hello"; }));
  EXPECT_FALSE(connections_->is_unread(1));
}

TEST_P(IoThreadsTest, AHandshakeThatAThreadDecryptsDoesNotGiveWay) {
  with_handshake_ = true;
  holds_decrypts_ = true;
  say(open(), "open hello");
  EXPECT_TRUE(until([&] { return decrypts_ == 1; }));
  for (int i = 0; i < 5; ++i) open();
  release_decrypts();
  EXPECT_TRUE(until([&] { return sessions_.contains(1) && session(1).heard == "hello"; }));
}

TEST_P(IoThreadsTest, SomeClientsStayWithTheLoop) {
  may_use_thread_ = false;
  const int client = open();
  say(client, "hello");
  turn();
  EXPECT_EQ(session().heard, "hello");
  session().says = "goodbye";
  connections_->service(1);
  EXPECT_EQ(hear(client), "goodbye");
  EXPECT_FALSE(connections_->writing());
  EXPECT_EQ(connections_->threads()->all()[0]->sockets(), 0u);
}

TEST_P(IoThreadsTest, ClientsAreSpread) {
  for (int i = 0; i < 12; ++i) open();
  open(ListenerRole::Http);
  const auto threads = connections_->threads()->all();
  const std::map<uint64_t, std::vector<size_t>> expected = {{1, {13}}, {2, {7, 6}}, {3, {6, 6, 1}}};
  std::vector<size_t> found;
  for (const auto& thread : threads) found.push_back(thread->sockets());
  EXPECT_EQ(found, expected.at(GetParam().threads));
}

INSTANTIATE_TEST_SUITE_P(
    , IoThreadsTest,
    testing::Values(Way{.threads = 1, .io_uring = true}, Way{.threads = 1, .io_uring = false},
                    Way{.threads = 2, .io_uring = true}, Way{.threads = 3, .io_uring = true}),
    [](const auto& way) {
      return std::to_string(way.param.threads) + (way.param.io_uring ? "Together" : "Alone");
    });

}  // namespace
}  // namespace perennial::perenniald
