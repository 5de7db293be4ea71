#include "cmd/perenniald/standby/leader_watch.h"

#include <cerrno>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

#include "cmd/perenniald/standby/dialer.h"

namespace perennial::perenniald {
namespace {

// A process that listens, as far as others can see.
class Listener {
 public:
  explicit Listener(uint16_t port = 0) : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0)) {
    const int on = 1;
    EXPECT_EQ(setsockopt(fd_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on), 0);
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(port);
    EXPECT_EQ(::bind(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(::listen(fd_, 8), 0);
    socklen_t length = sizeof address;
    EXPECT_EQ(::getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &length), 0);
    port_ = ntohs(address.sin_port);
  }
  ~Listener() {
    drop_clients();
    stop_listening();
  }
  // Returns whether somebody has connected.
  bool accept() {
    const int fd = ::accept(fd_, nullptr, nullptr);
    if (fd >= 0) accepted_.push_back(fd);
    return fd >= 0;
  }
  void drop_clients() {
    for (const int fd : accepted_) ::close(fd);
    accepted_.clear();
  }
  // As a firewall does.
  void reset_clients() {
    const linger at_once = {.l_onoff = 1, .l_linger = 0};
    for (const int fd : accepted_)
      EXPECT_EQ(setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once), 0);
    drop_clients();
  }
  void stop_listening() {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  }
  uint16_t port() const { return port_; }
  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }

 private:
  int fd_;
  uint16_t port_ = 0;
  std::vector<int> accepted_;
};

class LeaderWatchTest : public testing::Test {
 protected:
  LeaderWatchTest() {
    EXPECT_EQ(uv_loop_init(&loop_), 0);
    dialer_.emplace(loop_);
    watch_.emplace(
        loop_, *dialer_,
        LeaderWatch::Hooks{.ended = [this](uint64_t epoch) { ended_.push_back(epoch); },
                           .reached = [this](std::optional<bool> reached) { reached_ = reached; }});
  }
  ~LeaderWatchTest() override {
    watch_->close();
    dialer_->close();
    while (uv_run(&loop_, UV_RUN_DEFAULT) != 0) continue;
    watch_.reset();
    dialer_.reset();
    EXPECT_EQ(uv_loop_close(&loop_), 0);
  }
  // Runs the loop until it is so. Returns false after ten seconds.
  bool wait_until(const std::function<bool()>& is_so) {
    const uint64_t end = uv_hrtime() + 10'000'000'000;
    while (uv_hrtime() < end) {
      if (is_so()) return true;
      uv_run(&loop_, UV_RUN_NOWAIT);
      usleep(1000);
    }
    return false;
  }
  bool wait_for_connection(Listener& listener) {
    return wait_until([&] { return listener.accept(); });
  }
  void run_for(uint64_t milliseconds) {
    const uint64_t end = uv_hrtime() + milliseconds * 1'000'000;
    wait_until([&] { return uv_hrtime() >= end; });
  }

  uv_loop_t loop_ = {};
  std::optional<Dialer> dialer_;
  std::optional<LeaderWatch> watch_;
  std::vector<uint64_t> ended_;
  std::optional<bool> reached_;  // As was told last.
};

TEST_F(LeaderWatchTest, TheEndOfTheProcessIsNoticed) {
  std::optional<Listener> leader(std::in_place);
  watch_->set_leader(leader->address(), 7);
  ASSERT_TRUE(wait_for_connection(*leader));
  leader.reset();
  EXPECT_TRUE(wait_until([this] { return !ended_.empty(); }));
  EXPECT_EQ(ended_, std::vector<uint64_t>{7});
  run_for(1200);  // It is said once.
  EXPECT_EQ(ended_, std::vector<uint64_t>{7});
}

// The process ends before it has accepted the newest line, whose end is a reset then.
TEST_F(LeaderWatchTest, TheEndIsNoticedWhileALineIsReplaced) {
  std::optional<Listener> leader(std::in_place);
  watch_->set_leader(leader->address(), 7);
  ASSERT_TRUE(wait_for_connection(*leader));
  run_for(3'300);  // It is dialled again after three seconds.
  leader->stop_listening();
  leader->drop_clients();
  EXPECT_TRUE(wait_until([this] { return !ended_.empty(); }));
}

// Its line is closed before its port, which takes another line and never accepts it.
TEST_F(LeaderWatchTest, TheEndIsNoticedWhileThePortStillTakesLines) {
  std::optional<Listener> leader(std::in_place);
  watch_->set_leader(leader->address(), 7);
  ASSERT_TRUE(wait_for_connection(*leader));
  leader->drop_clients();
  run_for(100);
  leader.reset();
  EXPECT_TRUE(wait_until([this] { return !ended_.empty(); }));
}

// The same a while later: the process lives, and its firewall changes.
TEST_F(LeaderWatchTest, AResetLongAfterAnotherLineWasClosedSaysNothing) {
  std::optional<Listener> leader(std::in_place);
  watch_->set_leader(leader->address(), 7);
  ASSERT_TRUE(wait_for_connection(*leader));
  leader->drop_clients();
  run_for(1'500);
  leader.reset();
  run_for(1'200);
  EXPECT_TRUE(ended_.empty());
}

// A server closes connections that say nothing, and its restart resets them.
TEST_F(LeaderWatchTest, AConnectionThatEndsIsOpenedAgain) {
  Listener leader;
  watch_->set_leader(leader.address(), 7);
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(wait_for_connection(leader));
    leader.drop_clients();
  }
  EXPECT_TRUE(ended_.empty());
}

// It may be behind a firewall that answers for it.
TEST_F(LeaderWatchTest, ARefusalAloneSaysNothing) {
  std::optional<Listener> leader(std::in_place);
  const std::string address = leader->address();
  leader.reset();
  watch_->set_leader(address, 8);
  run_for(1200);
  EXPECT_TRUE(ended_.empty());
}

TEST_F(LeaderWatchTest, ALineThatIsResetSaysNothing) {
  std::optional<Listener> leader(std::in_place);
  watch_->set_leader(leader->address(), 7);
  ASSERT_TRUE(wait_for_connection(*leader));
  leader->reset_clients();
  leader.reset();
  run_for(1200);
  EXPECT_TRUE(ended_.empty());
}

// The line still holds when another one is refused, and then it is closed for its silence.
TEST_F(LeaderWatchTest, APortThatRefusesWhileTheLineHoldsSaysNothing) {
  Listener leader;
  watch_->set_leader(leader.address(), 7);
  ASSERT_TRUE(wait_for_connection(leader));
  leader.stop_listening();
  run_for(5'000);
  EXPECT_TRUE(ended_.empty());
  leader.drop_clients();
  run_for(1200);
  EXPECT_TRUE(ended_.empty());
}

TEST_F(LeaderWatchTest, AFormerLeaderIsOfNoInterest) {
  std::optional<Listener> first(std::in_place);
  Listener second;
  watch_->set_leader(first->address(), 1);
  ASSERT_TRUE(wait_for_connection(*first));
  watch_->set_leader(second.address(), 2);
  ASSERT_TRUE(wait_for_connection(second));
  first.reset();
  run_for(200);
  EXPECT_TRUE(ended_.empty());
  watch_->set_leader("", 0);
  run_for(50);
  EXPECT_TRUE(ended_.empty());
}

TEST_F(LeaderWatchTest, TellsWhetherTheLeaderIsReached) {
  std::optional<Listener> leader(std::in_place);
  const std::string address = leader->address();
  watch_->set_leader(address, 7);
  EXPECT_EQ(reached_, std::nullopt);
  ASSERT_TRUE(wait_for_connection(*leader));
  EXPECT_TRUE(wait_until([this] { return reached_ == true; }));
  leader.reset();
  run_for(3'000);
  EXPECT_EQ(reached_, true);  // Its restart may be on the way.
  run_for(4'000);
  EXPECT_EQ(reached_, false);
  watch_->set_leader("", 0);
  EXPECT_EQ(reached_, std::nullopt);
}

TEST_F(LeaderWatchTest, ANameWithoutAnAddressSaysNothing) {
  watch_->set_leader("no-such-host.invalid:1", 3);
  run_for(300);
  EXPECT_TRUE(ended_.empty());
}

class DialerTest : public LeaderWatchTest {};

TEST_F(DialerTest, GivesAConnectedSocketOrAnError) {
  std::optional<Listener> listener(std::in_place);
  const std::string address = listener->address();
  int got = -2;
  int failed = 0;
  const auto done = [&](int fd, int error) {
    got = fd;
    failed = error;
  };
  dialer_->dial(address, done);
  EXPECT_EQ(got, -2);
  ASSERT_TRUE(wait_until([&] { return got != -2; }));
  ASSERT_GE(got, 0);
  EXPECT_TRUE(listener->accept());
  EXPECT_EQ(::send(got, "x", 1, 0), 1);
  ::close(got);
  listener.reset();
  got = -2;
  dialer_->dial(address, done);
  ASSERT_TRUE(wait_until([&] { return got != -2; }));
  EXPECT_EQ(got, -1);
  EXPECT_EQ(failed, ECONNREFUSED);
  got = -2;
  dialer_->dial("not an address", done);
  ASSERT_TRUE(wait_until([&] { return got != -2; }));
  EXPECT_EQ(got, -1);
}

TEST_F(DialerTest, NothingIsCalledAfterItsEnd) {
  Listener listener;
  int calls = 0;
  for (int i = 0; i < 3; ++i) {
    dialer_->dial(listener.address(), [&](int fd, int) {
      ++calls;
      if (fd >= 0) ::close(fd);
    });
  }
  uv_run(&loop_, UV_RUN_NOWAIT);
  dialer_->close();
  const int before = calls;
  run_for(100);
  EXPECT_EQ(calls, before);
}

}  // namespace
}  // namespace perennial::perenniald
