// Drawing of rectangles and text, clipped to the picture.
#include "media/draw.h"

#include <algorithm>
#include <cmath>

#include "media/font.h"

namespace halyard::media {
namespace {

constexpr Color kBlack = {0, 0, 0};
constexpr Color kWhite = {255, 255, 255};
constexpr int32_t kCellWidth = kGlyphWidth + 1;
constexpr int32_t kCellHeight = kGlyphHeight + 1;

// Coordinates come from models, so their sums must not overflow.
constexpr int32_t kFar = 1 << 24;
int32_t near(int32_t coordinate) { return std::clamp(coordinate, -kFar, kFar); }

// The characters that are drawn. A longer text extends beyond every picture anyway.
std::string_view visible(std::string_view text) { return text.substr(0, 1000); }

}  // namespace

Color classColor(uint32_t index) {
  if (index == 0) return kBlack;
  // Steps of the golden ratio around the circle of hues keep neighbouring classes far apart. Three
  // brightness levels separate similar hues.
  constexpr double kGoldenRatio = 0.6180339887498949;
  const double hue = std::fmod((index - 1) * kGoldenRatio, 1.0) * 6;
  const double brightness = 255 - 45.0 * (index / 7 % 3);
  const auto channel = [&](double offset) {
    // Full for two sixths of the circle, rising or falling for one sixth on each side, else dim.
    const double distance = std::abs(std::fmod(hue + offset, 6.0) - 3);
    const double share = std::clamp(distance - 1, 0.0, 1.0);
    return static_cast<uint8_t>(std::lround(brightness * (0.15 + 0.85 * share)));
  };
  return {channel(0), channel(4), channel(2)};
}

Color contrastColor(Color background) {
  // Luminance with the weights of Rec. 601, in thousandths.
  const uint32_t luminance =
      299u * background.red + 587u * background.green + 114u * background.blue;
  return luminance > 128000u ? kBlack : kWhite;
}

void fillBox(Image& image, const Box& box, Color color) {
  const int32_t left = std::max(box.left, 0);
  const int32_t top = std::max(box.top, 0);
  const int32_t right = std::min(box.right, static_cast<int32_t>(image.width));
  const int32_t bottom = std::min(box.bottom, static_cast<int32_t>(image.height));
  for (int32_t y = top; y < bottom; ++y) {
    for (int32_t x = left; x < right; ++x) {
      uint8_t* pixel = image.at(static_cast<uint32_t>(x), static_cast<uint32_t>(y));
      pixel[0] = color.red;
      pixel[1] = color.green;
      pixel[2] = color.blue;
    }
  }
}

void drawFrame(Image& image, const Box& box, int32_t thickness, Color color) {
  const Box b = {near(box.left), near(box.top), near(box.right), near(box.bottom)};
  if (b.left >= b.right || b.top >= b.bottom || thickness <= 0) return;
  const int32_t t = std::min({thickness, b.right - b.left, b.bottom - b.top});
  fillBox(image, {b.left, b.top, b.right, b.top + t}, color);
  fillBox(image, {b.left, b.bottom - t, b.right, b.bottom}, color);
  fillBox(image, {b.left, b.top, b.left + t, b.bottom}, color);
  fillBox(image, {b.right - t, b.top, b.right, b.bottom}, color);
}

int32_t textWidth(std::string_view text, int32_t scale) {
  const auto count = static_cast<int32_t>(visible(text).size());
  return count == 0 ? 0 : (count * kCellWidth - 1) * scale;
}

int32_t textHeight(int32_t scale) { return kGlyphHeight * scale; }

void drawText(Image& image, int32_t left, int32_t top, std::string_view text, int32_t scale,
              Color color) {
  int32_t x = near(left);
  const int32_t y = near(top);
  for (const char c : visible(text)) {
    const Glyph& glyph = glyphOf(c);
    for (int32_t row = 0; row < kGlyphHeight; ++row) {
      for (int32_t column = 0; column < kGlyphWidth; ++column) {
        if ((glyph[static_cast<size_t>(row)] >> (kGlyphWidth - 1 - column) & 1) == 0) continue;
        const int32_t dotLeft = x + column * scale;
        const int32_t dotTop = y + row * scale;
        fillBox(image, {dotLeft, dotTop, dotLeft + scale, dotTop + scale}, color);
      }
    }
    x += kCellWidth * scale;
  }
}

void drawLabel(Image& image, int32_t left, int32_t top, std::string_view text, int32_t scale,
               Color background) {
  const int32_t width = textWidth(text, scale) + 2 * scale;
  const int32_t height = (kCellHeight + 1) * scale;
  const int32_t x =
      std::clamp(near(left), 0, std::max(0, static_cast<int32_t>(image.width) - width));
  const int32_t y =
      std::clamp(near(top), 0, std::max(0, static_cast<int32_t>(image.height) - height));
  fillBox(image, {x, y, x + width, y + height}, background);
  drawText(image, x + scale, y + scale, text, scale, contrastColor(background));
}

}  // namespace halyard::media
