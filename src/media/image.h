// Image: 8-bit pixels in memory; reading BMP, PNG and JPEG, resizing, writing PNG.
// Thread safety: pure functions over values.
// Ownership: an Image owns its pixels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "halyard/driver/status.h"

namespace halyard::media {

// Row-major, top row first, channels interleaved: byte (y * width + x) * channels + c.
struct Image {
  uint32_t width = 0;
  uint32_t height = 0;
  uint32_t channels = 0;  // 1: grey, 3: red, green, blue
  std::vector<uint8_t> pixels;

  uint8_t* at(uint32_t x, uint32_t y) {
    return pixels.data() + (static_cast<size_t>(y) * width + x) * channels;
  }
  const uint8_t* at(uint32_t x, uint32_t y) const {
    return pixels.data() + (static_cast<size_t>(y) * width + x) * channels;
  }
};

// Limits for decoding, because files may be hostile.
inline constexpr size_t kMaxImageFileBytes = size_t{64} << 20;
inline constexpr uint32_t kMaxImageSide = 16384;
inline constexpr uint64_t kMaxImagePixels = uint64_t{64} << 20;

// Returns a black image with the given channels (1 or 3).
Image blankImage(uint32_t width, uint32_t height, uint32_t channels);

// Decodes the bytes of a BMP, PNG or JPEG file. `channels` is 1 (grey from the colours' luminance)
// or 3. An alpha channel is dropped, 16-bit samples become 8-bit, and an EXIF orientation is
// ignored. Returns BAD_DATA when the bytes are no such picture, are damaged, or exceed the limits
// above.
Result<Image> decodeImage(std::span<const uint8_t> bytes, uint32_t channels);
// As above. Errors begin with the file's name.
Result<Image> loadImage(const std::string& path, uint32_t channels);

// Resamples to width x height (both 1 to kMaxImageSide), without keeping the aspect ratio. It
// applies the Catmull-Rom filter to all pixels that a new pixel covers. The result is sharper than
// a mean, and has no aliasing. The filter blends stored values and ignores gamma, because image
// models are trained that way.
Result<Image> resizeImage(const Image& image, uint32_t width, uint32_t height);

// Returns the picture as the bytes of a PNG file, or writes it to `path`.
Result<std::vector<uint8_t>> encodePng(const Image& image);
Status writePng(const Image& image, const std::string& path);

}  // namespace halyard::media
