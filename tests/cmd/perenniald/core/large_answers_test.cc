// One answer may be as large as the budget, so large answers wait for each other. They do not wait
// for the answers of other clients.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/core_harness.h"

namespace perennial::core {
namespace {

using support::CoreHarness;

constexpr size_t body_bytes = 100'000;  // Above 64 KiB, so the answer is large.

std::string body_of(JobId id) {
  return std::string(body_bytes, static_cast<char>('a' + id));
}
std::string found(JobId id, const std::string& word = "FOUND") {
  return word + " " + std::to_string(id) + " " + std::to_string(body_bytes) + "\r\n" + body_of(id) +
         "\r\n";
}
std::string command(const char* verb, JobId id) {
  return std::string(verb) + " " + std::to_string(id) + "\r\n";
}

// Jobs whose bodies are on disk, and clients that do not read their answers.
class LargeAnswers : public testing::Test {
 protected:
  virtual Options options() {
    return {
        .job_bytes_max = 1 << 20, .output_total_bytes_max = 2 * body_bytes, .body_cache_bytes = 0};
  }
  void SetUp() override {
    harness_.emplace(options());
    producer_ = harness_->open();
    for (JobId id = 1; id <= jobs; ++id) {
      const std::string put = "put 0 0 60 " + std::to_string(body_bytes) + "\r\n";
      harness_->send(producer_, put + body_of(id) + "\r\n");
    }
    harness_->receive(producer_);
    harness_->set_clients_reading(false);
    before_ = core().memory_bytes();
  }

  Core& core() { return harness_->core(); }
  ConnId ask(const std::string& commands) {
    const ConnId conn = harness_->open();
    harness_->send(conn, commands);
    return conn;
  }
  bool is_answered(ConnId conn) { return !core().session(conn)->output().empty(); }
  // Takes everything that can be sent to this client.
  std::string take(ConnId conn) {
    std::string all;
    for (std::string_view some = core().session(conn)->output(); !some.empty();
         some = core().session(conn)->output()) {
      all += some;
      core().session(conn)->on_written(some.size());
      harness_->pump();
    }
    return all;
  }

  static constexpr JobId jobs = 6;
  std::optional<CoreHarness> harness_;
  ConnId producer_ = 0;
  size_t before_ = 0;
};

TEST_F(LargeAnswers, OfOneBodyShareOneCopy) {
  std::vector<ConnId> readers;
  for (int i = 0; i < 40; ++i) readers.push_back(ask(command("peek", 1)));
  EXPECT_LT(core().memory_bytes(), before_ + body_bytes + 40 * 2'000);
  EXPECT_LT(core().output_bytes(), body_bytes + 40 * 100);
  for (const ConnId reader : readers) EXPECT_EQ(take(reader), found(1));
  EXPECT_EQ(core().output_bytes(), 0u);
}

TEST_F(LargeAnswers, AreMadeInTheOrderOfTheRequestsWhenMemoryIsFree) {
  std::vector<ConnId> readers;
  for (JobId id = 1; id <= 4; ++id) readers.push_back(ask(command("peek", id)));
  EXPECT_TRUE(is_answered(readers[0]));
  for (size_t i = 1; i < readers.size(); ++i) EXPECT_FALSE(is_answered(readers[i])) << i;
  EXPECT_LT(core().output_bytes(), 2 * body_bytes);
  EXPECT_LT(core().memory_bytes(), before_ + 2 * body_bytes);
  for (size_t i = 0; i < readers.size(); ++i) {
    EXPECT_EQ(take(readers[i]), found(i + 1));
    for (size_t later = i + 2; later < readers.size(); ++later) {
      EXPECT_FALSE(is_answered(readers[later]));
    }
  }
}

// A request for a shared body does not overtake earlier requests for other bodies.
TEST_F(LargeAnswers, OfASharedBodyWaitForEarlierRequests) {
  const ConnId first = ask(command("peek", 1));
  const ConnId second = ask(command("peek", 2));
  const ConnId third = ask(command("peek", 1));
  EXPECT_TRUE(is_answered(first));
  EXPECT_FALSE(is_answered(third));
  EXPECT_EQ(take(first), found(1));
  EXPECT_TRUE(is_answered(second));
  EXPECT_FALSE(is_answered(third));
  EXPECT_EQ(take(second), found(2));
  EXPECT_EQ(take(third), found(1));
}

TEST_F(LargeAnswers, DoNotDelaySmallAnswersOfOtherClients) {
  ask(command("peek", 1));
  ask(command("peek", 2));
  const ConnId other = ask("list-tube-used\r\nput 0 0 60 1\r\nx\r\npeek 7\r\n");
  EXPECT_EQ(take(other), "USING default\r\nINSERTED 7\r\nFOUND 7 1\r\nx\r\n");
}

TEST_F(LargeAnswers, KeepTheOrderOfTheirOwnConnection) {
  ask(command("peek", 1));
  const ConnId reader = ask(command("reserve-job", 2) + command("delete", 2) + command("peek", 2));
  EXPECT_FALSE(is_answered(reader));
  EXPECT_EQ(core().engine().view().job_count(), jobs);  // The delete waits for the first answer.
  harness_->close(1 + producer_);
  EXPECT_EQ(take(reader), found(2, "RESERVED") + "DELETED\r\nNOT_FOUND\r\n");
}

TEST_F(LargeAnswers, HoldABodyThatIsDeletedWhileTheyWait) {
  const ConnId first = ask(command("peek", 1));
  const ConnId second = ask(command("peek", 2));
  EXPECT_FALSE(is_answered(second));
  const ConnId deleter = ask(command("delete", 2));
  EXPECT_EQ(take(deleter), "DELETED\r\n");
  EXPECT_EQ(take(second), found(2));
  EXPECT_EQ(take(first), found(1));
}

TEST_F(LargeAnswers, AreDroppedWhenNoClientWaitsForThem) {
  const ConnId first = ask(command("peek", 1));
  const ConnId second = ask(command("peek", 2));
  const ConnId third = ask(command("peek", 3));
  harness_->close(second);
  EXPECT_EQ(take(first), found(1));
  EXPECT_EQ(take(third), found(3));
  harness_->close(third);
  EXPECT_EQ(core().output_bytes(), 0u);
}

TEST_F(LargeAnswers, OfADamagedBodyAreAnErrorForEveryClientThatWaits) {
  harness_->damage(1);
  const ConnId other = harness_->open();
  core().session(producer_)->on_bytes(command("peek", 1), harness_->now());
  core().session(other)->on_bytes(command("peek", 1), harness_->now());
  harness_->pump();
  EXPECT_EQ(take(producer_), "INTERNAL_ERROR\r\n");
  EXPECT_EQ(take(other), "INTERNAL_ERROR\r\n");
  EXPECT_EQ(core().jobs_damaged(), 1u);
}

// ---- The cache.

class OfCachedBodies : public LargeAnswers {
  Options options() override {
    return {.job_bytes_max = 1 << 20, .output_total_bytes_max = 2 * body_bytes};
  }
};

// A body in the cache takes no further memory while it stays there, but its answer may stay longer.
TEST_F(OfCachedBodies, WaitForMemoryAsWell) {
  const ConnId first = ask(command("peek", 1));
  const ConnId second = ask(command("peek", 2));
  EXPECT_TRUE(is_answered(first));
  EXPECT_FALSE(is_answered(second));
  EXPECT_LT(core().memory_bytes(), before_ + 4'000);  // It is counted once.
  const ConnId deleter = ask(command("delete", 2));
  EXPECT_EQ(take(deleter), "DELETED\r\n");
  EXPECT_EQ(take(second), found(2));
  EXPECT_EQ(take(first), found(1));
}

// ---- A memory budget.

class WithAMemoryBudget : public LargeAnswers {
 protected:
  Options options() override {
    return {.job_bytes_max = 1 << 20, .body_cache_bytes = 0, .memory_bytes_max = 400'000};
  }
};

TEST_F(WithAMemoryBudget, AreMadeOneAtATimeEvenIfJobsUseAllOfIt) {
  // The engine's first jobs, and a body that arrives.
  ask("put 0 0 60 100000\r\n" + std::string(90'000, 'x'));
  before_ = core().memory_bytes();
  ASSERT_GT(before_ + body_bytes, 400'000u);
  std::vector<ConnId> readers;
  for (JobId id = 1; id <= 4; ++id) readers.push_back(ask(command("peek", id)));
  EXPECT_LT(core().memory_bytes(), before_ + body_bytes + 4 * 2'000);
  for (size_t i = 0; i < readers.size(); ++i) EXPECT_EQ(take(readers[i]), found(i + 1));
}

// ---- Listings.

class Listings : public testing::Test {
 protected:
  static constexpr int tubes = 1'000;
  Listings() {
    const ConnId watcher = harness_.open();
    std::string watches;
    std::string text = "---\n- default\n";
    for (int i = 0; i < tubes; ++i) {
      const std::string name = std::to_string(i) + std::string(100, 't');
      watches += "watch " + name + "\r\n";
      text += "- " + name + "\n";
    }
    harness_.send(watcher, watches);
    harness_.receive(watcher);
    watcher_ = watcher;
    listing_ = "OK " + std::to_string(text.size()) + "\r\n" + text + "\r\n";
    harness_.set_clients_reading(false);
  }
  ConnId ask(const std::string& commands) {
    const ConnId conn = harness_.open();
    harness_.send(conn, commands);
    return conn;
  }
  std::string take(ConnId conn) {
    std::string all;
    for (std::string_view some = harness_.core().session(conn)->output(); !some.empty();
         some = harness_.core().session(conn)->output()) {
      all += some;
      harness_.core().session(conn)->on_written(some.size());
      harness_.pump();
    }
    return all;
  }

  CoreHarness harness_{{.output_total_bytes_max = 150'000}};
  ConnId watcher_ = 0;
  std::string listing_;
};

TEST_F(Listings, AreMadeOneAtATime) {
  ASSERT_GT(listing_.size(), 100'000u);
  std::vector<ConnId> askers;
  for (int i = 0; i < 5; ++i) {
    askers.push_back(ask("list-tubes\r\nlist-tube-used\r\n"));
    EXPECT_EQ(harness_.core().session(askers.back())->output().empty(), i > 0);
  }
  harness_.send(watcher_, "list-tubes-watched\r\n");
  EXPECT_LE(harness_.core().output_bytes(), 150'000u);
  harness_.close(askers[3]);
  for (const size_t i : {0u, 1u, 2u, 4u})
    EXPECT_EQ(take(askers[i]), listing_ + "USING default\r\n");
  EXPECT_EQ(take(watcher_), listing_);
}

// The command is run when its turn comes, and lists the tubes that exist then.
TEST_F(Listings, ShowTheStateAtTheTimeTheyAreMade) {
  const ConnId first = ask("list-tubes\r\n");
  const ConnId second = ask("list-tubes\r\n");
  harness_.close(watcher_);
  EXPECT_EQ(take(first), listing_);
  EXPECT_EQ(take(second), "OK 14\r\n---\n- default\n\r\n");
}

}  // namespace
}  // namespace perennial::core
