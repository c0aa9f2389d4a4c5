#include "report/statistics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace halyard::report {
namespace {

using ::testing::ElementsAre;

TEST(Statistics, PercentilesLieBetweenSamples) {
  const std::vector<double> samples = {4, 1, 3, 2};
  EXPECT_DOUBLE_EQ(percentileOf(samples, 0), 1);
  EXPECT_DOUBLE_EQ(percentileOf(samples, 1), 4);
  EXPECT_DOUBLE_EQ(medianOf(samples), 2.5);
  EXPECT_DOUBLE_EQ(percentileOf(samples, 0.25), 1.75);
  EXPECT_DOUBLE_EQ(medianOf(std::vector<double>{7}), 7);
  EXPECT_DOUBLE_EQ(medianOf({}), 0);
}

TEST(Statistics, SummaryHasAllFigures) {
  std::vector<double> samples;
  for (int i = 100; i >= 0; --i) samples.push_back(i);
  const Summary summary = summaryOf(samples);
  EXPECT_EQ(summary.count, 101u);
  EXPECT_DOUBLE_EQ(summary.least, 0);
  EXPECT_DOUBLE_EQ(summary.median, 50);
  EXPECT_DOUBLE_EQ(summary.mean, 50);
  EXPECT_DOUBLE_EQ(summary.p90, 90);
  EXPECT_DOUBLE_EQ(summary.p99, 99);
  EXPECT_DOUBLE_EQ(summary.most, 100);
  EXPECT_EQ(summaryOf({}).count, 0u);
}

TEST(Statistics, HistogramCountsEverySampleOnce) {
  const Histogram histogram = histogramOf(std::vector<double>{0, 1, 1, 2, 3, 4}, 4);
  EXPECT_DOUBLE_EQ(histogram.start, 0);
  // The last step ends at the 99th percentile, which is just below 4.
  EXPECT_NEAR(histogram.step, 1, 0.02);
  EXPECT_THAT(histogram.counts, ElementsAre(1u, 2u, 1u, 2u));
}

TEST(Statistics, WhatLiesFarOutIsInTheLastStep) {
  std::vector<double> samples(1000, 1.0);
  for (size_t i = 0; i < 500; ++i) samples[i] = 2;
  samples[0] = 1000;
  const Histogram histogram = histogramOf(samples, 10);
  EXPECT_DOUBLE_EQ(histogram.step, 0.1);
  EXPECT_EQ(histogram.counts.front(), 500u);
  EXPECT_EQ(histogram.counts.back(), 500u);
}

TEST(Statistics, HistogramsOfOneValueAndOfNone) {
  const Histogram one = histogramOf(std::vector<double>{3, 3, 3}, 8);
  EXPECT_DOUBLE_EQ(one.step, 0);
  EXPECT_THAT(one.counts, ElementsAre(3u));
  EXPECT_THAT(histogramOf({}, 8).counts, ElementsAre());
}

}  // namespace
}  // namespace halyard::report
