#include "cmd/perennial-bench/report/plot.h"

#include <cstdlib>
#include <fstream>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cmd/perennial-bench/report/report_json.h"
#include "tests/cmd/perennial-bench/sample_report.h"
#include "tests/cmd/perennial-bench/xml.h"
#include "tests/support/temp_dir.h"

namespace perennial::bench {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

std::string content_of(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

class Plot : public testing::Test {
 protected:
  void SetUp() override {
    if (std::system("command -v jq >/dev/null && command -v gnuplot >/dev/null") != 0)
      GTEST_SKIP() << "jq and gnuplot are not installed";
  }

  std::vector<XmlElement> drawn(const Report& report) {
    const Status status = draw_plot(format_json(report), path_);
    EXPECT_TRUE(status.ok()) << status.message();
    return parse_xml(content_of(path_));
  }
  std::vector<std::string> texts(const Report& report) {
    std::vector<std::string> texts;
    for (const XmlElement& element : drawn(report))
      if (!element.text.empty()) texts.push_back(element.text);
    return texts;
  }
  const support::TempDir dir_;
  const std::string path_ = dir_.path() + "/bench.svg";
};

Report drawn_report() {
  Report report = sample_report();
  report.measurements.resize(2);
  return report;
}

TEST_F(Plot, SaysWhatWasMeasured) {
  const std::vector<std::string> said = texts(sample_report());
  for (const char* text :
       {"Latency by percentile, put 50x1: put", "Operations per second, last round, put 50x1: put",
        "A processor, 2 cores", "5 s x 3 rounds, seed 7", "ours", "logged"})
    EXPECT_THAT(said, Contains(text));
}

TEST_F(Plot, LeavesOutWhatHasFiguresOnly) {
  EXPECT_THAT(texts(sample_report()), Not(Contains(HasSubstr("restart 3000000 jobs"))));
}

TEST_F(Plot, HasTicksWithUnits) {
  const std::vector<std::string> said = texts(drawn_report());
  for (const char* label : {"0", "90%", "99%", "99.9%", "1 us", "1 ms", "0.1 s", "200k"})
    EXPECT_THAT(
        said, Contains(testing::ResultOf(
                  [](const std::string& text) { return text.substr(text.find_first_not_of(' ')); },
                  label)));
}

TEST_F(Plot, SaysWhatWasNotMeasured) {
  Report report = drawn_report();
  EXPECT_THAT(texts(report), Not(Contains("not measured")));
  for (Measurement& measured : report.measurements) measured.timeline.clear();
  EXPECT_THAT(texts(report), Contains("not measured"));
}

TEST_F(Plot, OfNothingSaysSo) {
  EXPECT_THAT(texts(Report{}), Contains("Nothing was timed."));
}

TEST_F(Plot, TakesAnyBytesAsText) {
  Report report = drawn_report();
  report.machine = "<b>'\"&\"</b>, $(a) \x01 and \xff";
  report.measurements[0].server = "</svg>";
  const std::vector<std::string> said = texts(report);
  EXPECT_THAT(said, Contains(HasSubstr("'\"&\"</b>, $(a)   and \xef\xbf\xbd")));
  EXPECT_THAT(said, Contains("</svg>"));
}

TEST_F(Plot, TakesASinglePointAndNothingButZeros) {
  Report report = drawn_report();
  for (Measurement& measured : report.measurements) {
    measured.latencies = {};
    measured.latencies.add(0);
    measured.timeline = {0};
  }
  EXPECT_THAT(texts(report), Contains("ours"));
  const std::string svg = content_of(path_);
  EXPECT_EQ(svg.find("nan"), std::string::npos);
  EXPECT_EQ(svg.find("inf"), std::string::npos);
}

TEST_F(Plot, DrawsManyServers) {
  Report report = drawn_report();
  report.measurements.clear();
  for (int i = 0; i < 8; ++i) {
    report.measurements.push_back(put_of("server " + std::to_string(i), 1000));
    report.measurements.back().timeline.clear();
  }
  const std::vector<std::string> said = texts(report);
  for (int i = 0; i < 8; ++i) EXPECT_THAT(said, Contains("server " + std::to_string(i)));
}

TEST_F(Plot, NamesAFileThatCannotBeWritten) {
  const Status status = draw_plot("{}", dir_.path() + "/none/bench.svg");
  EXPECT_EQ(status.code(), StatusCode::Io);
  EXPECT_EQ(status.message(), dir_.path() + "/none/bench.svg: cannot be written");
}

TEST_F(Plot, RefusesWhatIsNoReport) {
  testing::internal::CaptureStderr();
  const Status status = draw_plot("no JSON", path_);
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              HasSubstr("that is no report of perennial bench --json"));
  EXPECT_EQ(status.code(), StatusCode::Io);
}

// Runs with a PATH that has neither program.
TEST(Plotter, SaysWhatToInstall) {
  const std::string path = std::getenv("PATH");
  testing::internal::CaptureStderr();
  ASSERT_EQ(::setenv("PATH", "/nowhere", 1), 0);
  const Status status = check_plotter();
  ::setenv("PATH", path.c_str(), 1);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("apt-get install jq gnuplot-nox"));
  EXPECT_EQ(status.code(), StatusCode::Io);
  EXPECT_EQ(status.message(), "--plot: perennial-bench-plot failed");
}

}  // namespace
}  // namespace perennial::bench
