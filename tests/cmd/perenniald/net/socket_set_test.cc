#include "cmd/perenniald/net/socket_set.h"

#include <cstdio>
#include <memory>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/cmd/perenniald/net/socket_pair.h"

namespace perennial::perenniald {
namespace {

using Interest = SocketSet::Interest;
constexpr Interest reading = {.reading = true};
constexpr Interest writing = {.writing = true};
constexpr Interest both = {.reading = true, .writing = true};
constexpr Interest ending = {.ending = true};
constexpr Interest all = {.reading = true, .writing = true, .ending = true};
constexpr Interest none = {};

class SocketSetTest : public testing::Test {
 protected:
  using Reports = std::vector<SocketSet::Report>;

  void SetUp() override {
    ASSERT_EQ(uv_loop_init(&loop_), 0);
    set_ = std::make_unique<SocketSet>(
        loop_,
        [this](std::span<const SocketSet::Report> reports) {
          EXPECT_LE(reports.size(), SocketSet::reports_max);
          reported_.insert(reported_.end(), reports.begin(), reports.end());
        },
        [this] { return reported_.size() < enough_; });
  }
  void TearDown() override {
    set_->close();
    uv_run(&loop_, UV_RUN_DEFAULT);
    set_.reset();
    EXPECT_EQ(uv_loop_close(&loop_), 0);
  }

  // Runs a turn of the loop, and returns the sockets that it reports.
  Reports turn() {
    reported_.clear();
    uv_run(&loop_, UV_RUN_NOWAIT);
    return reported_;
  }
  std::vector<ConnId> turn_ids() {
    std::vector<ConnId> ids;
    for (const auto& [conn, can] : turn()) ids.push_back(conn);
    return ids;
  }

  uv_loop_t loop_;
  size_t enough_ = 1;
  Reports reported_;
  std::unique_ptr<SocketSet> set_;
};

// The ids of `count` sockets in the order in which 80 of them are reported.
std::vector<ConnId> ids_from(ConnId first, size_t count) {
  std::vector<ConnId> ids(count);
  for (size_t i = 0; i < count; ++i) ids[i] = (first + i) % 80;
  return ids;
}

TEST_F(SocketSetTest, ASocketIsReportedForAsLongAsItIsReady) {
  SocketPair pair;
  EXPECT_TRUE(set_->add(pair.ours(), 7, reading).ok());
  EXPECT_EQ(turn(), Reports{});
  pair.say();
  EXPECT_EQ(turn(), (Reports{{7, reading}}));
  EXPECT_EQ(turn(), (Reports{{7, reading}}));
  set_->change(pair.ours(), 7, writing);
  EXPECT_EQ(turn(), (Reports{{7, writing}}));
  set_->change(pair.ours(), 7, both);
  EXPECT_EQ(turn(), (Reports{{7, both}}));
  pair.take();
  EXPECT_EQ(turn(), (Reports{{7, writing}}));
  pair.fill();
  EXPECT_EQ(turn(), Reports{});
  pair.hear();
  EXPECT_EQ(turn(), (Reports{{7, writing}}));
  set_->change(pair.ours(), 7, none);
  pair.say();
  EXPECT_EQ(turn(), Reports{});
}

// If the same sockets were always reported first, the others would wait for ever.
TEST_F(SocketSetTest, TheNextTurnGoesOnWithSocketsThatWereNotReported) {
  std::vector<std::unique_ptr<SocketPair>> pairs;
  for (ConnId id = 0; id < 80; ++id) {
    pairs.push_back(std::make_unique<SocketPair>());
    EXPECT_TRUE(set_->add(pairs.back()->ours(), id, reading).ok());
  }
  for (const auto& pair : pairs) pair->say();
  EXPECT_EQ(turn_ids(), ids_from(0, 32));
  EXPECT_EQ(turn_ids(), ids_from(32, 32));
  EXPECT_EQ(turn_ids(), ids_from(64, 32));  // The first ones follow the last one.
  // With enough time for more than all of them.
  enough_ = 90;
  EXPECT_EQ(turn_ids().size(), 96u);
}

TEST_F(SocketSetTest, AnEndIsReportedAsReadable) {
  SocketPair pair;
  EXPECT_TRUE(set_->add(pair.ours(), 7, reading).ok());
  pair.close_theirs();
  EXPECT_EQ(turn(), (Reports{{7, all}}));
  // A socket without interest is reported once at most, because no one would handle it.
  set_->change(pair.ours(), 7, none);
  turn();
  EXPECT_EQ(turn(), Reports{});
  set_->change(pair.ours(), 7, reading);
  EXPECT_EQ(turn(), (Reports{{7, all}}));
}

TEST_F(SocketSetTest, AFullSocketWithoutAClientIsReportedAsWritable) {
  SocketPair pair;
  EXPECT_TRUE(set_->add(pair.ours(), 7, none).ok());
  pair.fill();
  set_->change(pair.ours(), 7, writing);
  EXPECT_EQ(turn(), Reports{});
  pair.close_theirs();
  EXPECT_EQ(turn(), (Reports{{7, all}}));
}

TEST_F(SocketSetTest, TheEndOfUnreadInputIsReported) {
  SocketPair pair;
  EXPECT_TRUE(set_->add(pair.ours(), 7, ending).ok());
  pair.say();
  EXPECT_EQ(turn(), Reports{});
  pair.end_theirs();
  EXPECT_EQ(turn(), (Reports{{7, ending}}));
  EXPECT_EQ(turn(), (Reports{{7, ending}}));
  // A socket whose end is known is not reported again, whether it is full or not.
  set_->change(pair.ours(), 7, none);
  EXPECT_EQ(turn(), Reports{});
  pair.fill();
  set_->change(pair.ours(), 7, writing);
  EXPECT_EQ(turn(), Reports{});
  set_->change(pair.ours(), 7, {.writing = true, .ending = true});
  EXPECT_EQ(turn(), (Reports{{7, ending}}));
  set_->change(pair.ours(), 7, none);
  pair.close_theirs();
  EXPECT_EQ(turn(), (Reports{{7, all}}));
  EXPECT_EQ(turn(), Reports{});
}

TEST_F(SocketSetTest, AnErrorSaysWhatCannotBeWatched) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::tmpfile(), std::fclose);
  const Status status = set_->add(fileno(file.get()), 7, reading);
  EXPECT_EQ(status.code(), StatusCode::Io);
  EXPECT_EQ(status.message(), "epoll: Operation not permitted");
}

TEST_F(SocketSetTest, AClosedSocketHasLeftTheSet) {
  auto closed = std::make_unique<SocketPair>();
  const int number = closed->ours();
  EXPECT_TRUE(set_->add(number, 7, reading).ok());
  closed->say();
  closed->close_ours();
  EXPECT_EQ(turn(), Reports{});
  // Another socket that gets its descriptor number is a new one.
  const SocketPair next;
  ASSERT_EQ(next.ours(), number);
  next.say();
  EXPECT_EQ(turn(), Reports{});
  EXPECT_TRUE(set_->add(number, 8, reading).ok());
  EXPECT_EQ(turn(), (Reports{{8, reading}}));
}

// From here on the loop blocks in the set.
class SocketSetThatBlocks : public SocketSetTest {
 protected:
  void SetUp() override {
    SocketSetTest::SetUp();
    ASSERT_EQ(uv_async_init(&loop_, &async_,
                            [](uv_async_t* async) { ++*static_cast<int*>(async->data); }),
              0);
    async_.data = &async_calls_;
    turn();
    set_->take_over(loop_);
  }
  void TearDown() override {
    uv_close(reinterpret_cast<uv_handle_t*>(&async_), nullptr);
    SocketSetTest::TearDown();
  }

  Reports wait(int timeout_ms) {
    reported_.clear();
    set_->wait(timeout_ms);
    return reported_;
  }

  uv_async_t async_;
  int async_calls_ = 0;
};

TEST_F(SocketSetThatBlocks, ASocketEndsTheWaitAndIsReported) {
  SocketPair pair;
  EXPECT_TRUE(set_->add(pair.ours(), 7, reading).ok());
  EXPECT_EQ(wait(0), Reports{});
  EXPECT_EQ(wait(1), Reports{});  // The time is over.
  std::thread client([&pair] { pair.say(); });
  EXPECT_EQ(wait(-1), (Reports{{7, reading}}));
  client.join();
  EXPECT_EQ(wait(-1), (Reports{{7, reading}}));
  pair.take();
  EXPECT_EQ(wait(0), Reports{});
}

TEST_F(SocketSetThatBlocks, AHandleOfLibuvEndsTheWaitAndIsLeftToLibuv) {
  SocketPair pair;
  EXPECT_TRUE(set_->add(pair.ours(), 7, reading).ok());
  std::thread other([this] { uv_async_send(&async_); });
  EXPECT_EQ(wait(-1), Reports{});
  other.join();
  EXPECT_EQ(wait(-1), Reports{});  // For as long as libuv has not looked.
  EXPECT_EQ(async_calls_, 0);
  pair.say();
  EXPECT_EQ(wait(-1), (Reports{{7, reading}}));
  // libuv no longer reports the sockets itself.
  EXPECT_EQ(turn(), Reports{});
  EXPECT_EQ(async_calls_, 1);
  EXPECT_EQ(wait(-1), (Reports{{7, reading}}));
}

}  // namespace
}  // namespace perennial::perenniald
