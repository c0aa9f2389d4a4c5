// Drawing into an Image: filled and framed rectangles, text in a small built-in font, colours.
// Thread safety: pure functions; one image must not be drawn to from two threads at once.
// Ownership: none.
#pragma once

#include <cstdint>
#include <string_view>

#include "media/image.h"

namespace halyard::media {

struct Color {
  uint8_t red;
  uint8_t green;
  uint8_t blue;
  bool operator==(const Color&) const = default;
};

// Returns a colour of a fixed table for class `index`. Neighbouring indices differ clearly. Index 0
// is black, the background of a segmentation.
Color classColor(uint32_t index);
// Returns the colour that is easier to read on `background`: black or white.
Color contrastColor(Color background);

// All coordinates are pixels from the top left. Parts outside the image (3 channels) are not drawn,
// so any coordinates are safe.
struct Box {
  int32_t left;
  int32_t top;
  int32_t right;   // exclusive
  int32_t bottom;  // exclusive
};
void fillBox(Image& image, const Box& box, Color color);
// Draws a frame of `thickness` pixels inside the edges of the box.
void drawFrame(Image& image, const Box& box, int32_t thickness, Color color);

// Glyphs are 5 x 7 pixels in cells of 6 x 8, times `scale`. Lower-case letters appear as capitals,
// and characters without a glyph as a box.
int32_t textWidth(std::string_view text, int32_t scale);
int32_t textHeight(int32_t scale);
void drawText(Image& image, int32_t left, int32_t top, std::string_view text, int32_t scale,
              Color color);
// Draws text on a filled background, moved into the image if it fits.
void drawLabel(Image& image, int32_t left, int32_t top, std::string_view text, int32_t scale,
               Color background);

}  // namespace halyard::media
