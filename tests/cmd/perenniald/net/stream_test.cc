#include "cmd/perenniald/net/streams/stream.h"

#include <array>
#include <string>
#include <utility>

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

namespace perennial::perenniald {
namespace {

using State = Stream::State;

class PlainStreamTest : public testing::Test {
 protected:
  ~PlainStreamTest() override {
    if (ends_[1] >= 0) close(ends_[1]);
  }

  static std::array<int, 2> connect() {
    std::array<int, 2> ends = {};
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends.data()), 0);
    return ends;
  }
  void leave() { close(std::exchange(ends_[1], -1)); }

  std::array<int, 2> ends_ = connect();
  PlainStream stream_{ends_[0]};
  std::array<char, 16 + Stream::piece_bytes_max> buffer_ = {};
};

TEST_F(PlainStreamTest, ReadReturnsTheBytesThatHaveArrived) {
  EXPECT_EQ(stream_.read(buffer_, 16).state, State::Blocked);
  ASSERT_EQ(send(ends_[1], "abc", 3, 0), 3);
  const Stream::Outcome got = stream_.read(buffer_, 16);
  EXPECT_EQ(got.state, State::Done);
  EXPECT_EQ(std::string(buffer_.data(), got.bytes), "abc");
  EXPECT_EQ(stream_.read(buffer_, 16).state, State::Blocked);
}

TEST_F(PlainStreamTest, AnEndComesAfterAllSentBytes) {
  ASSERT_EQ(send(ends_[1], "abc", 3, 0), 3);
  leave();
  EXPECT_EQ(stream_.read(buffer_, 16).bytes, 3U);
  EXPECT_EQ(stream_.read(buffer_, 16).state, State::Ended);
}

TEST_F(PlainStreamTest, WritesUntilTheSocketIsFull) {
  const std::string much(1 << 20, 'x');
  Stream::Outcome written = stream_.write(much);
  EXPECT_EQ(written.state, State::Done);
  EXPECT_GT(written.bytes, 0U);
  while (written.state == State::Done) written = stream_.write(much);
  EXPECT_EQ(written.state, State::Blocked);
  EXPECT_EQ(written.bytes, 0U);
}

TEST_F(PlainStreamTest, WritingToAClosedConnectionFails) {
  leave();
  EXPECT_EQ(stream_.write("x").state, State::Failed);
}

}  // namespace
}  // namespace perennial::perenniald
