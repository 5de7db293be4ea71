// What transcripts cannot show: which bytes are read, which batches are made, and limits in bytes.

#include "cmd/perenniald/core/core.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/support/core_harness.h"

namespace perennial::core {
namespace {

using support::CoreHarness;

std::string put(size_t bytes) {
  return "put 0 0 60 " + std::to_string(bytes) + "\r\n" + std::string(bytes, 'x') + "\r\n";
}

std::string times(int count, const std::string& text) {
  std::string all;
  for (int i = 0; i < count; ++i) all += text;
  return all;
}

TEST(Pipeline, ALittleIsReadWhileAReserveWaits) {
  CoreHarness harness({.pipeline_bytes_max = 100});
  const ConnId conn = harness.open();
  harness.send(conn, "reserve\r\n");
  EXPECT_TRUE(harness.reading(conn));
  harness.send(conn, std::string(99, ' '));
  EXPECT_TRUE(harness.reading(conn));
  harness.send(conn, " ");
  EXPECT_FALSE(harness.reading(conn));
  // When the reserve is answered, the bytes that were read are run, and reading continues.
  const ConnId other = harness.open();
  harness.send(other, put(1));
  EXPECT_EQ(harness.receive(conn), "RESERVED 1 1\r\nx\r\n");
  EXPECT_TRUE(harness.reading(conn));
}

// The client has sent its end, but not all bytes before it have been read.
TEST(Pipeline, AHalfCloseEndsTheWaitAndLaterCommandsAreRun) {
  CoreHarness harness({.pipeline_bytes_max = 100});
  const ConnId conn = harness.open();
  harness.send(conn, "reserve\r\n" + times(10, "use a\r\n") + times(100, " "));
  EXPECT_FALSE(harness.reading(conn));
  harness.core().session(conn)->on_half_close(harness.now());
  harness.pump();
  EXPECT_EQ(harness.receive(conn), "TIMED_OUT\r\n" + times(10, "USING a\r\n"));
  EXPECT_TRUE(harness.reading(conn));
  harness.send(conn, "\r\nreserve\r\nuse b\r\n");
  EXPECT_EQ(harness.receive(conn), "UNKNOWN_COMMAND\r\nTIMED_OUT\r\nUSING b\r\n");
  EXPECT_FALSE(harness.closed_by_server(conn));
  harness.end(conn);
  EXPECT_TRUE(harness.closed_by_server(conn));
}

// A connection whose bytes came late in a turn waits, and is run before bytes that come later.
TEST(Later, ConnectionsAreRunInTheOrderInWhichTheyBeganToWait) {
  CoreHarness harness;
  core::Core& core = harness.core();
  const ConnId flood = harness.open();
  const ConnId small = harness.open();
  const std::string question = "list-tube-used\r\n";
  const std::string answer = "USING default\r\n";
  core.session(flood)->on_bytes(times(300, question), harness.now(), true);
  core.session(small)->on_bytes(question, harness.now(), true);
  // There would be time by now, but `small` waits already.
  core.session(flood)->on_bytes(question, harness.now());
  core.session(small)->on_bytes(question, harness.now());
  EXPECT_EQ(core.session(flood)->output(), "");
  EXPECT_EQ(core.session(small)->output(), "");
  // `flood` has enough bytes for its next turn, and `small` may send more.
  EXPECT_FALSE(core.session(flood)->reading());
  EXPECT_TRUE(core.session(small)->reading());

  core.run_next(harness.now());
  EXPECT_EQ(core.session(flood)->output(), times(301, answer));
  EXPECT_TRUE(core.session(flood)->reading());
  core.session(flood)->on_bytes(question, harness.now(), true);
  core.run_next(harness.now());
  EXPECT_EQ(core.session(small)->output(), times(2, answer));
  core.run_next(harness.now());
  EXPECT_EQ(core.session(flood)->output(), times(302, answer));
  EXPECT_FALSE(core.has_runnable());
}

// The cost of its commands limits what one connection may run before other connections.
class RunCost : public testing::Test {
 protected:
  static constexpr uint64_t enough = 1'000;

  // The number of answers that can be sent.
  size_t answers(ConnId conn) const {
    const std::string_view output = harness_.core().session(conn)->output();
    return static_cast<size_t>(std::count(output.begin(), output.end(), '\n'));
  }
  void watch(ConnId conn, int tubes) {
    for (int i = 0; i < tubes; ++i) harness_.send(conn, fmt::format("watch tube{}\r\n", i));
    harness_.receive(conn);
  }

  mutable CoreHarness harness_{{.run_cost_max = enough}};
  core::Core& core_ = harness_.core();
  const ConnId costly_ = harness_.open();
  const ConnId small_ = harness_.open();
};

TEST_F(RunCost, CommandsThatAreSentTogetherLetOtherClientsInBetween) {
  core_.session(costly_)->on_bytes(times(100, "list-tube-used\r\n"), harness_.now());
  const size_t at_once = answers(costly_);
  EXPECT_GT(at_once, 1u);
  EXPECT_LT(at_once, 50u);
  core_.session(small_)->on_bytes(std::string_view("list-tube-used\r\n"), harness_.now(), true);
  core_.run_next(harness_.now());
  EXPECT_EQ(answers(costly_), 2 * at_once);
  core_.run_next(harness_.now());
  EXPECT_EQ(answers(small_), 1u);
  harness_.run_commands();
  EXPECT_EQ(answers(costly_), 100u);
}

TEST_F(RunCost, AReserveThatWatchesManyTubesCostsMore) {
  const std::string reserves = times(200, "reserve-with-timeout 0\r\n");  // More than 4 KiB.
  core_.session(costly_)->on_bytes(reserves, harness_.now());
  const size_t of_one_tube = answers(costly_);
  EXPECT_GT(of_one_tube, 1u);
  harness_.pump();
  harness_.receive(costly_);
  watch(costly_, enough);
  core_.session(costly_)->on_bytes(reserves, harness_.now());
  EXPECT_EQ(answers(costly_), 1u);
  EXPECT_FALSE(core_.session(costly_)->reading());
  harness_.pump();
  EXPECT_EQ(harness_.receive(costly_), times(200, "TIMED_OUT\r\n"));
  EXPECT_TRUE(core_.session(costly_)->reading());
}

TEST_F(RunCost, StatisticsCostTheirBytes) {
  core_.session(costly_)->on_bytes(times(10, "stats\r\n"), harness_.now());
  const std::string_view output = core_.session(costly_)->output();
  EXPECT_EQ(output.find("OK ", 1), std::string_view::npos);
  EXPECT_TRUE(core_.has_runnable());
}

TEST_F(RunCost, HeldPutsAreResumedInSteps) {
  constexpr int producers = 50;
  std::vector<ConnId> conns;
  for (int i = 0; i < producers; ++i) conns.push_back(harness_.open());
  harness_.set_behind(true);
  for (const ConnId conn : conns) harness_.send(conn, put(1));
  EXPECT_EQ(core_.engine().view().job_count(), 0u);
  EXPECT_FALSE(core_.has_runnable());
  harness_.set_behind(false);
  EXPECT_GT(core_.engine().view().job_count(), 0u);
  EXPECT_LT(core_.engine().view().job_count(), size_t{producers});
  EXPECT_TRUE(core_.has_runnable());
  harness_.pump();
  EXPECT_EQ(core_.engine().view().job_count(), size_t{producers});
}

TEST_F(RunCost, NothingIsRunAfterQuit) {
  core_.session(costly_)->on_bytes(times(100, "list-tube-used\r\n") + "quit\r\n" + put(1),
                                   harness_.now());
  EXPECT_TRUE(core_.has_runnable());
  harness_.pump();
  EXPECT_EQ(harness_.receive(costly_), times(100, "USING default\r\n"));
  EXPECT_TRUE(harness_.closed_by_server(costly_));
  EXPECT_EQ(core_.engine().view().job_count(), 0u);
}

TEST(Listing, OfManyTubesIsOneReplyForAllWhoAskedAndWaitsForTheNewestBatch) {
  CoreHarness harness({.engine = {.names_per_part_max = 3}, .output_bytes_max = 20});
  const ConnId watcher = harness.open();
  const ConnId other = harness.open();
  std::string names = "- default\n";
  for (int i = 0; i < 20; ++i) {
    harness.send(watcher, fmt::format("watch tube{}\r\n", i));
    names += fmt::format("- tube{}\n", i);
  }
  harness.receive(watcher);
  harness.set_committing(false);
  harness.send(watcher, put(1));
  harness.send(watcher, "list-tubes\r\nlist-tube-used\r\n");
  harness.send(other, "list-tubes\r\n");
  EXPECT_EQ(harness.core().next_tick(), harness.now());
  harness.core().on_timer(harness.now());
  EXPECT_EQ(harness.receive(watcher) + harness.receive(other), "");
  harness.set_committing(true);
  const std::string list = fmt::format("OK {}\r\n---\n{}\r\n", names.size() + 4, names);
  EXPECT_EQ(harness.receive(watcher), "INSERTED 1\r\n" + list + "USING default\r\n");
  EXPECT_EQ(harness.receive(other), list);
}

TEST(Later, AWaitingConnectionIsReadUpToFourKiB) {
  CoreHarness harness;
  const ConnId conn = harness.open();
  harness.core().session(conn)->on_bytes(std::string(4'095, ' '), harness.now(), true);
  EXPECT_TRUE(harness.reading(conn));
  harness.core().session(conn)->on_bytes(std::string_view(" "), harness.now(), true);
  EXPECT_FALSE(harness.reading(conn));
}

TEST(Later, AClosedConnectionIsSkipped) {
  CoreHarness harness;
  const ConnId gone = harness.open();
  harness.core().session(gone)->on_bytes(std::string_view("put 0 0 60 1\r\nx\r\n"), harness.now(),
                                         true);
  harness.close(gone);
  harness.run_commands();
  EXPECT_EQ(harness.core().engine().view().job_count(), 0u);
}

TEST(Output, AClientThatDoesNotReadIsNeitherReadNorRun) {
  CoreHarness harness({.output_bytes_max = 50});
  const ConnId conn = harness.open();
  harness.set_clients_reading(false);
  harness.send(conn, times(10, "list-tube-used\r\n"));  // 15 bytes for each reply.
  EXPECT_FALSE(harness.reading(conn));
  EXPECT_EQ(harness.core().held_connections().output, 1u);
  EXPECT_EQ(harness.core().session(conn)->output(), times(4, "USING default\r\n"));
  harness.set_clients_reading(true);
  harness.core().session(conn)->on_written(15);
  EXPECT_EQ(harness.receive(conn), times(9, "USING default\r\n"));
  EXPECT_TRUE(harness.reading(conn));
  EXPECT_EQ(harness.core().held_connections().output, 0u);
}

// The size of the batches does not matter: every answer waits for the batches before it.
TEST(Pending, PutsAreHeldPastTheLimitOfSealedBatches) {
  CoreHarness harness({.batch_bytes_max = 100});
  harness.set_committing(false);
  const ConnId producer = harness.open();
  constexpr size_t puts = 20;
  for (size_t i = 0; i < puts; ++i) harness.send(producer, put(50));
  // A put fills a batch, which the next put seals. With the sixth put five are sealed.
  EXPECT_EQ(harness.core().engine().view().job_count(), 6u);
  harness.commit_one();
  EXPECT_EQ(harness.core().engine().view().job_count(), 7u);
  harness.set_committing(true);
  harness.receive(producer);
  EXPECT_EQ(harness.core().engine().view().job_count(), puts);
}

TEST(Pending, PutsAndNothingElseAreHeldPastTheLimitOfBytes) {
  CoreHarness harness({.pending_bytes_max = 1000});
  const ConnId producer = harness.open();
  const ConnId other = harness.open();
  harness.set_committing(false);
  harness.send(producer, put(2000) + put(10));
  EXPECT_FALSE(harness.reading(producer));
  EXPECT_EQ(harness.core().held_connections().pending, 1u);
  EXPECT_GT(harness.core().pending_bytes(), 2000u);
  EXPECT_EQ(harness.core().engine().view().job_count(), 1u);
  harness.send(other, "delete 1\r\n");
  EXPECT_EQ(harness.core().engine().view().job_count(), 0u);
  EXPECT_TRUE(harness.reading(other));
  harness.set_committing(true);
  harness.commit();
  EXPECT_EQ(harness.receive(producer), "INSERTED 1\r\nINSERTED 2\r\n");
  EXPECT_EQ(harness.receive(other), "DELETED\r\n");
  EXPECT_TRUE(harness.reading(producer));
  EXPECT_EQ(harness.core().held_connections().pending, 0u);
  EXPECT_EQ(harness.core().pending_bytes(), 0u);
}

TEST(Pending, AHeldPutIsDroppedWithItsConnection) {
  CoreHarness harness({.pending_bytes_max = 1000});
  const ConnId producer = harness.open();
  harness.set_committing(false);
  harness.send(producer, put(2000) + put(10));
  EXPECT_FALSE(harness.reading(producer));
  harness.close(producer);
  EXPECT_EQ(harness.core().held_connections().pending, 0u);
  harness.commit();
  EXPECT_EQ(harness.core().engine().view().job_count(), 1u);
}

TEST(WriteStall, OnlyPutsWait) {
  CoreHarness harness;
  const ConnId producer = harness.open();
  const ConnId other = harness.open();
  harness.send(producer, put(10));
  EXPECT_EQ(harness.receive(producer), "INSERTED 1\r\n");
  harness.set_behind(true);
  harness.send(producer, put(10) + "list-tube-used\r\n");
  EXPECT_FALSE(harness.reading(producer));
  EXPECT_EQ(harness.receive(producer), "");
  harness.send(other, "reserve\r\nrelease 1 0 0\r\nreserve\r\ndelete 1\r\n");
  EXPECT_TRUE(harness.receive(other).ends_with("DELETED\r\n"));
  harness.set_behind(false);
  harness.pump();
  EXPECT_EQ(harness.receive(producer), "INSERTED 2\r\nUSING default\r\n");
  EXPECT_TRUE(harness.reading(producer));
}

// The put will be refused later as well, so it need not wait.
TEST(WriteStall, ARefusedPutDoesNotWait) {
  CoreHarness harness;
  const ConnId early = harness.open();
  const ConnId late = harness.open();
  harness.set_behind(true);
  harness.send(early, put(10));
  EXPECT_EQ(harness.receive(early), "");
  harness.set_accepts_puts(false);
  harness.pump();
  EXPECT_EQ(harness.receive(early), "OUT_OF_MEMORY\r\n");
  harness.send(late, put(10));
  EXPECT_EQ(harness.receive(late), "OUT_OF_MEMORY\r\n");
}

TEST(Batches, AreSealedAtTheirLimitOfBytes) {
  CoreHarness harness({.batch_bytes_max = 10'000});
  const ConnId conn = harness.open();
  harness.set_committing(false);
  harness.send(conn, times(10, put(3000)));
  int batches = 0;
  size_t jobs = 0;
  while (harness.core().has_batch()) {
    const store::Batch batch = harness.core().take_batch(harness.now());
    EXPECT_LE(batch.bytes(), 10'000u);
    EXPECT_EQ(batch.index(), static_cast<BatchIndex>(++batches));
    jobs += batch.jobs().size();
  }
  EXPECT_EQ(jobs, 10u);
  EXPECT_GE(batches, 4);
}

TEST(Batches, ALargerJobGetsABatchOfItsOwn) {
  CoreHarness harness({.job_bytes_max = 1 << 20, .batch_bytes_max = 10'000});
  const ConnId conn = harness.open();
  harness.set_committing(false);
  harness.send(conn, put(10) + put(50'000) + put(10));
  std::vector<size_t> sizes;
  while (harness.core().has_batch()) {
    sizes.push_back(harness.core().take_batch(harness.now()).jobs().size());
  }
  EXPECT_EQ(sizes, (std::vector<size_t>{1, 1, 1}));
}

TEST(Batches, AreDueWithAPromisedTransitionOrAfterTheIdleTime) {
  CoreHarness harness;
  const ConnId conn = harness.open();
  harness.send(conn, put(1));
  harness.set_committing(false);
  harness.send(conn, "reserve\r\n");
  EXPECT_EQ(harness.receive(conn), "INSERTED 1\r\nRESERVED 1 1\r\nx\r\n");
  EXPECT_TRUE(harness.core().has_batch());
  EXPECT_FALSE(harness.core().batch_due(harness.now()));
  EXPECT_TRUE(harness.core().batch_due(harness.now() + 100 * nanos_per_ms));
  EXPECT_EQ(harness.core().next_deadline(), harness.now() + 100 * nanos_per_ms);
  harness.send(conn, "release 1 0 0\r\n");
  EXPECT_TRUE(harness.core().batch_due(harness.now()));
}

// A RESERVED waits for the batch of the newest promised transition of its job, and for no other.
class Reservations : public testing::Test {
 protected:
  static constexpr size_t body_bytes = 800;

  // Each put gets a batch of its own, which recoverable transitions may join.
  void put_jobs(int count) {
    for (int i = 0; i < count; ++i) harness_.send(producer_, put(body_bytes));
  }
  static std::string reserved(JobId id) {
    return fmt::format("RESERVED {} {}\r\n{}\r\n", id, body_bytes, std::string(body_bytes, 'x'));
  }

  CoreHarness harness_{{.batch_bytes_max = 1'000}};
  const ConnId producer_ = harness_.open();
  const ConnId worker_ = harness_.open();
  const ConnId other_ = harness_.open();
};

TEST_F(Reservations, OfADurableJobLeaveAtOnce) {
  put_jobs(1);
  harness_.set_committing(false);
  put_jobs(1);
  harness_.send(worker_, "reserve\r\n");
  EXPECT_EQ(harness_.receive(worker_), reserved(1));
  // The next job is not durable, and a reply that there is no third one shows its reservation.
  harness_.send(worker_, "reserve\r\n");
  harness_.send(other_, "peek-ready\r\n");
  EXPECT_EQ(harness_.receive(worker_) + harness_.receive(other_), "");
  harness_.commit();
  EXPECT_EQ(harness_.receive(worker_), reserved(2));
  EXPECT_EQ(harness_.receive(other_), "NOT_FOUND\r\n");
}

TEST_F(Reservations, WaitForTheBatchOfTheirJobOnly) {
  harness_.set_committing(false);
  put_jobs(3);
  harness_.send(other_, "list-tube-used\r\n");
  harness_.send(worker_, "reserve\r\n");
  EXPECT_EQ(harness_.receive(worker_), "");
  harness_.commit_one();
  EXPECT_EQ(harness_.receive(worker_), reserved(1));
  EXPECT_EQ(harness_.receive(other_), "");
  harness_.commit();
  EXPECT_EQ(harness_.receive(other_), "USING default\r\n");
}

TEST_F(Reservations, WaitForOtherPromisedTransitionsOfTheirJob) {
  struct Case {
    const char* commands;
    const char* answers;
  };
  for (const Case& one : {Case{"release 1 0 0\r\n", "RELEASED\r\n"},
                          Case{"bury 1 0\r\nkick 1\r\n", "BURIED\r\nKICKED 1\r\n"},
                          Case{"bury 1 0\r\nkick-job 1\r\n", "BURIED\r\nKICKED\r\n"}}) {
    CoreHarness harness;
    const ConnId before = harness.open();
    const ConnId worker = harness.open();
    harness.send(before, put(1) + "reserve\r\n");
    harness.receive(before);
    harness.set_committing(false);
    harness.send(before, one.commands);
    harness.send(worker, "reserve\r\n");
    EXPECT_EQ(harness.receive(worker), "") << one.commands;
    harness.commit();
    EXPECT_EQ(harness.receive(before), one.answers);
    EXPECT_EQ(harness.receive(worker), "RESERVED 1 1\r\nx\r\n") << one.commands;
  }
}

// A timeout is recoverable, so its batch holds nothing that was promised.
TEST_F(Reservations, DoNotWaitForAReservationThatEnded) {
  put_jobs(1);
  harness_.send(other_, "reserve\r\n");
  harness_.set_committing(false);
  put_jobs(1);
  harness_.close(other_);
  harness_.send(worker_, "reserve\r\n");
  EXPECT_EQ(harness_.receive(worker_), reserved(1));
}

TEST_F(Reservations, LeaveInTheOrderOfTheirConnection) {
  put_jobs(2);
  harness_.receive(producer_);
  harness_.set_committing(false);
  harness_.send(producer_, "reserve\r\ndelete 1\r\nreserve\r\n");
  EXPECT_EQ(harness_.receive(producer_), reserved(1));
  // A put of another client joins a later batch, for which the second RESERVED does not wait.
  harness_.send(worker_, put(body_bytes));
  harness_.send(producer_, "touch 2\r\n");
  harness_.commit_one();
  EXPECT_EQ(harness_.receive(producer_), "DELETED\r\n" + reserved(2));
  harness_.commit();
  EXPECT_EQ(harness_.receive(producer_), "TOUCHED\r\n");
}

TEST(PromisedBatches, JobsThatShareAnEntryCountTogether) {
  PromisedBatches promised;
  EXPECT_EQ(promised.newest(1), 0u);
  promised.on_promise(1, 7);
  EXPECT_EQ(promised.newest(1), 7u);
  EXPECT_EQ(promised.newest(2), 0u);
  EXPECT_EQ(promised.newest(1 + PromisedBatches::places), 7u);
}

// A long operation goes on no faster than the disk writes it, and other clients are served
// meanwhile.
class LongOperations : public testing::Test {
 protected:
  static constexpr int jobs = 2'000;
  static constexpr uint32_t delay_s = 1'000;

  void put_jobs(ConnId producer) {
    for (int i = 0; i < jobs; ++i)
      harness_.send(producer, fmt::format("put 0 {} 60 1\r\nx\r\n", delay_s));
    harness_.receive(producer);
    harness_.set_committing(false);
  }
  bool goes_on() {
    const std::optional<Nanos> next = harness_.core().next_tick();
    return next && *next <= harness_.now();
  }
  // How many turns it runs before it waits for the disk.
  int turn_until_held() {
    int turns = 0;
    for (; turns < jobs && goes_on(); ++turns) harness_.core().on_timer(harness_.now());
    return turns;
  }

  CoreHarness harness_{{.engine = {.transitions_per_turn_max = 10}, .batch_bytes_max = 2'000}};
};

TEST_F(LongOperations, AKickWaitsForTheDisk) {
  const ConnId kicker = harness_.open();
  const ConnId other = harness_.open();
  put_jobs(kicker);
  harness_.send(kicker, "kick 2000\r\n");
  EXPECT_LT(turn_until_held(), 50);
  harness_.core().on_timer(harness_.now());
  harness_.send(other, put(1));
  harness_.commit();
  EXPECT_TRUE(harness_.receive(other).starts_with("INSERTED"));
  EXPECT_EQ(harness_.receive(kicker), "");
  EXPECT_TRUE(goes_on());
  harness_.set_committing(true);
  harness_.advance(nanos_per_second);
  EXPECT_EQ(harness_.receive(kicker), "KICKED 2000\r\n");
}

TEST_F(LongOperations, DelaysThatEndWaitForTheDisk) {
  const ConnId other = harness_.open();
  put_jobs(other);
  harness_.skip(delay_s * nanos_per_second);
  EXPECT_LT(turn_until_held(), 50);
  EXPECT_LT(harness_.core().engine().view().state_counts().ready, size_t{jobs} / 2);
  // A reply that a client waits for is not delayed.
  harness_.send(other, "watch empty\r\nignore default\r\nreserve-with-timeout 1\r\n");
  harness_.skip(nanos_per_second);
  harness_.core().on_timer(harness_.now());
  harness_.commit();
  EXPECT_EQ(harness_.receive(other), "WATCHING 2\r\nWATCHING 1\r\nTIMED_OUT\r\n");
  EXPECT_TRUE(goes_on());
  harness_.set_committing(true);
  harness_.advance(nanos_per_second);
  EXPECT_EQ(harness_.core().engine().view().state_counts().ready, size_t{jobs});
}

// Other clients keep the log busy all the time.
TEST_F(LongOperations, EndDuringAFloodOfPuts) {
  const ConnId kicker = harness_.open();
  const ConnId flood = harness_.open();
  put_jobs(kicker);
  const std::string large = fmt::format("put 0 0 60 3000\r\n{}\r\n", std::string(3'000, 'x'));
  for (int i = 0; i < 8; ++i) harness_.send(flood, large);
  harness_.send(kicker, "kick 2000\r\n");
  constexpr int rounds_max = 10 * jobs;
  int rounds = 0;
  for (std::string answer; answer.empty() && rounds < rounds_max; ++rounds) {
    if (turn_until_held() > 0) harness_.commit_one();
    harness_.send(flood, large);
    harness_.commit_one();
    answer = harness_.receive(kicker);
  }
  EXPECT_LT(rounds, rounds_max);
}

TEST(Batches, WriteNothingForAJobThatWasPutAndDeleted) {
  CoreHarness harness;
  const ConnId conn = harness.open();
  harness.set_committing(false);
  harness.send(conn, put(1) + "reserve\r\ndelete 1\r\n");
  const store::Batch batch = harness.core().take_batch(harness.now());
  ASSERT_EQ(batch.jobs().size(), 1u);
  EXPECT_FALSE(batch.jobs()[0].before.has_value());
  EXPECT_FALSE(batch.jobs()[0].after.has_value());
}

TEST(Memory, PutsAreRefusedPastItsLimitAndAcceptedAgain) {
  CoreHarness probe;
  const size_t empty = probe.core().memory_bytes();
  CoreHarness harness({.memory_bytes_max = empty + 600'000});
  const ConnId conn = harness.open();
  JobId last = 0;
  std::string reply;
  do {
    harness.send(conn, put(10'000));
    reply = harness.receive(conn);
    ++last;
  } while (reply.starts_with("INSERTED") && last < 1000);
  EXPECT_EQ(reply, "OUT_OF_MEMORY\r\n");
  EXPECT_GT(last, 10u);
  for (JobId id = 1; id < last; ++id) harness.send(conn, "delete " + std::to_string(id) + "\r\n");
  harness.receive(conn);
  harness.send(conn, put(10'000));
  EXPECT_EQ(harness.receive(conn), "INSERTED " + std::to_string(last + 1) + "\r\n");
}

TEST(Time, DueTransitionsComeBeforeTheNextCommand) {
  CoreHarness harness;
  const ConnId conn = harness.open();
  harness.send(conn, put(1) + "pause-tube default 0\r\n");
  harness.receive(conn);
  harness.skip(1);
  harness.send(conn, "reserve-with-timeout 0\r\n");
  EXPECT_EQ(harness.receive(conn), "RESERVED 1 1\r\nx\r\n");
}

TEST(Quit, HeldRepliesAreSentAndLaterCommandsDropped) {
  CoreHarness harness;
  const ConnId conn = harness.open();
  harness.set_committing(false);
  harness.send(conn, put(1) + "quit\r\n" + put(1));
  EXPECT_FALSE(harness.closed_by_server(conn));
  harness.set_committing(true);
  EXPECT_EQ(harness.receive(conn), "INSERTED 1\r\n");
  EXPECT_TRUE(harness.closed_by_server(conn));
  EXPECT_EQ(harness.core().engine().view().job_count(), 1u);
}

TEST(Damage, AReadForAClosedConnectionStillBuriesTheJob) {
  CoreHarness harness({.body_cache_bytes = 0});
  const ConnId conn = harness.open();
  harness.send(conn, put(1));
  harness.receive(conn);
  harness.core().session(conn)->on_bytes(std::string_view("peek 1\r\n"), harness.now());
  const std::vector<BodyRead> reads = harness.core().take_reads();
  ASSERT_EQ(reads.size(), 1u);
  harness.close(conn);
  harness.core().on_body(reads[0].job, Status(StatusCode::Corruption, "test"), harness.now());
  EXPECT_EQ(harness.core().engine().view().state_counts().buried, 1u);
  EXPECT_EQ(harness.core().jobs_damaged(), 1u);
}

TEST(Damage, ABodyOfTheWrongSizeIsDamaged) {
  CoreHarness harness({.body_cache_bytes = 0});
  const ConnId conn = harness.open();
  harness.send(conn, put(5));
  harness.receive(conn);
  harness.core().session(conn)->on_bytes(std::string_view("peek 1\r\n"), harness.now());
  const std::vector<BodyRead> reads = harness.core().take_reads();
  ASSERT_EQ(reads.size(), 1u);
  harness.core().on_body(reads[0].job, Body("four"), harness.now());
  EXPECT_EQ(harness.receive(conn), "INTERNAL_ERROR\r\n");
}

}  // namespace
}  // namespace perennial::core
