#include "cmd/perenniald/net/streams/socket_batch.h"

#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/cmd/perenniald/net/socket_pair.h"

namespace perennial::perenniald {
namespace {

using State = Stream::State;

class SocketBatchTest : public testing::Test {
 protected:
  std::unique_ptr<SocketBatch> batch_ = SocketBatch::create().take();
};

TEST_F(SocketBatchTest, EachSocketHasItsOwnOutcome) {
  std::array<SocketPair, 6> pairs;
  std::array<std::array<char, 4>, 3> buffers = {};
  const std::string large(8 << 20, 'x');
  pairs[1].close_theirs();
  pairs[3].say("abcdef");
  pairs[4].close_theirs();
  batch_->send(pairs[0].ours(), "hello");
  batch_->send(pairs[1].ours(), "hello");
  batch_->send(pairs[2].ours(), large);
  batch_->receive(pairs[3].ours(), buffers[0]);
  batch_->receive(pairs[4].ours(), buffers[1]);
  batch_->receive(pairs[5].ours(), buffers[2]);
  EXPECT_EQ(batch_->count(), 6u);
  const auto outcomes = batch_->run();
  ASSERT_EQ(outcomes.size(), 6u);
  EXPECT_EQ(batch_->count(), 0u);
  EXPECT_TRUE(batch_->status().ok());
  EXPECT_EQ(outcomes[0].state, State::Done);
  EXPECT_EQ(outcomes[0].bytes, 5u);
  EXPECT_EQ(pairs[0].hear(), "hello");
  EXPECT_EQ(outcomes[1].state, State::Failed);
  // A part of the bytes, and then nothing: the kernel keeps no request for later.
  EXPECT_EQ(outcomes[2].state, State::Done);
  EXPECT_GT(outcomes[2].bytes, 0u);
  EXPECT_LT(outcomes[2].bytes, large.size());
  EXPECT_EQ(outcomes[3].state, State::Done);
  EXPECT_EQ(std::string_view(buffers[0].data(), outcomes[3].bytes), "abcd");
  EXPECT_EQ(outcomes[4].state, State::Ended);
  EXPECT_EQ(outcomes[5].state, State::Blocked);
  batch_->send(pairs[2].ours(), "more");
  EXPECT_EQ(batch_->run()[0].state, State::Blocked);
  EXPECT_FALSE(pairs[2].hear().ends_with("more"));
}

TEST_F(SocketBatchTest, ItIsFullAndThenEmptyAgain) {
  std::vector<std::unique_ptr<SocketPair>> pairs;
  while (pairs.size() < SocketBatch::sockets_max) pairs.push_back(std::make_unique<SocketPair>());
  for (int times = 0; times < 100; ++times) {
    for (const auto& pair : pairs) {
      ASSERT_TRUE(batch_->has_slot());
      batch_->send(pair->ours(), "hello");
    }
    EXPECT_FALSE(batch_->has_slot());
    EXPECT_EQ(batch_->run().size(), SocketBatch::sockets_max);
    for (const auto& pair : pairs) ASSERT_EQ(pair->hear(), "hello");
  }
  EXPECT_TRUE(batch_->run().empty());
}

// Lets the kernel refuse this system call to the process, as the rules of containers do.
void forbid(uint32_t call) {
  sock_filter rules[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program = {.len = std::size(rules), .filter = rules};
  ASSERT_EQ(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
  ASSERT_EQ(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
}

// Both in a process of their own, because nothing lifts the rules again.
TEST(SocketBatchDeathTest, SaysThatTheKernelForbidsIt) {
  const auto create = [] {
    forbid(__NR_io_uring_setup);
    const auto batch = SocketBatch::create();
    const bool is_refused = batch.status().code() == StatusCode::Unsupported &&
                            batch.status().message() == "io_uring: Operation not permitted";
    _exit(is_refused ? 0 : 1);
  };
  EXPECT_EXIT(create(), testing::ExitedWithCode(0), "");
}

TEST(SocketBatchDeathTest, SocketsAreBlockedWhenTheKernelRefusesACall) {
  const auto run = [] {
    const SocketPair pair;
    const std::unique_ptr<SocketBatch> batch = SocketBatch::create().take();
    forbid(__NR_io_uring_enter);
    batch->send(pair.ours(), "hello");
    batch->send(pair.ours(), "hello");
    const auto outcomes = batch->run();
    const bool is_refused = outcomes[0].state == State::Blocked &&
                            outcomes[1].state == State::Blocked &&
                            batch->status().code() == StatusCode::Io && pair.hear().empty();
    _exit(is_refused ? 0 : 1);
  };
  EXPECT_EXIT(run(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace perennial::perenniald
