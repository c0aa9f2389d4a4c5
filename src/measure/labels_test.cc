// Tests of label files and of ranking.
#include "measure/labels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace halyard::measure {
namespace {

using ::testing::HasSubstr;

TEST(Labels, ParsesLines) {
  const Labels labels = Labels::parse(" cat \r\n\ndog, hound\nfish\n\n \n");
  ASSERT_EQ(labels.size(), 4u);
  EXPECT_EQ(labels.nameOf(0), "cat");
  EXPECT_EQ(labels.nameOf(1), "class 1");
  EXPECT_EQ(labels.nameOf(2), "dog, hound");
  EXPECT_EQ(labels.nameOf(3), "fish");
  EXPECT_EQ(labels.nameOf(4), "class 4");
  EXPECT_EQ(labels.nameOf(std::numeric_limits<size_t>::max()), "class 18446744073709551615");
}

TEST(Labels, NoControlCharactersReachTheTerminal) {
  EXPECT_EQ(Labels::parse("a\x1b[2Jb").nameOf(0), "a?[2Jb");
}

TEST(Labels, ShiftsPastTheBackground) {
  Labels labels = Labels::parse("Background\ncat\ndog");
  EXPECT_THAT(labels.alignTo(2), HasSubstr("shifted by one"));
  EXPECT_EQ(labels.nameOf(0), "cat");
  EXPECT_EQ(labels.nameOf(1), "dog");
  EXPECT_EQ(labels.alignTo(3), "");
  EXPECT_EQ(labels.nameOf(0), "Background");
}

TEST(Labels, DoesNotShiftOtherMismatches) {
  Labels labels = Labels::parse("bird\ncat\ndog");
  EXPECT_THAT(labels.alignTo(2), HasSubstr("3 labels for 2 classes"));
  EXPECT_EQ(labels.nameOf(0), "bird");
  Labels background = Labels::parse("background\ncat\ndog");
  EXPECT_THAT(background.alignTo(1), HasSubstr("3 labels for 1 classes"));
  EXPECT_EQ(background.nameOf(0), "background");
  EXPECT_EQ(Labels().alignTo(7), "");
}

TEST(Labels, LoadSaysWhatIsWrong) {
  EXPECT_THAT(Labels::load("/none/labels.txt").status().message(), HasSubstr("/none/labels.txt"));
  EXPECT_THAT(Labels::load("/dev/null").status().message(), HasSubstr("/dev/null"));
}

TEST(TopClasses, RanksWithStableTies) {
  const float scores[] = {0.1f, 0.5f, NAN, 0.5f, -3.0f};
  const auto top = topClasses(scores, 3);
  ASSERT_EQ(top.size(), 3u);
  EXPECT_EQ(top[0].index, 1u);
  EXPECT_EQ(top[1].index, 3u);
  EXPECT_EQ(top[2].index, 0u);
  EXPECT_FLOAT_EQ(top[2].score, 0.1f);
  EXPECT_EQ(topClasses(scores, 99).size(), 5u);
  EXPECT_TRUE(topClasses({}, 5).empty());
}

TEST(Softmax, SurvivesLargeScores) {
  const float scores[] = {1000.0f, 1000.0f, 999.0f};
  const auto p = softmaxOf(scores);
  EXPECT_NEAR(p[0], 1 / (2 + std::exp(-1.0)), 1e-6);
  EXPECT_NEAR(p[0] + p[1] + p[2], 1.0, 1e-6);
}

}  // namespace
}  // namespace halyard::measure
