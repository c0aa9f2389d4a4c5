// Pictures through the stb libraries, with limits that these lack.
#include "media/image.h"

#include <memory>

#include "media/file_bytes.h"

#define STBI_NO_STDIO
#define STBI_WRITE_NO_STDIO
#include <stb/stb_image.h>
#include <stb/stb_image_resize.h>
#include <stb/stb_image_write.h>

namespace halyard::media {
namespace {

struct StbFree {
  void operator()(stbi_uc* pixels) const { stbi_image_free(pixels); }
};

Status checkSize(uint64_t width, uint64_t height) {
  if (width == 0 || height == 0 || width > kMaxImageSide || height > kMaxImageSide ||
      width * height > kMaxImagePixels) {
    return badData("a picture of {} x {} pixels; accepted are 1 to {} a side and {} in all", width,
                   height, kMaxImageSide, kMaxImagePixels);
  }
  return okStatus();
}

// stb_image of 2022 writes past a table of 256 entries when a JPEG announces more than 256 Huffman
// codes. Such files must not reach it. stb_image takes FF C4 anywhere in the file, in any segment,
// for a table, and reads zeros past the end. This function does the same.
Status checkHuffmanTables(std::span<const uint8_t> bytes) {
  const auto at = [&](size_t i) -> uint32_t { return i < bytes.size() ? bytes[i] : 0; };
  constexpr size_t kLengths = 16;
  constexpr uint32_t kMaxCodes = 256;
  constexpr size_t kMaxMarkers = 1000;  // usual files have about four; hostile ones more
  size_t markers = 0;
  for (size_t marker = 0; marker + 1 < bytes.size(); ++marker) {
    if (bytes[marker] != 0xFF || bytes[marker + 1] != 0xC4) continue;
    if (++markers > kMaxMarkers) {
      return badData("damaged picture (more than {} Huffman table markers)", kMaxMarkers);
    }
    size_t position = marker + 4;
    int64_t left = static_cast<int64_t>(at(marker + 2) << 8 | at(marker + 3)) - 2;
    while (left > 0 && position < bytes.size()) {
      uint32_t codes = 0;
      for (size_t i = 1; i <= kLengths; ++i) codes += at(position + i);
      if (codes > kMaxCodes) {
        return badData("damaged picture (a Huffman table of {} codes at byte {}, at most {} exist)",
                       codes, position, kMaxCodes);
      }
      position += 1 + kLengths + codes;
      left -= static_cast<int64_t>(1 + kLengths + codes);
    }
  }
  return okStatus();
}

// The bytes of a BMP file of this size, without the padding of its last row. stb_image takes the
// bytes past the end for zeros.
Status checkBmpLength(std::span<const uint8_t> bytes, uint64_t width, uint64_t height) {
  const auto number = [&](size_t at, size_t size) {
    uint64_t value = 0;
    for (size_t i = size; i > 0; --i) {
      value = value << 8 | (at + i <= bytes.size() ? bytes[at + i - 1] : 0);
    }
    return value;
  };
  const uint64_t pixels = number(10, 4);
  const bool hasShortHeader = number(14, 4) == 12;
  const uint64_t rowBits = width * number(hasShortHeader ? 24 : 28, 2);
  const uint64_t needed = pixels + (height - 1) * ((rowBits + 31) / 32 * 4) + (rowBits + 7) / 8;
  if (bytes.size() >= needed) return okStatus();
  return badData("truncated picture: a BMP of {} x {} pixels has {} bytes, found are {}", width,
                 height, needed, bytes.size());
}

void appendBytes(void* context, void* data, int size) {
  auto* bytes = static_cast<std::vector<uint8_t>*>(context);
  const auto* begin = static_cast<const uint8_t*>(data);
  bytes->insert(bytes->end(), begin, begin + size);
}

}  // namespace

Image blankImage(uint32_t width, uint32_t height, uint32_t channels) {
  return {width, height, channels,
          std::vector<uint8_t>(static_cast<size_t>(width) * height * channels)};
}

Result<Image> decodeImage(std::span<const uint8_t> bytes, uint32_t channels) {
  if (channels != 1 && channels != 3) {
    return badData("a picture can be read with 1 or 3 channels, not with {}", channels);
  }
  if (bytes.size() > kMaxImageFileBytes) {
    return badData("{} bytes of picture; at most {} are accepted", bytes.size(),
                   kMaxImageFileBytes);
  }
  const int length = static_cast<int>(bytes.size());
  int width = 0;
  int height = 0;
  int stored = 0;
  // The header comes first, so that its values are checked before any pixel is allocated. Only
  // files that begin with FF are taken for JPEG.
  if (!bytes.empty() && bytes[0] == 0xFF) HALYARD_RETURN_IF_ERROR(checkHuffmanTables(bytes));
  if (stbi_info_from_memory(bytes.data(), length, &width, &height, &stored) == 0) {
    return badData("not a BMP, PNG or JPEG picture that can be read ({})", stbi_failure_reason());
  }
  if (width < 0 || height < 0) return badData("a picture of negative size");
  HALYARD_RETURN_IF_ERROR(checkSize(static_cast<uint64_t>(width), static_cast<uint64_t>(height)));
  if (bytes[0] == 'B') {
    HALYARD_RETURN_IF_ERROR(
        checkBmpLength(bytes, static_cast<uint64_t>(width), static_cast<uint64_t>(height)));
  }
  const std::unique_ptr<stbi_uc, StbFree> pixels(stbi_load_from_memory(
      bytes.data(), length, &width, &height, &stored, static_cast<int>(channels)));
  if (!pixels) return badData("damaged picture ({})", stbi_failure_reason());
  HALYARD_RETURN_IF_ERROR(checkSize(static_cast<uint64_t>(width), static_cast<uint64_t>(height)));
  Image image{static_cast<uint32_t>(width), static_cast<uint32_t>(height), channels, {}};
  const size_t size = static_cast<size_t>(image.width) * image.height * channels;
  image.pixels.assign(pixels.get(), pixels.get() + size);
  return image;
}

Result<Image> loadImage(const std::string& path, uint32_t channels) {
  HALYARD_ASSIGN_OR_RETURN(const std::vector<uint8_t> bytes,
                           readFileBytes(path, kMaxImageFileBytes));
  HALYARD_ASSIGN_OR_RETURN(Image image, decodeImage(bytes, channels), "{}", path);
  return image;
}

Result<Image> resizeImage(const Image& image, uint32_t width, uint32_t height) {
  HALYARD_RETURN_IF_ERROR(checkSize(image.width, image.height), "resizing");
  HALYARD_RETURN_IF_ERROR(checkSize(width, height), "resizing");
  if (image.width == width && image.height == height) return image;
  Image resized = blankImage(width, height, image.channels);
  const auto channels = static_cast<int>(image.channels);
  if (stbir_resize_uint8_generic(image.pixels.data(), static_cast<int>(image.width),
                                 static_cast<int>(image.height), 0, resized.pixels.data(),
                                 static_cast<int>(width), static_cast<int>(height), 0, channels,
                                 STBIR_ALPHA_CHANNEL_NONE, 0, STBIR_EDGE_CLAMP,
                                 STBIR_FILTER_CATMULLROM, STBIR_COLORSPACE_LINEAR, nullptr) == 0) {
    return makeStatus(ResultCode::OUT_OF_MEMORY, "resizing a picture to {} x {} pixels", width,
                      height);
  }
  return resized;
}

Result<std::vector<uint8_t>> encodePng(const Image& image) {
  HALYARD_RETURN_IF_ERROR(checkSize(image.width, image.height), "writing a PNG");
  std::vector<uint8_t> bytes;
  if (stbi_write_png_to_func(appendBytes, &bytes, static_cast<int>(image.width),
                             static_cast<int>(image.height), static_cast<int>(image.channels),
                             image.pixels.data(),
                             static_cast<int>(image.width * image.channels)) == 0) {
    return makeStatus(ResultCode::OUT_OF_MEMORY, "writing a PNG of {} x {} pixels", image.width,
                      image.height);
  }
  return bytes;
}

Status writePng(const Image& image, const std::string& path) {
  HALYARD_ASSIGN_OR_RETURN(const std::vector<uint8_t> bytes, encodePng(image), "{}", path);
  return writeFileBytes(path, bytes);
}

}  // namespace halyard::media
