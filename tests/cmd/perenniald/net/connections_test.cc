#include "cmd/perenniald/net/connections.h"

#include <array>
#include <cerrno>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

namespace perennial::perenniald {
namespace {

// Says what it is told to say, and notes what it hears.
class FakeSession final : public core::Session {
 public:
  void on_bytes(std::span<const char> bytes, Nanos /*now*/, bool later) override {
    heard.append(bytes.data(), bytes.size());
    was_late = later;
  }
  void on_half_close(Nanos /*now*/) override { half_closed = true; }
  void on_eof(Nanos /*now*/) override { ended = true; }
  void on_written(size_t bytes) override { says.erase(0, bytes); }
  void on_close(Nanos /*now*/) override { closed = true; }
  std::string_view output() const override { return says; }
  bool reading() override { return reads; }
  bool finished() const override { return is_finished && says.empty(); }
  std::string_view speaks() const override { return {}; }

  std::string says;
  std::string heard;
  bool reads = true;
  bool is_finished = false;
  bool was_late = false;
  bool half_closed = false;
  bool ended = false;
  bool closed = false;
};

class ConnectionsTest : public testing::Test {
 protected:
  ConnectionsTest() {
    EXPECT_EQ(uv_loop_init(&loop_), 0);
    connections_.emplace(
        loop_, clock_, budget_,
        Connections::Hooks{.open = [this](ConnId conn, const AcceptedSocket&) -> core::Session& {
                             return sessions_[conn];
                           },
                           .has_waiting = [this] { return others_wait_; },
                           .on_bytes = [this] { ++bytes_calls_; },
                           .on_closed = [this] { ++closed_calls_; }});
  }
  ~ConnectionsTest() override {
    connections_->close_all();
    while (uv_run(&loop_, UV_RUN_DEFAULT) != 0) continue;
    connections_.reset();
    EXPECT_EQ(uv_loop_close(&loop_), 0);
    for (const int fd : clients_) close(fd);
  }

  // Returns the client's end.
  int open() {
    std::array<int, 2> ends = {};
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends.data()), 0);
    EXPECT_TRUE(connections_->open({.fd = ends[0], .is_local = true}).ok());
    clients_.push_back(ends[1]);
    return ends[1];
  }
  void turn() {
    uv_run(&loop_, UV_RUN_NOWAIT);
    clock_.end_turn();
  }
  static void say(int client, std::string_view bytes) {
    EXPECT_EQ(send(client, bytes.data(), bytes.size(), 0), static_cast<ssize_t>(bytes.size()));
  }
  static std::string hear(int client) {
    std::string out(1 << 20, '\0');
    const ssize_t count = recv(client, out.data(), out.size(), 0);
    out.resize(count > 0 ? static_cast<size_t>(count) : 0);
    return out;
  }
  FakeSession& session(ConnId conn = 1) { return sessions_.at(conn); }

  uv_loop_t loop_ = {};
  TurnClock clock_;
  TurnBudget budget_{clock_};
  std::map<ConnId, FakeSession> sessions_;
  std::optional<Connections> connections_;
  std::vector<int> clients_;
  bool others_wait_ = false;
  int bytes_calls_ = 0;
  int closed_calls_ = 0;
};

TEST_F(ConnectionsTest, BytesGoToTheSessionOfTheirClient) {
  say(open(), "one");
  say(open(), "two");
  turn();
  EXPECT_EQ(session(1).heard, "one");
  EXPECT_EQ(session(2).heard, "two");
  EXPECT_EQ(bytes_calls_, 2);
  EXPECT_FALSE(session(1).was_late);
}

TEST_F(ConnectionsTest, WhileOthersWaitALittleIsRead) {
  others_wait_ = true;
  say(open(), std::string(10'000, 'x'));
  turn();
  EXPECT_TRUE(session().was_late);
  EXPECT_GE(session().heard.size(), 4'096U);
  while (session().heard.size() < 10'000) turn();
  EXPECT_EQ(bytes_calls_, 3);
}

TEST_F(ConnectionsTest, OutputGoesOutWhenItIsServed) {
  const int client = open();
  session().says = "hello";
  turn();
  EXPECT_EQ(hear(client), "");
  connections_->service(1);
  EXPECT_EQ(hear(client), "hello");
  EXPECT_EQ(session().says, "");
}

TEST_F(ConnectionsTest, WhatTheKernelDoesNotTakeGoesWhenItDoes) {
  const int client = open();
  const std::string much(8 << 20, 'x');
  session().says = much;
  connections_->service(1);
  EXPECT_TRUE(connections_->writing());
  size_t heard = 0;
  while (heard < much.size()) {
    heard += hear(client).size();
    turn();
    connections_->service(1);
  }
  EXPECT_EQ(session().says, "");
  EXPECT_FALSE(connections_->writing());
}

TEST_F(ConnectionsTest, NobodyIsReadWhoseSessionHasEnough) {
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

TEST_F(ConnectionsTest, AnEndIsToldBehindWhatCameBefore) {
  const int client = open();
  say(client, "bye");
  shutdown(client, SHUT_WR);
  turn();
  turn();
  EXPECT_EQ(session().heard, "bye");
  EXPECT_TRUE(session().ended);
  EXPECT_FALSE(session().closed);  // Until it is finished.
  session().is_finished = true;
  connections_->service(1);
  EXPECT_TRUE(session().closed);
  EXPECT_EQ(closed_calls_, 1);
  EXPECT_EQ(connections_->count(), 0U);
}

TEST_F(ConnectionsTest, AnEndBehindWhatIsNotReadIsAHalfClose) {
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

TEST_F(ConnectionsTest, ABrokenConnectionEndsItsSession) {
  const int client = open();
  close(client);
  clients_.clear();
  session().says = "anybody there?";
  connections_->service(1);
  EXPECT_TRUE(session().closed);
  EXPECT_EQ(closed_calls_, 1);
  connections_->service(1);  // Is nobody any more.
}

TEST_F(ConnectionsTest, AfterStopReadingNobodyIsRead) {
  const int client = open();
  connections_->stop_reading();
  say(client, "x");
  turn();
  EXPECT_EQ(session().heard, "");
  session().says = "still";
  connections_->service(1);
  EXPECT_EQ(hear(client), "still");
}

}  // namespace
}  // namespace perennial::perenniald
