#include "cmd/perenniald/net/streams/forward_header.h"

#include <array>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cmd/perenniald/net/streams/proxy_header.h"
#include "cmd/perenniald/net/streams/proxy_stream.h"
#include "cmd/perenniald/net/streams/stream.h"

namespace perennial::perenniald {
namespace {

using State = Stream::State;

const std::string header(forward_header);
const std::string balancers = "PROXY TCP4 192.0.2.1 192.0.2.2 4711 11300\r\n";

std::string headers(size_t count) {
  std::string out;
  for (size_t i = 0; i < count; ++i) out += header;
  return out;
}

// What others make of it: a header with which a proxy speaks for itself.
TEST(ForwardHeader, IsAHeaderOfTheProxyProtocolThatNamesNobody) {
  const ProxyHeaderRead read = read_proxy_header(header + "stats\r\n");
  EXPECT_EQ(read.state, ProxyHeaderRead::State::Whole);
  EXPECT_EQ(read.header.bytes, header.size());
  EXPECT_EQ(read.header.address, std::nullopt);
}

// It goes over the network between versions.
TEST(ForwardHeader, NeverChanges) {
  EXPECT_EQ(header,
            std::string("\r\n\r\n\0\r\nQUIT\n\x20\0\0\x16\xe0\0\x13", 19) + "perennial forwarded");
}

struct Case {
  const char* name;
  std::string bytes;
  size_t count = 0;          // Headers.
  std::string clients = {};  // What is left.
};

const std::vector<Case> cases = {
    {"One", header + "stats\r\n", 1, "stats\r\n"},
    {"Two", headers(2) + "stats\r\n", 2, "stats\r\n"},
    {"ThreeAndTls", headers(3) + "\x16\x03\x01", 3, "\x16\x03\x01"},
    {"AFourthIsTheClients", headers(4) + "stats\r\n", 3, header + "stats\r\n"},
    {"None", "stats\r\n", 0, "stats\r\n"},
    {"NotInFront", "stats\r\n" + header, 0, "stats\r\n" + header},
    {"ABalancersBehind", header + balancers, 1, balancers},
    {"Whole", header, 1, ""},
};

class ForwardHeaderStream : public testing::Test {
 protected:
  ForwardHeaderStream() {
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends_.data()), 0);
    stream_ = std::make_unique<PlainStream>(ends_[0], PlainStream::Head::Forwards);
  }
  ~ForwardHeaderStream() override { close(ends_[1]); }

  void say(std::string_view bytes) {
    EXPECT_EQ(send(ends_[1], bytes.data(), bytes.size(), 0), static_cast<ssize_t>(bytes.size()));
  }
  std::string hear() {
    std::array<char, 1'000 + Stream::piece_bytes_max> buffer = {};
    std::string out;
    for (;;) {
      const Stream::Outcome got = stream_->read(buffer, 1'000);
      EXPECT_NE(got.state, State::Failed);
      if (got.state != State::Done) return out;
      EXPECT_GT(got.bytes, 0u);
      out.append(buffer.data(), got.bytes);
    }
  }

  std::array<int, 2> ends_ = {};
  std::unique_ptr<PlainStream> stream_;
};

class ForwardHeaderTest : public ForwardHeaderStream, public testing::WithParamInterface<Case> {};

TEST_P(ForwardHeaderTest, IsCountedAndRemoved) {
  const Case& test = GetParam();
  ForwardHeaders read;
  const size_t taken = read.take(test.bytes);
  EXPECT_EQ(read.count(), test.count);
  EXPECT_EQ(std::string(read.given_back()) + test.bytes.substr(taken), test.clients);
  EXPECT_EQ(read.done(), !test.clients.empty());
  EXPECT_FALSE(stream_->is_plain());
  say(test.bytes);
  EXPECT_EQ(hear(), test.clients);
  EXPECT_EQ(stream_->is_plain(), !test.clients.empty());
}

// Split in two, and byte by byte from there on. Where a client's empty lines could be, the rest of
// a header is the client's, who is refused for it.
TEST_P(ForwardHeaderTest, MayComeInPieces) {
  const Case& test = GetParam();
  for (size_t cut = 1; cut < test.bytes.size(); ++cut) {
    SCOPED_TRACE(cut);
    const bool in_header = cut < test.count * header.size();
    const size_t at = cut % header.size();
    const bool is_split_early = in_header && at >= 1 && at <= 4;
    ForwardHeaders read;
    std::string clients;
    const auto take = [&](std::string_view bytes) {
      const bool was_done = read.done();
      const size_t taken = read.take(bytes);
      if (!was_done) clients += read.given_back();
      clients += bytes.substr(taken);
    };
    take(std::string_view(test.bytes).substr(0, cut));
    take(std::string_view(test.bytes).substr(cut));
    EXPECT_EQ(clients, is_split_early ? test.bytes.substr(cut - at) : test.clients);
    EXPECT_EQ(read.count(), is_split_early ? cut / header.size() : test.count);
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, ForwardHeaderTest, testing::ValuesIn(cases),
                         [](const auto& test) { return std::string(test.param.name); });

// Each byte is that of the header, or all are the client's.
TEST_F(ForwardHeaderStream, OneOtherByteMakesItTheClients) {
  for (size_t at = 0; at < header.size(); ++at) {
    SCOPED_TRACE(at);
    std::string bytes = header + "stats\r\n";
    bytes[at] = static_cast<char>(bytes[at] ^ 1);
    ForwardHeaders read;
    const size_t taken = read.take(bytes);
    EXPECT_EQ(read.count(), 0u);
    EXPECT_EQ(std::string(read.given_back()) + bytes.substr(taken), bytes);
  }
}

// A client of the queue waits for the answers to these.
TEST_F(ForwardHeaderStream, EmptyLinesAreAClients) {
  say("\r\n");
  EXPECT_EQ(hear(), "\r\n");
  EXPECT_TRUE(stream_->is_plain());
  say(header);
  EXPECT_EQ(hear(), header);
}

TEST_F(ForwardHeaderStream, EmptyLinesBehindAHeaderAreAClients) {
  say(header);
  EXPECT_EQ(hear(), "");
  say("\r\n\r\n");
  EXPECT_EQ(hear(), "\r\n\r\n");
}

TEST_F(ForwardHeaderStream, WhatBeganLikeAHeaderIsGivenBack) {
  say(header.substr(0, 30));
  EXPECT_EQ(hear(), "");
  say("no");
  EXPECT_EQ(hear(), header.substr(0, 30) + "no");
  EXPECT_TRUE(stream_->is_plain());
}

TEST_F(ForwardHeaderStream, NothingIsRemovedWhereNobodyIsPassedOn) {
  stream_ = std::make_unique<PlainStream>(stream_->release());
  EXPECT_TRUE(stream_->is_plain());
  say(header);
  EXPECT_EQ(hear(), header);
}

// As a standby reads its clients: what is theirs stays in the socket until the leader is connected.
TEST_P(ForwardHeaderTest, IsReadFirstAndAlone) {
  const Case& test = GetParam();
  stream_ = std::make_unique<PlainStream>(stream_->release(), PlainStream::Head::ForwardsFirst);
  EXPECT_FALSE(stream_->is_plain());
  std::array<char, 1'000 + Stream::piece_bytes_max> buffer = {};
  EXPECT_EQ(stream_->read(buffer, 1'000).state, State::Blocked);
  say(test.bytes);
  const Stream::Outcome got = stream_->read(buffer, 1'000);
  EXPECT_EQ(got.state, State::Done);
  EXPECT_EQ(std::string(buffer.data(), got.bytes), headers(test.count));
  EXPECT_TRUE(stream_->is_plain());
  EXPECT_EQ(hear(), test.clients);
}

TEST_F(ForwardHeaderStream, AnEndMayComeFirst) {
  stream_ = std::make_unique<PlainStream>(stream_->release(), PlainStream::Head::ForwardsFirst);
  ASSERT_EQ(shutdown(ends_[1], SHUT_WR), 0);
  std::array<char, 1'000 + Stream::piece_bytes_max> buffer = {};
  EXPECT_EQ(stream_->read(buffer, 1'000).state, State::Ended);
}

// A balancer in front of the standby, or in front of the leader.
TEST_F(ForwardHeaderStream, StandsInFrontOfABalancersHeader) {
  for (size_t count = 0; count <= forward_hops_max + 1; ++count) {
    SCOPED_TRACE(count);
    std::array<int, 2> ends = {};
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends.data()), 0);
    ProxyStream stream(ends[0]);
    const std::string bytes = headers(count) + balancers + header + "stats\r\n";
    for (const char byte : bytes) {
      ASSERT_EQ(send(ends[1], &byte, 1, 0), 1);
      std::array<char, 16 + Stream::piece_bytes_max> buffer = {};
      if (stream.header()) break;
      EXPECT_EQ(stream.read(buffer, 16).state, State::Blocked);
    }
    ASSERT_TRUE(stream.header());
    // One too many is the header of somebody who speaks for himself.
    EXPECT_EQ(stream.header()->peer, count <= forward_hops_max ? "192.0.2.1:4711" : "");
    close(ends[1]);
  }
}

}  // namespace
}  // namespace perennial::perenniald
