#include "report/charts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <regex>
#include <string>

namespace halyard::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

size_t countOf(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

// Returns the numbers of an attribute, in the order of the text.
std::vector<double> attribute(const std::string& svg, const std::string& name) {
  std::vector<double> values;
  const std::regex pattern(" " + name + "=\"([0-9.]+)\"");
  for (auto it = std::sregex_iterator(svg.begin(), svg.end(), pattern);
       it != std::sregex_iterator(); ++it) {
    values.push_back(std::stod((*it)[1]));
  }
  return values;
}

RowChart twoModels() {
  return {"Latency", {"a<b", "second"}, {{"first", {1.0, 100.0}}, {"other", {10.0, std::nullopt}}}};
}

TEST(Charts, DotsLieOnALogarithmicAxis) {
  const std::string svg = dotChart(twoModels());
  const std::vector<double> x = attribute(svg, "cx");
  ASSERT_EQ(x.size(), 3u);  // one value is missing
  // 1, 10, 100.
  EXPECT_NEAR(x[1] - x[0], x[2] - x[1], 0.2);
  EXPECT_GT(x[1], x[0] + 100);
  EXPECT_THAT(svg, HasSubstr("<title>a&lt;b, first: 1.00</title>"));
  EXPECT_THAT(svg, Not(HasSubstr("a<b")));
  EXPECT_THAT(svg, HasSubstr("class=\"legend\""));
}

TEST(Charts, EqualValuesDoNotHideEachOther) {
  const RowChart chart{"Equal", {"a"}, {{"x", {1.0}}, {"y", {1.0}}}};
  const std::vector<double> y = attribute(dotChart(chart), "cy");
  ASSERT_EQ(y.size(), 2u);
  EXPECT_GT(y[1], y[0] + 5);
}

TEST(Charts, DotsWithoutAPlaceAreLeftOut) {
  RowChart chart = twoModels();
  chart.series[0].values = {0.0, -1.0};
  chart.series[1].values = {NAN, 5.0};
  EXPECT_EQ(countOf(dotChart(chart), "<circle"), 1u);
  chart.series[1].values = {std::nullopt, INFINITY};
  EXPECT_EQ(dotChart(chart), "");
}

TEST(Charts, ALineGoesToTheUpperValue) {
  RowChart chart{"p90", {"a"}, {{"x", {1.0}, {2.0}}}};
  const std::string svg = dotChart(chart);
  EXPECT_THAT(svg, HasSubstr("1.00 to 2.00"));
  EXPECT_THAT(svg, HasSubstr("stroke-width=\"2\""));
  EXPECT_THAT(svg, Not(HasSubstr("legend")));
}

TEST(Charts, BarsAreAsLongAsTheirValues) {
  RowChart chart{"Ratio", {"a", "b"}, {{"x", {1.0, 2.0}}}};
  const std::string svg = barChart(chart, 1.5);
  const std::regex pattern("<path d=\"M[0-9.]+ [0-9.]+h([0-9.]+)q([0-9.]+)");
  std::vector<double> lengths;
  for (auto it = std::sregex_iterator(svg.begin(), svg.end(), pattern);
       it != std::sregex_iterator(); ++it) {
    lengths.push_back(std::stod((*it)[1]) + std::stod((*it)[2]));
  }
  ASSERT_EQ(lengths.size(), 2u);
  EXPECT_NEAR(lengths[1], 2 * lengths[0], 0.3);
  EXPECT_THAT(svg, HasSubstr("stroke-dasharray"));
  EXPECT_THAT(barChart(chart), Not(HasSubstr("stroke-dasharray")));
}

TEST(Charts, BarsOfNothing) {
  EXPECT_EQ(barChart({"none", {"a"}, {{"x", {std::nullopt}}}}), "");
  EXPECT_EQ(barChart({"none", {}, {}}), "");
  // A value of 0 among others still has a visible bar.
  EXPECT_EQ(countOf(barChart({"one", {"a", "b"}, {{"x", {0.0, 1.0}}}}), "<path"), 2u);
}

TEST(Charts, LongNamesAreCutBetweenCharacters) {
  std::string name;
  for (int i = 0; i < 100; ++i) name += "\xC3\xA4";
  const std::string svg = barChart({"long", {name}, {{"x", {1.0}}}});
  // The label is cut; the tooltip is complete.
  EXPECT_THAT(svg, HasSubstr("\xC3\xA4\xE2\x80\xA6"));
  EXPECT_THAT(svg, HasSubstr("<title>" + name + "</title>"));
  EXPECT_THAT(svg, Not(HasSubstr("\xC3\xE2")));
}

TEST(Charts, HistogramHasAColumnForEachStep) {
  const Histogram histogram{1, 0.5, {1, 4, 2}};
  const std::string svg = histogramChart("times", histogram, {{"median", 1.75}});
  EXPECT_EQ(countOf(svg, "<rect"), 3u);
  const std::vector<double> heights = attribute(svg, "height");
  ASSERT_EQ(heights.size(), 3u);
  EXPECT_NEAR(heights[1], 4 * heights[0], 0.2);
  EXPECT_THAT(svg, HasSubstr("median 1.75"));
  EXPECT_THAT(svg, HasSubstr("<title>1.50 to 2.00: 4</title>"));
  EXPECT_EQ(histogramChart("none", {}, {}), "");
}

TEST(Charts, AHistogramOfOneValueHasItsMarkInTheMiddle) {
  const std::string svg = histogramChart("times", {3, 0, {5}}, {{"median", 3}});
  EXPECT_THAT(svg, HasSubstr("x1=\"450.0\""));
}

}  // namespace
}  // namespace halyard::report
