#include "engine/types/ended_groups.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace perennial {
namespace {

EndedJob ended(uint64_t place, Nanos at, JobEnd how = JobEnd::Flushed, std::string user = "ann",
               std::string tube = "mail") {
  return {.row = {.id = place + 100},
          .tube = std::move(tube),
          .place = place,
          .how = how,
          .at = at,
          .user = std::move(user)};
}

// All pages of these jobs, each as "tube how user jobs newest-oldest".
std::vector<std::string> lines_of(const std::vector<EndedJob>& jobs, EndedGroupsQuery query,
                                  std::vector<size_t>* pages = nullptr) {
  std::vector<std::string> lines;
  size_t next = 0;
  for (bool is_end = false; !is_end;) {
    EndedGrouping grouping(query);
    const auto take = [&](const EndedJob& job) {
      return grouping.take({.at = job.at, .tube = job.tube, .place = job.place}, &job);
    };
    while (next < jobs.size() && take(jobs[next])) ++next;
    is_end = next == jobs.size();
    const EndedGroupsPage page = grouping.finish(is_end);
    EXPECT_EQ(page.next.has_value(), !is_end);
    if (page.next) {
      EXPECT_EQ(page.next->place, jobs[next - 1].place);
    }
    for (const EndedGroup& group : page.groups) {
      lines.push_back(group.tube + " " + std::string(name_of(group.how)) + " " + group.user + " " +
                      std::to_string(group.jobs) + " " + std::to_string(group.newest.place) + "-" +
                      std::to_string(group.oldest.place));
    }
    if (pages != nullptr) pages->push_back(page.groups.size());
  }
  return lines;
}

using Lines = std::vector<std::string>;

TEST(EndedGroups, HoldWhatEndedTogether) {
  constexpr Nanos gap = ended_group_gap;
  const std::vector<EndedJob> jobs = {
      ended(9, 5 * gap),
      ended(8, 5 * gap, JobEnd::Deleted, "worker"),
      ended(7, 5 * gap, JobEnd::Flushed, "ben"),
      ended(5, 5 * gap, JobEnd::Flushed, "ann", "other"),
      ended(6, 4 * gap),  // The gap is just not too long.
      ended(4, 3 * gap + 1, JobEnd::Deleted, "worker"),
      ended(3, 3 * gap - 1),
  };
  EXPECT_EQ(
      lines_of(jobs, {.groups_max = 10, .jobs_max = 100}),
      (Lines{"mail flushed ann 2 9-6", "mail deleted worker 1 8-8", "mail flushed ben 1 7-7",
             "other flushed ann 1 5-5", "mail deleted worker 1 4-4", "mail flushed ann 1 3-3"}));
  EXPECT_EQ(lines_of(jobs, {.how = {JobEnd::Deleted}, .groups_max = 10, .jobs_max = 100}),
            (Lines{"mail deleted worker 1 8-8", "mail deleted worker 1 4-4"}));
  EXPECT_EQ(lines_of(jobs, {.user = "ben", .groups_max = 10, .jobs_max = 100}),
            (Lines{"mail flushed ben 1 7-7"}));
}

TEST(EndedGroups, CountEachJobOnOnePage) {
  std::vector<EndedJob> jobs;
  for (uint64_t place = 60; place > 0; --place) {
    jobs.push_back(ended(place, static_cast<Nanos>(place), JobEnd::Flushed,
                         place > 30       ? "ann"
                         : place % 2 == 0 ? "ben"
                                          : "cy"));
  }
  std::vector<size_t> pages;
  EXPECT_EQ(
      lines_of(jobs, {.groups_max = 3, .jobs_max = 60}, &pages),
      (Lines{"mail flushed ann 30 60-31", "mail flushed ben 15 30-2", "mail flushed cy 15 29-1"}));
  EXPECT_EQ(pages, (std::vector<size_t>{3}));
  // A page that ends by either bound goes on behind its last job.
  pages.clear();
  EXPECT_EQ(
      lines_of(jobs, {.groups_max = 3, .jobs_max = 20}, &pages),
      (Lines{"mail flushed ann 20 60-41", "mail flushed ann 10 40-31", "mail flushed ben 5 30-22",
             "mail flushed cy 5 29-21", "mail flushed ben 10 20-2", "mail flushed cy 10 19-1"}));
  EXPECT_EQ(pages, (std::vector<size_t>{1, 3, 2}));
  pages.clear();
  EXPECT_EQ(lines_of(jobs, {.groups_max = 1, .jobs_max = 60}, &pages).size(), 31U);
  EXPECT_EQ(pages, std::vector<size_t>(31, 1));
}

TEST(EndedGroups, PassOverAJobThatIsNotKnown) {
  const EndedGroupsQuery query = {.groups_max = 1, .jobs_max = 2};
  EndedGrouping grouping(query);
  EXPECT_TRUE(grouping.take({.at = 2, .tube = "mail", .place = 2}, nullptr));
  EXPECT_TRUE(grouping.take({.at = 1, .tube = "mail", .place = 1}, nullptr));
  EXPECT_FALSE(grouping.take({.at = 1, .tube = "news", .place = 1}, nullptr));
  const EndedGroupsPage page = grouping.finish(false);
  EXPECT_TRUE(page.groups.empty());
  EXPECT_EQ(page.looked_at, 2U);
  EXPECT_EQ(page.next, (EndedPosition{.at = 1, .tube = "mail", .place = 1}));
}

TEST(EndedGroups, HaveWhatTheTubeKeeps) {
  constexpr Nanos now = 100;
  const EndedSpan span = {.first = 3, .next = 9};
  for (const TubeSettings& settings :
       {TubeSettings{}, TubeSettings{.keep = 40}, TubeSettings{.keep = 1000},
        TubeSettings{.keep_max = 2}, TubeSettings{.keep_max = 100},
        TubeSettings{.keep = 30, .keep_max = 4}}) {
    const KeptOfTube kept = kept_of("mail", settings, span, now);
    EXPECT_EQ(kept.tube, "mail");
    for (uint64_t place = 1; place < 12; ++place) {
      for (Nanos at = 0; at <= now; ++at) {
        const bool is_in = kept.span.first <= place && place < kept.span.next && at >= kept.since;
        EXPECT_EQ(is_in, is_kept(settings, span, place, at, now)) << place << " " << at;
      }
    }
  }
}

}  // namespace
}  // namespace perennial
