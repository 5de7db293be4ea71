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

#include "cmd/perenniald/net/streams/forward_header.h"

namespace perennial::perenniald {
namespace {

constexpr Nanos second = nanos_per_second;
constexpr ConnId leader_side = 2;  // The first connection to the leader.

class ForwarderTest : public testing::Test, private Forwarder::Owner {
 protected:
  static int some_fd() { return ::open("/dev/null", O_RDONLY | O_CLOEXEC); }
  // The leader has accepted, or could not be reached.
  void answer_dial(bool reached = true) {
    ASSERT_FALSE(dialled_.empty());
    const auto done = std::exchange(dialled_.front().second, nullptr);
    dialled_.erase(dialled_.begin());
    done(reached ? some_fd() : -1);
  }
  // It has sent something, which is still in its socket, and no headers.
  core::Session& open_speaking(ConnId id) {
    core::Session& client = forwarder_.open_client(id, now_);
    say(client, "");
    return client;
  }
  core::Session& connected_client(bool reads_header = false) {
    forwarder_.set_leader("leader:1", reads_header);
    core::Session& client = open_speaking(1);
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
  std::vector<ConnId> circles_;
  ConnId next_leader_side_ = leader_side;
  core::Session* to_leader_ = nullptr;
  bool refuses_ = false;
  Forwarder forwarder_{10 * second, *this};

 private:
  void dial(const std::string& address, std::function<void(int fd)> done) override {
    dialled_.emplace_back(address, std::move(done));
  }
  bool adopt(int fd) override {
    ::close(fd);
    if (refuses_) return false;
    to_leader_ = &forwarder_.open_leader_side(next_leader_side_++);
    return true;
  }
  void end_output(ConnId conn) override { output_ended_.push_back(conn); }
  void on_circle(ConnId client) override { circles_.push_back(client); }
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
  core::Session& client = open_speaking(1);
  EXPECT_FALSE(client.reading());
  EXPECT_TRUE(dialled_.empty());
  forwarder_.set_leader("leader:1", false);
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
  EXPECT_TRUE(to_leader_->finished());
  to_leader_->on_close(now_);
  EXPECT_FALSE(client.finished());
  client.on_written(8);
  EXPECT_TRUE(client.finished());
}

// The server ends its sending side only by closing, as it does with those who do not sign in.
TEST_F(ForwarderTest, AClientIsClosedWhenTheLeaderHasClosed) {
  core::Session& client = connected_client();
  say(client, "stats\r\n");
  to_leader_->on_eof(now_);
  EXPECT_TRUE(to_leader_->finished());
  to_leader_->on_close(now_);
  EXPECT_TRUE(client.finished());
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
  core::Session& waiting = open_speaking(9);
  forwarder_.set_leader("leader:2", false);
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
  forwarder_.set_leader("leader:1", false);
  open_speaking(1).on_close(now_);
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
  forwarder_.set_leader("leader:1", false);
  answer_dial();
  EXPECT_EQ(to_leader_->output(), "stats\r\n");
  to_leader_->on_written(7);
  EXPECT_EQ(output_ended_, std::vector<ConnId>{leader_side});
}

const std::string header(forward_header);

// It leaves at once, so that a client that says nothing is counted, too.
TEST_F(ForwarderTest, AHeaderIsInFrontOfWhatAClientSends) {
  core::Session& client = connected_client(true);
  EXPECT_EQ(to_leader_->output(), header);
  say(client, "stats\r\n");
  EXPECT_EQ(to_leader_->output(), header + "stats\r\n");
}

TEST_F(ForwarderTest, ALeaderThatDoesNotReadItGetsNoHeader) {
  core::Session& client = connected_client(false);
  EXPECT_EQ(to_leader_->output(), "");
  say(client, "stats\r\n");
  EXPECT_EQ(to_leader_->output(), "stats\r\n");
}

// Two nodes have one address, as behind a balancer, and the second one is older.
TEST_F(ForwarderTest, TheNextLeaderAtTheSameAddressMayNotReadTheHeader) {
  forwarder_.set_leader("leader:1", true);
  open_speaking(1);
  forwarder_.set_leader("leader:1", false);
  answer_dial();
  EXPECT_EQ(to_leader_->output(), "");
}

TEST_F(ForwarderTest, HeadersOfOtherStandbysArePassedOn) {
  core::Session& client = connected_client(true);
  say(client, header + header);
  EXPECT_EQ(to_leader_->output(), header + header + header);
  // What is no header in front of its bytes is the client's.
  say(client, "put 0 0 1 38\r\n" + header);
  EXPECT_EQ(to_leader_->output(), header + header + header + "put 0 0 1 38\r\n" + header);
  EXPECT_FALSE(client.finished());
  EXPECT_TRUE(circles_.empty());
}

// Split anywhere but where a client's empty lines could be: forward_header_test.cc.
TEST_F(ForwarderTest, AClientThatWasPassedOnTooOftenIsClosed) {
  std::string much;
  for (size_t hop = 0; hop < forward_hops_max; ++hop) much += header;
  for (size_t cut = 5; cut < header.size(); ++cut) {
    SCOPED_TRACE(cut);
    forwarder_.set_leader("leader:1", true);
    const ConnId id = 1'000 + cut;
    core::Session& client = open_speaking(id);
    answer_dial();
    say(client, std::string_view(much).substr(0, 2 * header.size() + cut));
    EXPECT_FALSE(client.finished());
    say(client, std::string_view(much).substr(2 * header.size() + cut));
    EXPECT_EQ(circles_, std::vector<ConnId>{id});
    EXPECT_TRUE(client.finished());
    EXPECT_TRUE(to_leader_->finished());
    client.on_close(now_);
    to_leader_->on_close(now_);
    EXPECT_EQ(forwarder_.forwarded(), 0U);
    circles_.clear();
  }
}

// Else the next one in the circle would have dialled before it hears of it, and so on.
TEST_F(ForwarderTest, ACircleEndsBeforeTheLeaderIsDialled) {
  forwarder_.set_leader("leader:1", true);
  core::Session& client = forwarder_.open_client(1, now_);
  EXPECT_TRUE(client.reading());
  EXPECT_TRUE(dialled_.empty());
  say(client, header + header + header);
  EXPECT_EQ(circles_, std::vector<ConnId>{1});
  EXPECT_TRUE(client.finished());
  EXPECT_FALSE(client.reading());
  EXPECT_TRUE(dialled_.empty());
}

TEST_F(ForwarderTest, HeadersThatWereReadFirstArePassedOn) {
  forwarder_.set_leader("leader:1", true);
  core::Session& client = forwarder_.open_client(1, now_);
  say(client, header);
  EXPECT_FALSE(client.reading());
  answer_dial();
  EXPECT_EQ(to_leader_->output(), header + header);
  say(client, header + "stats\r\n");
  EXPECT_EQ(to_leader_->output(), header + header + header + "stats\r\n");
  EXPECT_TRUE(circles_.empty());
}

// No standby is silent, so it is a client, and has its connection to the leader after a while.
TEST_F(ForwarderTest, ASilentClientIsConnectedAfterAWhile) {
  forwarder_.set_leader("leader:1", true);
  core::Session& client = forwarder_.open_client(1, now_);
  forwarder_.on_time(now_ + second / 2 - 1);
  EXPECT_TRUE(dialled_.empty());
  forwarder_.on_time(now_ + second / 2);
  answer_dial();
  EXPECT_EQ(to_leader_->output(), header);
  EXPECT_TRUE(client.reading());
}

TEST_F(ForwarderTest, AClientThatLeavesWithoutAWordIsClosed) {
  forwarder_.set_leader("leader:1", true);
  core::Session& client = forwarder_.open_client(1, now_);
  client.on_eof(now_);
  EXPECT_TRUE(client.finished());
  EXPECT_TRUE(dialled_.empty());
}

// Answers are no client's bytes: a job may be such headers.
TEST_F(ForwarderTest, WhatTheLeaderSaysIsNotCounted) {
  core::Session& client = connected_client(true);
  say(*to_leader_, header + header + header);
  EXPECT_EQ(client.output(), header + header + header);
  EXPECT_FALSE(client.finished());
}

TEST_F(ForwarderTest, HeadersEndAtTheNodeThatServes) {
  core::Session& client = forwarder_.open_client(1, now_);
  client.on_half_close(now_);
  say(client, header + header + "stats\r\n");
  client.on_eof(now_);
  EXPECT_EQ(forwarder_.take(1).bytes, "stats\r\n");
}

}  // namespace
}  // namespace perennial::perenniald
