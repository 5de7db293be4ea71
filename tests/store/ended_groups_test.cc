#include "engine/types/ended_groups.h"

#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "store/batch/batch.h"
#include "store/store.h"
#include "tests/store/temp_dir.h"

// Jobs that have ended in many tubes, as one list.
namespace perennial::store {
namespace {

class EndedGroupsInStore : public testing::Test {
 protected:
  EndedGroupsInStore() {
    auto opened = Store::open({.data_dir = dir_.data_dir()});
    EXPECT_TRUE(opened.ok()) << opened.status().message();
    store_ = opened.take();
    write({TubeStored{.tube = 1, .name = "a"}, NextIdRaised{.next_id = 100'000}});
  }

  void write(const std::vector<Transition>& transitions) {
    Batch batch;
    for (const Transition& each : transitions) {
      const auto* const moved = std::get_if<JobMoved>(&each);
      const bool is_put = moved != nullptr && !moved->before;
      batch.add(each, is_put ? "x" : "");
    }
    ++index_;
    batch.seal({.epoch = store_->opening().epoch, .index = index_, .known_durable = index_ - 1});
    const Status written = store_->write(batch, true);
    ASSERT_TRUE(written.ok()) << written.message();
  }
  void end(const std::string& tube, Nanos at, JobEnd how = JobEnd::Flushed,
           const std::string& user = "ann") {
    const JobId id = ++last_id_;
    const JobRow row = {.id = id, .tube = 1, .ttr_s = 1, .body_bytes = 1};
    EndedSpan& span = spans_[tube];
    EndedJob job = {
        .row = row, .tube = tube, .place = span.next++, .how = how, .at = at, .user = user};
    job.row.tube = 0;
    write({JobMoved{.id = id, .before = {}, .after = row, .promised = true}});
    write({JobMoved{.id = id, .before = JobState::Ready, .after = {}, .promised = true},
           JobEnded{.job = job, .span = span}});
    jobs_.push_back(job);
  }
  EndedGroupsQuery query(size_t groups_max, uint64_t jobs_max) const {
    EndedGroupsQuery query = {.groups_max = groups_max, .jobs_max = jobs_max};
    for (const auto& [tube, span] : spans_) query.tubes.push_back({.tube = tube, .span = span});
    return query;
  }
  EndedGroupsPage page(const EndedGroupsQuery& query) const {
    auto page = store_->read_ended_groups(query);
    EXPECT_TRUE(page.ok()) << page.status().message();
    return page.ok() ? page.take() : EndedGroupsPage();
  }
  // What a page is, made of all jobs in their order.
  EndedGroupsPage expected(const EndedGroupsQuery& query) const {
    const auto rank = [](Nanos at, const std::string& tube, uint64_t place) {
      return std::make_tuple(-at, tube, UINT64_MAX - place);
    };
    const auto rank_of = [&](const EndedJob& job) { return rank(job.at, job.tube, job.place); };
    std::vector<EndedJob> sorted = jobs_;
    std::ranges::sort(sorted, {}, rank_of);
    EndedGrouping grouping(query);
    for (const EndedJob& job : sorted) {
      const bool was_taken = query.after && rank_of(job) <= rank(query.after->at, query.after->tube,
                                                                 query.after->place);
      if (was_taken) continue;
      const EndedPosition position = {.at = job.at, .tube = job.tube, .place = job.place};
      if (!grouping.take(position, &job)) return grouping.finish(false);
    }
    return grouping.finish(true);
  }

  const TempDir dir_;
  std::unique_ptr<Store> store_;
  std::map<std::string, EndedSpan> spans_;
  std::vector<EndedJob> jobs_;
  BatchIndex index_ = 0;
  JobId last_id_ = 0;
};

TEST_F(EndedGroupsInStore, AreNoneWithoutEndedJobs) {
  EXPECT_TRUE(page({.groups_max = 1, .jobs_max = 1}).groups.empty());
  EXPECT_TRUE(page({.tubes = {{.tube = "a", .span = {.first = 1, .next = 9}}},
                    .groups_max = 1,
                    .jobs_max = 1})
                  .groups.empty());
  end("a", 5);
  EXPECT_TRUE(page({.groups_max = 1, .jobs_max = 1}).groups.empty());
  EXPECT_FALSE(page({.groups_max = 1, .jobs_max = 1}).next);
}

TEST_F(EndedGroupsInStore, HaveTheNewestOfAllTubesFirst) {
  constexpr Nanos second = nanos_per_second;
  for (int i = 0; i < 50; ++i) end("b", 100 * second);
  end("a", 200 * second, JobEnd::Deleted, "worker");
  end("c", 300 * second, JobEnd::Expired, "");
  end("b", 400 * second);
  const EndedGroupsPage all = page(query(10, 100));
  ASSERT_EQ(all.groups.size(), 4U);
  EXPECT_EQ(all.looked_at, 53U);
  EXPECT_FALSE(all.next);
  EXPECT_EQ(all.groups[0].tube, "b");
  EXPECT_EQ(all.groups[1].how, JobEnd::Expired);
  EXPECT_EQ(all.groups[2].user, "worker");
  EXPECT_EQ(all.groups[3], (EndedGroup{.tube = "b",
                                       .how = JobEnd::Flushed,
                                       .user = "ann",
                                       .jobs = 50,
                                       .newest = {.job = 50, .at = 100 * second, .place = 50},
                                       .oldest = {.job = 1, .at = 100 * second, .place = 1}}));
  // Of a tube only what is kept.
  EndedGroupsQuery part = query(10, 100);
  part.tubes[1].span.first = 41;
  part.tubes[0].since = 201 * second;
  const EndedGroupsPage kept = page(part);
  ASSERT_EQ(kept.groups.size(), 3U);
  EXPECT_EQ(kept.groups[2].jobs, 10U);
}

// The row of a job may be gone since, and so may its place.
TEST_F(EndedGroupsInStore, LeaveOutWhatHasGone) {
  for (int i = 0; i < 5; ++i) end("a", i * 1'000);
  const EndedSpan left = {.first = 1, .next = 6};
  for (const size_t index : {4U, 2U}) {
    const EndedJob job = jobs_[index];
    write(
        {EndedGone{.tube = "a", .place = job.place, .job = job.row.id, .notes = 0, .span = left}});
  }
  const EndedGroupsPage found = page(query(10, 100));
  ASSERT_EQ(found.groups.size(), 1U);
  EXPECT_EQ(found.groups[0].jobs, 3U);
  EXPECT_EQ(found.groups[0].newest.job, 4U);
  EXPECT_EQ(found.groups[0].oldest.job, 1U);
}

// More tubes than are read at once, which end jobs at the same times.
TEST_F(EndedGroupsInStore, AreTheSamePageByPage) {
  std::mt19937 random(7);
  Nanos now = nanos_per_second;
  const std::vector<std::string> users = {"", "ann", "ben"};
  for (int i = 0; i < 600; ++i) {
    if (random() % 3 == 0) now += static_cast<Nanos>(random() % 4) * 3 * nanos_per_second;
    end("t" + std::to_string(random() % 90), now, static_cast<JobEnd>(random() % 3),
        users[random() % 3]);
  }
  for (const auto& [groups_max, jobs_max] : std::vector<std::pair<size_t, uint64_t>>{
           {1000, 1000}, {7, 1000}, {1000, 13}, {3, 5}, {1, 1}}) {
    for (const bool is_filtered : {false, true}) {
      EndedGroupsQuery query = this->query(groups_max, jobs_max);
      if (is_filtered) query.user = "ann";
      if (is_filtered) query.how = {JobEnd::Flushed, JobEnd::Expired};
      uint64_t looked_at = 0;
      for (bool is_end = false; !is_end;) {
        const EndedGroupsPage found = page(query);
        const EndedGroupsPage wanted = expected(query);
        ASSERT_EQ(found.groups, wanted.groups) << groups_max << " " << jobs_max;
        ASSERT_EQ(found.next, wanted.next);
        looked_at += found.looked_at;
        is_end = !found.next;
        query.after = found.next;
      }
      EXPECT_EQ(looked_at, 600U);
    }
  }
}

}  // namespace
}  // namespace perennial::store
