#include "cmd/perenniald/standby/forwarder.h"

#include <algorithm>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace perennial::perenniald {
namespace {

constexpr Nanos second = nanos_per_second;
constexpr ConnId leader_side = 2;  // The first connection to the leader.

class ForwarderTest : public testing::Test {
 protected:
  ForwarderTest()
      : forwarder_(10 * second,
                   {.dial =
                        [this](const std::string& address, std::function<void(int)> done) {
                          dialled_.emplace_back(address, std::move(done));
                        },
                    .adopt =
                        [this](int fd) {
                          ::close(fd);
                          if (refuses_) return false;
                          to_leader_ = &forwarder_.open_leader_side(next_leader_side_++);
                          return true;
                        },
                    .end_output = [this](ConnId conn) { output_ended_.push_back(conn); }}) {}

  static int some_fd() { return ::open("/dev/null", O_RDONLY | O_CLOEXEC); }
  // The leader has accepted, or could not be reached.
  void answer_dial(bool reached = true) {
    ASSERT_FALSE(dialled_.empty());
    const auto done = std::exchange(dialled_.front().second, nullptr);
    dialled_.erase(dialled_.begin());
    done(reached ? some_fd() : -1);
  }
  core::Session& connected_client() {
    forwarder_.set_leader("leader:1");
    core::Session& client = forwarder_.open_client(1, now_);
    answer_dial();
    return client;
  }
  void say(core::Session& side, std::string_view bytes) {
    side.on_bytes({bytes.data(), bytes.size()}, now_);
  }
  bool has_changed(ConnId conn) {
    std::vector<ConnId> changed;
    forwarder_.take_changed(changed);
    return std::ranges::count(changed, conn) == 1;
  }

  Nanos now_ = second;
  std::vector<std::pair<std::string, std::function<void(int)>>> dialled_;
  std::vector<ConnId> output_ended_;
  ConnId next_leader_side_ = leader_side;
  core::Session* to_leader_ = nullptr;
  bool refuses_ = false;
  Forwarder forwarder_;
};

TEST_F(ForwarderTest, PassesBytesOnInBothDirections) {
  core::Session& client = connected_client();
  EXPECT_EQ(forwarder_.forwarded(), 1U);
  EXPECT_TRUE(client.reading());
  say(client, "put 0 0 1 1\r\n");
  say(client, "x\r\n");
  EXPECT_EQ(to_leader_->output(), "put 0 0 1 1\r\nx\r\n");
  EXPECT_TRUE(has_changed(leader_side));
  to_leader_->on_written(5);
  EXPECT_EQ(to_leader_->output(), " 0 1 1\r\nx\r\n");
  say(*to_leader_, "INSERTED 1\r\n");
  EXPECT_EQ(client.output(), "INSERTED 1\r\n");
}

// Its bytes stay in the kernel, so that nothing is lost if there is never a leader.
TEST_F(ForwarderTest, AClientIsNotReadBeforeTheLeaderIsThere) {
  core::Session& client = forwarder_.open_client(1, now_);
  EXPECT_FALSE(client.reading());
  EXPECT_TRUE(dialled_.empty());
  forwarder_.set_leader("leader:1");
  ASSERT_EQ(dialled_.size(), 1U);
  EXPECT_EQ(dialled_[0].first, "leader:1");
  EXPECT_FALSE(client.reading());
  answer_dial(false);
  EXPECT_FALSE(client.finished());
  forwarder_.on_time(now_ + second);
  answer_dial();
  EXPECT_TRUE(client.reading());
}

TEST_F(ForwarderTest, AClientWaitsForABoundedTime) {
  core::Session& client = forwarder_.open_client(1, now_);
  forwarder_.on_time(now_ + 10 * second - 1);
  EXPECT_FALSE(client.finished());
  forwarder_.on_time(now_ + 10 * second);
  EXPECT_TRUE(client.finished());
}

TEST_F(ForwarderTest, ASlowReaderStopsTheOtherSide) {
  core::Session& client = connected_client();
  const std::string much(200 << 10, 'x');
  say(*to_leader_, much);
  EXPECT_TRUE(to_leader_->reading());
  say(*to_leader_, much);
  EXPECT_FALSE(to_leader_->reading());
  EXPECT_TRUE(client.reading());
  std::vector<ConnId> changed;
  forwarder_.take_changed(changed);
  client.on_written(300 << 10);
  EXPECT_TRUE(to_leader_->reading());
  EXPECT_TRUE(has_changed(leader_side));
}

// `printf 'put ...' | nc -N`: the end of the commands is passed on, and the answers still come.
TEST_F(ForwarderTest, AClientThatHasSentAllStillGetsItsAnswers) {
  core::Session& client = connected_client();
  say(client, "stats\r\n");
  client.on_eof(now_);
  EXPECT_TRUE(output_ended_.empty());
  to_leader_->on_written(7);
  EXPECT_EQ(output_ended_, std::vector<ConnId>{leader_side});
  EXPECT_FALSE(client.finished());
  say(*to_leader_, "OK 0\r\n\r\n");
  to_leader_->on_eof(now_);
  EXPECT_FALSE(client.finished());
  client.on_written(8);
  EXPECT_TRUE(client.finished());
  EXPECT_TRUE(to_leader_->finished());
}

TEST_F(ForwarderTest, WhatTheLeaderHasSaidIsWrittenAfterItsEnd) {
  core::Session& client = connected_client();
  say(*to_leader_, "INSERTED 1\r\n");
  to_leader_->on_close(now_);
  EXPECT_EQ(forwarder_.forwarded(), 0U);
  EXPECT_FALSE(client.finished());
  client.on_written(12);
  EXPECT_TRUE(client.finished());
}

TEST_F(ForwarderTest, AnotherLeaderEndsConnections) {
  core::Session& client = connected_client();
  say(client, "reserve\r\n");
  core::Session& waiting = forwarder_.open_client(9, now_);
  forwarder_.set_leader("leader:2");
  EXPECT_TRUE(client.finished());
  EXPECT_TRUE(to_leader_->finished());
  EXPECT_FALSE(waiting.finished());
  // What was dialled before is of no use, and what is dialled next is.
  const size_t dials = dialled_.size();
  answer_dial();
  EXPECT_FALSE(waiting.reading());
  forwarder_.on_time(now_ + 1);
  ASSERT_EQ(dialled_.size(), dials);
  EXPECT_EQ(dialled_[0].first, "leader:2");
  answer_dial();
  EXPECT_TRUE(waiting.reading());
}

TEST_F(ForwarderTest, AClientThatLeavesMeanwhileIsForgotten) {
  forwarder_.set_leader("leader:1");
  forwarder_.open_client(1, now_).on_close(now_);
  answer_dial();
  EXPECT_EQ(to_leader_, nullptr);
  EXPECT_EQ(forwarder_.forwarded(), 0U);
}

TEST_F(ForwarderTest, AClientIsClosedWhenTheSystemLacksTheMeans) {
  refuses_ = true;
  core::Session& client = connected_client();
  EXPECT_TRUE(client.finished());
}

TEST_F(ForwarderTest, ClientsThatWaitCanBeServedElsewhere) {
  forwarder_.open_client(1, now_);
  core::Session& ended = forwarder_.open_client(2, now_);
  ended.on_half_close(now_);
  EXPECT_TRUE(ended.reading());
  say(ended, "stats\r\n");
  ended.on_eof(now_);
  EXPECT_FALSE(ended.finished());
  EXPECT_EQ(forwarder_.waiting(), (std::vector<ConnId>{1, 2}));
  const Forwarder::Early silent = forwarder_.take(1);
  EXPECT_EQ(silent.bytes, "");
  EXPECT_FALSE(silent.ended);
  const Forwarder::Early early = forwarder_.take(2);
  EXPECT_EQ(early.bytes, "stats\r\n");
  EXPECT_TRUE(early.ended);
  EXPECT_TRUE(forwarder_.waiting().empty());
}

TEST_F(ForwarderTest, WhatWasReadEarlyIsPassedOn) {
  core::Session& client = forwarder_.open_client(1, now_);
  client.on_half_close(now_);
  say(client, "stats\r\n");
  client.on_eof(now_);
  forwarder_.set_leader("leader:1");
  answer_dial();
  EXPECT_EQ(to_leader_->output(), "stats\r\n");
  to_leader_->on_written(7);
  EXPECT_EQ(output_ended_, std::vector<ConnId>{leader_side});
}

}  // namespace
}  // namespace perennial::perenniald
