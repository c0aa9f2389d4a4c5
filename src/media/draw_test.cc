// Tests of drawing, dot by dot.
#include "media/draw.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <set>
#include <string>

#include "media/font.h"

namespace halyard::media {
namespace {

constexpr Color kRed = {255, 0, 0};

// The red channel as text: '#' where it is set.
std::string redDots(const Image& image) {
  std::string text;
  for (uint32_t y = 0; y < image.height; ++y) {
    for (uint32_t x = 0; x < image.width; ++x) text += image.at(x, y)[0] != 0 ? '#' : '.';
    text += '\n';
  }
  return text;
}

TEST(Draw, FrameLiesInsideItsBox) {
  Image image = blankImage(7, 6, 3);
  drawFrame(image, {1, 1, 6, 5}, 1, kRed);
  EXPECT_EQ(redDots(image),
            ".......\n"
            ".#####.\n"
            ".#...#.\n"
            ".#...#.\n"
            ".#####.\n"
            ".......\n");
}

TEST(Draw, ClipsAtTheEdges) {
  Image image = blankImage(4, 3, 3);
  drawFrame(image, {-5, -5, 2, 2}, 1, kRed);
  EXPECT_EQ(redDots(image), ".#..\n##..\n....\n");
  image = blankImage(4, 3, 3);
  constexpr int32_t kMin = std::numeric_limits<int32_t>::min();
  constexpr int32_t kMax = std::numeric_limits<int32_t>::max();
  drawFrame(image, {kMin, kMin, kMax, kMax}, 2, kRed);
  drawText(image, kMax, kMin, "FAR AWAY", 2, kRed);
  drawFrame(image, {3, 2, 1, 1}, 2, kRed);  // a box with swapped sides draws nothing
  EXPECT_EQ(redDots(image), "....\n....\n....\n");
}

TEST(Draw, ThickFrameOfASmallBoxFillsIt) {
  Image image = blankImage(4, 3, 3);
  drawFrame(image, {1, 1, 3, 2}, 9, kRed);
  EXPECT_EQ(redDots(image), "....\n.##.\n....\n");
}

TEST(Draw, TextHasItsGlyphs) {
  Image image = blankImage(12, 7, 3);
  EXPECT_EQ(textWidth("Tl", 1), 11);
  EXPECT_EQ(textHeight(1), 7);
  drawText(image, 0, 0, "Tl", 1, kRed);
  EXPECT_EQ(redDots(image),
            "#####.#.....\n"
            "..#...#.....\n"
            "..#...#.....\n"
            "..#...#.....\n"
            "..#...#.....\n"
            "..#...#.....\n"
            "..#...#####.\n");
}

TEST(Draw, ScaleMagnifiesDots) {
  Image image = blankImage(10, 14, 3);
  drawText(image, 0, 0, "L", 2, kRed);
  EXPECT_EQ(redDots(image).substr(0, 22), "##........\n##........\n");
  EXPECT_EQ(redDots(image).substr(13 * 11), "##########\n");
}

TEST(Draw, LabelIsMovedIntoThePicture) {
  Image image = blankImage(40, 20, 3);
  drawLabel(image, 38, -7, "ab", 1, kRed);
  EXPECT_EQ(image.at(39, 0)[0], 255);
  EXPECT_EQ(image.at(26, 0)[0], 0);
  EXPECT_EQ(image.at(27, 0)[0], 255);
}

TEST(Draw, GlyphsDiffer) {
  std::set<Glyph> seen;
  for (const char c : std::string("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ.,:-+%()/_ ")) {
    EXPECT_TRUE(seen.insert(glyphOf(c)).second) << c;
  }
  EXPECT_EQ(glyphOf('g'), glyphOf('G'));
  EXPECT_EQ(glyphOf('\x01'), glyphOf('\xe9'));
}

TEST(Draw, ClassColorsDiffer) {
  EXPECT_EQ(classColor(0), (Color{0, 0, 0}));
  std::set<uint32_t> seen;
  for (uint32_t i = 0; i < 256; ++i) {
    const Color c = classColor(i);
    EXPECT_TRUE(seen.insert(c.red << 16 | c.green << 8 | c.blue).second) << i;
    const Color next = classColor(i + 1);
    EXPECT_GT(
        std::abs(c.red - next.red) + std::abs(c.green - next.green) + std::abs(c.blue - next.blue),
        100)
        << i;
    EXPECT_GT(std::max({next.red, next.green, next.blue}), 150) << i;
  }
  EXPECT_EQ(classColor(1), (Color{255, 38, 38}));
  EXPECT_EQ(contrastColor({255, 255, 0}), (Color{0, 0, 0}));
  EXPECT_EQ(contrastColor({0, 0, 128}), (Color{255, 255, 255}));
}

}  // namespace
}  // namespace halyard::media
