#include "cmd/perennial-bench/results/findings.h"

#include <gtest/gtest.h>

namespace perennial::bench {
namespace {

const Topic put = {"put", "50x1", "put"};
const Topic start = {"restart", "5 jobs", "start"};

Recorder::Entry entry_of(uint64_t count) {
  Recorder::Entry entry;
  entry.count = count;
  for (uint64_t i = 0; i < count; ++i) entry.latencies.add(static_cast<Nanos>(1000 * count));
  entry.timeline = {count, count + 1, 7};
  return entry;
}

TEST(Findings, JoinTheRoundsOfAServer) {
  Findings findings({"ours"});
  findings.add_rate(put, entry_of(10), {.seconds = 2, .client_cpu = 0.5});
  findings.add_rate(put, entry_of(30), {.seconds = 2, .client_cpu = 0.25});
  const std::vector<Measurement> all = findings.take();
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].server, "ours");
  EXPECT_EQ(all[0].workload, "put");
  EXPECT_EQ(all[0].setting, "50x1");
  EXPECT_EQ(all[0].operation, "put");
  EXPECT_EQ(all[0].per_second, (std::vector<double>{5, 15}));
  EXPECT_EQ(all[0].latencies.total(), 40U);
  EXPECT_EQ(all[0].client_cpu, 0.5);
  // The timeline is that of the last round, without its incomplete last interval.
  EXPECT_EQ(all[0].timeline, (std::vector<uint64_t>{30, 31}));
}

TEST(Findings, AreInTheOrderOfTopicsAndThenOfServers) {
  Findings findings({"ours", "theirs"});
  for (const size_t place : {1, 0, 1}) {
    findings.use_server(place);
    findings.add_figure(start, "start", "s", 1);
    findings.add_rate(put, entry_of(1), {.seconds = 1});
  }
  const std::vector<Measurement> all = findings.take();
  ASSERT_EQ(all.size(), 4U);
  const std::pair<const char*, const char*> want[] = {
      {"restart", "ours"}, {"restart", "theirs"}, {"put", "ours"}, {"put", "theirs"}};
  for (size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(all[i].workload, want[i].first);
    EXPECT_EQ(all[i].server, want[i].second);
  }
}

struct MedianCase {
  const char* name;
  std::vector<double> values;
  double want;
};

void PrintTo(const MedianCase& median, std::ostream* out) {
  *out << median.name;
}

class FiguresOfRounds : public testing::TestWithParam<MedianCase> {};

TEST_P(FiguresOfRounds, AreTheirMedian) {
  Findings findings({"ours"});
  for (const double value : GetParam().values) {
    findings.add_figure(start, "start", "s", value);
    findings.add_figure(start, "lost", "jobs", -value);
  }
  const std::vector<Measurement> all = findings.take();
  ASSERT_EQ(all.size(), 1U);
  ASSERT_EQ(all[0].figures.size(), 2U);
  EXPECT_EQ(all[0].figures[0].name, "start");
  EXPECT_EQ(all[0].figures[0].unit, "s");
  EXPECT_EQ(all[0].figures[0].value, GetParam().want);
  EXPECT_EQ(all[0].figures[1].value, -GetParam().want);
}

INSTANTIATE_TEST_SUITE_P(Bench, FiguresOfRounds,
                         testing::Values(MedianCase{"One", {5}, 5}, MedianCase{"Odd", {9, 1, 5}, 5},
                                         MedianCase{"Even", {9, 1, 5, 7}, 6}),
                         [](const testing::TestParamInfo<MedianCase>& param) {
                           return param.param.name;
                         });

TEST(Recorder, ForgetsWhatWasBefore) {
  Recorder recorder(2 * timeline_interval);
  recorder.begin(1000);
  recorder.count(Operation::Put, 1000);
  recorder.time(Operation::Put, 5);
  recorder.begin(2000);
  EXPECT_EQ(recorder.of(Operation::Put).count, 0U);
  EXPECT_EQ(recorder.of(Operation::Put).latencies.total(), 0U);
  EXPECT_EQ(recorder.of(Operation::Put).timeline, (std::vector<uint64_t>{0, 0, 0}));
}

TEST(Recorder, CountsByInterval) {
  Recorder recorder(2 * timeline_interval);
  recorder.begin(1000);
  const Nanos ends[] = {0, timeline_interval - 1, timeline_interval, 2 * timeline_interval,
                        90 * timeline_interval};
  for (const Nanos end : ends) recorder.count(Operation::Kick, 1000 + end);
  EXPECT_EQ(recorder.of(Operation::Kick).timeline, (std::vector<uint64_t>{2, 1, 2}));
  EXPECT_EQ(recorder.of(Operation::Kick).count, 5U);
  EXPECT_EQ(recorder.of(Operation::Put).count, 0U);
}

}  // namespace
}  // namespace perennial::bench
