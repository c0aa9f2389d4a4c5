// Tests of segmentations.
#include "tools/halyard/segmentation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "media/draw.h"

namespace halyard::cli {
namespace {

using ::testing::ElementsAre;

std::string colorText(media::Color color) {
  return fmt::format("#{:02x}{:02x}{:02x}", color.red, color.green, color.blue);
}

TEST(HighestClasses, TakesTheFirstMaximum) {
  const float scores[] = {0, 1, 2, 5, 5, 1, -1, -2, -3, 0, 3, 3};
  const auto map = highestClasses(scores, 2, 2, 3);
  ASSERT_TRUE(map.ok()) << map.status().toString();
  EXPECT_THAT(map->classes, ElementsAre(2, 0, 0, 1));
}

TEST(HighestClasses, RefusesSizesThatDoNotFit) {
  const float scores[] = {0, 1, 2, 5};
  EXPECT_FALSE(highestClasses(scores, 2, 2, 3).ok());
  EXPECT_FALSE(highestClasses(scores, 2, 1, 0).ok());
  EXPECT_FALSE(highestClasses(scores, 4294967295u, 4294967295u, 4).ok());
}

TEST(ClassShares, MostFrequentFirst) {
  const auto shares = classShares({5, 1, {7, 2, 2, 9, 2}});
  ASSERT_EQ(shares.size(), 3u);
  EXPECT_EQ(shares[0].classIndex, 2u);
  EXPECT_DOUBLE_EQ(shares[0].share, 0.6);
  EXPECT_EQ(shares[1].classIndex, 7u);
  EXPECT_EQ(listSegments(std::span(shares).first(1), measure::Labels::parse("a\nb\ncat")),
            "   60.0 %  cat                   colour " + colorText(media::classColor(2)) + "\n");
}

TEST(BlendSegments, StretchesTheMapOverThePicture) {
  media::Image picture = media::blankImage(4, 2, 3);
  for (uint8_t& byte : picture.pixels) byte = 100;
  const ClassMap map = {2, 1, {0, 1}};
  const media::Image blended = blendSegments(picture, map);
  const media::Color one = media::classColor(1);
  for (uint32_t y = 0; y < 2; ++y) {
    EXPECT_EQ(blended.at(1, y)[0], 50);
    EXPECT_EQ(blended.at(2, y)[0], (100 + one.red) / 2);
    EXPECT_EQ(blended.at(3, y)[1], (100 + one.green) / 2);
  }
  const media::Image colors = colorSegments(map);
  EXPECT_EQ(colors.width, 2u);
  EXPECT_EQ(colors.at(1, 0)[0], one.red);
}

}  // namespace
}  // namespace halyard::cli
