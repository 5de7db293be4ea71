#include "cmd/perennial-bench/report/plot.h"

#include <algorithm>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cmd/perennial-bench/sample_report.h"
#include "tests/cmd/perennial-bench/xml.h"

namespace perennial::bench {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

// The lines of a drawing and its texts, taken out of its XML.
struct Drawing {
  explicit Drawing(const Report& report) {
    for (XmlElement& element : parse_xml(draw_plot(report))) {
      if (element.name == "text") texts.push_back(element.text);
      if (element.name == "polyline") curves.push_back(element);
      if (element.name == "circle") dots.push_back(element);
      if (element.name == "svg") page = element;
    }
  }
  std::vector<std::string> classes() const {
    std::vector<std::string> classes;
    for (const XmlElement& curve : curves) classes.push_back(curve.attributes.at("class"));
    return classes;
  }

  XmlElement page;
  std::vector<std::string> texts;
  std::vector<XmlElement> curves;
  std::vector<XmlElement> dots;
};

struct Place {
  double x = 0;
  double y = 0;
};

std::vector<Place> places_of(const XmlElement& curve) {
  std::istringstream points(curve.attributes.at("points"));
  std::vector<Place> places;
  char comma = 0;
  for (Place place; points >> place.x >> comma >> place.y;) places.push_back(place);
  return places;
}

Report drawn_report() {
  Report report = sample_report();
  report.measurements.resize(2);
  return report;
}

TEST(Plot, HasALineForEachServerInBothPanels) {
  const Drawing drawing(sample_report());
  EXPECT_THAT(drawing.classes(), ElementsAre("s0", "s1", "s0", "s1"));
  EXPECT_THAT(drawing.texts, Contains("put 50x1: put"));
  EXPECT_THAT(drawing.texts, Contains("A processor, 2 cores"));
  EXPECT_THAT(drawing.texts, Contains("5 s x 3 rounds, seed 7"));
  EXPECT_THAT(drawing.texts, Contains("ours"));
  EXPECT_THAT(drawing.texts, Contains("logged"));
}

TEST(Plot, LeavesOutWhatHasFiguresOnly) {
  EXPECT_THAT(Drawing(sample_report()).texts, Not(Contains("restart 3000000 jobs: start")));
}

TEST(Plot, HasTicksWithUnits) {
  const Drawing drawing(drawn_report());
  for (const char* label : {"0", "90%", "99%", "99.9%", "1 us", "1 ms", "0 s", "0.4 s", "200k"})
    EXPECT_THAT(drawing.texts, Contains(label));
  EXPECT_THAT(drawing.texts, Not(Contains("99.99%")));
}

// Up is longer and right is rarer. Ours and theirs have the same latencies, so the same line.
TEST(Plot, DrawsLatenciesUpwards) {
  const Drawing drawing(drawn_report());
  const std::vector<Place> ours = places_of(drawing.curves[0]);
  ASSERT_THAT(ours, SizeIs(61));  // 20 to each of three nines, and the maximum.
  for (size_t i = 1; i < ours.size(); ++i) {
    EXPECT_GE(ours[i].x, ours[i - 1].x);
    EXPECT_LE(ours[i].y, ours[i - 1].y);
  }
  EXPECT_EQ(drawing.curves[0].attributes.at("points"), drawing.curves[1].attributes.at("points"));
}

TEST(Plot, DrawsRatesToScale) {
  const Drawing drawing(drawn_report());
  const std::vector<Place> ours = places_of(drawing.curves[2]);
  const std::vector<Place> theirs = places_of(drawing.curves[3]);
  ASSERT_THAT(ours, SizeIs(4));
  ASSERT_THAT(theirs, SizeIs(4));
  // Ours is at 200,000, in the third interval at half of it, where theirs is always else.
  EXPECT_EQ(ours[0].y, ours[1].y);
  EXPECT_EQ(ours[2].y, theirs[0].y);
  EXPECT_NEAR(theirs[2].y - theirs[0].y, (ours[2].y - ours[0].y) / 2, 0.2);
  EXPECT_NEAR(ours[1].x - ours[0].x, ours[3].x - ours[2].x, 0.2);
  EXPECT_EQ(ours[0].x, theirs[0].x);
}

TEST(Plot, StaysOnThePage) {
  const Drawing drawing(drawn_report());
  const double width = std::stod(drawing.page.attributes.at("width"));
  const double height = std::stod(drawing.page.attributes.at("height"));
  for (const XmlElement& curve : drawing.curves)
    for (const Place& place : places_of(curve)) {
      EXPECT_GT(place.x, 0);
      EXPECT_LT(place.x, width);
      EXPECT_GT(place.y, 0);
      EXPECT_LT(place.y, height);
    }
}

TEST(Plot, DrawsADotForASinglePoint) {
  Report report = drawn_report();
  report.measurements.resize(1);
  report.measurements[0].timeline = {5};
  const Drawing drawing(report);
  EXPECT_THAT(drawing.curves, SizeIs(1));
  EXPECT_THAT(drawing.dots, SizeIs(1));
}

TEST(Plot, SaysWhatWasNotMeasured) {
  Report report = drawn_report();
  for (Measurement& measured : report.measurements) measured.timeline.clear();
  EXPECT_THAT(Drawing(report).texts, Contains("not measured"));
  EXPECT_THAT(Drawing(drawn_report()).texts, Not(Contains("not measured")));
}

TEST(Plot, OfNothingSaysSo) {
  const Drawing drawing(Report{});
  EXPECT_THAT(drawing.texts, Contains("Nothing was timed."));
  EXPECT_THAT(drawing.curves, IsEmpty());
}

TEST(Plot, TakesAnyBytesAsText) {
  Report report = drawn_report();
  report.machine = "<b>\"&\"</b>, a \x01 and \xff";
  report.measurements[0].server = "</svg>";
  const Drawing drawing(report);
  EXPECT_THAT(drawing.texts, Contains("<b>\"&\"</b>, a \xef\xbf\xbd and \xef\xbf\xbd"));
  EXPECT_THAT(drawing.texts, Contains("</svg>"));
}

TEST(Plot, DashesTheLinesWhenColoursAreUsedUp) {
  Report report = drawn_report();
  report.measurements.clear();
  for (int i = 0; i < 8; ++i) {
    report.measurements.push_back(put_of("server " + std::to_string(i), 1000));
    report.measurements.back().timeline.clear();
  }
  EXPECT_THAT(Drawing(report).classes(),
              ElementsAre("s0", "s1", "s2", "s3", "s4", "s5", "s0 dashed", "s1 dashed"));
}

TEST(Plot, TakesNothingButZeros) {
  Report report = drawn_report();
  for (Measurement& measured : report.measurements) {
    measured.latencies = {};
    measured.latencies.add(0);
    measured.timeline = {0, 0};
  }
  const std::string svg = draw_plot(report);
  EXPECT_THAT(parse_xml(svg), Not(IsEmpty()));
  EXPECT_EQ(svg.find("nan"), std::string::npos);
  EXPECT_EQ(svg.find("inf"), std::string::npos);
}

}  // namespace
}  // namespace perennial::bench
