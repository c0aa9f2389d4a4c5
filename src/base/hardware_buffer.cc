// Layouts of hardware buffers. android/hardware_buffer.h documents the rules.
#include "halyard/driver/hardware_buffer.h"

#include <android/hardware_buffer.h>

#include <algorithm>

namespace halyard {
namespace {

constexpr uint32_t kMaxDimension = 65536;
constexpr uint32_t kMaxLayers = 4096;
constexpr uint32_t kRowAlignment = 64;  // bytes

constexpr uint64_t kVendorUsages = (uint64_t{0xf} << 28) | (uint64_t{0xffff} << 48);
constexpr uint64_t kKnownUsages =
    AHARDWAREBUFFER_USAGE_CPU_READ_MASK | AHARDWAREBUFFER_USAGE_CPU_WRITE_MASK |
    AHARDWAREBUFFER_USAGE_GPU_SAMPLED_IMAGE | AHARDWAREBUFFER_USAGE_GPU_FRAMEBUFFER |
    AHARDWAREBUFFER_USAGE_COMPOSER_OVERLAY | AHARDWAREBUFFER_USAGE_PROTECTED_CONTENT |
    AHARDWAREBUFFER_USAGE_VIDEO_ENCODE | AHARDWAREBUFFER_USAGE_SENSOR_DIRECT_DATA |
    AHARDWAREBUFFER_USAGE_GPU_DATA_BUFFER | AHARDWAREBUFFER_USAGE_GPU_CUBE_MAP |
    AHARDWAREBUFFER_USAGE_GPU_MIPMAP_COMPLETE | AHARDWAREBUFFER_USAGE_FRONT_BUFFER | kVendorUsages;
constexpr uint64_t kImageUsages =
    AHARDWAREBUFFER_USAGE_GPU_SAMPLED_IMAGE | AHARDWAREBUFFER_USAGE_GPU_FRAMEBUFFER |
    AHARDWAREBUFFER_USAGE_COMPOSER_OVERLAY | AHARDWAREBUFFER_USAGE_GPU_CUBE_MAP;
constexpr uint64_t kBlobUsages =
    AHARDWAREBUFFER_USAGE_SENSOR_DIRECT_DATA | AHARDWAREBUFFER_USAGE_GPU_DATA_BUFFER;

// A plane of a format: the bytes per pixel, and the number of image pixels per plane pixel in each
// direction. If pixels are shared between planes, also its part of a pixel.
struct PlaneFormat {
  uint32_t bytes;
  uint32_t everyX;
  uint32_t everyY;
  int32_t partOf = -1;  // the plane with which it shares pixels, or -1
  uint32_t partOffset = 0;
};
struct Format {
  uint32_t format;
  unsigned planeCount;
  std::array<PlaneFormat, 3> planes;
};

constexpr Format onePlane(uint32_t format, uint32_t bytes) {
  return {format, 1, {{{bytes, 1, 1}}}};
}

constexpr Format kFormats[] = {
    onePlane(AHARDWAREBUFFER_FORMAT_R8G8B8A8_UNORM, 4),
    onePlane(AHARDWAREBUFFER_FORMAT_R8G8B8X8_UNORM, 4),
    onePlane(AHARDWAREBUFFER_FORMAT_R8G8B8_UNORM, 3),
    onePlane(AHARDWAREBUFFER_FORMAT_R5G6B5_UNORM, 2),
    onePlane(AHARDWAREBUFFER_FORMAT_R16G16B16A16_FLOAT, 8),
    {AHARDWAREBUFFER_FORMAT_Y8Cb8Cr8_420, 3, {{{1, 1, 1}, {1, 2, 2}, {1, 2, 2}}}},
    onePlane(AHARDWAREBUFFER_FORMAT_R10G10B10A2_UNORM, 4),
    onePlane(AHARDWAREBUFFER_FORMAT_D16_UNORM, 2),
    onePlane(AHARDWAREBUFFER_FORMAT_D24_UNORM, 4),
    onePlane(AHARDWAREBUFFER_FORMAT_D24_UNORM_S8_UINT, 4),
    onePlane(AHARDWAREBUFFER_FORMAT_D32_FLOAT, 4),
    onePlane(AHARDWAREBUFFER_FORMAT_D32_FLOAT_S8_UINT, 8),
    onePlane(AHARDWAREBUFFER_FORMAT_S8_UINT, 1),
    {AHARDWAREBUFFER_FORMAT_YCbCr_P010, 3, {{{2, 1, 1}, {4, 2, 2}, {4, 2, 2, 1, 2}}}},
    onePlane(AHARDWAREBUFFER_FORMAT_R8_UNORM, 1),
    onePlane(AHARDWAREBUFFER_FORMAT_R16_UINT, 2),
    onePlane(AHARDWAREBUFFER_FORMAT_R16G16_UINT, 4),
    onePlane(AHARDWAREBUFFER_FORMAT_R10G10B10A10_UNORM, 8),
    {AHARDWAREBUFFER_FORMAT_YCbCr_P210, 3, {{{2, 1, 1}, {4, 2, 1}, {4, 2, 1, 1, 2}}}},
};

Status checkUsage(const HardwareBufferDescription& buffer, bool isBlob) {
  const uint64_t usage = buffer.usage;
  if ((usage & ~kKnownUsages) != 0) {
    return badData("usage {:#x} has unknown bits {:#x}", usage, usage & ~kKnownUsages);
  }
  if ((usage & AHARDWAREBUFFER_USAGE_PROTECTED_CONTENT) != 0) {
    return badData("usage PROTECTED_CONTENT: there is no protected memory");
  }
  if ((usage & AHARDWAREBUFFER_USAGE_GPU_MIPMAP_COMPLETE) != 0) {
    return badData("usage GPU_MIPMAP_COMPLETE: buffers have no smaller versions of themselves");
  }
  if (isBlob && (usage & kImageUsages) != 0) {
    return badData("usage {:#x} has {:#x}, which is for images, not for format BLOB", usage,
                   usage & kImageUsages);
  }
  if (!isBlob && (usage & kBlobUsages) != 0) {
    return badData("usage {:#x} has {:#x}, which is for format BLOB only", usage,
                   usage & kBlobUsages);
  }
  const bool cube = (usage & AHARDWAREBUFFER_USAGE_GPU_CUBE_MAP) != 0;
  if (cube && (buffer.width != buffer.height || buffer.layers % 6 != 0)) {
    return badData(
        "usage GPU_CUBE_MAP with {} x {} pixels and {} layers, expected squares and a "
        "multiple of 6",
        buffer.width, buffer.height, buffer.layers);
  }
  return okStatus();
}

constexpr uint64_t roundUp(uint64_t value, uint64_t step) {
  return (value + step - 1) / step * step;
}

HardwareBufferLayout layoutOfImage(const Format& format, const HardwareBufferDescription& buffer) {
  HardwareBufferLayout layout;
  layout.planeCount = format.planeCount;
  for (unsigned i = 0; i < format.planeCount; ++i) {
    const PlaneFormat& plane = format.planes[i];
    if (plane.partOf >= 0) {
      layout.planes[i] = layout.planes[static_cast<size_t>(plane.partOf)];
      layout.planes[i].offset += plane.partOffset;
      continue;
    }
    const uint64_t columns = (uint64_t{buffer.width} + plane.everyX - 1) / plane.everyX;
    const uint64_t rows = (uint64_t{buffer.height} + plane.everyY - 1) / plane.everyY;
    // For 3-byte pixels, too, the stride is a whole number of pixels.
    const uint64_t step =
        kRowAlignment % plane.bytes == 0 ? kRowAlignment : uint64_t{kRowAlignment} * plane.bytes;
    const uint64_t rowStride = roundUp(columns * plane.bytes, step);
    layout.planes[i] = {layout.layerSize, plane.bytes, static_cast<uint32_t>(rowStride)};
    layout.layerSize += rowStride * rows;
  }
  layout.stride = layout.planes[0].rowStride / layout.planes[0].pixelStride;
  layout.size = layout.layerSize * buffer.layers;
  return layout;
}

}  // namespace

Result<HardwareBufferLayout> layoutOf(const HardwareBufferDescription& buffer) {
  if (buffer.width == 0 || buffer.height == 0 || buffer.layers == 0) {
    return badData("a hardware buffer of {} x {} pixels and {} layers: one is 0", buffer.width,
                   buffer.height, buffer.layers);
  }
  const bool isBlob = buffer.format == kBlobFormat;
  HALYARD_RETURN_IF_ERROR(checkUsage(buffer, isBlob));
  if (isBlob) {
    if (buffer.height != 1 || buffer.layers != 1) {
      return badData("a hardware buffer of format BLOB has height {} and {} layers, expected 1",
                     buffer.height, buffer.layers);
    }
    HardwareBufferLayout layout;
    layout.stride = buffer.width;
    layout.planeCount = 1;
    layout.planes[0] = {0, 1, buffer.width};
    layout.layerSize = layout.size = buffer.width;
    return layout;
  }
  const auto* const format =
      std::find_if(std::begin(kFormats), std::end(kFormats),
                   [&](const Format& candidate) { return candidate.format == buffer.format; });
  if (format == std::end(kFormats)) {
    return badData("hardware buffer format {:#x} is unknown", buffer.format);
  }
  if (std::max(buffer.width, buffer.height) > kMaxDimension || buffer.layers > kMaxLayers) {
    return badData("a hardware buffer of {} x {} pixels and {} layers; at most {} x {} and {}",
                   buffer.width, buffer.height, buffer.layers, kMaxDimension, kMaxDimension,
                   kMaxLayers);
  }
  if (format->planeCount > 1 && buffer.layers != 1) {
    return badData(
        "a hardware buffer of format {:#x}, of several planes, has {} layers, expected 1",
        buffer.format, buffer.layers);
  }
  return layoutOfImage(*format, buffer);
}

}  // namespace halyard
