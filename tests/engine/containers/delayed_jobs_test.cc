#include "engine/containers/delayed_jobs.h"

#include <memory>
#include <random>
#include <set>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

namespace perennial::engine {
namespace {

struct IsSooner {
  bool operator()(const Job* a, const Job* b) const {
    return std::tuple(a->order, a->id) < std::tuple(b->order, b->id);
  }
};
using Sorted = std::set<Job*, IsSooner>;

// Makes random changes to DelayedJobs and to two sorted sets: all jobs, and those from before the
// split.
class DelayedSteps {
 public:
  void step() {
    switch (random_() % 8) {
      case 0:
      case 1:
      case 2:
      case 3:
        return push();
      case 4:
      case 5:
        if (!all_.empty()) take(*any());
        return;
      case 6:
        if (jobs_.is_split() && !before_.empty()) take(**before_.begin());
        return;
      default:
        if (random_() % 40 == 0) change_split();
    }
  }

  void compare() const {
    ASSERT_EQ(jobs_.size(), all_.size());
    if (!all_.empty()) {
      ASSERT_EQ(jobs_.top().item, *all_.begin());
    }
    if (jobs_.is_split()) {
      ASSERT_EQ(jobs_.first_of_before(), before_.empty() ? nullptr : *before_.begin());
    }
  }
  void compare_all() const {
    jobs_.check();
    Sorted found;
    jobs_.for_each([&found](Job& job) { found.insert(&job); });
    ASSERT_EQ(found, all_);
    for (const Job* job : all_) ASSERT_TRUE(jobs_.holds(*job));
  }
  size_t splits() const { return splits_; }

 private:
  void push() {
    owned_.push_back(std::make_unique<Job>(Job{.id = owned_.size() + 1, .order = random_() % 500}));
    jobs_.push(*owned_.back());
    all_.insert(owned_.back().get());
  }
  void take(Job& job) {
    jobs_.remove(job);
    ASSERT_FALSE(jobs_.holds(job));
    all_.erase(&job);
    before_.erase(&job);
  }
  Job* any() {
    return *std::next(all_.begin(), static_cast<std::ptrdiff_t>(random_() % all_.size()));
  }
  void change_split() {
    if (jobs_.is_split()) return jobs_.end_split();
    while (!jobs_.is_joined()) jobs_.join_one();
    jobs_.split();
    before_ = all_;
    ++splits_;
  }

  std::mt19937_64 random_{42};
  std::vector<std::unique_ptr<Job>> owned_;
  DelayedJobs jobs_;
  Sorted all_;
  Sorted before_;
  size_t splits_ = 0;
};

TEST(DelayedJobs, AgreeWithSortedSets) {
  DelayedSteps steps;
  for (int step = 0; step < 20'000; ++step) {
    steps.step();
    ASSERT_NO_FATAL_FAILURE(steps.compare());
    if (step % 100 != 0) continue;
    ASSERT_NO_FATAL_FAILURE(steps.compare_all());
  }
  EXPECT_GT(steps.splits(), 10U);
}

}  // namespace
}  // namespace perennial::engine
