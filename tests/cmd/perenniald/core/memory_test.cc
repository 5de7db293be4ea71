// The memory that connections hold is counted, and bounded for all of them together.

#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/core_harness.h"

namespace perennial::core {
namespace {

using support::CoreHarness;

const std::string question = "list-tube-used\r\n";
const std::string answer = "USING default\r\n";  // 15 bytes.

std::string times(int count, const std::string& text) {
  std::string all;
  for (int i = 0; i < count; ++i) all += text;
  return all;
}

std::string header(size_t bytes) {
  return "put 0 0 60 " + std::to_string(bytes) + "\r\n";
}

std::string put(size_t bytes) {
  return header(bytes) + std::string(bytes, 'x') + "\r\n";
}

// ---- Answers of all connections.

class OutputTotal : public testing::Test {
 protected:
  ConnId asks(int questions) {
    const ConnId conn = harness_.open();
    harness_.send(conn, times(questions, question));
    return conn;
  }
  size_t answered(ConnId conn) {
    return harness_.core().session(conn)->output().size() / answer.size();
  }
  // The client takes everything that can be sent to it.
  void take(ConnId conn) {
    const size_t bytes = harness_.core().session(conn)->output().size();
    harness_.core().session(conn)->on_written(bytes);
    harness_.run_commands();
  }

  CoreHarness harness_{
      {.output_bytes_max = 1500, .output_total_bytes_max = 600, .output_little_bytes = 90}};
  void SetUp() override { harness_.set_clients_reading(false); }
};

TEST_F(OutputTotal, AtTheLimitAllConnectionsRunAndPastItNoneAboveItsShare) {
  const ConnId first = asks(20);
  const ConnId second = asks(20);
  EXPECT_EQ(harness_.core().output_bytes(), 600u);
  EXPECT_TRUE(harness_.reading(first));
  EXPECT_TRUE(harness_.reading(second));
  harness_.send(second, times(5, question));
  EXPECT_EQ(answered(second), 21u);
  EXPECT_FALSE(harness_.reading(first));
  EXPECT_FALSE(harness_.reading(second));
}

TEST_F(OutputTotal, PastItAConnectionBelowItsShareRuns) {
  asks(50);
  ASSERT_GT(harness_.core().output_bytes(), 600u);
  const ConnId little = asks(5);
  EXPECT_EQ(answered(little), 5u);
  EXPECT_TRUE(harness_.reading(little));
  harness_.send(little, times(5, question));
  EXPECT_EQ(answered(little), 6u);
  EXPECT_FALSE(harness_.reading(little));
}

TEST_F(OutputTotal, AConnectionThatTakesItsAnswersRunsEvenIfOthersDoNot) {
  asks(41);
  const ConnId reader = asks(30);
  EXPECT_EQ(answered(reader), 6u);
  for (int answers = 6; answers < 30; answers += 6) {
    take(reader);
    EXPECT_EQ(answered(reader), 6u);
  }
  take(reader);
  EXPECT_TRUE(harness_.reading(reader));
}

// No one wakes the connection when others hold less: it goes on when its own answers have left.
TEST_F(OutputTotal, AHeldConnectionRunsWhenOthersHaveTakenTheirAnswers) {
  const ConnId large = asks(30);
  const ConnId held = asks(60);
  EXPECT_EQ(answered(held), 11u);
  take(large);
  EXPECT_EQ(answered(held), 11u);
  take(held);
  EXPECT_EQ(answered(held), 41u);  // Past 600 bytes once more, with its own answers.
  take(held);
  EXPECT_EQ(answered(held), 8u);
  EXPECT_TRUE(harness_.reading(held));
}

TEST_F(OutputTotal, AClosedConnectionHoldsNothing) {
  const ConnId large = asks(41);
  const ConnId other = asks(3);
  harness_.close(large);
  EXPECT_EQ(harness_.core().output_bytes(), 3 * answer.size());
  harness_.send(other, times(20, question));
  EXPECT_EQ(answered(other), 23u);
}

// ---- Bodies that are being read.

std::vector<BodyRead> peek_all(CoreHarness& harness, ConnId conn, JobId first, JobId last) {
  std::string peeks;
  for (JobId id = first; id <= last; ++id) peeks += "peek " + std::to_string(id) + "\r\n";
  harness.core().session(conn)->on_bytes(peeks, harness.now());
  return harness.core().take_reads();
}

TEST(Reads, ThereAreNoMoreAtOnceThanTheirLimit) {
  CoreHarness harness({.body_cache_bytes = 0, .reads_max = 4});
  const ConnId first = harness.open();
  for (int id = 1; id <= 10; ++id) harness.send(first, put(1));
  harness.receive(first);
  EXPECT_EQ(peek_all(harness, first, 1, 8).size(), 4u);
  // Another client may still ask for a body. Its read begins when one has ended.
  const ConnId second = harness.open();
  EXPECT_EQ(peek_all(harness, second, 9, 10).size(), 0u);
  harness.core().on_body(1, Body("x"), harness.now());
  harness.run_commands();
  const std::vector<BodyRead> next = harness.core().take_reads();
  ASSERT_EQ(next.size(), 1u);
  EXPECT_EQ(next[0].job, 9u);
  // Half of the reads have to end before the connection asks for more.
  harness.core().on_body(2, Body("x"), harness.now());
  harness.run_commands();
  EXPECT_EQ(harness.core().take_reads().size(), 0u);
  harness.core().on_body(3, Body("x"), harness.now());
  harness.run_commands();
  EXPECT_EQ(harness.core().take_reads().size(), 2u);
}

TEST(Reads, OneBodyIsReadOnceForAllRepliesThatWaitForIt) {
  CoreHarness harness({.body_cache_bytes = 0});
  const ConnId first = harness.open();
  harness.send(first, put(3));
  harness.receive(first);
  const ConnId second = harness.open();
  EXPECT_EQ(peek_all(harness, first, 1, 1).size(), 1u);
  EXPECT_EQ(peek_all(harness, second, 1, 1).size(), 0u);
  harness.core().on_body(1, Body("abc"), harness.now());
  EXPECT_EQ(harness.receive(first), "FOUND 1 3\r\nabc\r\n");
  EXPECT_EQ(harness.receive(second), "FOUND 1 3\r\nabc\r\n");
  // A later request needs a read of its own.
  EXPECT_EQ(peek_all(harness, second, 1, 1).size(), 1u);
}

TEST(Reads, AllEndAndTheirAnswersAreInOrder) {
  CoreHarness harness({.body_cache_bytes = 0, .reads_max = 4});
  const ConnId conn = harness.open();
  std::string peeks;
  std::string found;
  for (int id = 1; id <= 100; ++id) {
    harness.send(conn, put(static_cast<size_t>(id)));
    peeks += "peek " + std::to_string(id) + "\r\n";
    found += "FOUND " + std::to_string(id) + " " + std::to_string(id) + "\r\n" +
             std::string(static_cast<size_t>(id), 'x') + "\r\n";
  }
  harness.receive(conn);
  harness.send(conn, peeks);
  EXPECT_EQ(harness.receive(conn), found);
}

// ---- The memory budget.

struct HoldsCase {
  std::string name;
  size_t bytes;  // The minimum.
  std::function<void(CoreHarness&, ConnId)> hold;
};

void PrintTo(const HoldsCase& c, std::ostream* out) {
  *out << c.name;
}

class Holds : public testing::TestWithParam<HoldsCase> {};

TEST_P(Holds, IsCountedUntilItsConnectionCloses) {
  CoreHarness harness({.job_bytes_max = 1 << 20, .pending_bytes_max = 1000});
  harness.close(harness.open());  // Memory that is allocated once has been allocated.
  const size_t before = harness.core().memory_bytes();
  const ConnId conn = harness.open();
  harness.set_clients_reading(false);
  GetParam().hold(harness, conn);
  EXPECT_GE(harness.core().memory_bytes(), before + GetParam().bytes);
  harness.close(conn);
  // The test's own jobs stay.
  harness.set_committing(true);
  harness.commit();
  const ConnId other = harness.open();
  for (JobId id = 1; id < 3; ++id) harness.send(other, "delete " + std::to_string(id) + "\r\n");
  harness.commit();
  harness.close(other);
  const size_t chunk_bytes = 300'000;  // The engine allocates memory for further jobs.
  EXPECT_LT(harness.core().memory_bytes(), before + chunk_bytes);
}

INSTANTIATE_TEST_SUITE_P(
    Memory, Holds,
    testing::Values(HoldsCase{"ABodyThatArrives", 500'000,
                              [](CoreHarness& harness, ConnId conn) {
                                harness.send(conn, header(1'000'000) + std::string(500'000, 'x'));
                              }},
                    HoldsCase{"CommandsAfterOneThatWaits", 500'000,
                              [](CoreHarness& harness, ConnId conn) {
                                harness.send(conn, "reserve\r\n" + times(60'000, "reserve\r\n"));
                              }},
                    HoldsCase{"AnswersThatAreNotRead", 500'000,
                              [](CoreHarness& harness, ConnId conn) {
                                harness.send(conn, put(500'000) + times(2, "peek 1\r\n"));
                              }},
                    HoldsCase{"APutThatWaitsForTheDisk", 1'000'000,
                              [](CoreHarness& harness, ConnId conn) {
                                harness.set_committing(false);
                                harness.send(conn, put(500'000) + put(500'000));
                              }}),
    [](const auto& tested) { return tested.param.name; });

class Budget : public testing::Test {
 protected:
  Budget() : conn_(harness_.open()) {}
  size_t left() { return budget - harness_.core().memory_bytes(); }
  std::string ask(const std::string& bytes) {
    harness_.send(conn_, bytes);
    return harness_.receive(conn_);
  }

  static constexpr size_t budget = 1 << 20;
  CoreHarness harness_{{.job_bytes_max = 8 << 20, .memory_bytes_max = budget}};
  const ConnId conn_;
};

TEST_F(Budget, TheLargestBodyThatFitsIsAccepted) {
  EXPECT_EQ(ask(put(left())), "INSERTED 1\r\n");
}

TEST_F(Budget, ABodyThatIsOneByteTooLargeIsRefused) {
  EXPECT_EQ(ask(put(left() + 1)), "OUT_OF_MEMORY\r\n");
}

TEST_F(Budget, ABodyThatCannotFitIsNotCollected) {
  const size_t before = harness_.core().memory_bytes();
  EXPECT_EQ(ask(header(8 << 20)), "");
  for (int i = 0; i < 8; ++i) {
    EXPECT_EQ(ask(std::string(1 << 20, 'x')), "");
    EXPECT_LE(harness_.core().memory_bytes(), before + 1000);
  }
  EXPECT_EQ(ask("\r\n"), "OUT_OF_MEMORY\r\n");
  EXPECT_EQ(ask(put(1)), "INSERTED 2\r\n");
}

// Each body fits alone, and all together do not. The budget holds, and some puts succeed.
TEST_F(Budget, BodiesThatArriveTogetherNeverExceedIt) {
  constexpr size_t body_bytes = 200'000;
  std::vector<ConnId> conns;
  for (int i = 0; i < 20; ++i) {
    conns.push_back(harness_.open());
    harness_.send(conns.back(), header(body_bytes));
  }
  for (size_t sent = 0; sent < body_bytes; sent += 10'000) {
    for (const ConnId conn : conns) {
      harness_.send(conn, std::string(10'000, 'x'));
      EXPECT_LE(harness_.core().memory_bytes(), budget + 10'000);
    }
  }
  int inserted = 0;
  for (const ConnId conn : conns) {
    harness_.send(conn, "\r\n");
    const std::string reply = harness_.receive(conn);
    if (reply.starts_with("INSERTED")) {
      ++inserted;
    } else {
      EXPECT_EQ(reply, "OUT_OF_MEMORY\r\n");
    }
  }
  EXPECT_GE(inserted, 1);
  EXPECT_LT(inserted, 6);
}

// The client asks for one answer whenever it has read one, so an answer always waits for it.
TEST_F(Budget, AReaderThatIsAlwaysALittleLateTakesNoMemoryFromOthers) {
  ASSERT_EQ(ask(put(2'000)), "INSERTED 1\r\n");
  harness_.set_clients_reading(false);
  const ConnId reader = harness_.open();
  const std::string found = "FOUND 1 2000\r\n" + std::string(2'000, 'x') + "\r\n";
  harness_.send(reader, "peek 1\r\n");
  for (int i = 0; i < 2'000; ++i) {
    harness_.send(reader, "peek 1\r\n");
    ASSERT_TRUE(harness_.core().session(reader)->output().starts_with(found)) << i;
    harness_.core().session(reader)->on_written(found.size());
  }
  harness_.set_clients_reading(true);
  EXPECT_EQ(ask(put(2'000)), "INSERTED 2\r\n");
}

}  // namespace
}  // namespace perennial::core
