#include "cmd/perenniald/net/acceptor.h"

#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <uv.h>

#include "tests/support/temp_dir.h"

namespace perennial::perenniald {
namespace {

class AcceptorTest : public testing::Test {
 protected:
  AcceptorTest() {
    EXPECT_EQ(uv_loop_init(&loop_), 0);
    auto sockets =
        bind_sockets({{.kind = common::Address::Kind::Unix, .host = "", .path = path_}}, 0);
    EXPECT_TRUE(sockets.ok()) << sockets.status().message();
    acceptor_.emplace(
        loop_, sockets.take(), budget_,
        Acceptor::Hooks{
            .has_slot = [this](const BoundSocket&) { return accepted_.size() < slots_; },
            .accepted =
                [this](const AcceptedSocket& socket) {
                  accepted_.push_back(socket);
                  return Status();
                }});
    std::vector<std::string> names;
    EXPECT_TRUE(acceptor_->listen([](const BoundSocket&) { return true; }, names).ok());
    EXPECT_EQ(names.size(), 1U);
  }
  ~AcceptorTest() override {
    acceptor_->close();
    while (uv_run(&loop_, UV_RUN_DEFAULT) != 0) continue;
    acceptor_.reset();
    EXPECT_EQ(uv_loop_close(&loop_), 0);
    for (const int fd : clients_) close(fd);
    for (const AcceptedSocket& socket : accepted_) close(socket.fd);
  }

  void connect_clients(int count) {
    sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = {}};
    ASSERT_LT(path_.size(), sizeof address.sun_path);
    path_.copy(address.sun_path, path_.size());
    for (int i = 0; i < count; ++i) {
      const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
      clients_.push_back(fd);
      ASSERT_EQ(connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    }
  }
  void turn() {
    clock_.now();
    uv_run(&loop_, UV_RUN_NOWAIT);
    clock_.end_turn();
  }

  const support::TempDir dir_;
  const std::string path_ = dir_.path() + "/queue.sock";
  uv_loop_t loop_ = {};
  TurnClock clock_;
  TurnBudget budget_{clock_};
  size_t slots_ = 1'000;
  std::vector<AcceptedSocket> accepted_;
  std::vector<int> clients_;
  std::optional<Acceptor> acceptor_;
};

TEST_F(AcceptorTest, AClientOfAUnixSocketIsLocalAndSpeaksTheQueuesProtocol) {
  ASSERT_NO_FATAL_FAILURE(connect_clients(1));
  turn();
  ASSERT_EQ(accepted_.size(), 1U);
  EXPECT_TRUE(accepted_[0].is_local);
  EXPECT_EQ(accepted_[0].role, ListenerRole::Queue);
}

TEST_F(AcceptorTest, OfManyClientsSomeAreAcceptedInEachTurn) {
  ASSERT_NO_FATAL_FAILURE(connect_clients(100));
  turn();
  EXPECT_GE(accepted_.size(), 8U);
  EXPECT_LE(accepted_.size(), 64U);
  for (int turns = 0; turns < 12; ++turns) turn();
  EXPECT_EQ(accepted_.size(), 100U);
}

TEST_F(AcceptorTest, WithoutAFreeSlotClientsWaitUntilOneIsFree) {
  slots_ = 2;
  ASSERT_NO_FATAL_FAILURE(connect_clients(3));
  turn();
  EXPECT_EQ(accepted_.size(), 2U);
  acceptor_->on_slot_free();
  turn();
  EXPECT_EQ(accepted_.size(), 2U);
  slots_ = 3;
  acceptor_->on_slot_free();
  turn();
  EXPECT_EQ(accepted_.size(), 3U);
}

TEST(TurnBudget, AFewClientsAreAcceptedEvenInALongTurn) {
  TurnClock clock;
  clock.now();
  while (clock.turn_so_far() < 20 * nanos_per_ms) usleep(1'000);
  const TurnBudget budget(clock);
  EXPECT_FALSE(budget.may_read());
  EXPECT_TRUE(budget.may_accept(7));
  EXPECT_FALSE(budget.may_accept(8));
}

}  // namespace
}  // namespace perennial::perenniald
