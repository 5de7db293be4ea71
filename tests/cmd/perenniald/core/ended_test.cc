// What a client learns of jobs that have ended is never behind what it has learned before.

#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/types/ended_groups.h"
#include "tests/support/core_harness.h"

namespace perennial::core {
namespace {

using support::CoreHarness;

class EndedLooks : public testing::TestWithParam<const char*> {
 protected:
  EndedLooks() : a_(server_.open()), b_(server_.open()) {
    server_.send(a_, "set-tube default keep:60\r\nput 0 0 60 1\r\nx\r\ndelete 1\r\n");
    EXPECT_EQ(server_.receive(a_), "SET\r\nINSERTED 1\r\nDELETED\r\n");
    server_.set_committing(false);
    server_.send(a_, GetParam());
  }

  CoreHarness server_;
  ConnId a_;
  ConnId b_;
};

TEST_P(EndedLooks, DoNotShowAJobThatHasComeBack) {
  server_.send(b_, "reserve-with-timeout 0\r\npeek-ended 1\r\n");
  server_.commit();
  EXPECT_EQ(server_.receive(b_), "RESERVED 2 1\r\nx\r\nNOT_FOUND\r\n");
}

TEST_P(EndedLooks, DoNotListAJobThatHasComeBack) {
  server_.send(b_, "peek 2\r\nlist-jobs default state:ended\r\n");
  server_.commit();
  EXPECT_EQ(server_.receive(b_), "FOUND 2 1\r\nx\r\nOK 23\r\n---\ncursor: 0\njobs: []\n\r\n");
}

INSTANTIATE_TEST_SUITE_P(Restores, EndedLooks,
                         testing::Values("restore-job 1\r\n",
                                         "restore-tube default how:deleted\r\n"),
                         [](const auto& one) {
                           return std::string(one.param).starts_with("restore-job") ? "OfAJob"
                                                                                    : "OfATube";
                         });

// The second one is asked for while the first has not reached the disk. The job is not the oldest
// of its tube, so its place is still one of those that are in use.
TEST(EndedRestores, GiveAJobToOneOfTwoClients) {
  CoreHarness server;
  const ConnId a = server.open();
  const ConnId b = server.open();
  server.send(a, "set-tube default keep:60\r\nput 0 0 60 1\r\nx\r\nput 0 0 60 1\r\ny\r\n");
  server.send(a, "delete 1\r\ndelete 2\r\n");
  server.receive(a);
  server.set_committing(false);
  // It waits for the batch with this end.
  server.send(a, "put 0 0 60 1\r\nz\r\ndelete 3\r\nrestore-job 2\r\n");
  server.send(b, "restore-job 2\r\n");
  server.commit();
  server.commit();
  EXPECT_EQ(server.receive(a), "INSERTED 3\r\nDELETED\r\nINSERTED 4\r\n");
  EXPECT_EQ(server.receive(b), "NOT_FOUND\r\n");
}

// Three pages of jobs are put back, and each page waits for a commit. What is put back takes space,
// so that the disk may become short of it meanwhile.
class EndedRestoresOfATube : public testing::Test {
 protected:
  EndedRestoresOfATube() : conn_(server_.open()) {
    server_.send(conn_, "set-tube default keep:60\r\n");
    for (int i = 0; i < jobs; ++i) server_.send(conn_, "put 0 0 60 1\r\nx\r\n");
    server_.send(conn_, "flush-tube default\r\n");
    server_.advance(nanos_per_second);
    EXPECT_THAT(server_.receive(conn_), testing::EndsWith("FLUSHED 40\r\n"));
    server_.set_committing(false);
    server_.send(conn_, "restore-tube default\r\n");
  }
  void set_ample() { set_disk(true, 100 * mib); }
  void set_short() { set_disk(true, 3 * mib); }
  void set_full() { set_disk(false, 0); }
  void set_without_files() { set_disk(false, 100 * mib); }
  void look() {
    server_.skip(nanos_per_second);
    server_.core().on_timer(server_.now());
  }

  static constexpr int jobs = 40;
  static constexpr uint64_t mib = 1 << 20;
  CoreHarness server_;
  const ConnId conn_;

 private:
  void set_disk(bool accepts_puts, uint64_t bytes) {
    server_.set_accepts_puts(accepts_puts);
    server_.core().on_disk_left({.bytes = bytes, .slack_bytes = mib});
  }
};

TEST_F(EndedRestoresOfATube, LoseNothingToADiskThatBecomesShort) {
  set_short();
  for (int page = 0; page < 3; ++page) {
    look();
    server_.commit_one();
  }
  EXPECT_EQ(server_.receive(conn_), "RESTORED 40\r\n");
  EXPECT_EQ(server_.core().ended_removed_early(), 0u);
}

TEST_F(EndedRestoresOfATube, SayThatJobsHaveGoneWhileTheDiskWasFull) {
  set_full();
  look();
  set_ample();
  server_.commit_one();
  set_full();
  server_.commit_one();  // Between the second page and the third.
  set_ample();
  server_.commit();
  EXPECT_EQ(server_.receive(conn_), "OUT_OF_MEMORY\r\n");
  EXPECT_EQ(server_.core().ended_removed_early(), 8u);
}

// A disk on which few files can be made takes no puts, and has space.
TEST_F(EndedRestoresOfATube, LoseNothingToADiskWithoutFiles) {
  set_without_files();
  look();
  server_.commit();
  EXPECT_EQ(server_.receive(conn_), "OUT_OF_MEMORY\r\n");
  EXPECT_EQ(server_.core().operation_progress(conn_), 16u) << "what is back stays";
  look();
  server_.commit();
  EXPECT_EQ(server_.core().ended_removed_early(), 0u);
  set_ample();
  server_.set_committing(true);
  server_.send(conn_, "restore-tube default\r\n");
  EXPECT_EQ(server_.receive(conn_), "RESTORED 24\r\n");
  EXPECT_EQ(server_.core().operation_progress(conn_), std::nullopt);
}

class EndedLists : public testing::Test {
 protected:
  EndedLists() : a_(server_.open()) {
    server_.send(a_, "set-tube default keep:60\r\nput 0 0 60 1\r\nx\r\nput 0 0 60 1\r\ny\r\n");
    server_.send(a_, "delete 1\r\n");
    server_.receive(a_);
  }
  void ask() {
    const engine::EngineView engine = server_.core().engine().view();
    server_.core().list_ended_groups(
        {.tubes = {kept_of("default", engine.settings_of("default"), engine.ended_span("default"),
                           server_.now())},
         .groups_max = 10,
         .jobs_max = 10},
        [this](EndedGroupsPage page) { pages_.push_back(std::move(page)); });
    server_.pump();
  }

  CoreHarness server_;
  ConnId a_;
  std::vector<EndedGroupsPage> pages_;
};

TEST_F(EndedLists, HaveWhatHasEndedAsOneGroup) {
  server_.send(a_, "delete 2\r\n");
  ask();
  ASSERT_EQ(pages_.size(), 1u);
  ASSERT_EQ(pages_[0].groups.size(), 1u);
  EXPECT_EQ(pages_[0].groups[0].jobs, 2u);
  EXPECT_EQ(pages_[0].groups[0].newest.job, 2u);
  EXPECT_FALSE(pages_[0].next);
}

// They wait for the batch in which it comes back, as other looks do.
TEST_F(EndedLists, DoNotShowAJobThatHasComeBack) {
  server_.set_committing(false);
  server_.send(a_, "restore-job 1\r\n");
  ask();
  EXPECT_TRUE(pages_.empty());
  server_.commit();
  ASSERT_EQ(pages_.size(), 1u);
  EXPECT_TRUE(pages_[0].groups.empty());
}

// The page that a purge reads is full of jobs that ended after it was asked for. They are for the
// next one, and no place of theirs is passed over.
TEST(EndedPurges, LeaveWhatHasEndedSinceToTheNext) {
  CoreHarness server;
  const ConnId a = server.open();
  server.send(a, "set-tube default keep-max:1\r\n");
  for (int i = 0; i < 4'200; ++i) server.send(a, "put 0 0 60 1\r\nx\r\n");
  server.send(a, "delete 1\r\ndelete 2\r\ndelete 3\r\n");
  server.receive(a);
  server.set_committing(false);
  server.advance(2 * nanos_per_second);  // The purge is asked for.
  server.send(a, "flush-tube default\r\n");
  server.advance(nanos_per_second);
  server.set_committing(true);
  server.commit();
  for (int i = 0; i < 5; ++i) server.advance(2 * nanos_per_second);
  EXPECT_EQ(server.store().ended().size(), 1u);
  EXPECT_EQ(server.store().ended().begin()->first, 4'200u);
}

}  // namespace
}  // namespace perennial::core
