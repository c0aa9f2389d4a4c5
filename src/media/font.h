// The font for labels in pictures: 5 x 7 dots per glyph, drawn for this project.
// Thread safety: constant data.
// Ownership: none.
#pragma once

#include <array>
#include <cstdint>

namespace halyard::media {

inline constexpr int32_t kGlyphWidth = 5;
inline constexpr int32_t kGlyphHeight = 7;

// One byte per row from the top; bit 4 is the leftmost dot.
using Glyph = std::array<uint8_t, kGlyphHeight>;

// Returns the glyph of an ASCII character. Lower-case letters look like capitals. All other
// characters are a box.
const Glyph& glyphOf(char c);

}  // namespace halyard::media
