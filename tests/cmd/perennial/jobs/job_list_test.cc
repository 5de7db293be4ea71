#include "cmd/perennial/jobs/job_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace perennial::tool {
namespace {

constexpr const char* one_job =
    "- {id: 7, tube: \"a-(b)\", state: ready, pri: 5, age: 3, delay: 0, ttr: 60, time-left: 0, "
    "bytes: 1234, reserves: 2, attempts: 1}\n";

TEST(JobList, HasACursorAndJobs) {
  const auto list = parse_job_list(std::string("---\ncursor: 9\njobs:\n") + one_job + one_job);
  ASSERT_TRUE(list.ok()) << list.status().message();
  EXPECT_EQ(list->cursor, 9U);
  ASSERT_EQ(list->rows.size(), 2U);
  EXPECT_EQ(list->rows[1].count("id"), 7U);
  EXPECT_EQ(list->rows[1].text("tube"), "a-(b)");
  EXPECT_EQ(list->rows[1].count("attempts"), 1U);
}

// The server names no job that is not parked.
TEST(JobList, SaysOfEachJobWhetherItIsParked) {
  std::string parked = one_job;
  parked.insert(parked.find('}'), ", parked: true");
  const auto list = parse_job_list(std::string("---\ncursor: 0\njobs:\n") + one_job + parked);
  ASSERT_TRUE(list.ok()) << list.status().message();
  EXPECT_THAT(to_json(list->rows[0]), testing::HasSubstr("\"parked\": false"));
  EXPECT_THAT(to_json(list->rows[1]), testing::HasSubstr("\"parked\": true"));
  EXPECT_THAT(to_json(list->rows[1]), testing::HasSubstr("\"state\": \"ready\""));
  EXPECT_EQ(job_list_line(list->rows[1], {}, {}),
            "         7 parked            5    3s     -   60s       1,234        2        1\n");
}

TEST(JobList, MayBeEmpty) {
  const auto list = parse_job_list("---\ncursor: 0\njobs: []\n");
  ASSERT_TRUE(list.ok()) << list.status().message();
  EXPECT_EQ(list->cursor, 0U);
  EXPECT_TRUE(list->rows.empty());
}

TEST(JobList, AnotherDocumentIsRefused) {
  for (const char* document :
       {"", "---\n", "---\ncursor: x\njobs: []\n", "---\ncursor: 1\n", "---\ncursor: 1\njobs:\nx\n",
        "---\ncursor: 1\njobs:\n- {id}\n", "---\ncursor: 1\njobs:\n- {id: 7\n", "---\n- a\n"}) {
    const auto list = parse_job_list(document);
    EXPECT_EQ(list.status().code(), StatusCode::Io) << document;
  }
}

TEST(JobList, ALineFitsUnderTheHeading) {
  const auto list = parse_job_list(std::string("---\ncursor: 0\njobs:\n") + one_job);
  ASSERT_TRUE(list.ok());
  EXPECT_EQ(
      job_list_heading({.tube = true}) + job_list_line(list->rows[0], {.tube = true}, {}),
      "        ID STATE           PRI   AGE  LEFT   TTR       BYTES RESERVES ATTEMPTS TUBE\n"
      "         7 ready             5    3s     -   60s       1,234        2        1 a-(b)\n");
  EXPECT_EQ(job_list_heading({}).size(), job_list_line(list->rows[0], {}, {}).size());
}

}  // namespace
}  // namespace perennial::tool
