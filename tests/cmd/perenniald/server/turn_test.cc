// Turns of the loop, with a log that commits when the test says so, and clients that are only ids.

#include "cmd/perenniald/server/turn.h"

#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/types/check.h"

namespace perennial::perenniald {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::string_view put = "put 0 0 60 1\r\nx\r\n";
constexpr std::string_view put_later = "put 0 1000 60 1\r\nx\r\n";

// Records what it is given. Batches are committed by finish(), or during the append.
class FakeLog final : public store::Log {
 public:
  bool idle() const override { return under_way_ == 0; }
  store::Appended append(store::Batch&& batch) override {
    CHECK(idle());
    given_.push_back("batch " + std::to_string(batch.index()));
    batches_.push_back(std::move(batch));
    if (at_once_) {
      finish_batch();
      return store::Appended::Done;
    }
    ++under_way_;
    return store::Appended::UnderWay;
  }
  void checkpoint(std::string dir) override {
    given_.push_back(std::move(dir));
    ++under_way_;
    ++cuts_;
  }
  Update collect() override {
    Update update = std::exchange(news_, {});
    news_.indices = update.indices;
    return update;
  }
  bool busy() const override { return !idle(); }
  uint64_t progress() const override { return 0; }
  void stop() override {}

  // Puts a read of notes among what was given.
  void take_read(JobId job) { given_.push_back("notes of " + std::to_string(job)); }
  // Commits everything that was appended. The caller then calls on_log_update() of the turn.
  void finish() {
    while (!batches_.empty()) finish_batch();
    if (cuts_ > 0) news_.checkpoint = store::CheckpointCreated{};
    under_way_ = cuts_ = 0;
  }
  void set_at_once(bool at_once) { at_once_ = at_once; }
  void set_facts(StoreFacts facts) { news_.store.facts = std::move(facts); }
  const std::vector<std::string>& given() const { return given_; }

 private:
  void finish_batch() {
    const BatchIndex index = batches_.front().index();
    news_.indices = {.committed = index, .applied = index, .durable = index};
    news_.batches.push_back(std::move(batches_.front()));
    batches_.pop_front();
  }

  std::vector<std::string> given_;
  std::deque<store::Batch> batches_;
  size_t under_way_ = 0;
  size_t cuts_ = 0;
  bool at_once_ = false;
  Update news_;
};

class TurnTest : public testing::Test, private Turn::Parts {
 protected:
  TurnTest() {
    core_.resume(1, 0, 1, clock_.now());
    for (ConnId conn = 1; conn <= clients; ++conn)
      core_.open(conn, clock_.now(), {.may_checkpoint = true});
    // The first batch raises the next id, and is not part of the test.
    say(clients, put);
    run_loop();
    finish();
    run_loop();
    given_before_ = log_.given().size();
    received_.clear();
  }
  ~TurnTest() override {
    for (ConnId conn = 1; conn <= clients; ++conn) core_.session(conn)->on_close(clock_.now());
  }

  // Gives core bytes of a client.
  void say(ConnId conn, std::string_view bytes) {
    core_.session(conn)->on_bytes(bytes, clock_.now());
    turn_.hand_over_early();
  }
  Turn::TurnResult end_turn() {
    const Turn::TurnResult carried = turn_.before_poll();
    clock_.end_turn();
    return carried;
  }
  // Runs turns until the loop would block.
  void run_loop() {
    for (int turns = 0; end_turn().at_once; ++turns) ASSERT_LT(turns, 10) << "it never blocks";
  }
  void finish() {
    log_.finish();
    turn_.on_log_update();
  }
  // What the log was given since the start of the test.
  std::vector<std::string> given() const {
    return {log_.given().begin() + static_cast<ptrdiff_t>(given_before_), log_.given().end()};
  }
  std::string received(ConnId conn) { return std::exchange(received_[conn], {}); }

  static constexpr ConnId clients = 4;

  TurnClock clock_;
  TurnBudget budget_{clock_};
  core::Core core_{core::Options()};
  FakeLog log_;
  std::map<ConnId, std::string> received_;
  std::vector<Nanos> armed_;
  BatchIndex announced_ = 0;
  int cuts_done_ = 0;
  size_t given_before_ = 0;
  Turn turn_{core_, log_, clock_, budget_, *this};

 private:
  size_t serve(std::span<const ConnId> conns) override {
    core::Session& session = *core_.session(conns.front());
    while (!session.output().empty()) {
      const size_t bytes = session.output().size();
      received_[conns.front()] += session.output();
      session.on_written(bytes);
    }
    return 1;
  }
  void read_body(const core::BodyRead& /*read*/) override { FAIL() << "all bodies are in memory"; }
  void read_notes(const core::NoteRead& read) override { log_.take_read(read.job); }
  void read_ended(core::EndedRead&& /*read*/) override { FAIL() << "no tube keeps ended jobs"; }
  void before_append(const store::Batch& batch) override { announced_ = batch.index(); }
  void order_checkpoint() override {
    core_.checkpoints().freeze_point(clock_.now());
    if (const auto point = core_.checkpoints().take_point()) {
      log_.checkpoint("checkpoint " + std::to_string(point->index));
    }
  }
  void on_checkpoint_created(const store::CheckpointCreated& /*created*/) override { ++cuts_done_; }
  store::DiskLeft disk_left() override { return {}; }
  void arm_timer(Nanos left) override { armed_.push_back(left); }
};

TEST_F(TurnTest, APutIsAppendedAndItsReplyServedAfterTheCommit) {
  say(1, put);
  EXPECT_THAT(given(), IsEmpty()) << "the turn may bring more";
  run_loop();
  EXPECT_THAT(given(), ElementsAre("batch 2"));
  EXPECT_EQ(announced_, 2U);
  EXPECT_EQ(received(1), "") << "it is not committed";
  finish();
  EXPECT_EQ(received(1), "") << "nothing leaves before the end of the turn";
  run_loop();
  EXPECT_EQ(received(1), "INSERTED 2\r\n");
}

TEST_F(TurnTest, NothingIsAppendedWhileABatchIsUnderWay) {
  say(1, put);
  run_loop();
  say(2, put);
  run_loop();
  say(3, put);
  run_loop();
  EXPECT_THAT(given(), ElementsAre("batch 2"));
  finish();
  run_loop();
  EXPECT_THAT(given(), ElementsAre("batch 2", "batch 3")) << "all of them in one";
  finish();
  run_loop();
  for (const ConnId conn : {1, 2, 3}) EXPECT_THAT(received(conn), testing::HasSubstr("INSERTED"));
}

TEST_F(TurnTest, WhatWasWrittenDuringTheAppendIsAnsweredInTheSameTurn) {
  log_.set_at_once(true);
  say(1, put);
  run_loop();
  EXPECT_THAT(given(), ElementsAre("batch 2"));
  EXPECT_EQ(received(1), "INSERTED 2\r\n");
}

// A later batch may delete what it reads.
TEST_F(TurnTest, AReadOfNotesBeginsBeforeTheNextAppend) {
  say(1, "note 1 3\r\nwhy\r\n");
  run_loop();
  finish();
  run_loop();
  ASSERT_EQ(received(1), "NOTED\r\n");
  say(1, "list-notes 1\r\n");
  say(2, "delete 1\r\n");
  run_loop();
  EXPECT_THAT(given(), ElementsAre("batch 2", "notes of 1", "batch 3"));
}

// A put has three operations.
constexpr size_t small_batch_puts = store::small_batch_operations_max / 3;

TEST_F(TurnTest, ALargeBatchIsAppendedBeforeTheEndOfTheTurn) {
  for (size_t i = 0; i < small_batch_puts; ++i) say(1, put);
  EXPECT_THAT(given(), IsEmpty());
  say(1, put);
  EXPECT_THAT(given(), ElementsAre("batch 2"));
  for (size_t i = 0; i < 2 * small_batch_puts; ++i) say(2, put);
  EXPECT_THAT(given(), ElementsAre("batch 2")) << "it is under way";
}

TEST_F(TurnTest, ACheckpointIsCreatedBetweenTwoBatches) {
  say(1, put);
  run_loop();
  say(2, put);
  say(2, "checkpoint\r\n");
  say(3, put);
  run_loop();  // The checkpoint point is fixed: it follows the batches that exist now.
  say(4, put);
  run_loop();
  EXPECT_THAT(given(), ElementsAre("batch 2"));
  finish();
  run_loop();
  EXPECT_THAT(given(), ElementsAre("batch 2", "batch 3", "checkpoint 3"))
      << "without waiting for batch 3";
  finish();
  EXPECT_EQ(cuts_done_, 1);
  say(1, put);
  run_loop();
  EXPECT_THAT(given(), ElementsAre("batch 2", "batch 3", "checkpoint 3", "batch 4"));
}

TEST_F(TurnTest, ACheckpointNeedsNoBatch) {
  say(1, "checkpoint\r\n");
  run_loop();
  EXPECT_THAT(given(), ElementsAre("checkpoint 1"));
  say(2, put);
  run_loop();
  EXPECT_THAT(given(), ElementsAre("checkpoint 1")) << "the log is not idle";
  finish();
  run_loop();
  EXPECT_THAT(given(), ElementsAre("checkpoint 1", "batch 2"));
}

TEST_F(TurnTest, ACheckpointFollowsALargeBatchInTheMiddleOfATurn) {
  for (size_t i = 0; i < small_batch_puts; ++i) say(1, put);
  say(2, "checkpoint\r\n");
  say(1, put);
  EXPECT_THAT(given(), ElementsAre("batch 2", "checkpoint 2"));
}

// Clients that were just answered come back one by one. The batch is appended after at most four
// more polls of the sockets, or after one that brings none of these clients.
TEST_F(TurnTest, ExtraPollsEndWhenAllAwaitedClientsHaveComeBack) {
  for (const ConnId conn : {1, 2, 3}) say(conn, put);
  run_loop();
  finish();
  run_loop();
  say(1, put);
  EXPECT_TRUE(end_turn().at_once);
  say(2, put);
  EXPECT_TRUE(end_turn().at_once);
  EXPECT_THAT(given(), ElementsAre("batch 2"));
  say(3, put);
  EXPECT_FALSE(end_turn().at_once);
  EXPECT_THAT(given(), ElementsAre("batch 2", "batch 3"));
}

TEST_F(TurnTest, ExtraPollsEndWhenOneBringsNoClient) {
  for (const ConnId conn : {1, 2, 3}) say(conn, put);
  run_loop();
  finish();
  run_loop();
  say(1, put);
  EXPECT_TRUE(end_turn().at_once);
  EXPECT_THAT(given(), ElementsAre("batch 2"));
  EXPECT_FALSE(end_turn().at_once);
  EXPECT_THAT(given(), ElementsAre("batch 2", "batch 3"));
}

TEST_F(TurnTest, OnlyAStopAppendsRecoverableTransitionsAtOnce) {
  say(1, "reserve\r\n");
  run_loop();
  EXPECT_THAT(given(), IsEmpty()) << "a reservation waits for the idle time";
  turn_.begin_stop();
  run_loop();
  EXPECT_THAT(given(), ElementsAre("batch 2"));
}

TEST_F(TurnTest, ALaterDeadlineDoesNotChangeTheTimer) {
  say(1, put_later);
  run_loop();
  finish();
  run_loop();
  ASSERT_FALSE(armed_.empty());
  const size_t before = armed_.size();
  run_loop();
  EXPECT_EQ(armed_.size(), before);
  turn_.on_timer();
  run_loop();
  EXPECT_EQ(armed_.size(), before + 1) << "it has fired";
  turn_.begin_stop();
  turn_.on_timer();
  run_loop();
  EXPECT_EQ(armed_.size(), before + 1) << "nothing falls due any more";
}

TEST_F(TurnTest, ReportsTheFactsOfTheStore) {
  log_.set_facts({.records_written = 7, .durability = "commit", .state = "ok"});
  turn_.on_log_update();
  EXPECT_EQ(turn_.store_facts().records_written, 7U);
}

}  // namespace
}  // namespace perennial::perenniald
