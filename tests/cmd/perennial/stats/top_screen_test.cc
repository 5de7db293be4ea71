#include "cmd/perennial/stats/top_screen.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace perennial::tool {
namespace {

StatsReply parsed(const std::string& lines) {
  Result<StatsReply> stats = StatsReply::parse("---\n" + lines);
  CHECK(stats.ok());
  return stats.take();
}

StatsReply tube(std::string_view name, uint64_t ready, uint64_t puts, uint64_t deletes,
                uint64_t age = 0) {
  return parsed(
      fmt::format("name: \"{}\"\ncurrent-jobs-ready: {}\ntotal-jobs: {}\ncmd-delete: {}\n"
                  "next-ready-age: {}\n",
                  name, ready, puts, deletes, age));
}

TopSample sample(Nanos at, uint64_t puts, std::vector<StatsReply> tubes,
                 std::string_view id = "1") {
  return {.at = at,
          .server = parsed(fmt::format(
              "current-jobs-ready: 12345\ncurrent-jobs-buried: 2\ncmd-put: {0}\ncmd-reserve: {0}\n"
              "cmd-reserve-with-timeout: {0}\ncmd-delete: 7\njob-timeouts: 0\ncurrent-waiting: 3\n"
              "current-workers: 5\nversion: \"1\"\nuptime: 61\ndraining: false\nid: {1}\n"
              "store-state: ok\nsync-us-p99: 6377\ncheckpoint-age: 7200\n",
              puts, id)),
          .tubes = std::move(tubes)};
}

std::string text_of(const TopView& view, ScreenSize size = {}) {
  std::string out;
  for (const ScreenLine& line : top_screen(view, size)) out += line.text + "\n";
  return out;
}

TEST(TopScreen, ComputesRatesFromTwoSamples) {
  const TopSample before = sample(0, 100, {tube("a", 1, 0, 0), tube("b", 5, 10, 0)});
  const TopSample after =
      sample(2 * nanos_per_second, 300, {tube("a", 1, 0, 0), tube("b", 5, 20, 4, 75)});
  EXPECT_EQ(text_of({.address = "here", .before = &before, .after = &after}),
            "here  version 1  up 1 min 1 s\n"
            "jobs     12,345 ready  0 reserved  0 delayed  2 buried  0 urgent\n"
            "per s    put 100  reserve 200  delete 0  timeout 0  release 0  bury 0  kick 0\n"
            "clients  3 of 5 workers wait  0 producers  0 connections\n"
            "store    ok  sync p99 6.4 ms  checkpoint 2 h ago\n"
            "oldest   a job has been ready for 1 min 15 s, in b\n"
            "\n"
            "2 TUBES              READY RESERVED DELAYED  BURIED  WAIT  AGE    PUT/S    DEL/S\n"
            "b                        5        0       0       0     0  75s      5.0      2.0\n"
            "a                        1        0       0       0     0    -        0        0\n");
}

TEST(TopScreen, CountsParkedJobsWhereThereAreSome) {
  const auto jobs_line = [](const std::string& parked) {
    const TopSample after = {
        .at = 0, .server = parsed("current-jobs-ready: 5\n" + parked), .tubes = {}};
    return top_screen({.address = "here", .after = &after}, {})[1].text;
  };
  EXPECT_EQ(jobs_line("current-jobs-parked: 3\n"),
            "jobs     5 ready  0 reserved  0 delayed  0 buried  0 urgent  3 parked");
  EXPECT_EQ(jobs_line("current-jobs-parked: 0\n"),
            "jobs     5 ready  0 reserved  0 delayed  0 buried  0 urgent");
}

TEST(TopScreen, ShowsJobsThatEndedWithoutAWorker) {
  const auto at = [](Nanos time, uint64_t dead, uint64_t batches) {
    return TopSample{.at = time,
                     .server = parsed(fmt::format("jobs-dead: {}\njobs-expired: 5\ncmd-put: 10\n"
                                                  "cmd-put-batch: {}\nid: 1\n",
                                                  dead, batches)),
                     .tubes = {}};
  };
  const TopSample before = at(0, 1000, 0);
  const TopSample after = at(2 * nanos_per_second, 1234, 40);
  const std::string text = text_of({.address = "", .before = &before, .after = &after});
  EXPECT_NE(text.find("\nended    1,234 dead (117 per s)  5 expired (0 per s)\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("\nper s    put 20  "), std::string::npos) << text;
}

TEST(TopScreen, HasNoRatesWithOneSampleOrAfterARestart) {
  const TopSample before = sample(0, 300, {tube("a", 1, 0, 0)});
  const TopSample after = sample(nanos_per_second, 4, {tube("a", 1, 0, 0)}, "2");
  const std::string rates = "per s    put -  reserve -  delete -";
  EXPECT_NE(text_of({.address = "", .after = &after}).find(rates), std::string::npos);
  EXPECT_NE(text_of({.address = "", .before = &before, .after = &after}).find(rates),
            std::string::npos);
}

TEST(TopScreen, CountsATubeThatIsNewFromZero) {
  const TopSample before = sample(0, 0, {});
  const TopSample after = sample(nanos_per_second, 0, {tube("new", 1, 50, 0)});
  const std::string text = text_of({.address = "", .before = &before, .after = &after});
  EXPECT_NE(text.find("       50        0\n"), std::string::npos) << text;
}

TEST(TopScreen, SaysThatTheServerDoesNotAnswer) {
  const std::string never = text_of({.address = "here", .trouble = "connect: refused"});
  EXPECT_EQ(never, "here\nNO ANSWER: connect: refused\n");
  const TopSample last = sample(0, 0, {});
  const std::string later = text_of({.address = "here", .after = &last, .trouble = "it is gone"});
  EXPECT_NE(later.find("NO ANSWER: it is gone\njobs "), std::string::npos) << later;
}

TEST(TopScreen, ShowsNoStoreForAServerThatHasNone) {
  const TopSample theirs{.at = 0,
                         .server = parsed("current-jobs-ready: 1\n"),
                         .tubes = {parsed("name: default\ncurrent-jobs-ready: 1\n")}};
  const std::string text = text_of({.address = "", .after = &theirs});
  EXPECT_EQ(text.find("store"), std::string::npos) << text;
  EXPECT_EQ(text.find("next "), std::string::npos) << text;
}

TEST(TopScreen, FitsIntoAnyWindow) {
  std::vector<StatsReply> tubes;
  for (int i = 100; i < 200; ++i)
    tubes.push_back(tube(fmt::format("{}-{}", i, std::string(100, 'x')), 5'000'000, 0, 0));
  const TopSample after = sample(0, 0, std::move(tubes));
  const TopView view{.address = std::string(300, 'a'), .after = &after, .trouble = "late"};
  for (const ScreenSize size : {ScreenSize{24, 80}, ScreenSize{1, 1}, ScreenSize{3, 20},
                                ScreenSize{9, 60}, ScreenSize{60, 200}}) {
    const std::vector<ScreenLine> lines = top_screen(view, size);
    EXPECT_LE(lines.size(), size.rows);
    for (const ScreenLine& line : lines) EXPECT_LE(line.text.size(), size.columns) << line.text;
  }
  EXPECT_EQ(top_screen(view, {}).size(), 24U);
}

}  // namespace
}  // namespace perennial::tool
