#include "engine/containers/job_pool.h"

#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace perennial::engine {
namespace {

TEST(JobPool, DoesNotMoveJobs) {
  JobPool pool;
  std::vector<Job*> jobs;
  for (JobId id = 1; id <= 5000; ++id) jobs.push_back(pool.take({.id = id}));
  for (JobId id = 1; id <= 5000; ++id) ASSERT_EQ(jobs[id - 1]->id, id);
  for (Job* job : jobs) pool.release(job);
}

TEST(JobPool, FreesMemoryWhenJobsAreReleased) {
  JobPool pool;
  std::vector<Job*> jobs;
  for (JobId id = 1; id <= 200'000; ++id) jobs.push_back(pool.take({.id = id}));
  const size_t full = pool.bytes();
  EXPECT_GE(full, 200'000 * sizeof(Job));
  for (Job* job : jobs) pool.release(job);
  EXPECT_LT(pool.bytes(), full / 20);
}

TEST(JobPool, ReusesReleasedSlots) {
  JobPool pool;
  std::mt19937_64 random(7);
  std::vector<Job*> jobs;
  for (JobId id = 1; id <= 10'000; ++id) jobs.push_back(pool.take({.id = id}));
  const size_t full = pool.bytes();
  for (int round = 0; round < 50'000; ++round) {
    Job*& job = jobs[random() % jobs.size()];
    const JobId id = job->id;
    pool.release(job);
    job = pool.take({.id = id});
    ASSERT_EQ(job->id, id);
  }
  EXPECT_EQ(pool.bytes(), full);
  for (Job* job : jobs) pool.release(job);
}

}  // namespace
}  // namespace perennial::engine
