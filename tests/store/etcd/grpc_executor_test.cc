#include "store/etcd/grpc_executor.h"

#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <time.h>

namespace perennial::store::etcd {
namespace {

// Runs `run` on the executor's thread and waits until it has run.
void run_on(Executor& executor, const std::function<void()>& run) {
  std::promise<void> done;
  executor.post([&] {
    run();
    done.set_value();
  });
  done.get_future().wait();
}

TEST(GrpcExecutor, RunsPostsInOrderOnOneThread) {
  constexpr int per_thread = 2'000;
  GrpcExecutor executor;
  std::thread::id thread;
  run_on(executor, [&] { thread = std::this_thread::get_id(); });
  EXPECT_NE(thread, std::this_thread::get_id());
  std::vector<int> seen[2];
  bool is_one_thread = true;
  const auto poster = [&](int which) {
    for (int i = 0; i < per_thread; ++i)
      executor.post([&, which, i] {
        is_one_thread = is_one_thread && std::this_thread::get_id() == thread;
        seen[which].push_back(i);
      });
  };
  std::thread other(poster, 1);
  poster(0);
  other.join();
  run_on(executor, [] {});
  EXPECT_TRUE(is_one_thread);
  for (const std::vector<int>& numbers : seen) {
    ASSERT_EQ(numbers.size(), size_t{per_thread});
    for (int i = 0; i < per_thread; ++i) ASSERT_EQ(numbers[i], i);
  }
}

TEST(GrpcExecutor, TimersFireByTimeAndNeverEarly) {
  GrpcExecutor executor;
  std::vector<int> order;
  Nanos early = 0;
  std::promise<void> done;
  const auto set = [&](int number, Nanos delay) {
    const Nanos due = executor.now() + delay;
    executor.after(delay, [&, number, due] {
      if (executor.now() < due) early = due - executor.now();
      order.push_back(number);
      if (order.size() == 5) done.set_value();
    });
  };
  run_on(executor, [&] {
    set(4, 30 * nanos_per_ms);
    set(2, 10 * nanos_per_ms);
    set(3, 20 * nanos_per_ms + 1);
    set(0, 0);
    set(1, 1);
  });
  done.get_future().wait();
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3, 4}));
  EXPECT_EQ(early, 0);
}

TEST(GrpcExecutor, TimersOfOneTimeFireInTheirOrder) {
  GrpcExecutor executor;
  std::vector<int> order;
  std::promise<void> done;
  run_on(executor, [&] {
    for (int i = 0; i < 3; ++i) executor.after(-nanos_per_ms, [&, i] { order.push_back(i); });
    executor.after(nanos_per_ms, [&] { done.set_value(); });
  });
  done.get_future().wait();
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2}));
}

TEST(GrpcExecutor, ACancelledTimerDoesNotFire) {
  GrpcExecutor executor;
  bool fired = false;
  std::promise<void> done;
  run_on(executor, [&] {
    const TimerId cancelled = executor.after(2 * nanos_per_ms, [&] { fired = true; });
    // Cancelled by a timer that is due in the same turn.
    executor.after(nanos_per_ms, [&executor, cancelled] { executor.cancel_timer(cancelled); });
    const TimerId early = executor.after(0, [] {});
    executor.after(4 * nanos_per_ms, [&, early] {
      executor.cancel_timer(early);  // It has fired.
      done.set_value();
    });
    // Until both are due.
    for (const Nanos from = executor.now(); executor.now() < from + 3 * nanos_per_ms;) continue;
  });
  done.get_future().wait();
  EXPECT_FALSE(fired);
}

// What posts itself for ever keeps a completion ready in each turn.
TEST(GrpcExecutor, PostsDoNotStarveTimers) {
  GrpcExecutor executor;
  std::promise<void> done;
  bool fired = false;
  std::function<void()> again = [&] {
    if (!fired) executor.post(again);
  };
  executor.post(again);
  run_on(executor, [&] {
    executor.after(5 * nanos_per_ms, [&] {
      fired = true;
      done.set_value();
    });
  });
  done.get_future().wait();
  EXPECT_TRUE(fired);
}

TEST(GrpcExecutor, TimersDoNotStarvePosts) {
  GrpcExecutor executor;
  bool posted = false;
  std::function<void()> again = [&] {
    if (!posted) executor.after(0, again);
  };
  run_on(executor, again);
  run_on(executor, [&] { posted = true; });
  EXPECT_TRUE(posted);
}

TEST(GrpcExecutor, AfterStopNothingRuns) {
  GrpcExecutor executor;
  int runs = 0;
  run_on(executor, [&] {
    executor.after(0, [&] { executor.after(3600 * nanos_per_second, [&] { ++runs; }); });
  });
  executor.stop();
  executor.post([&] { ++runs; });
  executor.stop();
  EXPECT_EQ(runs, 0);
}

TEST(GrpcExecutor, AnEndWithATimerLeftDoesNotRunIt) {
  int runs = 0;
  {
    GrpcExecutor executor;
    run_on(executor, [&] { executor.after(3600 * nanos_per_second, [&] { ++runs; }); });
  }
  EXPECT_EQ(runs, 0);
}

TEST(GrpcExecutor, NowIsTheTimeSinceBoot) {
  GrpcExecutor executor;
  timespec boot{};
  ASSERT_EQ(::clock_gettime(CLOCK_BOOTTIME, &boot), 0);
  const Nanos before = boot.tv_sec * nanos_per_second + boot.tv_nsec;
  const Nanos now = executor.now();
  ASSERT_EQ(::clock_gettime(CLOCK_BOOTTIME, &boot), 0);
  EXPECT_GE(now, before);
  EXPECT_LE(now, boot.tv_sec * nanos_per_second + boot.tv_nsec);
}

TEST(KeysWithPrefix, EndsBehindTheLastKeyWithThePrefix) {
  struct Case {
    std::string prefix;
    std::string end;
  };
  const Case cases[] = {{"a", "b"},
                        {"/perennial/jobs/log/", "/perennial/jobs/log0"},
                        {std::string("a\xff"), "b"},
                        {std::string("a\xff\xff"), "b"},
                        {std::string("a\0", 2), std::string("a\1", 2)},
                        {std::string("\x7f"), std::string("\x80")},
                        {std::string("\xff\xff"), std::string(1, '\0')}};
  for (const Case& c : cases) {
    EXPECT_EQ(keys_with_prefix(c.prefix).key, c.prefix);
    EXPECT_EQ(keys_with_prefix(c.prefix).end, c.end);
  }
}

}  // namespace
}  // namespace perennial::store::etcd
